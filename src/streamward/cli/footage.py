"""`streamward cameras clip` and `snapshot`: what a camera showed just now, from a runner of this host."""

import http.client
import json
import sys
from http import HTTPStatus
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from streamward.cli.failure import CommandFailed, ExitCode

WITHIN = 20.0  # seconds
_SILENT = 0  # where others have a status
_NOT_THERE = {HTTPStatus.NOT_FOUND, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, _SILENT}  # another may have it

CameraUuid = Annotated[str, typer.Argument(metavar="CAMERA", help="The camera's id.")]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where to write it; - is standard output.")]


class NotShown(CommandFailed):
    """No runner of this host has anything of a camera."""

    exit_code = ExitCode.NOT_FOUND

    def __init__(self, camera: str, why: str) -> None:
        super().__init__(
            f"camera {camera} cannot be shown here: {why}. Only a runner of this host is asked: set STREAMWARD_DATA to "
            f"its data folder; `streamward cameras why {camera}` tells which runner has it"
        )


def clip(
    camera: CameraUuid,
    *,
    seconds: Annotated[float, typer.Option(min=0.1, max=600, help="How many of the last seconds.")] = 30.0,
    out: Out,
) -> None:
    """Save the last seconds of a camera as MP4, as it sent them."""
    _save(camera, f"/clip?{urlencode({'camera': camera, 'seconds': seconds})}", out)


def snapshot(
    camera: CameraUuid,
    *,
    boxes: Annotated[bool, typer.Option(help="Draw boxes around what was seen in it.")] = True,
    out: Out,
) -> None:
    """Save what a camera shows as JPEG: the picture that was last looked at, or without boxes the newest."""
    _save(camera, f"/snapshot?{urlencode({'camera': camera, 'boxes': int(boxes)})}", out)


def _save(camera: str, target: str, out: Path) -> None:
    from streamward.runtime import local_door
    from streamward.settings import load

    heard: set[int] = set()
    for door in local_door.found(load().data):
        status, body = _asked(door.port, target, door.secret.reveal())
        if status == HTTPStatus.OK:
            _write(out, body)
            return
        if status not in _NOT_THERE:
            raise CommandFailed(f"camera {camera} cannot be shown: {_told(body)}")
        heard.add(status)
    raise NotShown(camera, _why(heard))


def _why(heard: set[int]) -> str:
    """A door that a runner left behind may lead nowhere, or to another runner that lets nobody in: it says nothing."""
    if not heard:
        return "no runner runs on this host"
    return "its runner has nothing of it" if HTTPStatus.NOT_FOUND in heard else "its runner does not answer"


def _told(body: bytes) -> str:
    """In the runner's own words."""
    try:
        return str(json.loads(body)["error"])
    except (ValueError, TypeError, KeyError):
        return "its runner cannot say why"


def _asked(port: int, target: str, secret: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WITHIN)
    try:
        connection.request("GET", target, headers={"Authorization": f"Bearer {secret}"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return _SILENT, b""
    finally:
        connection.close()


def _write(out: Path, body: bytes) -> None:
    if str(out) == "-":
        sys.stdout.buffer.write(body)
        return
    try:
        out.write_bytes(body)
    except OSError as err:
        raise CommandFailed(f"cannot write {out}: {(err.strerror or str(err)).lower()}") from None
    print(f"{out}: {len(body):,} bytes")
