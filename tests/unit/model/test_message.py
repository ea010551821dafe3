"""Messages: what an event becomes, and what no bus can take."""

from dataclasses import replace

import pytest

from streamward.model.message import MOST_BYTES, Event, of_event, unfit
from tests.support.builders import START

EVENT = Event(event_id="e-1", source="/worker", at=START, body=b"{}")
MESSAGE = of_event(EVENT, exchange="detections.topic", routing_key="detections.t-01.site-A.cam-2")


def test_an_event_becomes_a_message_with_its_attributes():
    assert (MESSAGE.message_id, MESSAGE.kind, MESSAGE.at, MESSAGE.body) == ("e-1", "detections", START, b"{}")
    assert MESSAGE.headers == {
        "cloudEvents_specversion": "1.0",
        "cloudEvents_id": "e-1",
        "cloudEvents_source": "/worker",
        "cloudEvents_type": "detections",
        "cloudEvents_subject": "t-01/site-A/cam-2",
        "cloudEvents_time": "2026-01-01T00:00:00Z",
    }
    assert unfit(MESSAGE) is None


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"routing_key": "k" * 256}, "a name in it is longer than 255 bytes"),
        ({"message_id": "é" * 128}, "a name in it is longer than 255 bytes"),
        ({"headers": {"n" * 256: ""}}, "a name in it is longer than 255 bytes"),
        ({"exchange": ""}, "it has no exchange or no id"),
        ({"message_id": ""}, "it has no exchange or no id"),
        ({"body": b"x" * (MOST_BYTES + 1)}, "its body is longer than 262144 bytes"),
        ({"expires_in": 0.0}, "it expires before anybody can get it"),
    ],
)
def test_what_no_bus_can_take_is_told_why(changes, why):
    assert unfit(replace(MESSAGE, **changes)) == why
    assert unfit(replace(MESSAGE, body=b"x" * MOST_BYTES, expires_in=10.0)) is None
