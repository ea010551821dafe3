"""Faults of logins: what a recorder refuses, and how long it remembers."""

import asyncio

from streamward.model.source_url import Credential
from streamward.nvr import faults
from streamward.nvr.server import Nvr
from streamward.nvr.spec import Access
from streamward.nvr.tally import Deed
from streamward.protocol.rtsp.client import Failed
from tests.support.recorders import ADA, WRONG, a_recorder
from tests.support.watching import played, watching

LOCKED = Access(credential=ADA)


async def is_let_in(nvr: Nvr, credential: Credential = ADA, *, come_from: str = "127.0.0.1") -> bool:
    """Whether one login is accepted."""
    async with watching(nvr.url("cam-1"), credential=credential, come_from=come_from) as seen:
        await seen.until(lambda watch: watch.units or watch.is_over)
        return bool(seen.units)


async def test_every_login_is_refused_the_right_one_too():
    async with a_recorder(access=LOCKED) as nvr:
        await nvr.set(faults.LoginRefused(), camera="cam-1")
        async with watching(nvr.url("cam-1"), credential=ADA) as seen:
            assert (await seen.first(Failed)).is_login_refused
        async with watching(nvr.url("cam-2"), credential=ADA) as other:
            await played(other)
        assert nvr.tally.total(Deed.LOGIN_BAD, camera="cam-1") == 1


async def test_a_recorder_without_a_password_can_refuse_logins_too():
    async with a_recorder() as nvr:
        await nvr.set(faults.LoginRefused())
        assert not await is_let_in(nvr)


async def test_a_login_is_refused_until_the_third_try():
    async with a_recorder(access=LOCKED) as nvr:
        await nvr.set(faults.LoginRefusedUntil(tries=3))
        assert [await is_let_in(nvr) for _ in range(4)] == [False, False, True, True]
        assert nvr.tally.total(Deed.LOGIN_BAD) == 2


async def test_a_stale_nonce_is_no_refused_login():
    async with a_recorder(access=LOCKED) as nvr:
        await nvr.set(faults.NonceStale())
        assert await is_let_in(nvr)
        assert (nvr.tally.total(Deed.LOGIN_GOOD), nvr.tally.total(Deed.LOGIN_BAD)) == (1, 0)


async def test_too_many_wrong_logins_lock_an_address_out_and_no_other():
    async with a_recorder(access=LOCKED) as nvr:
        await nvr.set(faults.Lockout(after=2, lasts=60))
        assert [await is_let_in(nvr, WRONG) for _ in range(2)] == [False, False]
        assert not await is_let_in(nvr)
        assert await is_let_in(nvr, come_from="127.0.0.2")


async def test_a_lockout_ends():
    async with a_recorder(access=LOCKED) as nvr, asyncio.timeout(60):
        await nvr.set(faults.Lockout(after=1, lasts=0.3))
        assert not await is_let_in(nvr, WRONG)
        while not await is_let_in(nvr):
            pass
