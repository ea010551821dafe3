"""Asks a runner's Workers, over loopback, for what one of their cameras shows."""

import asyncio
import contextlib
from collections.abc import Iterable
from http import HTTPStatus
from urllib.parse import urlencode

from streamward.model.secret import Secret
from streamward.runtime.local_http import HOST, Asked, Reply

WITHIN = 10.0  # seconds for one Worker
CLIP_SECONDS = "Clip-Seconds"  # headers of a clip: its length,
CLIP_LIMIT = "Clip-Limit"  # and how much of a camera is kept at most, for people
_LARGEST_HEAD = 65_536  # bytes
_NOBODY = Reply(HTTPStatus.NOT_FOUND, b'{"error": "no Worker of this runner has this camera"}')


async def footage(path: str, asked: Asked, ports: Iterable[int], secret: Secret) -> Reply:
    """The answer of the Worker that has the camera; the others know nothing of it."""
    target = f"{path}?{urlencode(asked.query)}"
    answers = await asyncio.gather(*(_asked(port, target, secret) for port in ports))
    known = [each for each in answers if each is not None and each.status != HTTPStatus.NOT_FOUND]
    return next(iter(known), _NOBODY)


async def _asked(port: int, target: str, secret: Secret) -> Reply | None:
    """None: it does not answer."""
    with contextlib.suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
        async with asyncio.timeout(WITHIN):
            reader, writer = await asyncio.open_connection(HOST, port, limit=_LARGEST_HEAD)
            try:
                writer.write(
                    f"GET {target} HTTP/1.1\r\nHost: localhost\r\n"
                    f"Authorization: Bearer {secret.reveal()}\r\n\r\n".encode()
                )
                head, _, body = (await reader.read(-1)).partition(b"\r\n\r\n")
            finally:
                writer.close()
        first, *lines = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        told = {name: fields[name.lower()] for name in (CLIP_SECONDS, CLIP_LIMIT) if name.lower() in fields}
        return Reply(int(first.split(" ")[1]), body, fields["content-type"], told)
    return None
