"""Log lines: JSON in production, one readable line in development; facts become lines here and nowhere else.

Every JSON line has S0-074's fields in S0's spelling, null where they say nothing; whatever else a line carries follows
them. `event` is the fact's name in small words (`LeaseGranted` → `lease.granted`), or the logger's name for a free
line. Stacks stand in logs only, and user info in any URL is blacked out before a line leaves the process.
"""

import logging
import re
import traceback
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TextIO

import msgspec

from streamward.model.errors import StreamwardError

FIELDS = (
    "ts",
    "level",
    "runner_id",
    "shard_id",
    "site_id",
    "tenant_id",
    "camera_uuid",
    "event",
    "msg",
    "error_code",
    "stack",
    "duration_ms",
)

_LEVELS = {logging.WARNING: "warn"}  # S0's word; the others are Python's in small letters
_SPELLINGS = {"camera_id": "camera_uuid"}
_FACTS = logging.getLogger("streamward.facts")
_WORD = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z][a-z0-9]*")
_LONGEST_CAUSE = 200  # characters of a library's words
_USER_INFO = re.compile(r"(?<=://)[^/?#\s]*@")
# What logging itself puts on a record; the rest came by `extra`.
_OWN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "fact"}


class LogForm(StrEnum):
    """How lines look."""

    JSON = "json"
    TEXT = "text"  # for a terminal


def form_for(out: TextIO, wanted: str = "auto") -> LogForm:
    """The form that is wanted; `auto` is readable where a person reads, and JSON where a program does."""
    if wanted != "auto":
        return LogForm(wanted)
    return LogForm.TEXT if out.isatty() else LogForm.JSON


def configure(form: LogForm, *, level: str = "INFO", context: Mapping[str, str] | None = None, out: TextIO) -> None:
    """Sends every line of this process to `out`; `context` is on all of them (`runner_id`, `shard_id`)."""
    handler = logging.StreamHandler(out)
    handler.setFormatter(JsonFormatter(context) if form is LogForm.JSON else TextFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def log_fact(fact: object) -> None:
    """The journal sink that writes each fact as one line.

    A fact that carries an error is logged as one, and a class with `is_warning` as a warning.
    """
    level = logging.WARNING if getattr(fact, "is_warning", False) else logging.INFO
    if isinstance(getattr(fact, "error", None), BaseException):
        level = logging.ERROR
    if _FACTS.isEnabledFor(level):
        event = event_name(type(fact))
        _FACTS.log(level, event.replace(".", " "), extra={"fact": {"event": event, **_values(fact)}})


def event_name(kind: type) -> str:
    """A fact's class in small words: `LeaseGranted` is `lease.granted`."""
    return ".".join(_WORD.findall(kind.__name__)).lower()


def error_code(error: BaseException) -> str:
    """An error's class as programs read it: `StoreUnavailable` is `STORE_UNAVAILABLE`."""
    return "_".join(_WORD.findall(type(error).__name__)).upper()


def entry(record: logging.LogRecord) -> dict[str, Any]:
    """What a record says, in S0's names and order; nothing is left out."""
    said: dict[str, Any] = dict.fromkeys(FIELDS)
    said["ts"] = _instant(record.created)
    said["level"] = _LEVELS.get(record.levelno, record.levelname.lower())
    said["event"] = record.name
    said["msg"] = record.getMessage()
    if record.exc_info and record.exc_info[1] is not None:
        said |= _failure(record.exc_info[1])
    said |= {key: value for key, value in vars(record).items() if key not in _OWN_ATTRIBUTES}
    said |= getattr(record, "fact", {})
    return said


class JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def __init__(self, context: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._context = dict(context or {})

    def format(self, record: logging.LogRecord) -> str:
        said = entry(record)
        said |= {key: value for key, value in self._context.items() if said.get(key) is None}
        return msgspec.json.encode(_redacted(msgspec.to_builtins(said, enc_hook=str))).decode()


class TextFormatter(logging.Formatter):
    """One line for people, and the stack below it."""

    def format(self, record: logging.LogRecord) -> str:
        said = entry(record)
        head = f"{said.pop('ts')[11:23]} {said.pop('level'):5} {said.pop('event')}"
        message, stack = said.pop("msg"), said.pop("stack")
        if not hasattr(record, "fact"):
            head += f": {message}"  # a fact's message repeats its event
        values = [f"{key}={value}" for key, value in said.items() if value is not None]
        return _USER_INFO.sub("***@", " ".join([head, *values]) + (f"\n{stack}" if stack else ""))


def _values(fact: Any) -> dict[str, Any]:
    """A fact's fields in S0's spelling; an error becomes its code and its stack."""
    values = {_SPELLINGS.get(field.name, field.name): getattr(fact, field.name) for field in fields(fact)}
    error = values.pop("error", None)
    return values | (_failure(error) if isinstance(error, BaseException) else {})


def _failure(error: BaseException) -> dict[str, str]:
    """An error of ours is a sentence that names what to mend; its stack is logged at the level `debug` only."""
    if isinstance(error, StreamwardError) and not _FACTS.isEnabledFor(logging.DEBUG):
        return {"error_code": error_code(error), "error": _sentence(error)}
    return {"error_code": error_code(error), "stack": "".join(traceback.format_exception(error)).rstrip()}


def _sentence(error: BaseException) -> str:
    """What it says, and the first line of the error of a library that it comes from."""
    cause = error.__cause__
    if cause is None or isinstance(cause, StreamwardError):
        return str(error)
    first = next(iter(str(cause).splitlines()), "")[:_LONGEST_CAUSE]
    return f"{error} ({type(cause).__name__}{': ' if first else ''}{first})"


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _redacted(value: Any) -> Any:
    """The same value without user info in any of its URLs; done before encoding, so that the line stays JSON."""
    match value:
        case str():
            return _USER_INFO.sub("***@", value) if "@" in value else value
        case dict():
            return {key: _redacted(each) for key, each in value.items()}
        case list():
            return [_redacted(each) for each in value]
        case _:
            return value
