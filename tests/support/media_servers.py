"""RTSP servers that we did not write, as private processes on loopback: go2rtc and GStreamer's."""

import contextlib
import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from streamward.model.video import NAL_CODECS, VideoCodec
from streamward.nvr.drawing import Canvas
from streamward.nvr.scene import Picture, make_scene
from tests.support.ports import free_port

_SYSTEM_PYTHON = "/usr/bin/python3"
_HAS_GSTREAMER = 'import gi; gi.require_version("GstRtspServer", "1.0"); from gi.repository import GstRtspServer'
_ENCODERS = {VideoCodec.H264: "libx264", VideoCodec.H265: "libx265"}
PICTURE = Picture(width=320, height=192, fps=10, loop=20)


class Go2rtc:
    """One go2rtc; started again it has the same port."""

    def __init__(self, program: str, folder: Path, streams: Mapping[str, str | None]) -> None:
        self.port = free_port()
        self._program = program
        self._config = folder / "go2rtc.yaml"
        settings = {
            "api": {"listen": f"127.0.0.1:{free_port()}"},
            "rtsp": {"listen": f"127.0.0.1:{self.port}"},
            "webrtc": {"listen": ""},
            "srtp": {"listen": ""},
            "streams": dict(streams),
        }
        self._config.write_text(json.dumps(settings))  # which is YAML, too
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = _run(self._program, "-c", str(self._config))
        _wait_for(self.port, self._process)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def url(self, name: str) -> str:
        return f"rtsp://127.0.0.1:{self.port}/{name}"


def go2rtc_program() -> str:
    """Where it is, or the test is skipped."""
    beside = Path(sys.executable).parent / "go2rtc"
    program = str(beside) if beside.exists() else shutil.which("go2rtc")
    if program is None:
        pytest.skip("go2rtc is not installed: scripts/media_servers builds it")
    return program


@contextlib.contextmanager
def go2rtc(folder: Path, streams: Mapping[str, str | None]) -> Iterator[Go2rtc]:
    """Serving these streams: names and where each comes from; None: from whoever publishes it."""
    server = Go2rtc(go2rtc_program(), folder, streams)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextlib.contextmanager
def gstreamer(folder: Path, *, method: str = "none") -> Iterator[str]:
    """Serving /h264 and /h265, twenty seconds each, and what else its script says; its URL without a path."""
    found = Path(_SYSTEM_PYTHON).exists() and subprocess.run(
        [_SYSTEM_PYTHON, "-c", _HAS_GSTREAMER], capture_output=True, check=False, timeout=60
    )
    if not found or found.returncode:
        pytest.skip("GStreamer's RTSP server is not installed: scripts/media_servers does it")
    for codec in NAL_CODECS:
        a_clip(folder / f"{codec}.mkv", codec, seconds=20)
    port = free_port()
    script = Path(__file__).with_name("gstreamer_server.py")
    process = _run(_SYSTEM_PYTHON, str(script), str(port), method, str(folder))
    try:
        _wait_for(port, process)
        yield f"rtsp://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def a_clip(path: Path, codec: VideoCodec, *, seconds: int) -> Path:
    """A scene in a container, with a keyframe each second."""
    with av.open(str(path), "w") as container:
        write(container, codec, range(seconds * PICTURE.fps))
    return path


def write(container: Any, codec: VideoCodec, numbers: Iterator[int] | range) -> None:
    """Encodes pictures into a container or to a server, one for each number."""
    canvas = Canvas(make_scene(1, PICTURE))
    options = {"preset": "ultrafast", "tune": "zerolatency", "x265-params": "log-level=none"}
    if codec is VideoCodec.H264:
        del options["x265-params"]
    stream = container.add_stream(_ENCODERS[codec], rate=Fraction(PICTURE.fps), options=options)
    stream.width, stream.height, stream.pix_fmt = PICTURE.width, PICTURE.height, "yuv420p"
    stream.codec_context.gop_size = PICTURE.fps
    for number in numbers:
        frame = av.VideoFrame.from_ndarray(canvas.draw(number % PICTURE.loop), format="rgb24")
        frame.pts, frame.time_base = number, Fraction(1, PICTURE.fps)
        container.mux(stream.encode(frame))
    container.mux(stream.encode(None))


def _run(*command: str) -> subprocess.Popen[bytes]:
    """Ended by the kernel should this process die."""
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until it takes connections."""
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise RuntimeError(f"it ended with {process.wait(timeout=0.05)}")
