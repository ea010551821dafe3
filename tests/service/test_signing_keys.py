"""Signing keys on a ring, in their file, and as a running control plane follows them."""

import functools
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from streamward.control.clerk import Clerk
from streamward.control.cursor import CursorRefused, Cursors
from streamward.control.key_rotation import KeyStaged, NoKeyStaged, activate, rotate, stage
from streamward.control.key_watch import WatchedKeys
from streamward.control.keys import Keyring, KeyUse, load_keyring, make_key, new_key, save_keyring
from streamward.control.registrar import Registrar
from streamward.control.tokens import Everyone, TokenCheck, TokenRefused
from streamward.model.camera import Camera
from streamward.protocol.cameras import CreateCamera
from streamward.protocol.codec import decode
from streamward.protocol.problem import Problem
from streamward.runtime.private_file import KeyFileUnusable
from tests.support.app import VAULT, ControlUnderTest
from tests.support.clocks import START, ManualClock
from tests.support.fleet import ADA
from tests.support.tokens import claims, signed

NOW = int(START.timestamp())
A, B, C = (new_key(made_at=START) for _ in range(3))


HARMS: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "open to others": lambda path: path.chmod(0o644),
    "empty": lambda path: path.write_bytes(b""),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A key file with one key, A."""
    path = tmp_path / "signing.pem"
    make_key(path)
    save_keyring(path, Keyring(A))
    return path


def a_token(key: Any, **changed: Any) -> str:
    return signed(Keyring(key), claims(NOW, **changed))


def counts(check: TokenCheck, token: str) -> bool:
    try:
        check.caller(token)
    except TokenRefused:
        return False
    return True


def uses(ring: Keyring) -> list[tuple[str, KeyUse]]:
    return [(key.kid, use) for key, use in ring.uses()]


def test_a_rotation_keeps_the_key_before_and_no_older_one():
    ring = rotate(rotate(Keyring(A), B), C)
    assert uses(ring) == [(C.kid, KeyUse.SIGNS), (B.kid, KeyUse.ACCEPTED)]
    assert ring.find(A.kid) is None


def test_a_staged_key_counts_at_once_and_signs_when_activated():
    staged = stage(Keyring(A, B), C)
    assert uses(staged) == [(A.kid, KeyUse.SIGNS), (C.kid, KeyUse.STAGED), (B.kid, KeyUse.ACCEPTED)]
    assert uses(activate(staged)) == [(C.kid, KeyUse.SIGNS), (A.kid, KeyUse.ACCEPTED)]


def test_what_does_not_follow_is_refused():
    with pytest.raises(NoKeyStaged, match="--stage"):
        activate(Keyring(A, B))
    for change in (rotate, stage):
        with pytest.raises(KeyStaged, match="--activate"):
            change(stage(Keyring(A), B), C)


def test_a_ring_is_read_as_it_was_written(path: Path) -> None:
    ring = stage(Keyring(A, B), C)
    save_keyring(path, ring)
    assert uses(load_keyring(path)) == uses(ring)
    assert [key.made_at for key in load_keyring(path).keys] == [START] * 3
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["signing.pem"]


def test_a_file_of_bare_keys_is_read_too(path: Path) -> None:
    bare = [key.private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) for key in (A, B)]
    path.write_bytes(b"".join(bare).replace(b"\n", b"\r\n"))
    assert uses(load_keyring(path)) == [(A.kid, KeyUse.SIGNS), (B.kid, KeyUse.ACCEPTED)]
    assert load_keyring(path).signing.made_at is None
    path.write_bytes(b"Made: long ago\n" + bare[0])
    assert load_keyring(path).signing.made_at is None


def test_one_bad_key_spoils_the_file(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n")
    with pytest.raises(KeyFileUnusable, match="holds no key in PEM form"):
        load_keyring(path)


def test_a_new_file_says_when_its_key_was_made(tmp_path: Path) -> None:
    make_key(tmp_path / "signing.pem")
    made_at = load_keyring(tmp_path / "signing.pem").signing.made_at
    assert made_at is not None
    assert abs((datetime.now(UTC) - made_at).total_seconds()) < 60


def test_a_running_check_takes_a_new_key_at_once_and_drops_an_old_one_within_a_second(path: Path) -> None:
    clock = ManualClock()
    check = TokenCheck(WatchedKeys(path, clock=clock), clock=clock, standing=Everyone())
    old, new = a_token(A), a_token(B)
    assert counts(check, old)
    save_keyring(path, Keyring(B, A))
    assert counts(check, new)
    assert counts(check, old)
    save_keyring(path, Keyring(C, B))
    clock.advance(1)
    assert not counts(check, old)
    assert counts(check, new)
    assert check.remembered == 1


def test_made_up_key_names_are_looked_for_once_a_second(path: Path) -> None:
    clock = ManualClock()
    keys = WatchedKeys(path, clock=clock)
    assert keys.find("made-up") is None
    save_keyring(path, Keyring(B, A))
    assert keys.find(B.kid) is None
    clock.advance(1)
    assert keys.find(B.kid) is not None
    assert keys.signing.kid == B.kid


@pytest.mark.parametrize("harm", HARMS)
def test_a_file_that_cannot_be_used_keeps_the_ring_and_is_told_once(
    path: Path, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    keys = WatchedKeys(path, clock=clock)
    HARMS[harm](path)
    for _ in range(5):
        clock.advance(1)
        assert keys.signing.kid == A.kid
        assert keys.find("made-up") is None
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    path.unlink(missing_ok=True)
    make_key(path)
    clock.advance(1)
    assert keys.signing.kid == load_keyring(path).signing.kid


def test_a_cursor_survives_a_change_of_keys():
    one, two, three = (Cursors(functools.partial(ring.derive, "cursor")) for ring in rings())
    cursor = one.seal("cam-7", filters=["t-01"])
    assert two.open(cursor, filters=["t-01"]) == "cam-7"
    assert two.seal("cam-7", filters=["t-01"]) != cursor
    with pytest.raises(CursorRefused):
        three.open(cursor, filters=["t-01"])


async def test_a_repeated_creation_is_known_after_a_change_of_keys():
    control = await ControlUnderTest().with_cameras()
    body = b'{"site_id":"site-a","rtsp_url":"rtsp://ada:secret@192.0.2.7/live"}'
    answers = [
        await Registrar(
            control.store, VAULT, clerk=Clerk(control.store, digest_keys=functools.partial(ring.derive, "once"))
        ).create(ADA, decode(body, CreateCamera), "once-1")
        for ring in rings()
    ]
    made, again, too_late = answers
    assert isinstance(made, Camera)
    assert isinstance(again, Camera)
    assert made.camera_id == again.camera_id
    assert isinstance(too_late, Problem)


def rings() -> list[Keyring]:
    """A ring as it is, after one rotation, and after another."""
    return [Keyring(A), Keyring(B, A), Keyring(C, B)]
