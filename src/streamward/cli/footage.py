"""`streamward cameras clip` and `snapshot`: what a camera showed just now, from a runner of this host."""

import http.client
import json
import sys
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import typer

from streamward.cli.failure import CommandFailed, ExitCode

WITHIN = 20.0  # seconds
_MUCH_SHORTER = 0.5  # seconds that are worth a word
_SILENT = 0  # where others have a status
_NOT_THERE = {HTTPStatus.NOT_FOUND, HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, _SILENT}  # another may have it

CameraUuid = Annotated[str, typer.Argument(metavar="CAMERA", help="The camera's id.")]
File = Annotated[Path | None, typer.Argument(metavar="FILE", help="Where to write it; - is standard output.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="The same as an option.")]


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    body: bytes
    headers: dict[str, str]  # by their names in small letters


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
    file: File = None,
    *,
    seconds: Annotated[float, typer.Option(min=0.1, max=600, help="How many of the last seconds.")] = 30.0,
    out: Out = None,
) -> None:
    """Save the last seconds of a camera as MP4, as it sent them.

    It begins with a keyframe, so it may be longer by some seconds; it is shorter if the runner keeps less.
    """
    out = _named(file, out)
    saved = _save(camera, f"/clip?{urlencode({'camera': camera, 'seconds': seconds})}", out)
    length = saved.headers.get("clip-seconds")
    _report(out, saved.body, "" if length is None else f"{length} s, ")
    if length is not None and float(length) < seconds - _MUCH_SHORTER:
        from streamward.cli import output

        limit = saved.headers.get("clip-limit", "unknown")
        output.say(f"shorter than {seconds:g} s: all that its runner has of it; it keeps at most {limit} of a camera")


def snapshot(
    camera: CameraUuid,
    file: File = None,
    *,
    boxes: Annotated[bool, typer.Option(help="Draw boxes around what was seen in it.")] = True,
    out: Out = None,
) -> None:
    """Save what a camera shows as JPEG: the picture that was last looked at, or without boxes the newest."""
    out = _named(file, out)
    saved = _save(camera, f"/snapshot?{urlencode({'camera': camera, 'boxes': int(boxes)})}", out)
    _report(out, saved.body, "")


def _named(file: Path | None, out: Path | None) -> Path:
    """The file to write, which is named once."""
    named = file or out
    if named is None or (file is not None and out is not None):
        raise typer.BadParameter("name the file to write once: as FILE, or with --out", param_hint="FILE")
    return named


def _save(camera: str, target: str, out: Path) -> _Answer:
    from streamward.runtime import local_door
    from streamward.settings import load

    heard: set[int] = set()
    for door in local_door.found(load().data):
        answer = _asked(door.port, target, door.secret.reveal())
        if answer.status == HTTPStatus.OK:
            _write(out, answer.body)
            return answer
        if answer.status not in _NOT_THERE:
            raise CommandFailed(f"camera {camera} cannot be shown: {_told(answer.body)}")
        heard.add(answer.status)
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


def _asked(port: int, target: str, secret: str) -> _Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WITHIN)
    try:
        connection.request("GET", target, headers={"Authorization": f"Bearer {secret}"})
        answer = connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return _Answer(answer.status, answer.read(), headers)
    except (OSError, http.client.HTTPException):
        return _Answer(_SILENT, b"", {})
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


def _report(out: Path, body: bytes, length: str) -> None:
    if str(out) != "-":
        print(f"{out}: {length}{len(body):,} bytes")
