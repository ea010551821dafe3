"""Why a camera is not running: every reason that holds now, the one to act on first.

Guaranteed: the list is never empty, and `RUNNING` stands alone. Not guaranteed: that reasons read a moment apart fit
each other; the situation is read in several statements.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from streamward.leases.lease import Lease
from streamward.leases.logins import LoginRecord, parked_until, settled
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
    ANSWERS_LATE = "answers-late"  # the runners that could take it receive answers too late to keep a lease
    WITHDRAWN = "withdrawn"  # it was changed or created again, and its former owner has not released it yet
    NOT_OWNED = "not-owned"  # free, and somebody could take it
    BUDGET_EMPTY = "budget-empty"
    NO_REPORT = "no-report"  # owned, and nothing was heard of its stream lately
    CONNECTING = "connecting"
    DISCONNECTED = "disconnected"
    STALLED = "stalled"
    AUTH_PARKED = "auth-parked"
    DEGRADED = "degraded"
    DETECTOR_UNUSABLE = "detector-unusable"
    CERTIFICATE_REFUSED = "certificate-refused"  # it speaks TLS, and its certificate is not accepted
    HOST_RESOURCES = "host-resources"  # its owner's host has no descriptor, port or memory left to dial it
    SOURCE_FORBIDDEN = "source-forbidden"  # its site, the installation or its owner's settings do not allow it
    UNDECODABLE = "undecodable"  # connected, and nothing of what arrives can be decoded
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
    login: LoginRecord | None = None  # of a stream that was reported as parked
    now: datetime


_SUBSTATES = {
    Substate.STALLED: Reason(code=ReasonCode.STALLED, detail="no new frames"),
    Substate.DEGRADED: Reason(code=ReasonCode.DEGRADED, detail="its process keeps failing"),
    Substate.WAITING_FOR_KEYFRAME: Reason(
        code=ReasonCode.WAITING_FOR_KEYFRAME, detail="connected: frames arrive, but no keyframe yet"
    ),
}


_CERTIFICATES = {
    StreamErrorCode.TLS_CERT_EXPIRED: "has expired or is not valid yet: renew it, or compare the clocks of camera and "
    "runner",
    StreamErrorCode.TLS_CERT_NAME_MISMATCH: "is not for the host in its URL: use the name in the certificate, or pin "
    "the certificate (`cameras set --tls-fingerprint`)",
    StreamErrorCode.TLS_CERT_UNTRUSTED: "has an issuer that is not trusted: give the site its CA (`sites set "
    "--tls-ca`) or pin the certificate (`cameras set --tls-fingerprint`)",
    StreamErrorCode.TLS_CERT_PIN_MISMATCH: "is not the pinned one: if the camera has a new certificate, pin that "
    "(`cameras set --tls-fingerprint`)",
}


def explain(seen: Situation) -> list[Reason]:
    """The reasons, the one to act on first."""
    if unwanted := list(_unwanted(seen.camera)):
        return unwanted
    if seen.lease is None or seen.lease.owner is None or seen.lease.expires_at <= seen.now:
        return [*_expiry(seen), _takers(seen)]
    if seen.lease.ended_at is not None:
        left = (seen.lease.expires_at - seen.now).total_seconds()
        detail = f"runner {seen.lease.owner.runner_id} has yet to release it; without that it is free in {left:.0f} s"
        return [Reason(code=ReasonCode.WITHDRAWN, detail=detail)]
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
    if left > 0 and lease.ended_at is None:
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
    late = [(runner.answer_delay, runner.runner_id) for runner in near if runner.takes_leases and runner.answer_delay]
    if len(late) == sum(runner.takes_leases for runner in near):
        delay, runner_id = min(late)
        detail = (
            f"runner {runner_id} receives the control plane's answers {delay:.1f} s late, too late to keep a lease: "
            "look at the network and the database, or use a policy with a longer ttl"
        )
        return Reason(code=ReasonCode.ANSWERS_LATE, detail=detail)
    return Reason(code=ReasonCode.NOT_OWNED, detail="free: a runner with room for it has yet to ask")


def _stream(seen: Situation, lease: Lease) -> Iterator[Reason]:
    """How an owned camera's stream stands."""
    status = _report(seen, lease)
    if status is not None and status.substate is Substate.PARKED:
        yield _parked(seen)
        return
    if (
        status is not None
        and status.error_code == StreamErrorCode.CORRUPT_STREAM
        and status.state is not StreamState.STREAMING
    ):
        yield Reason(
            code=ReasonCode.UNDECODABLE,
            detail=f"it sends frames, but none that can be decoded{_error(status)}{_retry(status, seen.now)}",
        )
        return
    if status is not None and status.substate is not None:
        is_impaired = status.substate is Substate.DEGRADED and status.error_code is not None
        reason = _impaired(status) if is_impaired else _SUBSTATES[status.substate]
        yield replace(reason, detail=f"{reason.detail}{_error(status)}{_retry(status, seen.now)}")
        return
    if status is not None and status.state is StreamState.STREAMING:
        yield Reason(code=ReasonCode.RUNNING, detail=f"runner {status.runner_id} is streaming it")
        return
    if seen.budget is not None and seen.budget.bucket.tokens < 1.0:
        yield Reason(code=ReasonCode.BUDGET_EMPTY, detail=f"site {seen.camera.site_id} has no dial token left just now")
    yield _without_frames(status, seen, lease)


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


def _parked(seen: Situation) -> Reason:
    """Names the login by the place and the version of the credential: user and password are never told."""
    camera = seen.camera
    login = f"its login at {camera.shown_url} (version {camera.credential_version} of the credential)"
    record = LoginRecord() if seen.login is None else settled(seen.login, seen.now.timestamp())
    if not record.is_parked:
        detail = f"{login} was refused too often, and may be tried again now: its runner asks within seconds"
        return Reason(code=ReasonCode.AUTH_PARKED, detail=detail)
    until = datetime.fromtimestamp(parked_until(record), UTC)
    refused = ", ".join(sorted({each.by.camera_id for each in record.refused}))
    detail = (
        f"{login} was refused twice, for {refused}, and is not tried until {until:%Y-%m-%d %H:%M:%S} UTC: "
        f"give the right one (`streamward cameras set {camera.camera_id} --user USER`), or, if it is right by now, "
        f"`streamward cameras retry {camera.camera_id}`"
    )
    return Reason(code=ReasonCode.AUTH_PARKED, detail=detail)


def _impaired(status: StreamStatus) -> Reason:
    is_corrupt = status.error_code == StreamErrorCode.CORRUPT_STREAM
    what = "at least half of them are corrupt" if is_corrupt else "its detector fails"
    return Reason(code=ReasonCode.DEGRADED, detail=f"its frames arrive, but {what}")


def _error(status: StreamStatus) -> str:
    """The code, and the runner's sentence to it."""
    code = f" ({status.error_code})" if status.error_code else ""
    return f"{code}: {status.error_detail}" if status.error_detail else code


def _retry(status: StreamStatus, now: datetime) -> str:
    if status.retry_at is None or status.retry_at <= now:
        return ""
    return f"; the next try is at {status.retry_at.astimezone(UTC):%H:%M:%S} UTC"


def _without_frames(status: StreamStatus | None, seen: Situation, lease: Lease) -> Reason:
    if status is None:
        return Reason(code=ReasonCode.NO_REPORT, detail="its owner has not reported its stream lately")
    why = f"{_error(status)}{_retry(status, seen.now)}"
    runner = f"runner {status.runner_id}"
    if status.error_code == StreamErrorCode.DETECTOR_FAILED:
        return Reason(
            code=ReasonCode.DETECTOR_UNUSABLE,
            detail=f"its detector cannot be loaded{why}; `streamward models list` on the host of {runner} lists what "
            "is there",
        )
    if status.error_code == StreamErrorCode.HOST_RESOURCES:
        return Reason(
            code=ReasonCode.HOST_RESOURCES,
            detail=f"the host of {runner} has no descriptor, port or memory left to dial it{why}; the limit of open "
            "files is LimitNOFILE or `ulimit -n`",
        )
    if status.error_code == StreamErrorCode.SOURCE_NOT_PERMITTED:
        return Reason(
            code=ReasonCode.SOURCE_FORBIDDEN,
            detail=f"the settings of {runner} do not permit its kind of source, its address or its folder{why}; see "
            "STREAMWARD_RUNNER_SOURCE_* on its host",
        )
    if status.error_code == StreamErrorCode.URL_FORBIDDEN:
        return Reason(
            code=ReasonCode.SOURCE_FORBIDDEN,
            detail="its source is not opened, because its site or the installation does not allow its kind or "
            f"address, the camera redirects, or its file may not be read{why}",
        )
    if status.error_code in _CERTIFICATES:
        what = f"its certificate {_CERTIFICATES[StreamErrorCode(status.error_code)]}"
        return Reason(code=ReasonCode.CERTIFICATE_REFUSED, detail=f"{what}{why}")
    if status.state is StreamState.CONNECTING:
        before = f", after the last try failed{_error(status)}" if status.error_code else ""
        return Reason(code=ReasonCode.CONNECTING, detail=f"{runner} is connecting{before}")
    has_run = status.streamed_generation == lease.generation
    return Reason(
        code=ReasonCode.DISCONNECTED, detail=f"{runner} {'lost the connection' if has_run else 'cannot connect'}{why}"
    )
