"""`streamward runners rollout`: Workers with another detector, one runner after the other, and back."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from streamward.cli import output
from streamward.cli.link import Link, place
from streamward.model.errors import StreamwardError
from streamward.protocol.leases import RunnerFlags
from streamward.protocol.runners import ChangeRunner, RunnerList

LOOK_EVERY = 0.5  # seconds


class RolloutRefused(StreamwardError):
    """A runner went back, or has not come as far as it should."""

    def __init__(self, runner_id: str, problem: str) -> None:
        super().__init__(runner_id, problem)
        self.runner_id = runner_id
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.runner_id} has not taken it: {self.problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One runner after the other: the next only when the last one is whole."""

    link: Link
    within: float  # seconds for each runner
    say: Callable[[str], object]

    def roll_out(self, runners: Iterable[RunnerFlags], detector: str | None) -> None:
        """Raises RolloutRefused at the first that does not take it; those before it keep it, those after it do not."""
        for runner in runners:
            began = time.monotonic()
            wanted = self._change(runner.runner_id, detector)
            if wanted.incarnation is None:
                self.say(f"{runner.runner_id}  ended: it takes it when it starts")
                continue
            self._await(wanted)
            self.say(f"{runner.runner_id}  runs {named(detector)} after {time.monotonic() - began:.1f} s")

    def abort(self, runners: Sequence[RunnerFlags]) -> None:
        """Back to what was there before, wherever the last rollout came to."""
        for runner in reached(runners):
            self.roll_out([runner], runner.earlier_detector)

    def _change(self, runner_id: str, detector: str | None) -> RunnerFlags:
        path = place("v1", "runners", runner_id)
        etag = self.link.get(path, RunnerFlags).etag
        return self.link.patch(path, ChangeRunner(detector=detector), RunnerFlags, etag=etag).body

    def _await(self, wanted: RunnerFlags) -> None:
        until = time.monotonic() + self.within
        while (now := self.link.get(place("v1", "runners", wanted.runner_id), RunnerFlags).body).make == wanted.make:
            if now.proven_make == now.make:
                return
            if (problem := refusal(now)) is not None:
                raise RolloutRefused(now.runner_id, problem)
            if time.monotonic() > until:
                raise RolloutRefused(now.runner_id, f"no answer within {self.within:g} s; it goes on trying")
            time.sleep(LOOK_EVERY)
        raise RolloutRefused(wanted.runner_id, "another rollout has begun meanwhile")


def chosen(link: Link, names: Sequence[str]) -> list[RunnerFlags]:
    """The runners of those names; without any, all that run."""
    if names:
        return [link.get(place("v1", "runners", name), RunnerFlags).body for name in names]
    return [each for each in link.get(place("v1", "runners"), RunnerList).body.items if each.incarnation is not None]


def reached(runners: Sequence[RunnerFlags]) -> list[RunnerFlags]:
    """Those that the last rollout came to: if it is not done, those that it gave what one of them has not taken yet."""
    open_ones = {each.detector for each in runners if each.proven_make != each.make}
    return [each for each in runners if each.make and (not open_ones or each.detector in open_ones)]


def refusal(runner: RunnerFlags) -> str | None:
    """Why a runner does not take what is wanted; what it said of an earlier make is no answer."""
    return runner.make_problem if runner.tried_make == runner.make else None


def named(detector: str | None) -> str:
    """A detector, or its absence."""
    return detector or "the detector of its own setting"


def print_status(runners: Sequence[RunnerFlags]) -> None:
    """How far each has come."""
    rows = [(each.runner_id, each.detector or "own setting", _stage(each)) for each in runners]
    output.print_table(("RUNNER", "DETECTOR", "ROLLOUT"), rows)


def _stage(runner: RunnerFlags) -> str:
    if runner.proven_make == runner.make:
        return "done"
    problem = refusal(runner)
    return "under way" if problem is None else f"refused: {problem}"
