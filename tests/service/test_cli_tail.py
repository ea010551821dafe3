"""`streamward events tail` against streams that end, are cut, or are refused."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from streamward.cli.failure import CommandFailed
from streamward.cli.link import Query
from streamward.cli.refusal import ControlAway, CutShort, NotSignedIn
from streamward.cli.tail import Event, Tail

AWAY = ControlAway("http://control", ConnectionRefusedError(111, "refused"))


def an_event(number: int, *, kind: str = "detection.new") -> bytes:
    return f'id: {number}\nevent: {kind}\ndata: {{"detection_id":{number}}}\n\n'.encode()


HELLO = b"retry: 1000\n: listening\n\n"
END = b'event: end\ndata: {"reason":"token-expired"}\n\n'


class Script:
    """Streams in turn: each is parts that come, and what ends it."""

    def __init__(self, *streams: list[bytes | CommandFailed]) -> None:
        self._streams = iter(streams)
        self.asked: list[Query] = []

    def download(self, path: str, query: Query | None = None, *, silent_for: float) -> Iterator[bytes]:
        assert path == "/v1/events/stream"
        self.asked.append(query or {})
        for part in next(self._streams):
            if isinstance(part, CommandFailed):
                raise part
            yield part


def followed(script: Script, count: int, **given: Any) -> tuple[list[Event], list[str], list[float]]:
    said: list[str] = []
    rested: list[float] = []
    tail = Tail(script, {"camera_uuid": "cam-1"}, say=said.append, **given)
    return list(itertools.islice(tail.follow(rested.append), count)), said, rested


def test_events_are_told_as_they_come_and_what_is_no_event_is_not():
    events, said, _ = followed(Script([HELLO, b": alive\n\n", an_event(1)]), 1)
    assert events == [Event(1, "detection.new", {"detection_id": 1})]
    assert said == []


def test_an_event_may_come_in_pieces():
    whole = an_event(7)
    script = Script([HELLO, *(whole[place : place + 1] for place in range(len(whole)))])
    assert [each.id for each in followed(script, 1)[0]] == [7]


def test_an_end_is_followed_by_the_next_connection_after_the_last_id():
    script = Script([HELLO, an_event(4), END], [HELLO, an_event(5)])
    events, said, rested = followed(script, 2)
    assert [each.id for each in events] == [4, 5]
    assert [each["after"] for each in script.asked] == [None, 4]
    assert (said, len(rested)) == ([], 1)


@pytest.mark.parametrize("failure", [AWAY, CutShort("http://control"), CommandFailed("too busy")])
def test_what_passes_is_waited_for_longer_and_longer(failure: CommandFailed):
    script = Script([HELLO, an_event(4), failure], [failure], [failure], [HELLO, an_event(5)])
    events, said, rested = followed(script, 2)
    assert [each.id for each in events] == [4, 5]
    assert [each["after"] for each in script.asked] == [None, 4, 4, 4]
    assert len(said) == 3
    assert rested[0] <= 1.0 <= rested[1] <= 2.0 <= rested[2]


def test_half_an_event_that_was_cut_comes_again_whole():
    script = Script([HELLO, an_event(4), an_event(5)[:-1], CutShort("x")], [HELLO, an_event(5)])
    assert [each.id for each in followed(script, 2)[0]] == [4, 5]


def test_nobody_there_at_the_start_is_told_at_once():
    with pytest.raises(ControlAway):
        followed(Script([AWAY]), 1)


def test_whoever_may_not_listen_any_more_is_told():
    with pytest.raises(NotSignedIn):
        followed(Script([HELLO, an_event(1), END], [NotSignedIn("not signed in")]), 2)


def test_what_was_missed_is_said_and_not_asked_for_again():
    missed = b'event: missed\ndata: {"after":3,"next":10}\n\n'
    script = Script([HELLO, missed, END], [HELLO, an_event(10)])
    events, said, _ = followed(script, 1, after=3)
    assert said == ["events 4 to 9 are not kept any more"]
    assert [each["after"] for each in script.asked] == [3, 9]
    assert [each.id for each in events] == [10]
