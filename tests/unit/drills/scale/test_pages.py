"""Metrics as Prometheus reads them."""

import math

import pytest

from streamward.drills.scale.pages import Calls, Sample, calls, cameras, quantile, samples, total

PAGE = """# HELP owner_changes_total Cameras that got a new owner.
# TYPE owner_changes_total counter
owner_changes_total 3.0
reclaims_total{kind="soft"} 1.0
reclaims_total{kind="hard"} 2.0
camera_desired{camera_uuid="cam-1"} 1.0
camera_desired{camera_uuid="cam \\"2\\", so"} 0.0
http_request_duration_seconds_bucket{le="+Inf",route="/v1/wait",status="200"} 1.0
"""


def call(route: str, status: str, **counts: float) -> list[Sample]:
    bounds = {"fast": "0.1", "slow": "1.0", "all": "+Inf"}
    name = "http_request_duration_seconds_bucket"
    return [
        Sample(name, {"route": route, "status": status, "le": bounds[bound]}, count) for bound, count in counts.items()
    ]


def test_a_page_is_read_whole():
    page = samples(PAGE)
    assert Sample("owner_changes_total", {}, 3.0) in page
    assert total(page, "reclaims_total") == 3.0
    assert cameras([page], "camera_desired") == {"cam-1", 'cam \\"2\\", so'}
    assert page[-1].labels["le"] == "+Inf"


def test_calls_are_those_between_two_looks_whatever_they_were_answered():
    before = call("/a", "200", fast=10, slow=10, all=10)
    after = [*call("/a", "200", fast=60, slow=110, all=110), *call("/a", "409", fast=0, slow=0, all=0)]
    idle = call("/b", "200", fast=5, slow=5, all=5)
    assert calls([*before, *idle], [*after, *idle]) == [Calls("/a", 100, 0.1, 0.982)]


def test_the_most_frequent_call_comes_first():
    page = [*call("/rare", "200", fast=1, slow=1, all=1), *call("/often", "200", fast=9, slow=9, all=9)]
    assert [each.route for each in calls([], page)] == ["/often", "/rare"]


@pytest.mark.parametrize(
    ("buckets", "share", "took"),
    [
        ({}, 0.99, 0.0),
        ({0.1: 0.0, math.inf: 0.0}, 0.99, 0.0),
        ({0.1: 10.0, math.inf: 10.0}, 0.5, 0.05),
        ({0.1: 0.0, 1.0: 10.0, math.inf: 10.0}, 0.5, 0.55),
        ({0.1: 0.0, 1.0: 0.0, math.inf: 10.0}, 0.5, 1.0),  # beyond what is told apart
    ],
)
def test_what_lies_between_two_bounds_is_evenly_spread(buckets, share, took):
    assert quantile(buckets, share) == pytest.approx(took)
