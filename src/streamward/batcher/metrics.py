"""A batcher's metrics: counters from the journal's facts, gauges as they stand at each scrape."""

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector, generate_latest

from streamward.batcher import facts
from streamward.batcher.analysis_facts import AnalysisPostponed, BatchAnalysed, BatchGivenUp
from streamward.batcher.batcher import Batcher
from streamward.insight.batch import CloseReason
from streamward.insight.pressure import Pressure
from streamward.runtime.service import TickFailed

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_OUTCOMES = ("new", "late", "known", "refused")


class BatcherMetrics:
    """What Prometheus scrapes."""

    def __init__(self) -> None:
        self._registry = every = CollectorRegistry()
        self._detections = Counter("detections", "Detections by what became of them", ("outcome",), registry=every)
        self._zone_events = Counter("zone_events", "Zone events by what became of them", ("outcome",), registry=every)
        self._unusable = Counter("messages_set_aside", "Messages that nobody can read", registry=every)
        self._missing = Counter("detections_missing", "Events that gave way in full spools", registry=every)
        self._closed = Counter("batches_closed", "Batches that were written down", ("reason",), registry=every)
        self._told = Counter("batches_told", "Batches that the analysis queue took", registry=every)
        self._again = Counter("detections_added_again", "Found in no batch long after they came", registry=every)
        self._dropped = Counter("broadcasts_dropped", "Left out while the database was away", registry=every)
        self._analysed = Counter("batches_analysed", "Batches that something was said of", registry=every)
        self._postponed = Counter("analyses_postponed", "Analyses that failed and are tried again", registry=every)
        self._given_up = Counter("batches_given_up", "Batches that nobody could analyse", registry=every)
        self._failures = Counter("service_failures", "Ticks that failed", ("service",), registry=every)
        self._in_hand = Gauge("batches_in_hand", "Sealed and not written down yet", registry=every)
        self._pressure = Gauge("intake_paused", "1 while nothing is taken in", registry=every)
        self._held = Gauge("analysis_held", "1 while the analysis queue is nearly full", registry=every)
        self._ready = Gauge("batcher_ready", "1 while everything does its work", registry=every)
        self._plain: dict[type, Counter] = {
            facts.MessageSetAside: self._unusable,
            facts.DetectionsMissing: self._missing,
            facts.BatchTold: self._told,
            facts.DetectionsAddedAgain: self._again,
            facts.BroadcastsDropped: self._dropped,
            BatchAnalysed: self._analysed,
            AnalysisPostponed: self._postponed,
            BatchGivenUp: self._given_up,
        }
        for outcome in _OUTCOMES:  # shown as 0 before the first: an alert can tell 0 from absent
            self._detections.labels(outcome)
            self._zone_events.labels(outcome)
        for reason in CloseReason:
            self._closed.labels(reason)
        ProcessCollector(registry=every)

    def note(self, fact: object) -> None:
        """The journal sink that counts."""
        match fact:
            case facts.DetectionsStored():
                _count(self._detections, fact)
            case facts.ZoneEventsStored():
                _count(self._zone_events, fact)
            case facts.BatchClosed(reason=reason):
                self._closed.labels(reason).inc()
            case TickFailed(service=service, times=times):
                self._failures.labels(service).inc(times)
            case _ if (counter := self._plain.get(type(fact))) is not None:
                counter.inc(getattr(fact, "count", 1))

    def render(self, batcher: Batcher) -> bytes:
        """Everything as text."""
        self._in_hand.set(len(batcher.in_hand))
        self._pressure.set(batcher.valve.level is Pressure.CRITICAL)
        self._held.set(batcher.relay.is_held)
        self._ready.set(batcher.is_ready)
        return generate_latest(self._registry)


def _count(counter: Counter, fact: facts.DetectionsStored | facts.ZoneEventsStored) -> None:
    for outcome in _OUTCOMES:
        counter.labels(outcome).inc(getattr(fact, outcome))
