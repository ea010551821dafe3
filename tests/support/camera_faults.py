"""What a camera can do wrong, and by which code a Worker tells of it."""

from dataclasses import dataclass
from pathlib import Path

from streamward.model.stream_error import StreamErrorCode as Code
from streamward.model.video import VideoCodec
from streamward.nvr import faults
from streamward.nvr.faults import Fault, Step
from streamward.nvr.scene import Picture
from streamward.nvr.server import Nvr
from streamward.nvr.spec import Access, CameraSpec, NvrSpec
from tests.support.plants import CameraPlant, at
from tests.support.recorders import ADA, library


@dataclass(frozen=True)
class Case:
    """A fault of the simulated recorder, and what is told of it; None: nothing, for pictures go on."""

    name: str
    fault: Fault
    code: Code | None
    goes_on: bool = False  # the connection is not given up
    within: float = 5.0  # seconds in which it is to be noticed


_BEFORE_PLAY = [Step.CONNECT, Step.OPTIONS, Step.DESCRIBE, Step.SETUP]

DIALED = [  # set before the camera is dialed
    Case("refuse", faults.Refuse(), Code.TCP_REFUSED),
    *(Case(f"mute after {step}", faults.Mute(after=step), Code.TCP_TIMEOUT) for step in _BEFORE_PLAY),
    Case("mute after play", faults.Mute(after=Step.PLAY), Code.FRAME_STALL),
    Case("trickle", faults.Trickle(), Code.TCP_TIMEOUT),
    Case("trickle after describe", faults.Trickle(after=Step.DESCRIBE), Code.TCP_TIMEOUT),
    Case("half-open", faults.HalfOpen(), Code.TCP_TIMEOUT),
    Case("401 always", faults.LoginRefused(), Code.RTSP_AUTH_FAILED),
    Case("401 until the third try", faults.LoginRefusedUntil(tries=3), Code.RTSP_AUTH_FAILED),
    Case("404", faults.Missing(), Code.RTSP_NOT_FOUND),
    Case("453", faults.Full(status=453), Code.CAMERA_FULL),
    Case("503", faults.Full(status=503), Code.CAMERA_FULL),
    Case("redirect at describe", faults.Redirect(to="rtsp://192.0.2.1/x"), Code.URL_FORBIDDEN),
    Case("redirect at options", faults.Redirect(to="rtsp://192.0.2.1/x", at="options"), Code.URL_FORBIDDEN),
    Case("lockout", faults.Lockout(after=1), None),
    Case("stale nonce", faults.NonceStale(), None),
]

PLAYED = [  # set while the camera streams
    Case("refuse", faults.Refuse(), None, goes_on=True),  # who is connected stays so
    Case("mute", faults.Mute(after=Step.PLAY), Code.FRAME_STALL),
    Case("trickle", faults.Trickle(), Code.FRAME_STALL),
    Case("RTCP only", faults.RtcpOnly(), Code.FRAME_STALL),
    Case("half-open", faults.HalfOpen(), Code.FRAME_STALL),
    Case("reboot", faults.Reboot(down_for=3.0), Code.TCP_REFUSED),
    Case("frozen picture", faults.Frozen(), Code.FRAME_STALL, within=30.0),
    Case("another codec", faults.Reencode(codec=VideoCodec.H265), Code.CODEC_UNSUPPORTED),
    Case("another size", faults.Reencode(width=480, height=288), None, goes_on=True),
    Case("packets lost", faults.Loss(share=0.01), Code.CORRUPT_STREAM, goes_on=True),
    Case("half of the packets lost", faults.Loss(share=0.5), Code.CORRUPT_STREAM),
    Case("all packets lost", faults.Loss(share=1.0), Code.FRAME_STALL),
    Case("bytes wrong", faults.Corrupt(share=0.3), Code.CORRUPT_STREAM, goes_on=True),
    Case("lengths wrong", faults.Corrupt(share=0.02, target="length"), Code.CORRUPT_STREAM, goes_on=True),
    Case("timestamps jump", faults.TimestampJump(), Code.TIMESTAMP_JUMP, goes_on=True),
    Case("clock off", faults.ClockOff(), None, goes_on=True),
    Case("slower", faults.FpsChange(fps=2), None, goes_on=True),
    Case("faster", faults.FpsChange(fps=40), None, goes_on=True),
]

PICTURE = Picture(width=320, height=192, fps=10, loop=50)


def a_recorder_of(count: int) -> Nvr:
    """`cam-0` and so on, each with a login."""
    cameras = tuple(CameraSpec(name=f"cam-{number}", scene=1, picture=PICTURE) for number in range(count))
    return Nvr(NvrSpec(cameras=cameras, clips=Path(), access=Access(credential=ADA)), library=library())


def a_plant_for(nvr: Nvr) -> CameraPlant:
    """A Worker that watches all of a recorder's cameras."""
    return CameraPlant({name: at(nvr.url(name), credential=ADA) for name in nvr.recorder.cameras}, max_fps=2.0)
