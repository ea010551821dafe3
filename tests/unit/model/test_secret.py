"""A secret is seen nowhere unless it is asked for."""

import copy
import json
import logging
import pickle
import pprint
import traceback
from dataclasses import asdict, dataclass

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamward.model.secret import MASK, Secret

CANARY = "c@n:a/r#y? 100%"

SHAPES = {
    "str": str,
    "repr": repr,
    "ascii": ascii,
    "format": format,
    "format-spec": "{:>10}".format,
    "f-string": lambda secret: f"{secret} {secret!r} {secret!s} {secret:.9}",
    "percent": lambda secret: "%s %r" % (secret, secret),  # noqa: UP031 - this spelling too
    "join": lambda secret: ", ".join(sorted([secret, "a"])),
    "plus": lambda secret: "rtsp://" + secret + "@host",
    "json": json.dumps,
    "json-key": lambda secret: json.dumps({secret: [secret]}),
    "pprint": lambda secret: pprint.pformat({"password": secret}),
    "dataclass": lambda secret: repr(Login("ada", secret)) + str(asdict(Login("ada", secret))),
    "bytes": lambda secret: str(secret.encode()),
    "slice": lambda secret: secret[:2] + secret.upper() + str(list(secret)),
}


@dataclass(frozen=True)
class Login:
    user: str
    password: Secret


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_a_secret_prints_as_three_stars_in_every_shape(shape):
    printed = shape(Secret(CANARY))
    assert CANARY not in printed
    assert "**" in printed


def test_a_secret_can_be_revealed():
    assert Secret(CANARY).reveal() == CANARY
    assert Secret(Secret(CANARY)).reveal() == CANARY


def test_a_traceback_with_all_its_locals_shows_no_secret():
    def login(secret: Secret) -> None:
        raise ValueError(secret)

    with pytest.raises(ValueError, match="\\*") as raised:
        login(Secret(CANARY))
    told = "".join(traceback.TracebackException.from_exception(raised.value, capture_locals=True).format())
    assert "Secret('***')" in told
    assert CANARY not in told.replace(repr(CANARY), "")  # this module's own constant is in reach of the locals too


def test_a_log_line_shows_no_secret(caplog):
    logging.getLogger("test").warning("refused %s", Secret(CANARY), extra={"password": Secret(CANARY)})
    assert "refused ***" in caplog.text
    assert str(caplog.records[0].__dict__["password"]) == MASK


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_secret_is_not_pickled(protocol):
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(Secret(CANARY), protocol)


def test_a_copy_is_the_secret_itself():
    secret = Secret(CANARY)
    assert copy.copy(secret) is secret
    assert copy.deepcopy([secret])[0] is secret


@given(st.text(st.characters()), st.text(st.characters()))
def test_secrets_are_equal_if_their_texts_are(one, other):
    assert (Secret(one) == Secret(other)) is (one == other)
    assert (Secret(one) != Secret(other)) is (one != other)


@given(st.text())
def test_no_text_is_equal_to_a_secret(text):
    assert Secret(text) != text
    assert text != Secret(text)
    assert Secret(text) != MASK


@given(st.text(), st.text())
def test_a_hash_tells_nothing(one, other):
    assume(one != other)
    assert hash(Secret(one)) == hash(Secret(other))
    assert len({Secret(one), Secret(other), Secret(one)}) == 2
