"""A lease: who may process a camera, until when, in which generation.

              acquire                     the keeper marks it
    PENDING ───────────→ ACTIVE ──────────────────────────→ ORPHANED
       ↑ ←──── release ─────┘ ←──────── renew, acquire ────────┘ │
       └──────────────── reclaim (pressure, operator) ───────────┘
    PAUSED: granted, but its pipeline did not start (S4-08).  TERMINATED: the camera is gone.

The store decides; this module is the rule that every store follows, statement by statement. All instants are the
database's.

Guaranteed, whatever clocks do: generations of a camera rise by exactly one and never repeat, also over release,
deletion and re-creation; the instants of its grants strictly rise; a renewal or release takes effect only for the
exact (camera, generation, incarnation) that it names; a grant is dated after every moment that an owner before it may
have stamped (`not_before`).
Guaranteed while clocks run within ±5 %: a camera is granted anew only when its former owner no longer trusts its lease.
Not guaranteed: that an owner past its lease has stopped. It may be frozen in the middle of a step; what it makes then
is refused by `leases.fence`.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from streamward.leases.clock_guard import TOLERANCE, ClockView
from streamward.leases.policy import Terms, stamp_lead
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId

NEVER = datetime.fromtimestamp(0, UTC)
UNGRANTED = Generation(0)
TICK = timedelta(microseconds=1)


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
    SessionState.TERMINATED: frozenset({SessionState.PENDING}),
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
    granted_at: datetime


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

    def acquire(self, owner: Owner, terms: Terms, *, now: datetime, clock: ClockView) -> "Lease | Denied":
        """Gives the camera to `owner` if it is free, expired, or its own already."""
        if self.owner == owner and self.state is not SessionState.TERMINATED:
            return self._extended(terms.ttl, now)
        if denial := self._denial(now, clock):
            return denial
        not_before = self._stamped_until(now)
        return replace(
            self,
            generation=Generation(self.generation + 1),
            owner=owner,
            state=SessionState.ACTIVE,
            ttl=terms.ttl,
            soft_for=terms.soft_for,
            granted_at=max(now, not_before + TICK),
            expires_at=now + timedelta(seconds=terms.ttl),
            not_before=not_before,
        )

    def renew(self, owner: Owner, generation: Generation, *, ttl: float, now: datetime) -> "Lease | None":
        """Extends exactly this grant; None if it is no longer the owner's. Expiry is not tested: untaken means kept."""
        if (self.owner, self.generation) != (owner, generation) or self.state is SessionState.TERMINATED:
            return None
        return self._extended(ttl, now)

    def release(
        self, owner: Owner, generation: Generation | None, *, made_until: datetime | None, now: datetime
    ) -> "Lease | None":
        """Frees exactly this grant; `made_until` is the last moment that its owner stamped."""
        if self.owner != owner or generation not in (None, self.generation):
            return None
        latest = made_until if made_until is not None else now + timedelta(seconds=stamp_lead(self.ttl))
        return self.freed(now=now, not_before=min(latest, self.expires_at))

    def freed(self, *, now: datetime, not_before: datetime) -> "Lease":
        """Without an owner; nothing granted later is dated at or before `not_before`."""
        gone = self.state is SessionState.TERMINATED
        return replace(
            self,
            owner=None,
            state=SessionState.TERMINATED if gone else SessionState.PENDING,
            not_before=max(self._stamped_until(now), not_before),
        )

    def orphaned(self, *, now: datetime, clock: ClockView) -> "Lease | None":
        """Marked as expired; None if it is not, or not to be judged now."""
        if not self.takes_slot or not self.is_expired(now, clock):
            return None
        return replace(self, state=SessionState.ORPHANED)

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
        if self._is_from_ahead(now) or self.expires_at + timedelta(seconds=self.soft_for) <= now:
            return None
        return Denied(DenialReason.SOFT_WINDOW)

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
