"""An analyst that asks a language model, at any endpoint that speaks OpenAI's chat completions.

What is sent goes to the configured address and nowhere else: no redirect is followed and no proxy asked. An answer has
a deadline and a size, and counts only if it is what was asked for. The key stands in one header and in no error.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from streamward.insight.analysis import Analysis, AnalystFailed, Case, analysis
from streamward.model.secret import Secret
from streamward.protocol.chat import ChatAnswer, Verdict, question
from streamward.protocol.codec import MalformedMessage, decode, encode
from streamward.runtime import http_client
from streamward.runtime.aside import aside

PATH = "/chat/completions"
LARGEST_ANSWER = 256 * 1024  # bytes
LONGEST_PAUSE = 300.0  # seconds for which an endpoint can ask us to wait


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Who is asked, and by what we are known there."""

    url: str  # up to the version: `https://llm.example/v1`
    model: str
    key: Secret | None = None
    answer_within: float = 60.0  # seconds, for the whole of it
    tls: ssl.SSLContext | None = None  # None: the system's trust


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class ChatAnalyst:
    """One endpoint and one model of it."""

    def __init__(self, endpoint: Endpoint, *, name: str) -> None:
        self._endpoint = endpoint
        self._name = name
        self._place = urlsplit(endpoint.url).netloc.rpartition("@")[2]

    async def analyse(self, case: Case) -> Analysis:
        """Asks once; whoever wants to try again does."""
        verdict = self._verdict(await self._asked(encode(question(case, model=self._endpoint.model))))
        return analysis(
            case,
            analyst=f"{self._name}:{self._endpoint.model}",
            summary=verdict.summary,
            risk=verdict.risk,
            reasons=verdict.reasons,
        )

    async def _asked(self, body: bytes) -> _Answer:
        within = self._endpoint.answer_within
        line = http_client.connection(self._endpoint.url, tls=self._endpoint.tls, timeout=within)
        try:
            async with asyncio.timeout(within):
                return await aside("ask the analyst", lambda: self._exchange(line, body))
        except TimeoutError:
            raise self._failed(f"no answer within {within:g} s") from None
        finally:
            _cut(line)  # also ends the thread of one that nobody waits for any more

    def _exchange(self, line: HTTPConnection, body: bytes) -> _Answer | Exception:
        headers = {} if self._endpoint.key is None else http_client.bearing(self._endpoint.key.reveal())
        try:
            answer = http_client.ask(line, self._endpoint.url, "POST", PATH, headers=headers, body=body)
            content = answer.read(LARGEST_ANSWER + 1)
            if answer.length and len(content) <= LARGEST_ANSWER:
                return self._failed("its answer was cut short")
            return _Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, content)
        except TimeoutError:
            return self._failed(f"no answer within {self._endpoint.answer_within:g} s")
        except (OSError, HTTPException, ValueError) as error:  # ValueError: it was cut while TLS was reading
            return self._failed(_told(error))
        finally:
            line.close()

    def _verdict(self, answer: _Answer) -> Verdict:
        if len(answer.body) > LARGEST_ANSWER:
            raise self._failed(f"its answer is longer than {LARGEST_ANSWER} bytes")
        if answer.status != 200:
            raise self._failed(f"it answered {answer.status}", retry_in=_pause(answer.headers.get("retry-after")))
        try:
            said = decode(answer.body, ChatAnswer).choices[0].message.content
        except MalformedMessage as error:
            raise self._failed(f"its answer cannot be read: {error}") from None
        try:
            return decode((said or "").encode(), Verdict)
        except MalformedMessage as error:
            raise self._failed(f"what the model wrote is not what was asked for: {error}") from None

    def _failed(self, why: str, *, retry_in: float = 0.0) -> AnalystFailed:
        return AnalystFailed(f"{self._name} at {self._place}", why, retry_in=retry_in)


def _pause(header: str | None) -> float:
    """How long an endpoint wants to be left alone; a date, which it could also be, is not understood."""
    return min(float(header), LONGEST_PAUSE) if header is not None and header.isdecimal() else 0.0


def _told(error: Exception) -> str:
    """What went wrong on the line; a library's sentence could repeat a header."""
    return (error.strerror or type(error).__name__).lower() if isinstance(error, OSError) else type(error).__name__


def _cut(line: HTTPConnection) -> None:
    if line.sock is not None:
        with contextlib.suppress(OSError):
            line.sock.shutdown(socket.SHUT_RDWR)
