"""Fingerprints in one spelling, and CAs that are certificates."""

from pathlib import Path

import pytest

from streamward.model.certificates import check_authorities, fingerprint
from tests.support.certificates import Authority


def test_a_fingerprint_has_one_spelling():
    assert fingerprint(":".join(["AB"] * 32)) == fingerprint("aB" * 32) == "ab" * 32


def test_one_certificate_or_several_are_authorities(tmp_path: Path):
    one, two = (Authority(tmp_path, name).file.read_text() for name in ("one", "two"))
    check_authorities(one)
    check_authorities(f"# of the north site\n{one}\n{two}")


@pytest.mark.parametrize(
    "text", ["", "hello", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "\xe9"]
)
def test_anything_else_is_refused(text: str):
    with pytest.raises(ValueError, match="in PEM"):
        check_authorities(text)


def test_a_private_key_is_refused(tmp_path: Path):
    pair = Authority(tmp_path).issue("nvr")
    with pytest.raises(ValueError, match="private key"):
        check_authorities(pair.certificate.read_text() + pair.key.read_text())
