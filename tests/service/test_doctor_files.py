"""The doctor's checks of files: each of them failing, and each with a way to mend it."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from streamward.cli.checks import files
from streamward.cli.checks.finding import Finding, Verdict
from streamward.control.keys import make_key
from streamward.control.master_keys import MasterKeys
from streamward.settings import Settings
from tests.support.certificates import Authority


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Those of a host where everything is as it should be."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    settings = Settings(data=data)
    make_key(settings.key_file)
    MasterKeys(settings.master_key_file).make()
    return settings


def with_(**parts: Any) -> Settings:
    return Settings.model_validate(parts)


def seen(finding: Finding | None) -> tuple[Verdict, str]:
    assert finding is not None
    assert (finding.remedy is None) is (finding.verdict is Verdict.OK)
    return finding.verdict, finding.detail


def test_a_host_in_order_has_nothing_to_mend(settings: Settings) -> None:
    for check in (files.data_folder, files.signing_key, files.master_key):
        assert seen(check(settings))[0] is Verdict.OK
    assert files.server_certificate(settings) is None
    assert files.client_certificate(settings) is None


def test_what_is_made_at_the_first_start_is_a_warning(tmp_path: Path) -> None:
    fresh = Settings(data=tmp_path / "data")
    for check in (files.data_folder, files.signing_key, files.master_key):
        verdict, detail = seen(check(fresh))
        assert verdict is Verdict.WARNING
        assert "is not there yet" in detail


@pytest.mark.parametrize(
    ("mode", "verdict"), [(0o755, Verdict.WARNING), (0o777, Verdict.FAILED), (0o720, Verdict.FAILED)]
)
def test_a_folder_that_others_can_enter_is_told(settings: Settings, mode: int, verdict: Verdict) -> None:
    settings.data.chmod(mode)
    finding = files.data_folder(settings)
    assert finding.verdict is verdict
    assert finding.remedy == f"chmod 700 {settings.data}"


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    assert seen(files.data_folder(Settings(data=tmp_path / "data"))) == (
        Verdict.FAILED,
        f"{tmp_path / 'data'} is not a folder",
    )


def test_keys_that_others_can_read_are_told(settings: Settings) -> None:
    for path, check in ((settings.key_file, files.signing_key), (settings.master_key_file, files.master_key)):
        path.chmod(0o644)
        verdict, detail = seen(check(settings))
        assert verdict is Verdict.FAILED
        assert "can be read by others" in detail


def test_keys_that_are_none_are_told(settings: Settings) -> None:
    for path, check in ((settings.key_file, files.signing_key), (settings.master_key_file, files.master_key)):
        path.write_text("not a key")
        assert seen(check(settings))[0] is Verdict.FAILED


def test_a_master_key_in_the_environment_that_is_none_is_told(tmp_path: Path) -> None:
    finding = files.master_key(with_(data=tmp_path, master_key="hunter2"))
    assert finding.verdict is Verdict.FAILED
    assert "STREAMWARD_MASTER_KEY" in finding.detail
    assert "hunter2" not in finding.detail


@pytest.mark.parametrize(
    ("lasts", "verdict"),
    [(timedelta(days=90), Verdict.OK), (timedelta(days=3), Verdict.WARNING), (timedelta(minutes=-1), Verdict.FAILED)],
)
def test_a_certificate_is_told_before_it_ends(tmp_path: Path, lasts: timedelta, verdict: Verdict) -> None:
    pair = Authority(tmp_path).issue("server", lasts=lasts)
    tls = {"certificate": pair.certificate, "key": pair.key}
    assert seen(files.server_certificate(with_(tls=tls)))[0] is verdict
    shown = {"client_certificate": pair.certificate, "client_key": pair.key}
    assert seen(files.client_certificate(with_(control=shown)))[0] is verdict


def test_a_certificate_without_its_key_is_told(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    pair, other = authority.issue("server"), authority.issue("other")
    tls = {"certificate": pair.certificate, "key": other.key}
    assert seen(files.server_certificate(with_(tls=tls)))[0] is Verdict.FAILED
    pair.key.chmod(0o644)
    tls["key"] = pair.key
    assert "can be read by others" in seen(files.server_certificate(with_(tls=tls)))[1]


def test_a_ca_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert seen(files.client_certificate(with_(control={"ca": tmp_path / "ca.pem"})))[0] is Verdict.FAILED
