"""A file or a device of this host, read with PyAV in a thread of its own and heard like a camera on the network.

A file is played at its own pace and begins anew when it ends; a device gives what it gives. H.264 and H.265 are handed
on as they are; anything else is encoded anew, which costs a good part of a processor: devices mostly give raw pictures
or JPEG.

Guaranteed: only that file or device is opened, whatever is written in it (no playlists, no URLs), and a file only if it
is below one of the folders, symbolic links resolved, also if one of them is replaced meanwhile; the thread ends when
told, at the latest with the next packet. Not guaranteed: that a device which gives nothing at all can be let go of.
"""

import asyncio
import contextlib
import errno
import os
import stat
import threading
from collections.abc import Callable, Collection, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
from av.bitstream import BitStreamFilterContext
from av.error import FFmpegError

from streamward.model.source_url import SourceKind, SourceUrl
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.model.video import VideoCodec
from streamward.runtime.clock import Clock
from streamward.vision.camera import CameraListener
from streamward.vision.lane import ArrivedUnit

OPEN_WITHIN = 7.5  # seconds until the first picture
LETS_GO_WITHIN = 1.0  # seconds for the thread to end
NEXT_LOOK = 0.01  # seconds until a device that had nothing is asked again
LATE = 1.0  # seconds behind after which a file goes on from now
KEYFRAME_EVERY = 25  # pictures, when they are encoded here

_CODECS = {"h264": VideoCodec.H264, "hevc": VideoCodec.H265}
_FILTERS = {VideoCodec.H264: "h264_mp4toannexb", VideoCodec.H265: "hevc_mp4toannexb"}
_CONTAINERS = "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,ogg,h264,hevc,mjpeg,m4v,asf,gif"
_FILE = {"protocol_whitelist": "file", "format_whitelist": _CONTAINERS}
_DEVICES = ("/dev",)  # also behind the links in /dev/v4l
_DEVICE = {"fflags": "nonblock"}
_FAULTS = {
    errno.ENOENT: StreamFailure(code=StreamErrorCode.RTSP_NOT_FOUND, detail="there is no such file or device"),
    errno.EISDIR: StreamFailure(code=StreamErrorCode.RTSP_NOT_FOUND, detail="this is a folder"),
    errno.ENODEV: StreamFailure(code=StreamErrorCode.RTSP_NOT_FOUND, detail="there is no such device"),
    errno.EACCES: StreamFailure(code=StreamErrorCode.URL_FORBIDDEN, detail="the file or device may not be read"),
    errno.EPERM: StreamFailure(code=StreamErrorCode.URL_FORBIDDEN, detail="the file or device may not be read"),
    errno.EBUSY: StreamFailure(code=StreamErrorCode.CAMERA_FULL, detail="somebody else uses the device"),
}
_NOT_PERMITTED = StreamFailure(
    code=StreamErrorCode.SOURCE_NOT_PERMITTED,
    detail="the settings of this runner do not permit files there: see STREAMWARD_RUNNER_SOURCE_FOLDERS",
)
_UNREADABLE = StreamFailure(code=StreamErrorCode.CORRUPT_STREAM, detail="what is in the file or device cannot be read")
_SLOW = StreamFailure(code=StreamErrorCode.TCP_TIMEOUT, detail="the file or device showed nothing in time")
_OVER = StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="the reading was ended")
_NO_PICTURES = StreamFailure(code=StreamErrorCode.CODEC_UNSUPPORTED, detail="there are no pictures in it")


async def watch(
    url: SourceUrl, listener: CameraListener, *, clock: Clock, folders: Collection[str] = ()
) -> StreamFailure:
    """Reads a device, or a file below one of the folders, until it fails; cancelled, it ends its thread first."""
    line = _Line(listener)
    reading = _Reading(url, line, clock, folders=folders)
    threading.Thread(target=line.carry, args=(reading.run,), name=f"read {url.kind}", daemon=True).start()
    either: list[asyncio.Future[Any]] = [line.played, line.ended]
    try:
        async with asyncio.timeout(OPEN_WITHIN):
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return await asyncio.shield(line.ended)
    except TimeoutError:
        return _SLOW
    finally:
        reading.is_over.set()
        await asyncio.wait([line.ended], timeout=LETS_GO_WITHIN)


class _NothingToShow(Exception):
    """Ends the reading."""

    def __init__(self, failure: StreamFailure) -> None:
        super().__init__(failure)
        self.failure = failure


class _Line:
    """Carries what the thread has to say over to the event loop."""

    def __init__(self, listener: CameraListener) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self.played: asyncio.Future[None] = self._loop.create_future()
        self.ended: asyncio.Future[StreamFailure] = self._loop.create_future()

    def carry(self, run: Callable[[], StreamFailure]) -> None:
        """In the thread: runs, and tells of the end whatever it is."""
        failure = _UNREADABLE
        try:
            failure = run()
        finally:
            self._say(self.ended.set_result, failure)

    def playing(self, codec: VideoCodec) -> None:
        self._say(self._playing, codec)

    def unit(self, unit: ArrivedUnit) -> None:
        self._say(self._listener.unit, unit)

    def _playing(self, codec: VideoCodec) -> None:
        self._listener.playing(codec)
        if not self.played.done():
            self.played.set_result(None)

    def _say(self, heard: Callable[..., None], what: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(heard, what)


class _Reading:
    """What the thread does."""

    def __init__(self, url: SourceUrl, line: _Line, clock: Clock, *, folders: Collection[str]) -> None:
        self.is_over = threading.Event()
        self._url = url
        self._folders = folders if url.kind is SourceKind.FILE else _DEVICES
        self._line = line
        self._clock = clock
        self._codec: VideoCodec | None = None  # that was told

    def run(self) -> StreamFailure:
        """Plays it, over and over if it is a file."""
        try:
            while not self.is_over.is_set():
                with self._opened() as container:
                    self._play(container)
        except _NothingToShow as nothing:
            return nothing.failure
        except OSError as error:  # FFmpeg's are, too
            return _FAULTS.get(error.errno or 0, _UNREADABLE)
        except (FFmpegError, ValueError):
            return _UNREADABLE
        return _OVER

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        """What is in the file or device; raises what the system says.

        The path is judged before anything is opened, so that an answer does not tell what exists elsewhere, and what
        was opened once more: a link may have been replaced in between. A pipe, say, would never let go of the thread.
        """
        path, is_device = self._url.path, self._url.kind is SourceKind.DEVICE
        if not _is_below(os.path.realpath(path), self._folders):
            raise _NothingToShow(_NOT_PERMITTED)
        with open(path, "rb", buffering=0, opener=_without_waiting) as file:
            if not _is_below(str(Path(f"/proc/self/fd/{file.fileno()}").readlink()), self._folders):
                raise _NothingToShow(_NOT_PERMITTED)
            mode = os.fstat(file.fileno()).st_mode
            if not (stat.S_ISCHR(mode) if is_device else stat.S_ISREG(mode)):
                raise _NothingToShow(_FAULTS[errno.ENOENT])
            if is_device:
                file.close()  # FFmpeg opens it itself, and most devices have room for one reader
            with av.open(path, format="v4l2", options=_DEVICE) if is_device else av.open(file, options=_FILE) as opened:
                yield opened

    def _play(self, container: Any) -> None:
        """Once from its beginning to its end."""
        if not container.streams.video:
            raise _NothingToShow(_NO_PICTURES)
        stream = container.streams.video[0]
        cutter = _cutter(stream)
        pace = _Pace(stream, self._clock) if self._url.kind is SourceKind.FILE else None
        shown = 0
        for packet in self._packets(container, stream):
            if pace is not None and self.is_over.wait(pace.rest(packet)):
                break
            for cut in cutter.cut(packet):
                self._show(cutter.codec, cut)
                shown += 1
        if not shown and not self.is_over.is_set():
            raise _NothingToShow(_UNREADABLE)  # again and again, it would keep a processor busy

    def _packets(self, container: Any, stream: Any) -> Iterator[Any]:
        """What is in it, while nobody says that it is over; a device may have nothing just now."""
        packets = container.demux(stream)
        while not self.is_over.is_set():
            try:
                packet = next(packets, None)
            except av.error.BlockingIOError:
                self.is_over.wait(NEXT_LOOK)
                packets = container.demux(stream)
                continue
            if packet is None:
                return
            yield packet

    def _show(self, codec: VideoCodec, cut: Any) -> None:
        if self.is_over.is_set():
            return
        if codec is not self._codec:
            self._codec = codec
            self._line.playing(codec)
        shown_at = None if cut.pts is None or cut.time_base is None else float(cut.pts * cut.time_base)
        self._line.unit(
            ArrivedUnit(
                content=bytes(cut), is_keyframe=cut.is_keyframe, arrived_at=self._clock.boot(), shown_at=shown_at
            )
        )


class _Pace:
    """When each packet of a file is due, by its own timestamps."""

    def __init__(self, stream: Any, clock: Clock) -> None:
        self._tick = float(stream.time_base or 0)
        self._period = 1 / float(stream.average_rate or 25)
        self._clock = clock
        self._began = clock.boot()
        self._first: int | None = None
        self._due = self._began

    def rest(self, packet: Any) -> float:
        """Seconds until a packet is due; what has no timestamp comes a picture after the one before."""
        now = self._clock.boot()
        if packet.dts is None:
            self._due += self._period
        else:
            self._first = packet.dts if self._first is None else self._first
            self._due = self._began + (packet.dts - self._first) * self._tick
        if now - self._due > LATE:
            self._began += now - self._due
            self._due = now
        return max(0.0, self._due - now)


class _Passing:
    """Hands pictures on as they are, in Annex B form."""

    def __init__(self, stream: Any, codec: VideoCodec) -> None:
        self.codec = codec
        self._filter = BitStreamFilterContext(_FILTERS[codec], stream)

    def cut(self, packet: Any) -> Iterator[Any]:
        yield from self._filter.filter(packet if packet.size else None)


class _Encoding:
    """Decodes pictures of any kind and encodes them as H.264."""

    codec = VideoCodec.H264

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._encoder: av.VideoCodecContext | None = None
        self._count = 0

    def cut(self, packet: Any) -> Iterator[Any]:
        for frame in self._stream.decode(packet):
            width, height = frame.width // 2 * 2, frame.height // 2 * 2
            picture = frame.reformat(width=width, height=height, format="yuv420p")
            picture.pts, picture.pict_type = self._count, av.video.frame.PictureType.NONE
            self._count += 1
            yield from self._encoder_for(width, height).encode(picture)

    def _encoder_for(self, width: int, height: int) -> av.VideoCodecContext:
        encoder = self._encoder
        if encoder is None or (encoder.width, encoder.height) != (width, height):
            encoder = av.CodecContext.create("libx264", "w")
            assert isinstance(encoder, av.VideoCodecContext)
            encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuv420p"
            encoder.time_base, encoder.thread_count = Fraction(1, 25), 1
            encoder.gop_size, encoder.max_b_frames = KEYFRAME_EVERY, 0
            encoder.options = {"preset": "ultrafast", "tune": "zerolatency", "x264-params": "repeat-headers=1"}
            self._encoder, self._count = encoder, 0
        return encoder


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _is_below(path: str, folders: Collection[str]) -> bool:
    return any(path.startswith(os.path.realpath(each).rstrip("/") + "/") for each in folders)


def _cutter(stream: Any) -> _Passing | _Encoding:
    codec = _CODECS.get(stream.codec_context.name)
    return _Encoding(stream) if codec is None else _Passing(stream, codec)
