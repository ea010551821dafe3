"""Credentials at rest: sealed for one camera of one tenant, under keys that can be changed."""

import base64
import secrets
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.control.master_keys import MasterKeyMalformed, MasterKeys
from streamward.drivers.vault import AesVault
from streamward.model.ids import CameraId, TenantId
from streamward.model.secret import Secret
from streamward.model.source_url import Credential
from streamward.model.vault import CredentialUnreadable, Sealed
from streamward.runtime.private_file import KeyFileUnusable
from tests.support.builders import CAMERA, TENANT

ONE, TWO = secrets.token_bytes(32), secrets.token_bytes(32)
LOGIN = Credential(user=Secret("ada"), password=Secret("c@n:a/r#y? 100%"))


def a_vault(*keys: bytes) -> AesVault:
    return AesVault(lambda: keys or (ONE,))


def seal(vault: AesVault, credential: Credential = LOGIN) -> Sealed:
    return vault.seal(credential, tenant_id=TENANT, camera_id=CAMERA)


def opened(vault: AesVault, sealed: str, *, tenant: str = TENANT, camera: str = CAMERA) -> Credential:
    return vault.open(Sealed(sealed), tenant_id=TenantId(tenant), camera_id=CameraId(camera))


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=99))
def test_what_was_sealed_can_be_opened(password):
    login = Credential(user=Secret(password), password=Secret(password))
    assert opened(a_vault(), seal(a_vault(), login)) == login


def test_a_seal_shows_nothing_and_is_never_the_same():
    assert seal(a_vault()) != seal(a_vault())
    assert "ada" not in base64.urlsafe_b64decode(seal(a_vault()).split(".")[2]).decode(errors="ignore")


@pytest.mark.parametrize(("tenant", "camera"), [("tenant-2", CAMERA), (TENANT, "cam-2"), ("tenant-1cam", "-1")])
def test_a_seal_copied_to_another_row_does_not_open(tenant, camera):
    with pytest.raises(CredentialUnreadable, match=f"the credential of camera {camera}"):
        opened(a_vault(), seal(a_vault()), tenant=tenant, camera=camera)


def test_a_seal_with_any_character_changed_does_not_open():
    sealed = seal(a_vault())
    for place in range(len(sealed)):
        other = "A" if sealed[place] != "A" else "B"
        with pytest.raises(CredentialUnreadable):
            opened(a_vault(), sealed[:place] + other + sealed[place + 1 :])


@pytest.mark.parametrize("text", ["", "v1", "v1..", "v1.é.é", "v2.a.b", "rtsp://u:p@h"])
def test_what_is_no_seal_does_not_open(text):
    with pytest.raises(CredentialUnreadable):
        opened(a_vault(), text)


def test_the_first_key_seals_and_every_key_opens():
    old, both = a_vault(ONE), a_vault(TWO, ONE)
    sealed = seal(old)
    assert opened(both, sealed) == LOGIN
    assert not both.is_newest(sealed)
    assert both.is_newest(seal(both))
    with pytest.raises(CredentialUnreadable):
        opened(a_vault(TWO), sealed)


def test_a_running_vault_learns_new_keys():
    keys = [ONE]
    running = AesVault(lambda: list(keys))
    keys.insert(0, TWO)
    assert opened(running, seal(a_vault(TWO))) == LOGIN
    assert running.is_newest(seal(running))


def test_the_master_key_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "master.key"
    keys = MasterKeys(path)
    keys.make()
    first = keys.read()
    keys.make()
    assert keys.read() == first
    assert path.stat().st_mode & 0o777 == 0o600
    keys.add()
    assert keys.read()[1:] == first
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["master.key"]


def test_a_master_key_that_others_reach_is_refused(tmp_path: Path) -> None:
    keys = MasterKeys(tmp_path / "master.key")
    keys.make()
    (tmp_path / "master.key").chmod(0o640)
    with pytest.raises(KeyFileUnusable, match="can be read by others"):
        keys.read()


@pytest.mark.parametrize("content", ["", "hunter2", base64.b64encode(b"short").decode(), "\xff"])
def test_what_is_no_master_key_is_refused_and_not_repeated(tmp_path: Path, content: str) -> None:
    path = tmp_path / "master.key"
    path.touch(mode=0o600)
    path.write_text(content)
    with pytest.raises(KeyFileUnusable, match="holds no master key"):
        MasterKeys(path).read()
    with pytest.raises(MasterKeyMalformed) as refused:
        MasterKeys(path, Secret(content)).read()
    assert "hunter2" not in str(refused.value)


def test_the_variable_wins_over_the_file(tmp_path: Path) -> None:
    both = ",".join(base64.b64encode(key).decode() for key in (TWO, ONE))
    keys = MasterKeys(tmp_path / "master.key", Secret(both))
    keys.make()
    assert keys.read() == [TWO, ONE]
    assert not list(tmp_path.iterdir())
