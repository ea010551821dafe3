"""What commands print: tables for people, JSON for programs.

One thing is one JSON document, a listing is JSON Lines: a reader can begin before the last page is there. On a terminal
a table fits its width, long cells end in `…`; elsewhere cells are whole. What a control plane sent is printed without
control characters, whatever it is: a terminal acts on them.
"""

import contextlib
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar

T = TypeVar("T")

GAP = "  "
NARROWEST = 8  # columns of a cell that was cut
QUIET_FOR = 0.5  # seconds after which long work shows its progress


def print_json(message: Any) -> None:
    """One thing, for programs."""
    from streamward.protocol.codec import encode

    print(encode(message).decode(), flush=True)


def print_tagged(message: Any, etag: str | None) -> None:
    """One thing that can be changed, for programs: with its ETag."""
    import msgspec

    fields = {name: value for name, value in msgspec.structs.asdict(message).items() if value is not msgspec.UNSET}
    print_json({**fields, "etag": etag})


def print_lines(messages: Iterable[Any]) -> None:
    """A listing, for programs: one document to a line."""
    for message in messages:
        print_json(message)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A listing, for people."""
    print(table(headings, rows, width=screen_width()), flush=True)


def print_facts(facts: Sequence[tuple[str, object]]) -> None:
    """One thing, for people: a name and a value to a line, nothing cut."""
    broad = max(len(name) for name, _ in facts)
    for name, value in facts:
        print(f"{name:<{broad}}{GAP}{cell(value)}")
    sys.stdout.flush()


def say(sentence: str) -> None:
    """Something that is not part of the answer."""
    print(sentence, file=sys.stderr, flush=True)


def warn(sentence: str) -> None:
    """Something that somebody should mend."""
    say(f"streamward: warning: {sentence}")


def table(headings: Sequence[str], rows: Sequence[Sequence[object]], *, width: int | None) -> str:
    """Aligned columns, no wider than `width` if that is possible at all."""
    lines = [list(headings), *([cell(value) for value in row] for row in rows)]
    broad = fit([max(len(line[column]) for line in lines) for column in range(len(headings))], width)
    return "\n".join(
        GAP.join(f"{cut(text, size):<{size}}" for text, size in zip(line, broad, strict=True)).rstrip()
        for line in lines
    )


def fit(broad: list[int], width: int | None) -> list[int]:
    """How wide columns may be: the widest gives first, and the first column, which people copy, last."""
    fitted = list(broad)
    over = sum(fitted) + len(GAP) * (len(fitted) - 1) - (width or sys.maxsize)
    while over > 0:
        giving = max(range(1, len(fitted)), key=fitted.__getitem__, default=0)
        if fitted[giving] <= NARROWEST:
            giving = 0
        if fitted[giving] <= NARROWEST:
            break
        fitted[giving] -= 1
        over -= 1
    return fitted


def cut(text: str, size: int) -> str:
    """The text in so many columns."""
    return text if len(text) <= size else f"{text[: size - 1]}…"


def cell(value: object) -> str:
    """A value as people read it."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, datetime):
        return value.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, list | tuple):
        return ", ".join(map(cell, value)) or "–"
    return "".join(each if each.isprintable() else "?" for each in str(value))


def ago(then: datetime, now: datetime) -> str:
    """How long something is past, in the largest unit that tells enough."""
    seconds = max(0, int((now - then).total_seconds()))
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"


def counted(things: Iterable[T], noun: str) -> Iterator[T]:
    """The same things; a person at a terminal sees how many have come, if that takes long."""
    if not sys.stderr.isatty():
        yield from things
        return
    began, shown = time.monotonic(), False
    for count, thing in enumerate(things, start=1):
        if count % 100 == 0 and time.monotonic() - began > QUIET_FOR:
            print(f"\r{count:,} {noun}…", end="", file=sys.stderr, flush=True)
            shown = True
        yield thing
    if shown:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


@contextlib.contextmanager
def working(sentence: str) -> Iterator[None]:
    """A person at a terminal sees what is being done, until it is."""
    if not sys.stderr.isatty():
        yield
        return
    print(f"{sentence}…", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def screen_width() -> int | None:
    """The columns of the terminal; None: nobody looks, and nothing is cut."""
    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else None
