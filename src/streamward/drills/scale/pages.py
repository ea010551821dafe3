"""Metrics as Prometheus reads them: counters, and how long calls took, between two looks.

A histogram says of each call only between which bounds it took; what lies between them is taken for evenly spread, as
Prometheus does it.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

LATENCY = "http_request_duration_seconds_bucket"
STATEMENTS = "database_statements_total"
EXPIRED = "leases_orphaned_total"
GRANTED = "owner_changes_total"
_SAMPLE = re.compile(r"(?P<name>[A-Za-z_:][A-Za-z0-9_:]*)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')

Buckets = dict[float, float]  # how many calls took no longer, by seconds


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of a page."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Calls:
    """How often a route was called, and how long that took; seconds."""

    route: str
    count: int
    p50: float
    p99: float


def samples(page: str) -> list[Sample]:
    """Everything on a page."""
    found = (_SAMPLE.fullmatch(line) for line in page.splitlines())
    return [
        Sample(each["name"], dict(_LABEL.findall(each["labels"] or "")), float(each["value"]))
        for each in found
        if each is not None
    ]


def total(page: Iterable[Sample], name: str) -> float:
    """A counter, over all its labels."""
    return sum(each.value for each in page if each.name == name)


def cameras(pages: Iterable[Iterable[Sample]], name: str) -> set[str]:
    """The cameras of which these pages tell such a metric."""
    return {each.labels["camera_uuid"] for page in pages for each in page if each.name == name}


def calls(before: Iterable[Sample], after: Iterable[Sample]) -> list[Calls]:
    """What was called between two looks, the most frequent first."""
    earlier = _by_route(before)
    found = [_spread(route, buckets, earlier.get(route, {})) for route, buckets in _by_route(after).items()]
    return sorted((each for each in found if each.count), key=lambda each: (-each.count, each.route))


def _by_route(page: Iterable[Sample]) -> dict[str, Buckets]:
    """Over all answers, whatever they said."""
    found: dict[str, Buckets] = {}
    for each in page:
        if each.name == LATENCY:
            buckets, bound = found.setdefault(each.labels["route"], {}), float(each.labels["le"])
            buckets[bound] = buckets.get(bound, 0.0) + each.value
    return found


def _spread(route: str, buckets: Buckets, earlier: Buckets) -> Calls:
    fresh = {bound: count - earlier.get(bound, 0.0) for bound, count in buckets.items()}
    return Calls(route, int(max(fresh.values())), quantile(fresh, 0.5), quantile(fresh, 0.99))


def quantile(buckets: Buckets, share: float) -> float:
    """The time within which that share of the calls was answered."""
    count = max(buckets.values(), default=0.0)
    for low, high in pairwise([0.0, *sorted(buckets)]):
        if buckets[high] >= share * count > 0:
            below = buckets.get(low, 0.0)
            inside = (share * count - below) / (buckets[high] - below)
            return low if math.isinf(high) else round(low + (high - low) * inside, 5)
    return 0.0
