"""What holds for tenants that want nothing else."""

import pytest

from streamward.insight.batch import Limits
from streamward.insight.rules import Rules
from streamward.insight.urgency import Trigger
from streamward.settings.batch import BatchSettings


def test_without_settings_the_rules_are_those_of_s2_and_nothing_is_urgent():
    assert BatchSettings().rules == Rules()


def test_settings_become_rules():
    settings = BatchSettings(
        window_seconds=60,
        idle_timeout_seconds=20,
        max_detections=7,
        check_seconds=2,
        fast_path_confidence_threshold=0.8,
        fast_path_object_types="person, fire",
        alert_confidence_threshold=0.5,
        alert_object_types="fire",
        kept_days=2,
    )
    rules = settings.rules
    assert rules.limits == Limits(window=60, idle=20, most=7, check_every=2)
    assert rules.triggers.analyse == Trigger(confidence=0.8, labels=frozenset({"person", "fire"}))
    assert rules.triggers.alert == Trigger(confidence=0.5, labels=frozenset({"fire"}))
    assert rules.detections_kept == 172_800


def test_an_idle_time_that_would_never_count_is_refused_with_both_names():
    with pytest.raises(ValueError, match=r"BATCH_IDLE_TIMEOUT_SECONDS is longer than .*BATCH_WINDOW_SECONDS"):
        BatchSettings(window_seconds=10, idle_timeout_seconds=11)


def test_sources_of_pressure_are_listed():
    assert BatchSettings(pressure="memory, queue,").sources == ["memory", "queue"]
