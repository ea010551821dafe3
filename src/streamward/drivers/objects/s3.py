"""Objects in a bucket of anything that speaks S3: one PUT, GET or DELETE each, signed by ourselves.

A library for this is a hundred megabytes and a second at each start of a Worker; four requests are what we need. The
blocking client of the standard library works in a thread. Redirects are not followed: they would carry the signature
elsewhere.
"""

import asyncio
import re
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from xml.sax.saxutils import unescape

from streamward.drivers.objects.signing import Request, Signer
from streamward.model.ids import TenantId
from streamward.model.objects import ObjectKey, StoreAway
from streamward.model.secret import Secret

_MOST_READ = 64 * 1024 * 1024  # bytes: nothing that we put is longer
_KEY = re.compile(rb"<Key>([^<]{1,2048})</Key>")
_DELETES_AT_ONCE = 8
_CODE = re.compile(rb"<Code>([A-Za-z0-9]{1,64})</Code>")
_PLAIN_PORT, _TLS_PORT = 80, 443


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Where objects go, and who puts them there."""

    name: str
    prefix: str  # without slashes around it; empty: none
    host: str
    port: int | None  # None: the scheme's own
    region: str
    access_key: Secret
    secret_key: Secret
    trust: ssl.SSLContext | None  # None: no TLS
    answer_within: float  # seconds for each step of a request


class S3Objects:
    """A bucket, named in the path of each request as every server of S3 understands it."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._signer = Signer(region=bucket.region, access_key=bucket.access_key, secret_key=bucket.secret_key)
        self._root = f"{bucket.name}/{bucket.prefix}".strip("/")
        named = f"[{bucket.host}]" if ":" in bucket.host else bucket.host
        own = bucket.port in {None, _PLAIN_PORT if bucket.trust is None else _TLS_PORT}
        self._host = named if own else f"{named}:{bucket.port}"
        self._place = f"s3://{bucket.name} at {self._host}"

    async def put(self, key: ObjectKey, content: bytes) -> None:
        """Keeps an object; raises StoreAway."""
        status, answer = await self._ask("PUT", key, content)
        if status != 200:
            raise StoreAway(self._place, _said(status, answer))

    async def get(self, key: ObjectKey) -> bytes | None:
        """An object, or None; raises StoreAway."""
        status, answer = await self._ask("GET", key, b"")
        if status == 404 and b"<Code>NoSuchBucket" not in answer:
            return None
        if status != 200:
            raise StoreAway(self._place, _said(status, answer))
        return answer

    async def names(self, tenant_id: TenantId, *, limit: int) -> list[str]:
        """Lists what begins with the tenant's name; raises StoreAway."""
        root = f"{self._bucket.prefix}/" if self._bucket.prefix else ""
        query = {"list-type": "2", "max-keys": str(limit), "prefix": f"{root}{tenant_id}/"}
        request = Request(method="GET", host=self._host, path=f"/{self._bucket.name}", query=query)
        status, answer = await self._send(request)
        if status != 200:
            raise StoreAway(self._place, _said(status, answer))
        return [unescape(found.decode()).removeprefix(root) for found in _KEY.findall(answer)]

    async def delete(self, names: Sequence[str]) -> None:
        """Deletes objects, some at a time; raises StoreAway."""
        for start in range(0, len(names), _DELETES_AT_ONCE):
            await asyncio.gather(*map(self._delete, names[start : start + _DELETES_AT_ONCE]))

    def url(self, key: ObjectKey) -> str:
        """As the tools of S3 call it."""
        return f"s3://{self._root}/{key}"

    async def _delete(self, name: str) -> None:
        request = Request(method="DELETE", host=self._host, path=f"/{self._root}/{name}")
        status, answer = await self._send(request)
        if status not in {200, 204, 404} or b"<Code>NoSuchBucket" in answer:
            raise StoreAway(self._place, _said(status, answer))

    async def _ask(self, method: str, key: ObjectKey, content: bytes) -> tuple[int, bytes]:
        return await self._send(Request(method=method, host=self._host, path=f"/{self._root}/{key}", content=content))

    async def _send(self, request: Request) -> tuple[int, bytes]:
        try:
            return await asyncio.to_thread(self._exchange, request)
        except (OSError, HTTPException) as error:
            raise StoreAway(self._place, str(error) or type(error).__name__) from error

    def _exchange(self, request: Request) -> tuple[int, bytes]:
        connection = self._connection()
        try:
            headers = self._signer.headers(request, datetime.now(UTC))
            connection.request(request.method, request.target, request.content, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(_MOST_READ)
        finally:
            connection.close()

    def _connection(self) -> HTTPConnection:
        bucket = self._bucket
        if bucket.trust is None:
            return HTTPConnection(bucket.host, bucket.port, timeout=bucket.answer_within)
        return HTTPSConnection(bucket.host, bucket.port, timeout=bucket.answer_within, context=bucket.trust)


def _said(status: int, answer: bytes) -> str:
    """What the store said, in its own word."""
    found = _CODE.search(answer)
    return f"it answered {status} {found[1].decode() if found else ''}".strip()
