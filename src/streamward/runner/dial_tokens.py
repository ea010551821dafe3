"""A runner's first dials: each costs a token of its site, once for each generation, and is told when it has ended.

Cameras that are due in the same moment are asked for in one call, of whatever sites they are.
A camera that was refused because too many dials were under way is asked for again as soon as one of them was told to
have ended; one camera for each. Those that were refused because the budget is empty stand in line, and only the first
few of a site ask again: a hundred that wait are no load. Each camera asks once before it does, for a takeover has a
reserve. Who is first and does not ask is wanted no more, and holds up nobody.

A refused camera waits for as long as the answer says, and a random while more; one without an answer for a while that
doubles, with jitter too (S0-020): runners that were refused together do not ask again together.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from itertools import islice
from random import Random

from streamward.leases.dialing import DialRefusal
from streamward.model.ids import CameraId, Generation, SiteId
from streamward.protocol.dials import (
    MOST_DIALS,
    DialAnswer,
    DialsAnswered,
    DialsFinished,
    FinishDials,
    SiteDial,
    TakeDials,
)
from streamward.runner.facts import DialTokenTaken
from streamward.runner.own_leases import Control
from streamward.runner.together import Together
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.runtime.clock import Clock
from streamward.runtime.hedging import WITHIN, hedged
from streamward.runtime.journal import Journal

ASKERS = 3  # of each site's line
ABSENT_AFTER = 2.0  # seconds for which somebody in front may not ask though it is time
JITTER = 0.5  # of the wait that a refusal names, at most
LONGEST_JITTER = 5.0  # seconds
UNANSWERED = BackoffSpec(first=0.5, longest=2.0)


class DialTokens:
    """Asks for them, and knows who has one."""

    def __init__(self, control: Control, *, clock: Clock, journal: Journal, random: Random) -> None:
        self._control = control
        self._clock = clock
        self._random = random
        self._unanswered: dict[CameraId, Backoff] = {}
        self._journal = journal
        self._has: dict[CameraId, Generation] = {}
        self._ask_at: dict[CameraId, float] = {}  # boot-time
        self._asked: dict[CameraId, float] = {}  # boot-time of the first ask that has no token yet
        self._crowded: dict[CameraId, SiteId] = {}  # too many dials were under way
        self._sites: dict[CameraId, SiteId] = {}
        self._lines: defaultdict[SiteId, dict[CameraId, None]] = defaultdict(dict)  # the budget was empty
        self._stands: dict[CameraId, SiteId] = {}  # in which line
        self._unspent: set[CameraId] = set()
        self._ended: set[CameraId] = set()  # and not told yet
        self._asks = Together(self._ask, most=MOST_DIALS)

    def has(self, camera_id: CameraId, generation: Generation) -> bool:
        """Whether a camera may be dialed under that generation."""
        return self._has.get(camera_id) == generation

    def is_due(self, camera_id: CameraId) -> bool:
        """Whether it is worth asking now."""
        now = self._clock.boot()
        return now >= self._ask_at.get(camera_id, 0.0) and self._is_in_front(camera_id, now)

    async def take(self, camera_id: CameraId, site_id: SiteId, generation: Generation) -> bool:
        """Asks for a token, unless it has one; returns whether it has one now."""
        if self.has(camera_id, generation) or not self.is_due(camera_id):
            return self.has(camera_id, generation)
        self._crowded.pop(camera_id, None)
        asked = self._asked.setdefault(camera_id, self._clock.boot())
        self._ask_at[camera_id] = self._clock.boot() + 2 * WITHIN  # one ask at a time
        dial = SiteDial(site_id=site_id, camera_uuid=camera_id, version=generation)
        answer = await self._asks.ask(dial)
        if answer is None or answer.reason is not None:
            if camera_id not in self._ask_at:  # it was forgotten meanwhile
                return False
            self._ask_at[camera_id] = self._clock.boot() + self._rest(camera_id, answer)
            self._refused(camera_id, site_id, None if answer is None else answer.reason)
            return False
        self._ask_at.pop(camera_id, None)  # it may have been forgotten meanwhile
        self._leave_line(camera_id)
        self._has[camera_id], self._sites[camera_id] = generation, site_id
        self._unspent.add(camera_id)
        self._asked.pop(camera_id, None)
        self._unanswered.pop(camera_id, None)
        duration_ms = round((self._clock.boot() - asked) * 1000)
        self._journal.record(
            DialTokenTaken(camera_id=camera_id, site_id=site_id, version=generation, duration_ms=duration_ms)
        )
        return True

    def _rest(self, camera_id: CameraId, answer: DialAnswer | None) -> float:
        """Seconds until it asks again."""
        if answer is None or answer.retry_in_ms is None:
            backoff = self._unanswered.setdefault(camera_id, Backoff(UNANSWERED, self._random))
            return backoff.failed(after=0.0)
        self._unanswered.pop(camera_id, None)
        wait = answer.retry_in_ms / 1000
        return wait + self._random.uniform(0.0, min(wait * JITTER, LONGEST_JITTER))

    async def _ask(self, dials: Sequence[SiteDial]) -> list[DialAnswer] | None:
        message = TakeDials(items=[*dials])  # costs nothing if it is carried out twice
        answer = await hedged(partial(self._control.post, "/v1/dials", message, DialsAnswered, within=WITHIN))
        return answer.items if isinstance(answer, DialsAnswered) and len(answer.items) == len(dials) else None

    def _refused(self, camera_id: CameraId, site_id: SiteId, reason: str | None) -> None:
        if reason == DialRefusal.IN_FLIGHT:
            self._crowded[camera_id] = site_id
        elif reason == DialRefusal.EMPTY:
            self._lines[site_id].setdefault(camera_id)
            self._stands[camera_id] = site_id

    def _is_in_front(self, camera_id: CameraId, now: float) -> bool:
        """Whether it is one of the first of its line, or in none."""
        if camera_id not in self._stands:
            return True
        line = self._lines[self._stands[camera_id]]
        for each in list(islice(line, ASKERS)):
            if each != camera_id and now > self._ask_at.get(each, now) + ABSENT_AFTER:
                self._leave_line(each)
        return camera_id in islice(line, ASKERS)

    def _leave_line(self, camera_id: CameraId) -> None:
        """Whoever comes to the front by that asks at once."""
        site_id = self._stands.pop(camera_id, None)
        if site_id is not None:
            line = self._lines[site_id]
            del line[camera_id]
            following = next(islice(line, ASKERS - 1, None), None)
            if following is not None:
                self._ask_at[following] = self._clock.boot()

    def spend(self, camera_id: CameraId) -> bool:
        """Whether the dial that begins now is the one that its token was taken for."""
        is_first = camera_id in self._unspent
        self._unspent.discard(camera_id)
        return is_first

    def ended(self, camera_id: CameraId) -> None:
        """A dial has connected or failed."""
        if camera_id in self._has:
            self._ended.add(camera_id)

    def forget(self, camera_id: CameraId) -> None:
        """A camera that is not held any more."""
        for known in (self._has, self._ask_at, self._asked, self._crowded, self._sites, self._unanswered):
            known.pop(camera_id, None)
        self._leave_line(camera_id)
        self._unspent.discard(camera_id)
        self._ended.discard(camera_id)

    def keep(self, cameras: Collection[CameraId]) -> None:
        """Forgets all others."""
        for camera_id in {*self._has, *self._ask_at, *self._asked, *self._crowded}.difference(cameras):
            self.forget(camera_id)

    async def tell(self) -> None:
        """Says which dials have ended; one that cannot be told ends by itself."""
        ended, self._ended = self._ended, set()
        dials = [SiteDial(site_id=self._sites[each], camera_uuid=each, version=self._has[each]) for each in ended]
        for place in range(0, len(dials), MOST_DIALS):
            some = dials[place : place + MOST_DIALS]
            message = FinishDials(items=some)
            await hedged(partial(self._control.post, "/v1/dials/done", message, DialsFinished, within=WITHIN))
            for dial in some:
                self._follow(SiteId(dial.site_id))

    def _follow(self, site_id: SiteId) -> None:
        """A dial has ended there: somebody who found too many under way asks again."""
        following = next((each for each, place in self._crowded.items() if place == site_id), None)
        if following is not None:
            del self._crowded[following]
            self._ask_at.pop(following, None)
