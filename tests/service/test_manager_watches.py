"""How a Manager hears of changes, and how its parent gets its ticket: against a control plane that is a script."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import msgspec

from streamward.model.secret import Secret
from streamward.protocol.changes import CameraChange, CameraChanges
from streamward.protocol.fields import ClearText
from streamward.protocol.problem import Problem
from streamward.protocol.ticket import ReleaseTicket, ReleaseTokenGiven
from streamward.protocol.wait import Changed
from streamward.runner.known import KnownCameras
from streamward.runner.ticket_keeper import TicketKeeper
from streamward.runner.watching import RETRY_AFTER, ChangeWatch, FreeWatch
from tests.support.builders import START, an_owner
from tests.support.clocks import ManualClock
from tests.support.granted import ONE, a_source, granted

CHANGE = CameraChange(
    event_id="e-1",
    type="camera.updated",
    ts=START,
    tenant_id="acme",
    site_id="site-1",
    camera_uuid="cam-1",
    enabled=True,
    do_not_process=False,
    credential_version=0,
    revision=2,
)
BUSY = Problem(title="Service Unavailable", status=503, detail="busy", reason="store-unavailable")
GONE = Problem(title="Gone", status=410, detail="too old", reason="changes-forgotten")


@dataclass
class Script:
    """Gives its answers one after the other."""

    answers: list[Any]
    paths: list[str] = field(default_factory=list)

    async def get(self, path: str, _kind: type[Any], *, within: float) -> Any:
        assert within > (0 if path.endswith("/source") else 20)
        self.paths.append(path)
        return self.answers.pop(0)

    async def post(self, path: str, _message: Any, _kind: type[Any], *, within: float) -> Any:
        assert within > 0
        self.paths.append(path)
        return self.answers.pop(0)


@dataclass
class Sleeper:
    """Counts how often it is woken."""

    woken: int = 0
    poke: Callable[[], None] = lambda: None

    def wake(self) -> None:
        self.woken += 1


async def test_what_frees_up_wakes_and_the_cursor_goes_along():
    script, sleeper = Script([Changed(cursor="a", changed=False), Changed(cursor="b", changed=True), None]), Sleeper()
    watch = FreeWatch(script, sleeper)
    assert [await watch.tick() for _ in range(3)] == [0.0, 0.0, RETRY_AFTER]
    assert sleeper.woken == 2  # the first answer may come after something that was missed
    assert script.paths == ["/v1/wait?timeout_s=20", "/v1/wait?timeout_s=20&after=a", "/v1/wait?timeout_s=20&after=b"]


async def test_a_camera_that_was_edited_wakes_and_who_was_away_too_long_begins_anew():
    script, sleeper = (
        Script([CameraChanges(items=[CHANGE], cursor="a"), GONE, CameraChanges(items=[], cursor="b")]),
        Sleeper(),
    )
    watch = ChangeWatch(script, KnownCameras(script), sleeper)
    assert [await watch.tick() for _ in range(3)] == [0.0, RETRY_AFTER, 0.0]
    assert sleeper.woken == 1
    assert [path.partition("&")[2] for path in script.paths] == ["", "after=a", ""]


async def test_a_change_is_read_until_it_was_read_and_so_is_everything_after_a_gap():
    nothing, source = CameraChanges(items=[], cursor="b"), a_source()
    script, sleeper = Script([]), Sleeper()
    known = KnownCameras(script)
    known.granted(granted(source))
    watch = ChangeWatch(script, known, sleeper)
    script.answers = [nothing, source]  # it begins: what was granted before its cursor may be old
    assert await watch.tick() == 0.0
    script.answers = [CameraChanges(items=[CHANGE], cursor="c"), None]
    assert await watch.tick() == RETRY_AFTER
    script.answers = [None, source]
    assert await watch.tick() == RETRY_AFTER
    script.answers = [GONE]
    assert await watch.tick() == RETRY_AFTER
    script.answers = [nothing, source]
    assert await watch.tick() == 0.0
    assert sleeper.woken == 3
    assert script.answers == []


async def test_what_the_grant_has_told_already_is_not_read_again():
    script, sleeper = Script([CameraChanges(items=[], cursor="a")]), Sleeper()
    known = KnownCameras(script)
    watch = ChangeWatch(script, known, sleeper)
    await watch.tick()
    known.granted(granted(msgspec.structs.replace(a_source(), revision=2)))
    script.answers = [CameraChanges(items=[CHANGE], cursor="b")]
    assert await watch.tick() == 0.0
    later = msgspec.structs.replace(CHANGE, revision=3)
    gone = msgspec.structs.replace(CHANGE, type="camera.deleted")
    for change in (later, gone):
        script.answers = [CameraChanges(items=[change], cursor="c"), a_source()]
        await watch.tick()
        assert script.paths[-1] == "/v1/cameras/cam-1/source"
        known.granted(granted(msgspec.structs.replace(a_source(), revision=2)))
    assert known.owned(ONE) is not None
    assert script.answers == []


async def test_a_control_plane_that_is_busy_is_not_asked_for_everything_again():
    script, sleeper = Script([CameraChanges(items=[], cursor="a")]), Sleeper()
    known = KnownCameras(script)
    watch = ChangeWatch(script, known, sleeper)
    await watch.tick()
    known.granted(granted(a_source()))
    script.answers = [BUSY]
    assert await watch.tick() == RETRY_AFTER
    script.answers = [CameraChanges(items=[], cursor="b")]
    assert await watch.tick() == 0.0
    assert script.paths[-1].endswith("after=a")
    assert script.answers == []


async def test_if_none_of_a_few_sources_is_told_the_others_wait():
    script, sleeper = Script([CameraChanges(items=[], cursor="a"), *[None] * 4]), Sleeper()
    known = KnownCameras(script)
    for number in range(6):
        known.granted(msgspec.structs.replace(granted(a_source()), camera_uuid=f"cam-{number}"))
    watch = ChangeWatch(script, known, sleeper)
    assert await watch.tick() == RETRY_AFTER
    script.answers = [CameraChanges(items=[], cursor="b"), *[a_source()] * 6]
    assert await watch.tick() == 0.0
    assert script.answers == []


async def test_a_ticket_is_handed_over_and_renewed_at_half_its_life():
    clock, handed = ManualClock(START), list[ReleaseTicket]()
    given = ReleaseTokenGiven(token=ClearText(Secret("t")), expires_at=START + timedelta(hours=24))
    owner = an_owner()

    def place(given: ReleaseTokenGiven) -> ReleaseTicket:
        return ReleaseTicket(
            url="http://x", token=given.token, runner_id=owner.runner_id, incarnation=owner.incarnation, ttl_s=8.0
        )

    keeper = TicketKeeper(owner, Script([None, given]), clock=clock, place=place, hand_over=handed.append)
    assert await keeper.tick() == 1.0
    assert await keeper.tick() == 12 * 3600
    assert [ticket.token for ticket in handed] == [given.token]
