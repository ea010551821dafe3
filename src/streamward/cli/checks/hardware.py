"""The check of what could decode in the processor's place here."""

from streamward.cli.checks.finding import Finding, ok, warning
from streamward.model.video import NAL_CODECS, HardwareDecoding, VideoCodec
from streamward.settings import Settings

_CHECK = "hardware decoding"


def decoding(settings: Settings) -> Finding | None:
    """Whether the device that is asked for can be opened, or which could be; None: nothing decodes on this host."""
    try:
        from streamward.drivers.hardware import AvDevice, HardwareUnusable, known
    except ImportError:
        return None
    asked = settings.runner.hardware
    if asked is HardwareDecoding.NONE:
        usable = [kind for kind in known() if _opens(kind)]
        return ok(_CHECK, f"none is asked for; here could be used: {', '.join(usable) or 'none'}")
    try:
        for codec in NAL_CODECS:
            AvDevice(asked).opened(codec)
    except HardwareUnusable as error:
        remedy = "install the device's driver and let this user open it, or set STREAMWARD_RUNNER_HARDWARE=none"
        return warning(_CHECK, str(error), remedy)
    return ok(_CHECK, f"{asked} can be opened")


def _opens(kind: HardwareDecoding) -> bool:
    from streamward.drivers.hardware import AvDevice, HardwareUnusable

    try:
        AvDevice(kind).opened(VideoCodec.H264)
    except HardwareUnusable:
        return False
    return True
