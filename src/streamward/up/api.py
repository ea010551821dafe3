"""The control plane of a fleet as its starter sees it: short calls with a token of its own."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeVar

from streamward.model.errors import StreamwardError
from streamward.protocol.codec import decode, encode, problem_in
from streamward.protocol.problem import Problem
from streamward.runtime import http_client

TIMEOUT = 30.0  # seconds: a busy machine is no failure

T = TypeVar("T")


class FurnishRefused(StreamwardError):
    """The control plane does not take what a fleet needs."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what, why)
        self.what = what
        self.why = why

    def __str__(self) -> str:
        return f"the control plane refuses {self.what}: {self.why}"


class Api:
    """Calls to one control plane."""

    def __init__(self, url: str, *, bearer: Callable[[], str]) -> None:
        self.url = url
        self._bearer = bearer

    def get(self, path: str, kind: type[T]) -> T:
        """Reads something that is there."""
        return self._body("GET", path, None, kind)

    def find(self, path: str, kind: type[T]) -> T | None:
        """Reads something that may not be there."""
        raw = self._call("GET", path, None)
        if raw.status == HTTPStatus.NOT_FOUND:
            return None
        return decode(self._accepted(raw, path).body, kind)

    def post(self, path: str, message: object, kind: type[T]) -> T:
        """Does something."""
        return self._body("POST", path, message, kind)

    def patch(self, path: str, message: object, kind: type[T]) -> T:
        """Changes something, whatever its state."""
        return self._body("PATCH", path, message, kind)

    def asks(self, path: str, message: object) -> bool:
        """Whether something would be done for who asks openly."""
        return self._call("POST", path, message, headers={}).status < HTTPStatus.BAD_REQUEST

    def _body(self, method: str, path: str, message: Any, kind: type[T]) -> T:
        return decode(self._accepted(self._call(method, path, message), path).body, kind)

    def _accepted(self, raw: http_client.Raw, path: str) -> http_client.Raw:
        if raw.status >= HTTPStatus.BAD_REQUEST:
            problem: Problem | None = problem_in(raw.kind, raw.body)
            raise FurnishRefused(path, f"status {raw.status}" if problem is None else problem.detail)
        return raw

    def _call(
        self, method: str, path: str, message: object, *, headers: dict[str, str] | None = None
    ) -> http_client.Raw:
        sent = http_client.bearing(self._bearer()) if headers is None else headers
        if method == "PATCH":
            sent = {**sent, "If-Match": "*"}
        line = http_client.connection(self.url, tls=None, timeout=TIMEOUT)
        try:
            body = None if message is None else encode(message)
            return http_client.read(http_client.ask(line, self.url, method, path, headers=sent, body=body))
        finally:
            line.close()
