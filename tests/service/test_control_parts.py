"""The parts of the control process that touch the machine: keys, locks, folders, the demo fleet."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from streamward.control import demo
from streamward.control.app import FolderUnusable, data_folder
from streamward.control.keys import load_keyring, make_key
from streamward.control.server import listen
from streamward.control.sole import DatabaseInUse, sole_use
from streamward.leases.store import CameraFilter
from streamward.runtime.listening import CannotListen
from streamward.runtime.private_file import KeyFileUnusable
from tests.support.app import ControlUnderTest


def test_a_key_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "signing.pem"
    make_key(path)
    first = load_keyring(path)
    make_key(path)
    assert load_keyring(path).signing.kid == first.signing.kid
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["signing.pem"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o620])
def test_a_key_that_others_reach_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "signing.pem"
    make_key(path)
    path.chmod(mode)
    with pytest.raises(KeyFileUnusable, match="can be read by others"):
        load_keyring(path)


def test_a_file_that_holds_no_key_of_ours_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "signing.pem"
    path.touch(mode=0o600)
    for content in (b"", b"secret-looking-text"):
        path.write_bytes(content)
        with pytest.raises(KeyFileUnusable, match="holds no key in PEM form"):
            load_keyring(path)
    other = generate_private_key(SECP256R1())
    path.write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(KeyFileUnusable, match="not Ed25519"):
        load_keyring(path)


def test_a_missing_key_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(KeyFileUnusable, match="run `streamward control` once"):
        load_keyring(tmp_path / "signing.pem")


def test_a_file_is_held_by_one_and_free_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "streamward.db"
    with sole_use(path), pytest.raises(DatabaseInUse, match=r"process \d+"), sole_use(path):
        pass
    with sole_use(path):
        pass


def test_a_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    with data_folder(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_says_which_setting_to_change(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FolderUnusable, match="STREAMWARD_DATA"), data_folder(tmp_path / place):
        pass


def test_a_port_in_use_is_a_fact() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match="address already in use"):
            listen("127.0.0.1", port)


def test_both_families_of_addresses_are_served() -> None:
    with listen("::1", 0) as six, listen("localhost", 0) as named:
        assert six.getsockname()[0] == "::1"
        assert named.getsockname()[1] > 0


async def test_the_demo_fleet_leaves_alone_what_is_there() -> None:
    control = ControlUnderTest()
    await demo.seed(control.store, clock=control.clock)
    rung = control.bell.cursor
    await demo.seed(control.store, clock=control.clock)
    cameras = await control.store.page(CameraFilter(scope=None))
    assert len(cameras) == 12
    assert len({camera.site_id for camera in cameras}) == 3
    assert len({camera.tenant_id for camera in cameras}) == 2
    assert all("@" not in camera.rtsp_url for camera in cameras)
    assert control.bell.cursor == rung
