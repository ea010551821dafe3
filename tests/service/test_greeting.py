"""A runner's first words: who will never be let in is told why, and who cannot be yet waits."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from streamward.model.bus import BusAway, QueueRefused
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import RunnerId
from streamward.model.runner import DrainMode
from streamward.protocol.events import BATCHER
from streamward.protocol.leases import RegisterRunner, RunnerFlags
from streamward.protocol.problem import Problem
from streamward.runner.greeting import QUEUE_WITHIN, BusNotRead, NotAdmitted, OtherRunner, greet, has_reader, same
from streamward.runtime import virtual_time
from tests.support.builders import START

MESSAGE = RegisterRunner(runner_id="runner-1", incarnation="inc-1")
FLAGS = RunnerFlags(
    runner_id="runner-1",
    cordoned=False,
    drain_mode=DrainMode.NONE,
    capacity_streams=4,
    incarnation="inc-1",
    site_id=None,
    policy=LeasePolicyName.FAST,
    last_seen_at=START,
)


@dataclass
class Gate:
    """A control plane that gives its answers one after the other."""

    answers: list[Any] = field(default_factory=list)

    async def post(self, path: str, message: Any, _kind: type[Any], *, within: float) -> Any:
        assert (path, message, within > 0) == ("/v1/runners/register", MESSAGE, True)
        return self.answers.pop(0)


async def never() -> None:
    await asyncio.Event().wait()


async def at_once() -> None:
    pass


def a_problem(status: int, reason: str) -> Problem:
    return Problem(title="No", status=status, detail="no", reason=reason)


def test_a_control_plane_that_is_away_or_busy_is_waited_for():
    gate = Gate([None, a_problem(503, "database-away"), a_problem(429, "too-many"), FLAGS])
    assert virtual_time.run(greet(gate, MESSAGE, url="http://there", ended=never))
    assert gate.answers == []


async def test_who_is_told_to_end_waits_no_longer():
    assert not await greet(Gate([None]), MESSAGE, url="http://there", ended=at_once)


@pytest.mark.parametrize(
    ("status", "reason", "remedy"),
    [
        (401, "token-invalid", "streamward enrol"),
        (401, "token-expired", "streamward token --runner"),
        (401, "token-not-yet-valid", "set this host's clock"),
        (403, "clock-skew", "set this host's clock"),
        (409, "incarnation-ended", "a token is good for one start"),
    ],
)
def test_who_is_refused_is_told_what_to_do(status: int, reason: str, remedy: str):
    with pytest.raises(NotAdmitted, match="http://there does not let this runner in") as refused:
        virtual_time.run(greet(Gate([a_problem(status, reason)] * 2), MESSAGE, url="http://there", ended=never))
    assert remedy in str(refused.value)


def test_a_runner_is_called_as_it_proves():
    assert same(None, RunnerId("r1")) == same("r1", RunnerId("r1")) == "r1"
    with pytest.raises(OtherRunner, match="proves to be runner r1, but STREAMWARD_RUNNER_ID says r2"):
        same("r2", RunnerId("r1"))


@dataclass
class Answering:
    """A bus that says of its queue what it was told to, and the last of it for ever."""

    answers: list[int | Exception]

    async def waiting(self, queue: str) -> int:
        assert queue == BATCHER.name
        answer = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


ABSENT = QueueRefused(BATCHER.name, "there is none")


def is_read(*answers: int | Exception) -> bool:
    return virtual_time.run(has_reader(Answering([*answers]), name="files in /there", ended=never))  # type: ignore[arg-type]


def test_a_bus_with_the_queue_of_detections_is_read_however_full_it_is():
    assert is_read(0)
    assert is_read(7)


def test_a_bus_that_is_away_is_not_waited_for():
    assert is_read(BusAway("there", "away", retry_in=1.0))


def test_a_control_plane_that_starts_may_still_declare_the_queue():
    assert is_read(*[ABSENT] * int(QUEUE_WITHIN / 2), 0)


def test_a_bus_that_no_control_plane_uses_is_refused():
    with pytest.raises(BusNotRead, match=r"\(files in /there\) has no queue .* STREAMWARD_AMQP_URL"):
        is_read(ABSENT)


async def test_who_is_told_to_end_asks_the_bus_no_longer():
    assert not await has_reader(Answering([ABSENT]), name="there", ended=at_once)  # type: ignore[arg-type]
