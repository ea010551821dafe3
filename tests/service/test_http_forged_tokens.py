"""Forged tokens: each is a 401 with a documented reason; nothing is changed for it, and nothing of it is repeated."""

import asyncio

import pytest

from streamward.control.tokens import TokenFault
from tests.support.app import ControlUnderTest
from tests.support.forgeries import CANARY, GOOD, forgeries

FORGERIES = dict(forgeries())
PATH = "/v1/leases/camera/acquire"
BODY = {"runner_id": CANARY, "camera_uuid": "cam-1", "ttl_seconds": 10}


@pytest.fixture(scope="module")
def control() -> ControlUnderTest:
    """One for all of them: none may change it."""
    return asyncio.run(ControlUnderTest().with_cameras("cam-1"))


def bearing(token: str) -> dict[str, bytes]:
    """The header with the token as it would stand on the wire."""
    narrow = all(ord(sign) < 0x100 for sign in token)
    return {"Authorization": b"Bearer " + token.encode("latin-1" if narrow else "utf-8")}


@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forged_token_is_refused(
    control: ControlUnderTest, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    token, reason = FORGERIES[name]
    before = repr(control.database)
    answer = await control.anyone().call("POST", PATH, json=BODY, headers=bearing(token))
    assert (answer.status_code, answer.json()["reason"]) == (401, reason)
    assert reason in set(TokenFault)
    assert repr(control.database) == before
    told = answer.text + repr(answer.headers) + caplog.text
    assert CANARY not in told
    assert token[:40] not in told


async def test_the_token_from_which_they_are_made_is_a_good_one() -> None:
    control = await ControlUnderTest().with_cameras("cam-1")
    before = repr(control.database)
    answer = await control.anyone().call("POST", PATH, json=BODY, headers=bearing(GOOD))
    assert answer.status_code == 200
    assert repr(control.database) != before


def test_there_are_many_and_no_two_are_the_same() -> None:
    assert len({token for token, _ in FORGERIES.values()}) == len(FORGERIES) >= 100
    assert GOOD not in {token for token, _ in FORGERIES.values()}
