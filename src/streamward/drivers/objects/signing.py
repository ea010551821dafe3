"""AWS Signature Version 4 for requests that fit into memory: values in, headers out.

The signature covers method, path, query, host, time and the digest of the body, so that nobody on the way can change
one of them, and a store that checks the digest never keeps half a body.
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from urllib.parse import quote

from streamward.model.secret import Secret

_METHOD = "AWS4-HMAC-SHA256"
_SERVICE = "s3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Who asks, and where."""

    region: str
    access_key: Secret
    secret_key: Secret

    def headers(self, request: "Request", at: datetime) -> dict[str, str]:
        """What is to be sent with a request, signed at that time (UTC)."""
        digest = sha256(request.content).hexdigest()
        instant = at.strftime("%Y%m%dT%H%M%SZ")
        scope = f"{at:%Y%m%d}/{self.region}/{_SERVICE}/aws4_request"
        signed = {"host": request.host, "x-amz-content-sha256": digest, "x-amz-date": instant}
        names = ";".join(signed)
        lines = [f"{name}:{value}\n" for name, value in signed.items()]
        path, _, query = request.target.partition("?")
        canonical = "\n".join([request.method, path, query, "".join(lines), names, digest])
        text = "\n".join([_METHOD, instant, scope, sha256(canonical.encode()).hexdigest()])
        signature = hmac.new(self._key(scope), text.encode(), sha256).hexdigest()
        credential = f"{self.access_key.reveal()}/{scope}"
        authorization = f"{_METHOD} Credential={credential}, SignedHeaders={names}, Signature={signature}"
        return {**signed, "authorization": authorization}

    def _key(self, scope: str) -> bytes:
        key = f"AWS4{self.secret_key.reveal()}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        return key


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is signed; S3 wants path and query escaped once, and the query in the order of its names."""

    method: str
    host: str  # with the port, unless it is the scheme's own
    path: str  # not escaped
    query: Mapping[str, str] = field(default_factory=dict)  # not escaped
    content: bytes = b""

    @property
    def target(self) -> str:
        """Path and query as they are signed and sent."""
        query = "&".join(
            f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in sorted(self.query.items())
        )
        return quote(self.path, safe="/~") + (f"?{query}" if query else "")
