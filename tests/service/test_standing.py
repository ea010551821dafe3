"""Who is trusted no more, and how long not knowing is borne."""

import pytest

from streamward.control.admission import Admission
from streamward.control.clerk import Clerk
from streamward.control.standing import KNOWN_FOR, KnownStanding
from streamward.leases.store import StoreUnavailable
from streamward.model.identity import Role
from streamward.protocol.tokens import AUDIENCE, ISSUER, Claims
from tests.support.app import KEYRING, ControlUnderTest
from tests.support.identities import Somebody

CLAIMS = Claims(iss=ISSUER, aud=AUDIENCE, sub="ada", role=Role.ADMIN, iat=0, exp=1)


async def test_nobody_is_trusted_before_the_first_reading_and_long_after_the_last() -> None:
    control = ControlUnderTest()
    standing = KnownStanding(control.store, clock=control.clock)
    with pytest.raises(StoreUnavailable):
        standing.fault(CLAIMS)
    await standing.tick()
    control.clock.advance(KNOWN_FOR)
    assert standing.fault(CLAIMS) is None
    control.clock.advance(0.1)
    with pytest.raises(StoreUnavailable):
        standing.fault(CLAIMS)


async def test_the_first_admin_is_invited_by_the_newest_start_only() -> None:
    control = ControlUnderTest()
    clerk = Clerk(control.store, digest_keys=lambda: KEYRING.derive("once"))
    admission = Admission(control.store, clerk=clerk, mint=control.mint, clock=control.clock)
    old, new = (await admission.invite_first()).reveal(), (await admission.invite_first()).reveal()
    assert (await Somebody(control).redeem(old)).status_code == 403
    admin = Somebody(control)
    told = (await admin.redeem(new)).json()
    assert (told["subject"], told["role"], told["tenant_id"]) == ("admin", "admin", None)
    assert await control.store.has_admin()
    assert (await (await admin.client()).post("/v1/tenants", {"tenant_id": "north"})).status_code == 201
