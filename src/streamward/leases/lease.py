"""A lease: who may process a camera, until when, in which generation.

              acquire                     the keeper marks it
    PENDING ───────────→ ACTIVE ──────────────────────────→ ORPHANED
       ↑ ←──── release ─────┘ ←──────── renew, acquire ────────┘ │
       └──────────────── reclaim (pressure, operator) ───────────┘
    PAUSED: granted, but its pipeline did not start (S4-08).  TERMINATED: the camera is gone.

The store decides; this module is the rule that every store follows, statement by statement. All instants are the
database's.

A grant covers an interval. It begins at `granted_at` and is bounded by `ended_at` or by the next grant:

    release             ended_at = now, made_until = the owner's last stamp (now, if it gives none)
    release of all      ended_at = now, made_until = expires_at (its processes are gone: nothing more is stamped)
    camera withdrawn    ended_at = now, made_until = now; the owner stays until it releases or its ttl is over
    expiry, takeover    neither: the next grant is the bound

A camera is withdrawn when it is deleted, disabled, marked do-not-process, or moved to another tenant or site. A grant
that has ended is never renewed, whatever becomes of the camera afterwards.

Guaranteed, whatever clocks do: generations of a camera rise by exactly one and never repeat, also over release,
deletion and re-creation; the instants of its grants strictly rise; a renewal or release takes effect only for the
exact (camera, generation, incarnation) that it names; a grant is dated after its predecessor's `ended_at`.
Guaranteed unless the database's clock was set back unseen: a grant is dated after every record of an earlier grant
that `leases.fence` has accepted (`not_before`, `ClockView.floor`).
Guaranteed while clocks run within ±5 %: a camera is granted anew only when its former owner no longer trusts its lease.
Not guaranteed: that an owner past its lease has stopped. It may be frozen in the middle of a step; what it makes then
is refused by `leases.fence`.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from streamward.leases.clock_guard import TOLERANCE, ClockView
from streamward.leases.policy import Terms
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId

NEVER = datetime.fromtimestamp(0, UTC)
UNGRANTED = Generation(0)
TICK = timedelta(microseconds=1)
ECHO_AHEAD = timedelta(seconds=TOLERANCE)  # an echoed database time further ahead is from before a clock step


class SessionState(StrEnum):
    """What the store says of a camera's ownership (S4-10)."""

    PENDING = "PENDING"  # nobody has it
    ACTIVE = "ACTIVE"  # granted, and not seen to expire
    PAUSED = "PAUSED"  # granted, not working; the reason is beside it
    ORPHANED = "ORPHANED"  # expired; its owner may still come back
    TERMINATED = "TERMINATED"  # the camera was deleted


MOVES: dict[SessionState, frozenset[SessionState]] = {
    SessionState.PENDING: frozenset({SessionState.ACTIVE, SessionState.TERMINATED}),
    SessionState.ACTIVE: frozenset({
        SessionState.PENDING,
        SessionState.PAUSED,
        SessionState.ORPHANED,
        SessionState.TERMINATED,
    }),
    SessionState.PAUSED: frozenset({
        SessionState.ACTIVE,
        SessionState.PENDING,
        SessionState.ORPHANED,
        SessionState.TERMINATED,
    }),
    SessionState.ORPHANED: frozenset({SessionState.ACTIVE, SessionState.PENDING, SessionState.TERMINATED}),
    # A camera created again is active while the owner of its withdrawn grant is still in the row.
    SessionState.TERMINATED: frozenset({SessionState.PENDING, SessionState.ACTIVE}),
}


@dataclass(frozen=True, slots=True)
class Owner:
    """One start of one runner."""

    runner_id: RunnerId
    incarnation: Incarnation


class DenialReason(StrEnum):
    """Why a lease was not given, as a word that clients may act on."""

    HELD = "held"  # somebody else has a fresh lease
    SOFT_WINDOW = "soft-window"  # expired, but its owner may still come back
    CAMERA_UNKNOWN = "camera-unknown"
    CAMERA_NOT_WANTED = "camera-not-wanted"  # disabled, do-not-process or deleted
    SITE_MISMATCH = "site-mismatch"
    INCARNATION_ENDED = "incarnation-ended"
    RUNNER_CORDONED = "runner-cordoned"  # or draining
    NO_CAPACITY = "no-capacity"
    BUSY = "busy"  # the echoed database time is too old or ahead: ask again with the newest one


@dataclass(frozen=True, slots=True)
class Denied:
    """An expected no."""

    reason: DenialReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One line of a camera's history: from `granted_at` on, `generation` is the newest."""

    camera_id: CameraId
    generation: Generation
    owner: Owner
    tenant_id: TenantId  # the camera's, when it was granted
    site_id: SiteId
    granted_at: datetime
    ended_at: datetime | None = None  # nothing that the owner made is dated later
    made_until: datetime | None = None  # nothing that is stamped later is accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A camera's present ownership."""

    camera_id: CameraId
    generation: Generation = UNGRANTED
    owner: Owner | None = None
    state: SessionState = SessionState.PENDING
    ttl: float = 0.0
    soft_for: float = 0.0
    granted_at: datetime = NEVER
    expires_at: datetime = NEVER
    not_before: datetime = NEVER  # no later grant is dated at or before this
    ended_at: datetime | None = None  # of the newest grant, as in `Grant`
    made_until: datetime | None = None

    def acquire(
        self, owner: Owner, terms: Terms, *, now: datetime, clock: ClockView, echo: datetime | None = None
    ) -> "Lease | Denied":
        """Gives the camera to `owner` if it is free or expired, and extends what is its own already.

        Nothing is given to a claim that was long on its way: its answer would come too late to be trusted.
        """
        is_own = self.belongs_to(owner)
        if not is_own and (denial := self._denial(now, clock)):
            return denial
        if not echo_fits(echo, ttl=self.ttl if is_own else terms.ttl, now=now):
            return Denied(DenialReason.BUSY)
        if is_own:
            return self._extended(terms.ttl, now)
        not_before = max(self._stamped_until(now), clock.floor, self.ended_at or NEVER)
        return replace(
            self,
            generation=Generation(self.generation + 1),
            owner=owner,
            state=SessionState.ACTIVE,
            ttl=terms.ttl,
            soft_for=terms.soft_for,
            granted_at=max(now, not_before) + TICK,
            expires_at=now + timedelta(seconds=terms.ttl),
            not_before=not_before,
            ended_at=None,
            made_until=None,
        )

    def renew(
        self, owner: Owner, generation: Generation, *, ttl: float, now: datetime, echo: datetime | None = None
    ) -> "Lease | Denied | None":
        """Extends exactly this grant; None if it is no longer the owner's. Expiry is not tested: untaken means kept.

        An owner that receives no answers echoes an old time and extends nothing: `Denied`.
        """
        if (self.owner, self.generation) != (owner, generation):
            return None
        if self.state is SessionState.TERMINATED or self.ended_at is not None:
            return None
        return self._extended(ttl, now) if echo_fits(echo, ttl=self.ttl, now=now) else Denied(DenialReason.BUSY)

    def release(
        self,
        owner: Owner,
        generation: Generation | None,
        *,
        made_until: datetime | None,
        now: datetime,
        clock: ClockView,
    ) -> "Lease | None":
        """Frees exactly this grant; `made_until` is the last moment that its owner stamped."""
        if self.owner != owner or generation not in (None, self.generation):
            return None
        stamped = now if made_until is None else made_until
        ended = self._ended(now, made_until=min(stamped, max(now, self.expires_at)))
        return ended.freed(now=now, clock=clock)

    def released_with_all(self, *, now: datetime, clock: ClockView) -> "Lease":
        """Freed by an owner whose processes are gone: whatever they stamped under this lease counts."""
        return self._ended(now, made_until=self.expires_at).freed(now=now, clock=clock)

    def withdrawn(self, now: datetime) -> "Lease":
        """With its newest grant ended, because the camera is not for its owner any more; the owner stays in the row."""
        return self._ended(now, made_until=now)

    def freed(self, *, now: datetime, clock: ClockView) -> "Lease":
        """Without an owner."""
        gone = self.state is SessionState.TERMINATED
        return replace(
            self,
            owner=None,
            state=SessionState.TERMINATED if gone else SessionState.PENDING,
            not_before=max(self._stamped_until(now), clock.floor),
        )

    def orphaned(self, *, now: datetime, clock: ClockView) -> "Lease | None":
        """Marked as expired; None if it is not, or not to be judged now."""
        if not self.takes_slot or not self.is_expired(now, clock):
            return None
        return replace(self, state=SessionState.ORPHANED)

    def belongs_to(self, owner: Owner) -> bool:
        """Whether a claim of this owner extends it; what was withdrawn would be granted anew, if there is room."""
        return self.owner == owner and self.state is not SessionState.TERMINATED and self.ended_at is None

    @property
    def takes_slot(self) -> bool:
        """Whether it counts against its owner's capacity: an orphan does not."""
        return self.state in (SessionState.ACTIVE, SessionState.PAUSED)

    def is_expired(self, now: datetime, clock: ClockView) -> bool:
        """Whether its owner is past its ttl by a clock that may be trusted to judge."""
        if self.owner is None or not clock.may_judge(now=now, ttl=self.ttl):
            return False
        return self.expires_at <= now or self._is_from_ahead(now)

    def is_open(self, now: datetime, clock: ClockView) -> bool:
        """Whether anyone may acquire it."""
        return self._denial(now, clock) is None

    def _denial(self, now: datetime, clock: ClockView) -> Denied | None:
        if self.state is SessionState.TERMINATED:
            return Denied(DenialReason.CAMERA_UNKNOWN)
        if self.owner is None:
            return None
        if not self.is_expired(now, clock):
            return Denied(DenialReason.HELD)
        is_past_soft_window = self.expires_at + timedelta(seconds=self.soft_for) <= now
        if self.ended_at is not None or self._is_from_ahead(now) or is_past_soft_window:
            return None
        return Denied(DenialReason.SOFT_WINDOW)

    def _ended(self, now: datetime, *, made_until: datetime) -> "Lease":
        """With its newest grant ended; the first end counts."""
        if self.generation == UNGRANTED or self.ended_at is not None:
            return self
        return replace(self, ended_at=max(now, self.granted_at), made_until=made_until)

    def _extended(self, ttl: float, now: datetime) -> "Lease":
        """More time; never a shorter ttl, since an owner that missed the answer still trusts the longer one."""
        paused = self.state is SessionState.PAUSED
        ttl = max(ttl, self.ttl)
        return replace(
            self,
            state=SessionState.PAUSED if paused else SessionState.ACTIVE,
            ttl=ttl,
            expires_at=now + timedelta(seconds=ttl),
            not_before=self._stamped_until(now),
        )

    def _stamped_until(self, now: datetime) -> datetime:
        """The floor for later grants: raised when the clock went back, be it a little, behind what may be stamped."""
        if self._leads(now, by=0.0):
            return max(self.not_before, self.expires_at, self.granted_at)
        return max(self.not_before, self.granted_at)

    def _is_from_ahead(self, now: datetime) -> bool:
        """Whether it expires later than any honest clock could say: the database's clock was set back."""
        return self._leads(now, by=TOLERANCE)

    def _leads(self, now: datetime, *, by: float) -> bool:
        return self.owner is not None and self.expires_at > now + timedelta(seconds=self.ttl + by)


def echo_fits(echo: datetime | None, *, ttl: float, now: datetime) -> bool:
    """Whether an owner has received an answer recently enough to be given or to keep a lease; None: it does not say."""
    return echo is None or now - timedelta(seconds=ttl) <= echo <= now + ECHO_AHEAD
