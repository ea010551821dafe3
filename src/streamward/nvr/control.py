"""The control API of a simulated recorder: JSON over HTTP, on loopback only, for tests, drills and the curious.

    GET    /cameras                     every camera: URL, scene, codec, size, frame rate, latest running number
    GET    /truth?camera=&frame=        labels and boxes of a running number, or of a loop frame with `&loop=1`;
                                        of a file of somebody's nobody knows any: `is_known` is false
    GET    /sent?camera=[&since=]       the newest pictures from a running number on, and when each was taken
    GET    /faults                      those that are set
    POST   /faults                      {"fault": {"kind": "mute", "after": "setup"}, "camera": "cam-1"}; null: all
    DELETE /faults[?camera=&kind=]      takes them away
    GET    /sessions                    those that take up room: camera, and the client's address and port
    GET    /counts                      what clients did, by camera and address, with times
    POST   /counts/reset                forgets it

`runtime/local_http.py` carries it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import msgspec

from streamward.nvr.camera import Moment
from streamward.nvr.faults import Fault
from streamward.nvr.server import Nvr
from streamward.nvr.spec import UnknownCamera
from streamward.protocol.codec import MalformedMessage, decode
from streamward.runtime.local_http import HOST, Asked, LocalApi, Refused, Reply, Route

MOST_DIGITS = 18  # of a frame number


class FaultOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault to set; camera null: for the whole recorder."""

    fault: Fault
    camera: str | None = None


class ControlApi:
    """Serves until it is stopped."""

    def __init__(self, nvr: Nvr) -> None:
        self._nvr = nvr
        self._http = LocalApi({
            ("GET", "/cameras"): _told(self._cameras),
            ("GET", "/truth"): _told(self._truth),
            ("GET", "/sent"): _told(self._sent),
            ("GET", "/faults"): _told(self._faults),
            ("POST", "/faults"): _told(self._set),
            ("DELETE", "/faults"): _told(self._clear),
            ("GET", "/sessions"): _told(self._sessions),
            ("GET", "/counts"): _told(self._counts),
            ("POST", "/counts/reset"): _told(self._reset),
        })

    async def start(self, port: int = 0) -> str:
        """Listens on loopback; returns the address."""
        return f"http://{HOST}:{await self._http.start(port)}"

    async def stop(self) -> None:
        """Ends it."""
        await self._http.stop()

    async def _cameras(self, _asked: Asked) -> list[dict[str, Any]]:
        cameras = self._nvr.recorder.cameras.values()
        return [
            {
                "camera": camera.name,
                "url": self._nvr.url(camera.name),
                "scene": camera.manner.reel.scene.number if camera.manner.reel.scene else None,
                "codec": camera.manner.reel.codec,
                "width": camera.manner.reel.size.width,
                "height": camera.manner.reel.size.height,
                "fps": camera.manner.fps,
                "loop": len(camera.manner.reel.units),
                "latest_frame": camera.number,
            }
            for camera in cameras
        ]

    async def _truth(self, asked: Asked) -> dict[str, Any]:
        name, frame = asked.query.get("camera", ""), _number(asked, "frame")
        camera = self._nvr.recorder.camera(name)
        if asked.query.get("loop"):
            reel = camera.manner.reel
            return _shown(Moment(reel, frame % len(reel.units)))
        moment = self._nvr.recorder.moment(name, frame)
        if moment is None:
            raise Refused(HTTPStatus.NOT_FOUND, f"frame {frame} is forgotten, or still to come")
        return _shown(moment)

    async def _sent(self, asked: Asked) -> list[dict[str, Any]]:
        since = _number(asked, "since") if "since" in asked.query else 0
        return [
            {
                "frame": number,
                "scene": moment.reel.scene.number if moment.reel.scene else None,
                "loop_frame": moment.place,
                "sent_at": sent_at,
            }
            for number, moment, sent_at in self._nvr.recorder.camera(asked.query.get("camera", "")).sent(since=since)
        ]

    async def _faults(self, _asked: Asked) -> list[FaultOrder]:
        return [FaultOrder(placed.fault, placed.camera) for placed in self._nvr.recorder.board.placed()]

    async def _set(self, asked: Asked) -> list[FaultOrder]:
        order = decode(asked.body, FaultOrder)
        await self._nvr.set(order.fault, camera=order.camera)
        return await self._faults(asked)

    async def _clear(self, asked: Asked) -> list[FaultOrder]:
        await self._nvr.clear(camera=asked.query.get("camera"), kind=asked.query.get("kind"))
        return await self._faults(asked)

    async def _sessions(self, _asked: Asked) -> list[dict[str, Any]]:
        now = asyncio.get_running_loop().time()
        return [{"camera": each.camera, "client": each.client} for each in self._nvr.recorder.sessions.list(now)]

    async def _counts(self, _asked: Asked) -> dict[str, Any]:
        sessions = self._nvr.recorder.sessions
        now = asyncio.get_running_loop().time()
        return {
            "sessions": sessions.count(now),
            "most_sessions": sessions.most_at_once,
            "counts": self._nvr.tally.list(),
        }

    async def _reset(self, asked: Asked) -> dict[str, Any]:
        self._nvr.tally.reset()
        self._nvr.recorder.sessions.most_at_once = 0
        return await self._counts(asked)


def _number(asked: Asked, name: str) -> int:
    """A number in the query."""
    text = asked.query.get(name, "")
    if not text.isascii() or not text.isdigit() or len(text) > MOST_DIGITS:
        raise Refused(HTTPStatus.BAD_REQUEST, f"{name} must be a number")
    return int(text)


def _told(tell: Callable[[Asked], Awaitable[Any]]) -> Route:
    """A route whose answer is JSON."""

    async def answer(asked: Asked) -> Reply:
        try:
            return Reply(HTTPStatus.OK, msgspec.json.encode(await tell(asked)))
        except UnknownCamera as err:
            raise Refused(HTTPStatus.NOT_FOUND, str(err)) from err
        except MalformedMessage as err:
            raise Refused(HTTPStatus.BAD_REQUEST, str(err)) from err

    return Route(answer)


def _shown(moment: Moment) -> dict[str, Any]:
    scene = moment.reel.scene
    if scene is None:
        return {"scene": None, "loop_frame": moment.place, "is_known": False, "objects": None}
    boxes = [{"label": label, "box": [box.x1, box.y1, box.x2, box.y2]} for label, box in scene.truth(moment.place)]
    return {"scene": scene.number, "loop_frame": moment.place, "is_known": True, "objects": boxes}
