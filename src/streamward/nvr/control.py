"""The control API of a simulated recorder: JSON over HTTP, on loopback only, for tests, drills and the curious.

    GET    /cameras                     every camera: URL, scene, codec, size, frame rate, latest running number
    GET    /truth?camera=&frame=        labels and boxes of a running number, or of a loop frame with `&loop=1`
    GET    /faults                      those that are set
    POST   /faults                      {"fault": {"kind": "mute", "after": "setup"}, "camera": "cam-1"}; null: all
    DELETE /faults[?camera=&kind=]      takes them away
    GET    /counts                      what clients did, by camera and address, with times
    POST   /counts/reset                forgets it

One request to a connection. Pages of a browser are refused (they send `Origin`): whoever asks has to be a program.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from streamward.model.errors import StreamwardError
from streamward.nvr.camera import Moment
from streamward.nvr.faults import Fault
from streamward.nvr.server import Nvr
from streamward.nvr.spec import UnknownCamera

LARGEST_HEAD = 8192  # bytes
LARGEST_BODY = 65536
PATIENCE = 5.0  # seconds for a whole request


class FaultOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault to set; camera null: for the whole recorder."""

    fault: Fault
    camera: str | None = None


class Refused(StreamwardError):
    """A request that is not carried out."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(status, why)
        self.status = status
        self.why = why

    def __str__(self) -> str:
        return self.why


class ControlApi:
    """Serves until it is stopped."""

    def __init__(self, nvr: Nvr) -> None:
        self._nvr = nvr
        self._server: asyncio.Server | None = None
        self._routes: dict[tuple[str, str], Callable[[dict[str, str], bytes], Awaitable[Any]]] = {
            ("GET", "/cameras"): self._cameras,
            ("GET", "/truth"): self._truth,
            ("GET", "/faults"): self._faults,
            ("POST", "/faults"): self._set,
            ("DELETE", "/faults"): self._clear,
            ("GET", "/counts"): self._counts,
            ("POST", "/counts/reset"): self._reset,
        }

    async def start(self, port: int = 0) -> str:
        """Listens on loopback; returns the address."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=LARGEST_HEAD)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Ends it."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(PATIENCE):
                method, target, body = await _read(reader)
            status, answer = await self._answer(method, target, body)
            content = msgspec.json.encode(answer)
            head = (
                f"HTTP/1.1 {status} {status.phrase}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
            )
            writer.write(head.encode() + content)
            async with asyncio.timeout(PATIENCE):
                await writer.drain()
        writer.close()

    async def _answer(self, method: str, target: str, body: bytes) -> tuple[HTTPStatus, Any]:
        parts = urlsplit(target)
        route = self._routes.get((method, parts.path))
        if route is None:
            return HTTPStatus.NOT_FOUND, {"error": f"{method} {parts.path} is not served here"}
        try:
            return HTTPStatus.OK, await route(dict(parse_qsl(parts.query)), body)
        except (UnknownCamera, Refused) as err:
            return getattr(err, "status", HTTPStatus.NOT_FOUND), {"error": str(err)}
        except msgspec.MsgspecError as err:
            return HTTPStatus.BAD_REQUEST, {"error": str(err)}

    async def _cameras(self, _query: dict[str, str], _body: bytes) -> list[dict[str, Any]]:
        cameras = self._nvr.recorder.cameras.values()
        return [
            {
                "camera": camera.name,
                "url": self._nvr.url(camera.name),
                "scene": camera.manner.reel.scene.number,
                "codec": camera.manner.reel.codec,
                "width": camera.manner.reel.scene.picture.width,
                "height": camera.manner.reel.scene.picture.height,
                "fps": camera.manner.fps,
                "loop": len(camera.manner.reel.units),
                "latest_frame": camera.number,
            }
            for camera in cameras
        ]

    async def _truth(self, query: dict[str, str], _body: bytes) -> dict[str, Any]:
        name, frame = query.get("camera", ""), query.get("frame", "")
        camera = self._nvr.recorder.camera(name)
        if not frame.isascii() or not frame.isdigit():
            raise Refused(HTTPStatus.BAD_REQUEST, "frame must be a number")
        if query.get("loop"):
            reel = camera.manner.reel
            return _shown(Moment(reel, int(frame) % len(reel.units)))
        moment = self._nvr.recorder.moment(name, int(frame))
        if moment is None:
            raise Refused(HTTPStatus.NOT_FOUND, f"frame {frame} is forgotten, or still to come")
        return _shown(moment)

    async def _faults(self, _query: dict[str, str], _body: bytes) -> list[FaultOrder]:
        return [FaultOrder(placed.fault, placed.camera) for placed in self._nvr.recorder.board.placed()]

    async def _set(self, query: dict[str, str], body: bytes) -> list[FaultOrder]:
        order = msgspec.json.decode(body, type=FaultOrder)
        await self._nvr.set(order.fault, camera=order.camera)
        return await self._faults(query, body)

    async def _clear(self, query: dict[str, str], body: bytes) -> list[FaultOrder]:
        await self._nvr.clear(camera=query.get("camera"), kind=query.get("kind"))
        return await self._faults(query, body)

    async def _counts(self, _query: dict[str, str], _body: bytes) -> dict[str, Any]:
        sessions = self._nvr.recorder.sessions
        now = asyncio.get_running_loop().time()
        return {
            "sessions": sessions.count(now),
            "most_sessions": sessions.most_at_once,
            "counts": self._nvr.tally.list(),
        }

    async def _reset(self, query: dict[str, str], body: bytes) -> dict[str, Any]:
        self._nvr.tally.reset()
        self._nvr.recorder.sessions.most_at_once = 0
        return await self._counts(query, body)


def _shown(moment: Moment) -> dict[str, Any]:
    scene = moment.reel.scene
    boxes = [{"label": label, "box": [box.x1, box.y1, box.x2, box.y2]} for label, box in scene.truth(moment.place)]
    return {"scene": scene.number, "loop_frame": moment.place, "objects": boxes}


async def _read(reader: asyncio.StreamReader) -> tuple[str, str, bytes]:
    """Method, target and body of a request; one that cannot be one is the end of its connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")
    words = first.split(" ")
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    size = fields.get("content-length", "0")
    is_readable = len(words) == 3 and size.isascii() and size.isdigit() and int(size) <= LARGEST_BODY
    if not is_readable or "origin" in fields:
        raise asyncio.IncompleteReadError(b"", None)
    return words[0], words[1], await reader.readexactly(int(size))
