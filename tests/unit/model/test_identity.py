"""Who may do what."""

import pytest

from streamward.model.identity import Identity, Role
from tests.support.builders import START

PEOPLE = [Role.VIEWER, Role.OPERATOR, Role.ADMIN]


@pytest.mark.parametrize("role", PEOPLE)
def test_a_person_may_do_what_every_lower_role_may(role):
    assert [wanted for wanted in PEOPLE if role.covers(wanted)] == PEOPLE[: PEOPLE.index(role) + 1]


@pytest.mark.parametrize("role", PEOPLE)
def test_runners_and_people_have_nothing_in_common(role):
    assert not role.covers(Role.RUNNER)
    assert not Role.RUNNER.covers(role)
    assert Role.RUNNER.covers(Role.RUNNER)


@pytest.mark.parametrize(("revoked_at", "is_live"), [(None, True), (START, False)])
def test_a_revoked_identity_is_not_live(revoked_at, is_live):
    identity = Identity(
        identity_id="i",
        subject="ada",
        role=Role.ADMIN,
        tenant_id=None,
        public_key="k",
        revoked_at=revoked_at,
        updated_at=START,
    )
    assert identity.is_live is is_live
