"""Somebody who becomes known to a control plane under test, and gets tokens from it."""

from typing import Any

import httpx

from streamward.drivers.key_pair import KeyPair
from tests.support.app import Client, ControlUnderTest


class Somebody:
    """A key pair and what is done with it."""

    def __init__(self, control: ControlUnderTest, pair: KeyPair | None = None) -> None:
        self._control = control
        self.pair = pair or KeyPair.new()

    async def redeem(self, code: str) -> httpx.Response:
        body = {"code": code, "public_key": self.pair.public_key}
        return await self._control.anyone().post("/v1/identities", body)

    async def ask(self, *, incarnation: str | None = None, late: float = 0.0) -> httpx.Response:
        """Asks for a token, by a clock that is so much behind."""
        now = int(self._control.clock.wall().timestamp() - late)
        return await self.show(self.pair.assertion(now=now, incarnation=incarnation))

    async def show(self, assertion: str) -> httpx.Response:
        return await self._control.anyone().post("/v1/tokens", {"assertion": assertion})

    async def client(self, *, incarnation: str | None = None) -> Client:
        """A client with a fresh token."""
        answer = await self.ask(incarnation=incarnation)
        assert answer.status_code == 200, answer.text
        return self._control.anyone(answer.json()["access_token"])


async def invited(client: Client, **fields: Any) -> str:
    """A one-time code, made by that client."""
    answer = await client.post("/v1/invitations", {"subject": "bob", "role": "operator"} | fields)
    assert answer.status_code == 201, answer.text
    code: str = answer.json()["code"]
    return code


async def become_known(control: ControlUnderTest, client: Client, **fields: Any) -> Somebody:
    """Somebody whom that client invited."""
    somebody = Somebody(control)
    assert (await somebody.redeem(await invited(client, **fields))).status_code == 201
    return somebody
