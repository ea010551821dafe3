"""Commands and a control plane that speak TLS: who trusts whom, and what is said when they do not."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificates import Authority
from tests.support.ports import free_port
from tests.support.processes import control


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_a_command_trusts_the_ca_that_it_is_told(tmp_path: Path, authority: Authority) -> None:
    served: dict[str, Any] = {**authority.issue("server").settings()}
    with control(tmp_path / "data", trust=authority.trusting(), **served) as plane:
        assert plane.command("cameras", "list", CONTROL_CA=authority.file).returncode == 0
        stranger = plane.command("cameras", "list")
    assert stranger.returncode == 5
    assert "set STREAMWARD_CONTROL_CA" in stranger.stderr


def test_a_command_shows_its_certificate(tmp_path: Path, authority: Authority) -> None:
    shown = authority.issue("ada")
    served: dict[str, Any] = {**authority.issue("server").settings(), "TLS_CLIENT_CA": authority.file}
    own: dict[str, Any] = {"CONTROL_CLIENT_CERTIFICATE": shown.certificate, "CONTROL_CLIENT_KEY": shown.key}
    with control(tmp_path / "data", trust=authority.trusting(shown), **served) as plane:
        assert plane.command("cameras", "list", CONTROL_CA=authority.file, **own).returncode == 0
        stranger = plane.command("cameras", "list", CONTROL_CA=authority.file)
    assert stranger.returncode == 5
    assert "set STREAMWARD_CONTROL_CLIENT_CERTIFICATE and STREAMWARD_CONTROL_CLIENT_KEY" in stranger.stderr


def test_the_doctor_looks_at_tls_too(tmp_path: Path, authority: Authority) -> None:
    served: dict[str, Any] = {**authority.issue("server").settings(), "PORT": free_port()}
    with control(tmp_path / "data", trust=authority.trusting(), **served) as plane:
        looked = plane.command("doctor", "--json", CONTROL_CA=authority.file, **served)
    found = {each["check"]: each["verdict"] for each in map(json.loads, looked.stdout.splitlines())}
    assert found["control plane"] == found["port"] == found["sign-in"] == "ok"
    assert found["TLS certificate"] == "warning"  # it ends within the hour
