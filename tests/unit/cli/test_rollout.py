"""Which runners an aborted rollout goes back on."""

from streamward.cli.rollout import reached
from streamward.model.camera import LeasePolicyName
from streamward.model.runner import DrainMode
from streamward.protocol.leases import RunnerFlags
from tests.support.builders import START


def a_runner(name: str, detector: str | None, make: int, proven: int) -> RunnerFlags:
    return RunnerFlags(
        runner_id=name,
        cordoned=False,
        drain_mode=DrainMode.NONE,
        capacity_streams=40,
        incarnation="i1",
        site_id=None,
        policy=LeasePolicyName.FAST,
        last_seen_at=START,
        make=make,
        detector=detector,
        proven_make=proven,
    )


NEW, NEWER = a_runner("new", "people", 2, 2), a_runner("newer", "people", 3, 2)
OLD, FRESH = a_runner("old", "colour", 1, 1), a_runner("fresh", None, 0, 0)


def test_who_was_not_reached_by_a_rollout_that_failed_stays_as_it_is() -> None:
    assert reached([NEW, NEWER, OLD, FRESH]) == [NEW, NEWER]


def test_a_rollout_that_is_done_is_taken_back_everywhere() -> None:
    assert reached([NEW, OLD, FRESH]) == [NEW, OLD]
