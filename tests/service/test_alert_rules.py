"""The alerts are about metrics that there are, say what the specification says, and lead to a page that helps."""

from pathlib import Path

import pytest

from streamward.leases.facts import RunnerHeard
from streamward.model.ids import CameraId, RunnerId
from streamward.model.status import StreamState
from streamward.runner.manager_metrics import RunnerMetrics
from streamward.runner.manager_parts import Counts
from streamward.runner.metrics import WorkerMetrics
from streamward.vision.stream import Condition
from tests.support.alert_rules import BY_PROMETHEUS_ITSELF, metrics_in, rules
from tests.support.app import ControlUnderTest

ALERTS = {rule["alert"]: rule for rule in rules() if "alert" in rule}
PAGES = Path(__file__).resolve().parents[2]


def samples(*pages: bytes) -> set[str]:
    """The names of all samples."""
    lines = [line for page in pages for line in page.decode().splitlines() if not line.startswith("#")]
    return {line.split("{")[0].split(" ")[0] for line in lines}


async def exported() -> set[str]:
    """What control plane, Manager and Worker tell when they have something to tell."""
    control = await ControlUnderTest().with_cameras("cam-1")
    await control.runner().post("/v1/runners/register", {"runner_id": "r1"})
    control.journal.record(RunnerHeard(runner_id=RunnerId("r1")))
    runner, worker = RunnerMetrics("r1"), WorkerMetrics(runner_id="r1", shard_id="s0")
    runner.show(Counts(desired=1, owned=1, running=1, shards=1, workers=1, is_draining=False))
    seen = Condition(state=StreamState.STREAMING, substate=None, fps=5.0, last_frame_at=1.0, error_code=None)
    worker.condition(CameraId("cam-1"), seen, 2.0, dropped=0)
    worker.looked("cam-1", inference_s=0.01, e2e_s=0.02)
    page = (await control.operator().get("/metrics")).content
    return samples(page, runner.render(), worker.render())


async def test_every_metric_that_a_rule_names_is_exported_or_recorded():
    named = {name for rule in rules() for name in metrics_in(rule["expr"])}
    recorded = {rule["record"] for rule in rules() if "record" in rule}
    assert {"stream_up", "owner_changes_total", "camera:desired:max"} <= named
    assert named - recorded - BY_PROMETHEUS_ITSELF - await exported() == set()
    assert recorded <= named, "what is recorded is used"


@pytest.mark.parametrize(
    ("alert", "expression", "lasting"),
    [
        ("StreamsPending", "streams_pending_total > 0", "2m"),
        ("StreamDown", "stream_up == 0", "10s"),
        ("FramesStale", "last_frame_age_seconds > 10", None),
        ("RunnerSilent", "runner:heartbeat_age_seconds:min > 5", None),
        ("CameraVanished", "camera:desired:max == 1 unless camera:stream_up:max == 1", "30s"),
    ],
)
def test_the_golden_alerts_are_the_specifications(alert: str, expression: str, lasting: str | None):
    assert (ALERTS[alert]["expr"], ALERTS[alert].get("for")) == (expression, lasting)


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_has_a_runbook(alert: str):
    page, _, anchor = ALERTS[alert]["annotations"]["runbook"].partition("#")
    assert anchor == alert.lower()
    assert f"\n### {alert}\n" in (PAGES / page).read_text()


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ('absent(up{job="a"} == 1)', {"up"}),
        ("sum by (x) (rate(a_total[5m])) / on (x) group_left (y) b offset 10m", {"a_total", "b"}),
        ("c:d:max > 2 * clamp(e, 5, 100) unless f == 1", {"c:d:max", "e", "f"}),
    ],
)
def test_expressions_are_read_right(expression: str, named: set[str]):
    assert metrics_in(expression) == named
