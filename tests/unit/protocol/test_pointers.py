"""What is published in the place of an event that is too large."""

from streamward.protocol.events import DetectionEvent
from streamward.protocol.pointers import DetectionPointer, is_whole, pointer, stored
from tests.support.builders import an_event


def test_a_pointer_says_all_of_the_event_but_what_was_seen():
    told = pointer(an_event(), stored(b"body", key="k", url="file:///k"))
    missing = set(DetectionEvent.__struct_fields__) - set(DetectionPointer.__struct_fields__)
    assert missing == {"detections", "latency", "zone_events"}
    for name in set(DetectionEvent.__struct_fields__) - missing:
        assert getattr(told, name) == getattr(an_event(), name)
    assert (told.type, told.object.bytes, told.object.key) == ("pointer", 4, "k")


def test_what_lies_there_is_known_by_its_length_and_digest():
    place = stored(b"body", key="k", url="file:///k")
    assert is_whole(place, b"body")
    assert not is_whole(place, b"bodY")
    assert not is_whole(place, b"bod")
