"""The faults of a soak: each kind in turn, one camera at a time, bounded, and cleared again."""

from dataclasses import dataclass

from streamward.model.video import VideoCodec
from streamward.nvr import faults
from streamward.nvr.faults import Fault, Step

LASTS = 7.0  # seconds: longer than it may take to be noticed
STALL_WITHIN = 5.0
FROZEN_WITHIN = 30.0
_CUT = faults.Reboot(down_for=0.1)  # whoever is connected has to dial again


@dataclass(frozen=True, slots=True)
class Trial:
    """One way to misbehave; `noticed_within` None: pictures go on, and nothing has to be told."""

    name: str
    faults: tuple[Fault, ...]
    noticed_within: float | None = STALL_WITHIN
    lasts: float = LASTS
    is_of_all: bool = False  # of the whole recorder, which is unreachable meanwhile


def _cut(name: str, fault: Fault) -> Trial:
    """What a camera that streams does not show until it is dialed again."""
    return Trial(name, (fault, _CUT))


TRIALS = (
    Trial("mute", (faults.Mute(after=Step.PLAY),)),
    Trial("recorder away", (faults.Refuse(), _CUT), is_of_all=True),
    Trial("bytes wrong", (faults.Corrupt(share=0.3),)),
    Trial("reboot", (faults.Reboot(down_for=60.0),)),
    Trial("RTCP only", (faults.RtcpOnly(),)),
    Trial("another codec", (faults.Reencode(codec=VideoCodec.H265),)),
    _cut("404", faults.Missing()),
    Trial("half-open", (faults.HalfOpen(),)),
    Trial("timestamps jump", (faults.TimestampJump(),)),
    _cut("mute after describe", faults.Mute(after=Step.DESCRIBE)),
    Trial("another size", (faults.Reencode(width=480, height=288),), noticed_within=None),
    Trial("trickle", (faults.Trickle(),)),
    _cut("453", faults.Full()),
    Trial("packets lost", (faults.Loss(share=0.1),)),
    Trial("slower", (faults.FpsChange(fps=3),), noticed_within=None),
    _cut("401", faults.LoginRefused()),
    Trial("all packets lost", (faults.Loss(share=1.0),)),
    Trial("clock off", (faults.ClockOff(),), noticed_within=None),
    _cut("redirect", faults.Redirect(to="rtsp://192.0.2.1/x")),
    Trial("lengths wrong", (faults.Corrupt(share=0.1, target="length"),)),
    Trial("faster", (faults.FpsChange(fps=40),), noticed_within=None),
    _cut("refuse", faults.Refuse()),
    Trial("half of the packets lost", (faults.Loss(share=0.5),)),
    Trial("frozen picture", (faults.Frozen(),), noticed_within=FROZEN_WITHIN, lasts=FROZEN_WITHIN + 1),
)
