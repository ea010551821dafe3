"""Random stories between a holder and a store that answers late, twice, or not at all, on clocks that jump."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from streamward.leases.fence import Stamp
from streamward.leases.holder import Acquired, Answer, Ask, Flags, Holder, Released, Releasing
from streamward.leases.policy import trusted_for
from streamward.leases.store import Kept, Named, OpenClaim, Renewal, Renewed
from streamward.model.ids import CameraId, Generation
from streamward.model.runner import DrainMode
from tests.support.builders import START
from tests.support.holder_talk import SPEC

TTL = 8.0
CAMERAS = [CameraId("cam-1"), CameraId("cam-2"), CameraId("cam-3")]


@dataclass(frozen=True)
class Told:
    """One answer that reached the holder: what it said of one lease, and when its ask was sent."""

    camera_id: CameraId
    generation: Generation
    at: datetime
    sent: float


@dataclass
class Story:
    """What the holder was told, what it stamped, what it gave back."""

    holder: Holder = field(default_factory=lambda: Holder(SPEC))
    now: float = 100.0
    offset: float = 0.0  # of the database's clock
    asks: list[Ask] = field(default_factory=list)
    generations: dict[CameraId, int] = field(default_factory=lambda: dict.fromkeys(CAMERAS, 0))
    told: list[Told] = field(default_factory=list)
    stamps: list[Stamp] = field(default_factory=list)
    given_back: dict[CameraId, int] = field(default_factory=lambda: dict.fromkeys(CAMERAS, 0))

    def poll(self) -> None:
        for ask in self.holder.due(self.now):
            self.asks.append(ask)
            if isinstance(ask.body, Releasing):
                self.check_release(ask.body)

    def deliver(self, which: int, drain: DrainMode) -> None:
        """Answers one of the last asks; nothing keeps it from being answered twice."""
        if self.asks:
            ask = self.asks[-1 - which % min(6, len(self.asks))]
            self.holder.receive(ask, self.answer(ask, drain), self.now)

    def answer(self, ask: Ask, drain: DrainMode) -> Answer:
        database = START + timedelta(seconds=ask.sent + self.offset)
        match ask.body:
            case OpenClaim(limit=limit):
                leases = tuple(self.granted(camera_id) for camera_id in CAMERAS[:limit])
                self.remember(leases, database, ask.sent)
                return Acquired(at=database, leases=leases, more=False)
            case Renewal(leases=named):
                kept = tuple(self.kept(each) for each in named if each.generation == self.generations[each.camera_id])
                self.remember(kept, database, ask.sent)
                lost = tuple(each.camera_id for each in named if each.generation != self.generations[each.camera_id])
                return Renewed(at=database, kept=kept, lost=lost, busy=(), unlisted=())
            case Releasing(leases=named):
                return Released(tuple(each.camera_id for each in named))
            case _:
                return Flags(capacity=3, drain=drain)

    def granted(self, camera_id: CameraId) -> Kept:
        self.generations[camera_id] += 1
        return Kept(camera_id, Generation(self.generations[camera_id]), TTL)

    def kept(self, named: Named) -> Kept:
        assert named.generation is not None
        return Kept(named.camera_id, named.generation, TTL)

    def remember(self, leases: tuple[Kept, ...], database: datetime, sent: float) -> None:
        self.told += [Told(lease.camera_id, lease.generation, database, sent) for lease in leases]

    def stamp(self, camera_id: CameraId, age: float) -> None:
        stamp = self.holder.stamp(camera_id, arrived=self.now - age, now=self.now)
        if stamp is not None:
            assert any(self.allows(told, stamp, age) for told in self.told), "nobody told it that it may"
            assert stamp.generation > self.given_back[camera_id], "given back, and used again"
            self.stamps.append(stamp)

    def allows(self, told: Told, stamp: Stamp, age: float) -> bool:
        return (
            (told.camera_id, told.generation) == (stamp.camera_id, stamp.generation)
            and self.now < told.sent + trusted_for(TTL)
            and stamp.made_at == told.at + timedelta(seconds=self.now - age - told.sent)
            and stamp.made_at < told.at + timedelta(seconds=TTL)
        )

    def check_release(self, release: Releasing) -> None:
        for named in release.leases:
            assert named.generation is not None
            assert named.made_until is not None
            mine = [
                each for each in self.stamps if (each.camera_id, each.generation) == (named.camera_id, named.generation)
            ]
            assert all(each.made_at <= named.made_until for each in mine)
            self.given_back[named.camera_id] = max(self.given_back[named.camera_id], named.generation)

    def drop(self, camera_id: CameraId) -> None:
        held = self.holder.held(self.now).get(camera_id)
        self.given_back[camera_id] = held.generation if held else self.given_back[camera_id]
        self.holder.drop(camera_id, self.now)

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def set_clock(self, seconds: float) -> None:
        self.offset += seconds

    def wake(self) -> None:
        self.holder.wake(self.now)


cameras = st.sampled_from(CAMERAS)
drains = st.sampled_from([DrainMode.NONE, DrainMode.NONE, DrainMode.NONE, DrainMode.SOFT, DrainMode.HARD])
ages = st.floats(0, 3)  # of a frame when it is emitted
steps = st.one_of(
    st.tuples(st.just(Story.deliver), ages, st.integers(0, 5), drains),
    st.tuples(st.just(Story.deliver), ages, st.integers(0, 5), st.just(DrainMode.NONE)),
    st.tuples(st.just(Story.wait), ages, st.sampled_from([0.1, 0.5, 0.9, 2.0, 6.0])),
    st.tuples(st.just(Story.set_clock), ages, st.sampled_from([-3600.0, -0.5, 3600.0])),
    st.tuples(st.just(Story.drop), ages, cameras),
    st.tuples(st.just(Story.wake), ages),
)


@settings(max_examples=200)
@given(st.lists(steps, min_size=20, max_size=100))
def test_every_stamp_was_earned_by_an_answer_and_a_release_comes_after_all_of_its_stamps(plot):
    story = Story()
    story.poll()
    story.deliver(0, DrainMode.NONE)
    for step, age, *arguments in plot:
        step(story, *arguments)
        story.poll()
        for camera_id in CAMERAS:
            story.stamp(camera_id, age)
