"""Cameras behind a restreamer."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.secret import Secret
from streamward.model.source_url import Credential, parse
from streamward.vision.restreams import (
    ForgetStream,
    NameStream,
    Restream,
    Standing,
    can_be_restreamed,
    judge,
    plan,
    restream,
)

HERE = ip_address("192.0.2.7")
ADA = Credential(user=Secret("ada"), password=Secret("a@b:/#{input}"))


def a_restream(name: str, source: str = "rtsp://192.0.2.7:554/1") -> Restream:
    return Restream(name=name, source=Secret(source), remote="192.0.2.7:554")


def test_a_camera_is_told_by_its_address_with_its_login_escaped():
    told = restream("front", parse("rtsp://door.example:8554/live?channel=1").url, ADA, address=HERE)
    assert told.source.reveal() == (
        "rtsp://ada:a%40b%3A%2F%23%7Binput%7D@192.0.2.7:8554/live?channel=1#backchannel=0#media=video"
    )
    assert told.remote == "192.0.2.7:8554"
    assert "a%40b" not in repr(told)


def test_one_that_is_shut_has_no_way_to_its_camera_and_keeps_its_name():
    shut = a_restream("front").shut()
    assert (shut.name, shut.remote) == ("front", "192.0.2.7:554")
    assert "192.0.2.7" not in shut.source.reveal()


def test_one_without_login_or_port_has_the_usual_port():
    told = restream("front", parse("rtsp://door.example/1").url, None, address=ip_address("2001:db8::7"))
    assert told.source.reveal() == "rtsp://[2001:db8::7]:554/1#backchannel=0#media=video"


@pytest.mark.parametrize(("url", "can"), [("rtsp://192.0.2.7/1", True), ("rtsps://192.0.2.7/1", False)])
def test_only_what_needs_no_certificate_is_restreamed(url: str, can: bool):
    assert can_be_restreamed(parse(url).url) is can


def test_what_is_not_wanted_is_forgotten_before_anything_is_named():
    changed = a_restream("b", "rtsp://192.0.2.7:554/2")
    named = {"a": a_restream("a"), "b": a_restream("b"), "d": a_restream("d")}
    assert plan([changed, a_restream("c"), a_restream("d")], named) == [
        ForgetStream("a"),
        NameStream(changed),
        NameStream(a_restream("c")),
    ]


NAMED = st.dictionaries(st.sampled_from("abcde"), st.sampled_from(["rtsp://192.0.2.7/1", "rtsp://192.0.2.7/2"]))


@given(NAMED, NAMED, st.integers(min_value=0))
def test_a_plan_that_was_cut_is_completed_by_the_next(wanted: dict[str, str], named: dict[str, str], cut: int):
    goal = {name: a_restream(name, source) for name, source in wanted.items()}
    known = {name: a_restream(name, source) for name, source in named.items()}
    for length in (cut, None):
        for step in plan(goal.values(), known)[:length]:
            match step:
                case ForgetStream(name):
                    known.pop(name, None)
                case NameStream(told):
                    known[told.name] = told
    assert known == goal
    assert plan(goal.values(), known) == []


@pytest.mark.parametrize(
    ("remotes", "standing"),
    [
        ([], Standing.WAITING),
        (["192.0.2.7:554"], Standing.CONNECTED),
        (["192.0.2.8:554"], Standing.ASTRAY),
        (["192.0.2.7:554", "192.0.2.9:554"], Standing.CONNECTED),
        (["192.0.2.7:554", "192.0.2.7:555"], Standing.ASTRAY),
    ],
)
def test_where_it_is_connected_to_tells_how_it_is(remotes: list[str], standing: Standing):
    assert judge(["192.0.2.7:554", "192.0.2.9:554"], remotes) is standing
