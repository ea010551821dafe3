"""The doctor's check of hardware decoding; whether a device is here is the machine's business."""

from streamward.cli.checks import hardware
from streamward.cli.checks.finding import Verdict
from streamward.settings import Settings


def test_what_could_be_used_is_told_to_who_asks_for_nothing():
    finding = hardware.decoding(Settings())
    assert finding is not None
    assert (finding.verdict, finding.remedy) == (Verdict.OK, None)
    assert "here could be used" in finding.detail


def test_a_device_that_ffmpeg_does_not_know_here_is_told_with_a_remedy():
    asked = Settings.model_validate({"runner": {"hardware": "videotoolbox"}})  # of Macs only
    finding = hardware.decoding(asked)
    assert finding is not None
    assert finding.verdict is Verdict.WARNING
    assert "the processor decodes" in finding.detail
    assert "STREAMWARD_RUNNER_HARDWARE=none" in (finding.remedy or "")
