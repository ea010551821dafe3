"""One policy for everything that comes in: exactly what was declared, or refused."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.secret import Secret
from streamward.protocol.codec import (
    LONGEST_DETAIL,
    MAX_BODY,
    InvalidMessage,
    MalformedMessage,
    convert,
    decode,
    decode_query,
    encode,
    problem_in,
)
from streamward.protocol.fields import Capacity, ClearText, Id, Message, TtlSeconds


class Sample(Message, frozen=True):
    """A message as others are."""

    name: Id
    ttl: TtlSeconds = 8.0
    size: Capacity | None = None
    inner: "Sample | None" = None


class Anything(Message, frozen=True):
    """A message that takes any JSON in one field."""

    value: object = None


SAMPLE = Sample(name="a", ttl=9.0, size=3, inner=Sample(name="b"))


def test_a_field_s_name_that_could_be_a_secret_is_not_repeated():
    assert "hunter2" not in refusal('{"name":"a","rtsp://ada:`hunter2@192.0.2.7/1":""}')


def test_what_was_encoded_is_decoded():
    assert decode(encode(SAMPLE), Sample) == SAMPLE


def refusal(body: str | bytes, kind: type = Sample) -> str:
    with pytest.raises(MalformedMessage) as refused:
        decode(body.encode() if isinstance(body, str) else body, kind)
    return f"{type(refused.value).__name__}: {refused.value}"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{}", "missing required field `name`"),
        ('{"name":"a","colour":"red"}', "unknown field `colour`"),
        ('{"name":"a","rtsp://ada:hunter2@192.0.2.7/1":""}', "contains unknown field"),
        ('{"name":"a","ttl":"8"}', "Expected `float`, got `str`"),
        ('{"name":"a","ttl":0}', ">= 2.0"),
        ('{"name":"a","ttl":-1}', ">= 2.0"),
        ('{"name":"a","ttl":1e9}', "<= 600.0"),
        ('{"name":"a","size":true}', "got `bool`"),
        ('{"name":"a","size":1.5}', "got `float`"),
        ('{"name":"a.b"}', "of 1 to 64 letters, digits, '_' or '-' (a UUID in lower case) - at `$.name`"),
        ('{"name":"a","inner":{"name":"*"}}', "at `$.inner.name`"),
        ("[]", "Expected `object`, got `array`"),
        ('{"name":"a","name":"b"}', "a field is given twice"),
        ('{"name":"a","inner":{"name":"b","ttl":8,"ttl":9}}', "a field is given twice"),
    ],
)
def test_json_that_is_not_the_message_is_invalid(body, said):
    assert refusal(body).startswith("InvalidMessage: ")
    assert said in refusal(body)


@pytest.mark.parametrize(
    "body", ["", "{", '{"name":"a"', '{"name":"a"} x', '{"name":"a","ttl":NaN}', '{"name":"a","ttl":Infinity}', "nil"]
)
def test_what_is_not_json_is_malformed(body):
    assert refusal(body).startswith("MalformedMessage: ")


@pytest.mark.parametrize("kind", [Anything, Sample])
@pytest.mark.parametrize("number", ["9" * 5000, "-" + "9" * 5000, "9" * 5000 + ".5", "1e400", f"1e{'9' * 5000}"])
def test_a_number_of_any_length_is_refused_where_it_is_out_of_range(kind, number):
    name = "value" if kind is Anything else "ttl"
    assert refusal(f'{{"{name}":{number}}}', kind).startswith("InvalidMessage: ")
    assert refusal(f'{{"unknown":[{number}]}}', kind).startswith("InvalidMessage: ")


@pytest.mark.parametrize(
    "body", [r'{"value":"a\u0000b"}', r'{"value":{"a\u0000":1}}', r'{"value":[["x",{"y":"\u0000"}]]}']
)
def test_text_with_nul_is_invalid_wherever_it_stands(body):
    assert refusal(body, Anything) == "InvalidMessage: Expected text without NUL"


def test_a_backslash_before_u0000_is_no_nul():
    assert decode(rb'{"value":"\\u0000"}', Anything).value == r"\u0000"


@pytest.mark.parametrize("body", [r'{"value":"\ud800"}', r'{"value":"\udc00\ud800"}'])
def test_half_a_surrogate_pair_is_malformed(body):
    assert refusal(body, Anything).startswith("MalformedMessage: ")


def test_fields_with_nul_are_not_converted():
    with pytest.raises(InvalidMessage, match="without NUL"):
        convert({"value": [{"a": "b\0"}]}, Anything)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_json_does_not_have_are_malformed_in_any_field(constant):
    assert refusal(f'{{"value":{constant}}}', Anything).startswith("MalformedMessage: ")


@pytest.mark.parametrize("body", [b'{"name":"\xff"}', b"\xff\xfe{\x00}\x00", b'{"value":"\xed\xa0\x80"}'])
def test_text_that_is_not_utf8_is_malformed(body):
    assert refusal(body, Anything)


@pytest.mark.parametrize("body", ["[" * 100_000 + "]" * 100_000, '{"value":' * 100_000 + "1" + "}" * 100_000])
def test_nesting_without_end_is_refused(body):
    assert "nested too deeply" in refusal(f'{{"value":{body}}}', Anything)


def test_a_refusal_repeats_no_more_than_a_short_beginning():
    assert len(refusal('{"' + "x" * MAX_BODY + '":1,"name":"a"}')) <= LONGEST_DETAIL + len("InvalidMessage: ")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_json_makes_it_fail_in_another_way(value):
    body = json.dumps({"value": value}).encode()
    try:
        decode(body, Anything)
    except MalformedMessage:
        assert any(refused in body for refused in (b"NaN", b"Infinity", b"\\ud", b"\\u0000"))


class Query(Message, frozen=True):
    """A query as others are."""

    enabled: bool | None = None
    limit: Capacity = 100
    since: datetime | None = None
    share: float = 0.5
    name: str = ""


def test_in_a_query_all_is_text_and_empty_is_none():
    pairs = [("enabled", "true"), ("limit", "7"), ("since", "")]
    assert decode_query(pairs, Query) == Query(enabled=True, limit=7)


@pytest.mark.parametrize(
    "pairs",
    [
        [("limit", "x")],
        [("limit", "-1")],
        [("limit", "9" * 5000)],
        [("share", "nan")],
        [("share", "inf")],
        [("name", "a\0")],
        [("colour", "red")],
        [("limit", "1"), ("limit", "2")],
    ],
)
def test_a_query_that_was_not_declared_is_invalid(pairs):
    with pytest.raises(InvalidMessage):
        decode_query(pairs, Query)


@pytest.mark.parametrize(("name", "text"), [("enabled", "null"), ("enabled", "1"), ("since", "null"), ("since", "0")])
def test_a_query_is_not_read_more_kindly_than_it_is_documented(name, text):
    with pytest.raises(InvalidMessage, match=name):
        decode_query([(name, text)], Query)


def test_a_query_may_write_true_and_instants_as_programs_do():
    read = decode_query([("enabled", "True"), ("since", "2026-01-01T00:00:00Z")], Query)
    assert read == Query(enabled=True, since=datetime(2026, 1, 1, tzinfo=UTC))


class Login(Message, frozen=True):
    """A message with a secret in it."""

    password: ClearText
    seen: Any = None


def test_a_secret_goes_out_in_clear_only_where_it_was_meant_to():
    login = Login(password=ClearText(Secret("c@n:a/r#y? 100%")), seen=Secret("hunter2"))
    assert encode(login) == b'{"password":"c@n:a/r#y? 100%","seen":"***"}'
    assert decode(encode(login), Login).password == login.password
    assert "c@n" not in repr(login)
    assert len({login.password, ClearText(Secret("other"))}) == 2


@pytest.mark.parametrize("value", ["7", "null", "[]", '{"a":"hunter2"}'])
def test_what_is_no_text_is_no_secret_and_is_not_repeated(value):
    with pytest.raises(InvalidMessage, match="Expected `str`") as refused:
        decode(f'{{"password":{value}}}'.encode(), Login)
    assert "hunter2" not in str(refused.value)


def test_what_does_not_go_into_a_message_is_named_by_its_type():
    with pytest.raises(TypeError, match="object does not go into a message"):
        encode([object()])


@pytest.mark.parametrize(
    ("kind", "body", "reason"),
    [
        ("application/problem+json", b'{"title":"No","status":409,"detail":"so it is","reason":"held"}', "held"),
        ("application/json", b'{"title":"No","status":409,"detail":"so it is","reason":"held"}', None),
        ("application/problem+json", b"{}", None),
        ("text/html", b"<html>", None),
    ],
)
def test_a_problem_is_one_by_its_media_type_and_its_form(kind: str, body: bytes, reason: str | None):
    problem = problem_in(kind, body)
    assert (None if problem is None else problem.reason) == reason
