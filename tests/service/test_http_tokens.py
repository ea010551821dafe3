"""Which tokens count: each bad one is a 401, and nothing is read for its bearer."""

from collections.abc import Callable
from typing import Any

import pytest

from streamward.control.keys import Keyring, SigningKey, new_keyring
from streamward.control.tokens import Everyone, TokenCheck, TokenFault, TokenRefused
from streamward.model.ids import RunnerId
from tests.support.app import KEYRING, ControlUnderTest
from tests.support.clocks import START, ManualClock
from tests.support.tokens import claims, signed, signed_with_public_key, unsigned, with_other_payload

NOW = int(START.timestamp())
HOUR = 3600

BAD: dict[str, tuple[Callable[[], str], str]] = {
    "expired": (lambda: signed(KEYRING, claims(NOW, iat=NOW - 900, exp=NOW)), "token-expired"),
    "alg none": (lambda: unsigned(KEYRING, claims(NOW)), "token-invalid"),
    "HS256 with the public key": (lambda: signed_with_public_key(KEYRING, claims(NOW)), "token-invalid"),
    "other audience": (lambda: signed(KEYRING, claims(NOW, aud="somebody-else")), "token-invalid"),
    "no audience": (lambda: signed(KEYRING, claims(NOW, aud=None)), "token-invalid"),
    "several audiences": (lambda: signed(KEYRING, claims(NOW, aud=["streamward-control", "x"])), "token-invalid"),
    "other issuer": (lambda: signed(KEYRING, claims(NOW, iss="somebody-else")), "token-invalid"),
    "wrong kid": (lambda: signed(KEYRING, claims(NOW), kid="0123456789abcdef"), "token-invalid"),
    "another key under our kid": (
        lambda: signed(new_keyring(), claims(NOW), kid=KEYRING.signing.kid),
        "token-invalid",
    ),
    "no exp": (lambda: signed(KEYRING, claims(NOW, exp=None)), "token-invalid"),
    "no iat": (lambda: signed(KEYRING, claims(NOW, iat=None)), "token-invalid"),
    "exp as text": (lambda: signed(KEYRING, claims(NOW, exp="9999999999")), "token-invalid"),
    "huge lifetime": (lambda: signed(KEYRING, claims(NOW, exp=NOW + 25 * HOUR)), "token-lives-too-long"),
    "made in the future": (lambda: signed(KEYRING, claims(NOW, iat=NOW + 60)), "token-not-yet-valid"),
    "not yet valid": (lambda: signed(KEYRING, claims(NOW, nbf=NOW + 60)), "token-not-yet-valid"),
    "no subject": (lambda: signed(KEYRING, claims(NOW, sub=None)), "token-invalid"),
    "a subject that is no id": (lambda: signed(KEYRING, claims(NOW, sub="r1.r2")), "token-invalid"),
    "no role": (lambda: signed(KEYRING, claims(NOW, role=None)), "token-invalid"),
    "a role of its own": (lambda: signed(KEYRING, claims(NOW, role="root")), "token-invalid"),
    "a runner without incarnation": (lambda: signed(KEYRING, claims(NOW, inc=None)), "token-invalid"),
    "another payload": (
        lambda: with_other_payload(signed(KEYRING, claims(NOW)), claims(NOW, role="operator")),
        "token-invalid",
    ),
    "nonsense": (lambda: "a.b.c", "token-invalid"),
    "too long": (lambda: "a" * 5000, "token-invalid"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_token_that_does_not_count_is_401(name: str) -> None:
    make, reason = BAD[name]
    control = ControlUnderTest()
    body = {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10}
    answer = await control.anyone(make()).post("/v1/leases/camera/acquire", body)
    assert (answer.status_code, answer.json()["reason"]) == (401, reason)
    assert answer.headers["www-authenticate"] == 'Bearer realm="streamward", error="invalid_token"'
    assert control.database.runners == {}


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic cjE6cjE=", "bearer"])
async def test_a_call_without_a_token_is_401(header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    answer = await ControlUnderTest().anyone().call("GET", "/v1/cameras", headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (401, "token-missing")
    assert answer.headers["www-authenticate"] == 'Bearer realm="streamward"'


async def test_a_good_token_counts_under_any_spelling_of_its_scheme() -> None:
    control = ControlUnderTest()
    token = control.mint.runner(RunnerId("r1"))
    for scheme in ("Bearer", "bearer", "BEARER"):
        answer = await control.anyone().call("GET", "/v1/cameras", headers={"Authorization": f"{scheme} {token}"})
        assert answer.status_code == 200


async def test_a_remembered_token_ends_with_its_lifetime() -> None:
    control = ControlUnderTest()
    runner = control.runner()
    assert (await runner.get("/v1/cameras")).status_code == 200
    control.clock.advance(15 * 60 - 1)
    assert (await runner.get("/v1/cameras")).status_code == 200
    control.clock.advance(1)
    assert (await runner.get("/v1/cameras")).json()["reason"] == "token-expired"


def test_tokens_of_every_key_on_the_ring_count() -> None:
    clock, old = ManualClock(), new_keyring()
    ring = Keyring(KEYRING.signing, old.signing)
    check = TokenCheck(ring, clock=clock, standing=Everyone())
    assert check.caller(signed(old, claims(NOW))).subject == "r1"
    assert check.caller(signed(KEYRING, claims(NOW))).subject == "r1"


def test_the_memory_of_checked_tokens_is_bounded() -> None:
    check = TokenCheck(KEYRING, clock=ManualClock(), standing=Everyone(), remember=3)
    tokens = [signed(KEYRING, claims(NOW, sub=f"r{n}")) for n in range(5)]
    assert [check.caller(token).subject for token in tokens * 2] == [f"r{n}" for n in range(5)] * 2
    assert check.remembered == 3


def test_two_mints_give_two_incarnations() -> None:
    control = ControlUnderTest()
    check = TokenCheck(KEYRING, clock=control.clock, standing=Everyone())
    first, second = (check.caller(control.mint.runner(RunnerId("r1"))) for _ in range(2))
    assert first.incarnation != second.incarnation


def test_a_secret_derived_for_one_purpose_is_not_that_for_another() -> None:
    key: SigningKey = KEYRING.signing
    assert len({key.derive("cursor"), key.derive("other"), new_keyring().signing.derive("cursor")}) == 3


def test_a_refusal_shows_nothing_of_the_token() -> None:
    check: Any = TokenCheck(KEYRING, clock=ManualClock(), standing=Everyone())
    with pytest.raises(TokenRefused) as refusal:
        check.caller("secret.secret.secret")
    assert refusal.value.fault is TokenFault.INVALID
    assert "secret" not in str(refusal.value)
