"""Tells when the first batch of detections closes: what was seen has come the whole way."""

import http.client
import re
from collections.abc import Callable, Iterator
from datetime import datetime

from streamward.model.errors import StreamwardError
from streamward.runtime import http_client
from streamward.runtime.clock import SystemClock

_LEFT_OUT = 4  # asks out of five that look at nothing
_CLOSED = re.compile(r"^batches_closed_total\{.*\} (\S+)$", re.MULTILINE)
_TIMEOUT = 5.0  # seconds


class FirstBatch:
    """Asked again and again."""

    def __init__(self, look: Callable[[], float], *, since_start: Callable[[datetime], float]) -> None:
        self._look = look
        self._since = since_start
        self._is_told = False
        self._asked = 0

    def news(self) -> Iterator[str]:
        """What there is to tell now."""
        self._asked += 1
        if self._is_told or self._asked % (_LEFT_OUT + 1):
            return
        if self._look() > 0:
            self._is_told = True
            age = self._since(SystemClock().wall())
            yield f"the first batch of detections closed and waits to be analysed, {age:.0f} s after the start"


def closed_at(url: str) -> Callable[[], float]:
    """Reads how many batches a batcher has closed, from its metrics; none, while it does not answer."""

    def look() -> float:
        try:
            line = http_client.connection(url, tls=None, timeout=_TIMEOUT)
            try:
                raw = http_client.read(http_client.ask(line, url, "GET", "", headers={}, body=None))
            finally:
                line.close()
        except (OSError, http.client.HTTPException, StreamwardError):
            return 0.0
        return sum(map(float, _CLOSED.findall(raw.body.decode())))

    return look
