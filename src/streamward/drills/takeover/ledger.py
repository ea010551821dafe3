"""What a consumer heard of the cameras in a takeover drill, and what the fence says of every detection.

    detection ─→ fence, by the grants that were read after it came ─→ live, late or refused
    status    ─→ when a camera was first told to stream under a generation

A detection is stored under the moment that the fence gives it. In the end all is held against the whole history of
grants, so a sink that judged by grants of a moment ago would be found out. Instants are boot-time, or else dates.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from streamward.leases import fence
from streamward.leases.fence import StampedRecord, Verdict
from streamward.leases.lease import Grant, Owner
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.status import StreamState
from streamward.protocol.events import DetectionEvent
from streamward.protocol.streams import StreamReport


@dataclass(frozen=True, slots=True)
class Term:
    """A camera in one generation."""

    camera_id: CameraId
    generation: Generation

    @property
    def next(self) -> "Term":
        return Term(self.camera_id, Generation(self.generation + 1))


@dataclass(slots=True)
class Ledger:
    """Everything that was heard."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    repeated: int = 0  # detections that the bus brought again
    streaming: dict[Term, float] = field(default_factory=dict)  # first told so
    detected: dict[Term, float] = field(default_factory=dict)  # first detection that counted as live
    _grants: dict[CameraId, dict[Generation, Grant]] = field(default_factory=dict)
    _live: dict[Term, list[datetime]] = field(default_factory=dict)
    _accepted: dict[Term, list[datetime]] = field(default_factory=dict)
    _ids: set[str] = field(default_factory=set)
    _judged: dict[Term, Counter[Verdict]] = field(default_factory=dict)

    def granted(self, grants: Iterable[Grant]) -> None:
        """These are known of now."""
        for grant in grants:
            self._grants.setdefault(grant.camera_id, {})[grant.generation] = grant

    def grants(self, camera_id: CameraId) -> Mapping[Generation, Grant]:
        """A camera's history, as far as it is known."""
        return self._grants.get(camera_id, {})

    def heard_status(self, report: StreamReport, now: float) -> None:
        """How a stream is."""
        if report.state is StreamState.STREAMING and report.version is not None:
            term = Term(CameraId(report.camera_uuid), Generation(report.version))
            self.streaming.setdefault(term, now)

    def heard_detection(self, event: DetectionEvent, *, now: float, at: datetime) -> Verdict | None:
        """What was seen; `at` is the database's time when the grants were read. None: it came before."""
        if event.event_id in self._ids:
            self.repeated += 1
            return None
        self._ids.add(event.event_id)
        stamp = StampedRecord(
            camera_id=CameraId(event.camera_uuid),
            generation=Generation(event.generation),
            owner=Owner(RunnerId(event.runner_id), Incarnation(event.incarnation)),
            tenant_id=TenantId(event.tenant_id),
            site_id=SiteId(event.site_id),
            made_at=event.ts,
        )
        verdict = fence.admit(stamp, self.grants(stamp.camera_id), now=at)
        self.verdicts[verdict] += 1
        self._judged.setdefault(Term(stamp.camera_id, stamp.generation), Counter())[verdict] += 1
        self._store(stamp, verdict, at=at, now=now)
        return verdict

    def judged(self, terms: Iterable[Term]) -> Counter[Verdict]:
        """What the fence said of these generations."""
        return sum((self._judged.get(term, Counter()) for term in terms), Counter())

    def first_after(self, term: Term, found: Mapping[Term, float]) -> float | None:
        """When something was first heard of a later generation."""
        later = [at for each, at in found.items() if _is_later(each, term)]
        return min(later, default=None)

    def gap(self, term: Term) -> float | None:
        """Seconds without a detection between the last under a generation and the first under a later one."""
        last = max(self._accepted.get(term, ()), default=None)
        first = min((min(some) for each, some in self._accepted.items() if _is_later(each, term)), default=None)
        return None if last is None or first is None else (first - last).total_seconds()

    @property
    def stale(self) -> int:
        """Detections that counted as live though they are from after the next owner's grant."""
        return sum(
            moment >= successor.granted_at
            for term, moments in self._live.items()
            if (successor := self.grants(term.camera_id).get(term.next.generation)) is not None
            for moment in moments
        )

    @property
    def shared(self) -> int:
        """Pairs of generations of a camera whose accepted detections share a moment."""
        terms = sorted(self._accepted, key=lambda term: (term.camera_id, term.generation))
        return sum(
            max(self._accepted[earlier]) >= min(self._accepted[later])
            for earlier, later in pairwise(terms)
            if earlier.camera_id == later.camera_id
        )

    def _store(self, stamp: StampedRecord, verdict: Verdict, *, at: datetime, now: float) -> None:
        if verdict is Verdict.REFUSED:
            return
        grant = self.grants(stamp.camera_id)[stamp.generation]
        term, moment = Term(stamp.camera_id, stamp.generation), fence.dated(stamp.made_at, grant, now=at)
        self._accepted.setdefault(term, []).append(moment)
        if verdict is Verdict.LIVE:
            self._live.setdefault(term, []).append(moment)
            self.detected.setdefault(term, now)


def _is_later(term: Term, than: Term) -> bool:
    return term.camera_id == than.camera_id and term.generation > than.generation
