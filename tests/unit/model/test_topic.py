"""How a routing key reads, and which pattern gets it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.topic import Topic, matches

WORDS = st.lists(st.sampled_from(["a", "b", ""]), max_size=5)
PATTERNS = st.lists(st.sampled_from(["a", "b", "", "*", "#"]), max_size=5)


@pytest.mark.parametrize(
    ("routing_key", "kind"),
    [
        ("camera.created.t-01.site-A.cam-2", "camera.created"),
        ("detections.t-01.site-A.cam-2", "detections"),
        ("stream.status.t-01.site-A.cam-2", "stream.status"),
    ],
)
def test_a_routing_key_names_a_kind_and_a_camera(routing_key, kind):
    topic = Topic.read(routing_key)
    assert topic == Topic(kind=kind, tenant="t-01", site="site-A", camera="cam-2")
    assert topic.subject == "t-01/site-A/cam-2"


@pytest.mark.parametrize(
    ("routing_key", "tenant"),
    [("detections.t-01.site-A.cam-2", "t-01"), ("gap.t-01.r1.shard-0", "t-01"), ("a.b.c", None), ("", None)],
)
def test_a_routing_key_says_whose_message_it_is_if_it_is_one_of_ours(routing_key, tenant):
    assert Topic.tenant_in(routing_key) == tenant


@pytest.mark.parametrize(
    ("pattern", "gets", "does_not_get"),
    [
        ("a.b", ["a.b"], ["a", "a.b.c", "b.a", ""]),
        ("a.*", ["a.b", "a."], ["a", "a.b.c"]),
        ("a.#", ["a", "a.b", "a.b.c"], ["b", ""]),
        ("#", ["", "a", "a.b.c"], []),
        ("#.c", ["c", "a.c", "a.b.c"], ["", "a.c.b"]),
        ("a.#.z", ["a.z", "a.b.z", "a.z.z"], ["a", "z", "a.z.b"]),
        ("#.#", ["", "a", "a.b"], []),
        ("*", ["a"], ["", "a.b"]),
        ("", [""], ["a", "."]),
    ],
)
def test_a_star_is_one_word_and_a_hash_any_number(pattern, gets, does_not_get):
    assert all(matches(pattern, key) for key in gets)
    assert not any(matches(pattern, key) for key in does_not_get)


def by_definition(pattern: list[str], words: list[str]) -> bool:
    """The same rule, read aloud."""
    match pattern:
        case []:
            return not words
        case ["#", *rest]:
            return any(by_definition(rest, words[count:]) for count in range(len(words) + 1))
        case _:
            return bool(words) and pattern[0] in {"*", words[0]} and by_definition(pattern[1:], words[1:])


@given(pattern=PATTERNS, words=WORDS)
def test_every_pattern_is_read_by_the_definition(pattern, words):
    text, key = ".".join(pattern), ".".join(words)
    assert matches(text, key) == by_definition(text.split(".") if text else [], key.split(".") if key else [])
