"""Why a camera is not running: every reason that holds now, the one to act on first.

Guaranteed: the list is never empty, and `RUNNING` stands alone. Not guaranteed: that reasons read a moment apart fit
each other; the situation is read in several statements.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from streamward.leases.lease import Lease
from streamward.leases.store import BudgetView, SiteLoad
from streamward.model.camera import Camera
from streamward.model.runner import Runner
from streamward.model.status import StreamState, StreamStatus, Substate
from streamward.model.stream_error import StreamErrorCode

REPORT_WITHIN = 15.0  # seconds: three of S0-048's summaries


class ReasonCode(StrEnum):
    """A reason as programs read it."""

    DISABLED = "disabled"
    DO_NOT_PROCESS = "do-not-process"
    SOFT_WINDOW = "soft-window"  # its lease ran out, and its owner may still come back
    ORPHANED = "orphaned"  # its lease ran out, and anyone may take it
    NO_RUNNER = "no-runner"  # nobody was heard lately
    SITE_MISMATCH = "site-mismatch"  # whoever was heard serves other sites
    RUNNERS_CORDONED = "runners-cordoned"  # or draining
    NO_CAPACITY = "no-capacity"
    NOT_OWNED = "not-owned"  # free, and somebody could take it
    BUDGET_EMPTY = "budget-empty"
    NO_REPORT = "no-report"  # owned, and nothing was heard of its stream lately
    CONNECTING = "connecting"
    DISCONNECTED = "disconnected"
    STALLED = "stalled"
    AUTH_PARKED = "auth-parked"
    DEGRADED = "degraded"
    DETECTOR_UNUSABLE = "detector-unusable"
    WAITING_FOR_KEYFRAME = "waiting-for-keyframe"
    RUNNING = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One reason: the code for programs, the sentence for people."""

    code: ReasonCode
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known of a camera at `now`, by the database's clock."""

    camera: Camera
    lease: Lease | None
    runners: Sequence[Runner]
    load: SiteLoad  # of its site
    budget: BudgetView | None
    status: StreamStatus | None
    now: datetime


_SUBSTATES = {
    Substate.STALLED: Reason(code=ReasonCode.STALLED, detail="connected, but no frames arrive"),
    Substate.PARKED: Reason(
        code=ReasonCode.AUTH_PARKED, detail="its login was refused too often: change the credential or wait"
    ),
    Substate.DEGRADED: Reason(code=ReasonCode.DEGRADED, detail="its process keeps failing"),
    Substate.WAITING_FOR_KEYFRAME: Reason(
        code=ReasonCode.WAITING_FOR_KEYFRAME, detail="connected, waiting for a picture that can be decoded by itself"
    ),
}


def explain(seen: Situation) -> list[Reason]:
    """The reasons, the one to act on first."""
    if unwanted := list(_unwanted(seen.camera)):
        return unwanted
    if seen.lease is None or seen.lease.owner is None or seen.lease.expires_at <= seen.now:
        return [*_expiry(seen), _takers(seen)]
    return list(_stream(seen, seen.lease))


def _unwanted(camera: Camera) -> Iterator[Reason]:
    if not camera.enabled:
        yield Reason(code=ReasonCode.DISABLED, detail="an operator disabled it")
    if camera.do_not_process:
        yield Reason(code=ReasonCode.DO_NOT_PROCESS, detail="it is marked as not to be processed")


def _expiry(seen: Situation) -> Iterator[Reason]:
    lease = seen.lease
    if lease is None or lease.owner is None:
        return
    left = (lease.expires_at + timedelta(seconds=lease.soft_for) - seen.now).total_seconds()
    if left > 0:
        yield Reason(
            code=ReasonCode.SOFT_WINDOW,
            detail=f"runner {lease.owner.runner_id} is silent and may still come back, for {left:.0f} s more",
        )
    else:
        yield Reason(
            code=ReasonCode.ORPHANED,
            detail=f"the lease of runner {lease.owner.runner_id} ran out; the next one that asks gets it",
        )


def _takers(seen: Situation) -> Reason:
    """Why nobody takes it, or that somebody could."""
    camera = seen.camera
    alive = [runner for runner in seen.runners if runner.incarnation is not None and runner.is_healthy(seen.now)]
    ours = [runner for runner in alive if runner.tenant_id in (None, camera.tenant_id)]
    if not ours:
        return Reason(code=ReasonCode.NO_RUNNER, detail="no runner that may serve this tenant was heard lately")
    near = [runner for runner in ours if runner.site_id in (None, camera.site_id)]
    if not near:
        return Reason(code=ReasonCode.SITE_MISMATCH, detail=f"no healthy runner serves site {camera.site_id}")
    if not any(runner.takes_leases for runner in near):
        return Reason(code=ReasonCode.RUNNERS_CORDONED, detail="every healthy runner of its site is cordoned or drains")
    if seen.load.free_slots == 0:
        return Reason(code=ReasonCode.NO_CAPACITY, detail="every healthy runner of its site holds all that it may")
    return Reason(code=ReasonCode.NOT_OWNED, detail="free: a runner with room for it has yet to ask")


def _stream(seen: Situation, lease: Lease) -> Iterator[Reason]:
    """How an owned camera's stream stands."""
    status = _report(seen, lease)
    if status is not None and status.substate is not None:
        is_unseen = status.substate is Substate.DEGRADED and status.error_code is not None
        yield _unseen(status) if is_unseen else _SUBSTATES[status.substate]
        return
    if status is not None and status.state is StreamState.STREAMING:
        yield Reason(code=ReasonCode.RUNNING, detail=f"runner {status.runner_id} is streaming it")
        return
    if seen.budget is not None and seen.budget.bucket.tokens < 1.0:
        yield Reason(code=ReasonCode.BUDGET_EMPTY, detail=f"site {seen.camera.site_id} has no dial token left just now")
    yield _without_frames(status)


def _report(seen: Situation, lease: Lease) -> StreamStatus | None:
    """The owner's own newest report, unless it is too old to believe."""
    status = seen.status
    if status is None or lease.owner is None or status.runner_id != lease.owner.runner_id:
        return None
    if status.generation not in (None, lease.generation):
        return None
    if status.state is not StreamState.STREAMING:
        return status
    heard_at = status.streamed_at or status.ts
    return status if (seen.now - heard_at).total_seconds() <= REPORT_WITHIN else None


def _unseen(status: StreamStatus) -> Reason:
    detail = f"its pictures arrive, but its detector fails ({status.error_code})"
    return Reason(code=ReasonCode.DEGRADED, detail=detail)


def _without_frames(status: StreamStatus | None) -> Reason:
    if status is None:
        return Reason(code=ReasonCode.NO_REPORT, detail="its owner has not reported its stream lately")
    if status.error_code == StreamErrorCode.DETECTOR_FAILED:
        return Reason(
            code=ReasonCode.DETECTOR_UNUSABLE,
            detail=f"its detector cannot be loaded ({status.error_code}), which is tried again: the log of runner "
            f"{status.runner_id} says why, and `streamward models list` on its host what is there",
        )
    code = f" ({status.error_code})" if status.error_code else ""
    if status.state is StreamState.CONNECTING:
        return Reason(code=ReasonCode.CONNECTING, detail=f"its owner is connecting{code}")
    return Reason(code=ReasonCode.DISCONNECTED, detail=f"its owner lost the connection{code}")
