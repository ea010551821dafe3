"""Edits, and what is written down of them."""

from dataclasses import replace
from typing import Any

import pytest

from streamward.model.address_policy import AddressPolicy, parse_network
from streamward.model.camera import Camera
from streamward.model.identity import SYSTEM, Invitation, Role
from streamward.model.ids import CameraId, SiteId, TenantId
from streamward.model.register import (
    Edit,
    Redemption,
    Verb,
    action,
    key_of,
    name_clash,
    name_of,
    names_given,
    note,
    redeemed,
    told,
)
from streamward.model.vault import Sealed
from streamward.model.zone import Zone
from tests.support.builders import START, a_camera, a_runner, a_site

CODE = Invitation(
    invitation_id="inv-1",
    code_hash="h4sh",
    subject="ada",
    role=Role.ADMIN,
    tenant_id=None,
    expires_at=START,
    updated_at=START,
)


@pytest.mark.parametrize(
    ("edit", "verb"),
    [
        (Edit(after=a_camera()), Verb.CREATED),
        (Edit(before=a_camera(), after=a_camera(enabled=False)), Verb.UPDATED),
        (Edit(before=a_camera()), Verb.DELETED),
    ],
)
def test_an_edit_is_named_by_what_it_does(edit, verb):
    assert edit.verb is verb
    assert action(edit) == f"camera.{verb}"
    assert name_of(edit) == "camera cam-1"
    assert edit.thing.camera_id == "cam-1"


@pytest.mark.parametrize(
    "sides",
    [
        {},
        {"before": a_camera(), "after": a_camera("cam-2")},
        {"before": a_camera(), "after": a_site()},
        {"before": a_camera(), "after": a_camera(tenant="tenant-2")},
    ],
)
def test_what_is_no_edit_of_one_thing_cannot_be_made(sides: dict[str, Any]):
    with pytest.raises(AssertionError):
        Edit(**sides)


def test_a_code_gives_what_it_was_made_for_to_whoever_shows_it():
    code = replace(CODE, role=Role.RUNNER, tenant_id=TenantId("t-01"))
    shown = Redemption(code_hash="h4sh", identity_id="id-1", public_key="k3y", address="192.0.2.9", request_id="r-1")
    identity, author = redeemed(code, shown)
    assert (identity.identity_id, identity.public_key, identity.is_live) == ("id-1", "k3y", True)
    assert (author.address, author.request_id) == ("192.0.2.9", "r-1")
    for each in (identity, author):
        assert (each.subject, each.role, each.tenant_id) == ("ada", Role.RUNNER, "t-01")


def test_only_a_camera_moves():
    camera = a_camera()
    assert Edit(before=camera, after=replace(camera, site_id=SiteId("site-2"))).moves
    assert not Edit(before=camera, after=camera).moves
    assert not Edit(after=camera).moves
    assert not Edit(before=a_site(), after=a_site()).moves


def named(camera_id: str, name: str | None, *, before: str | None = None, tenant: str = "tenant-1") -> Edit:
    camera = a_camera(camera_id, tenant=tenant)
    return Edit(before=replace(camera, name=before) if before else None, after=replace(camera, name=name))


def test_a_name_is_given_by_what_creates_a_camera_with_it_or_renames_one():
    kept, cleared = named("cam-3", "gate", before="gate"), named("cam-4", None, before="yard")
    edits = [named("cam-1", "door"), named("cam-2", "pier", before="quay"), kept, cleared, named("cam-5", None)]
    edits += [Edit(before=replace(a_camera("cam-6"), name="hall")), Edit(after=a_site())]
    assert names_given(edits) == [("tenant-1", "door"), ("tenant-1", "pier")]


def test_a_name_is_given_to_one_camera_of_a_tenant():
    door, again, elsewhere = named("cam-1", "door"), named("cam-2", "door"), named("cam-3", "door", tenant="tenant-2")
    assert name_clash([door, elsewhere], {}) is None
    assert name_clash([door, again], {}) is again
    holders = {(TenantId("tenant-1"), "door"): CameraId("cam-1")}
    assert name_clash([again], holders) is again
    assert name_clash([named("cam-1", "door", before="gate")], holders) is None


def test_every_thing_has_its_key():
    assert [key_of(thing) for thing in (a_camera(), a_site(), a_runner(), CODE)] == [
        "cam-1",
        "site-1",
        "runner-1",
        "inv-1",
    ]


def test_a_camera_is_told_without_its_credential():
    camera: Camera = replace(
        a_camera(),
        sealed=Sealed("v1.secret"),
        credential_version=2,
        labels=(("door", "north"),),
        max_fps=5.0,
        zones=(Zone(name="door", corners=((0, 0), (1, 0), (1, 1))),),
        thresholds=(("person", 0.5),),
    )
    assert told(camera) == {
        "camera_id": "cam-1",
        "tenant_id": "tenant-1",
        "site_id": "site-1",
        "name": None,
        "rtsp_url": "rtsp://***@192.0.2.1/stream",
        "credential_version": 2,
        "tls_fingerprint": None,
        "enabled": True,
        "do_not_process": False,
        "detector": None,
        "max_fps": 5.0,
        "decode": None,
        "detect_every_n_frames": None,
        "zones": [{"name": "door", "points": [[0, 0], [1, 0], [1, 1]], "leaves_out": False, "dwell_s": None}],
        "thresholds": {"person": 0.5},
        "labels": {"door": "north"},
    }


def test_a_site_is_told_with_its_rules_in_words():
    site = replace(a_site(), addresses=AddressPolicy(allow=(parse_network("10.0.0.0/8"),)))
    said = told(site)
    assert said is not None
    assert said["addresses"] == {"allow": ["10.0.0.0/8"]}


def test_a_code_is_told_without_its_hash():
    said = told(CODE)
    assert said is not None
    assert "code_hash" not in said
    assert said["expires_at"] == START.isoformat()


def test_nothing_is_told_of_nothing():
    assert told(None) is None


def test_a_note_says_who_did_what_to_what():
    camera = a_camera()
    written = note(Edit(before=camera, after=replace(camera, enabled=False)), SYSTEM)
    assert (written.author, written.action, written.object_id) == (SYSTEM, "camera.updated", "cam-1")
    assert written.tenant_id == TenantId("tenant-1")
    assert written.before != written.after
