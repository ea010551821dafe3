"""Limits of sources: closed by default, and refused if they cannot be meant."""

from ipaddress import ip_address
from pathlib import Path

import pytest

from streamward.model.address_policy import DEFAULT_LIMITS, AddressFault
from streamward.model.source_url import SourceKind
from streamward.protocol.sites import SourceLimits
from streamward.settings import Settings, SettingsRefused, load, with_loopback

NOWHERE = Path("no-such-file")


def loaded(**settings: str) -> Settings:
    return load({f"STREAMWARD_{name}": value for name, value in settings.items()}, file=NOWHERE)


def test_without_settings_nothing_special_is_open():
    assert loaded().sources.limits == DEFAULT_LIMITS
    assert loaded().runner.source_limits == SourceLimits()


def test_the_limits_of_an_installation_are_read():
    limits = loaded(SOURCES_ALLOW="10.0.0.0/8, 127.0.0.0/8", SOURCES_DENY="10.1.0.0/16", SOURCES_KINDS="file").sources
    assert limits.limits.judge(ip_address("127.0.0.1")) is None
    assert limits.limits.judge(ip_address("10.1.0.1")) is AddressFault.DENIED
    assert limits.limits.kinds == DEFAULT_LIMITS.kinds | {SourceKind.FILE}


def test_the_limits_of_a_runner_are_read():
    runner = loaded(
        RUNNER_SOURCE_ALLOW="127.0.0.0/8",
        RUNNER_SOURCE_DENY="127.1.0.0/16",
        RUNNER_SOURCE_KINDS="file,device",
        RUNNER_SOURCE_FOLDERS="/srv/films, /srv/clips",
    ).runner
    assert runner.source_limits == SourceLimits(
        allow=["127.0.0.0/8"], deny=["127.1.0.0/16"], kinds=["device", "file"], folders=["/srv/films", "/srv/clips"]
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SOURCES_ALLOW", "10.0.0.1/8", "is not a network"),
        ("SOURCES_DENY", "host", "is not a network"),
        ("SOURCES_KINDS", "rtmp", "'rtmp' is not one of device, file"),
        ("RUNNER_SOURCE_ALLOW", "127.1", "is not a network"),
        ("RUNNER_SOURCE_DENY", "127.1", "is not a network"),
        ("RUNNER_SOURCE_KINDS", "files", "'files' is not one of device, file"),
        ("RUNNER_SOURCE_FOLDERS", "films", "'films' is not an absolute path"),
        ("RUNNER_SOURCE_KINDS", "file", "needs STREAMWARD_RUNNER_SOURCE_FOLDERS too"),
    ],
)
def test_what_cannot_be_meant_is_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        loaded(**{name: value})
    assert str(refused.value).startswith(f"STREAMWARD_{name}")
    assert said in str(refused.value)


def test_loopback_is_added_to_an_allow_list_and_closes_nothing():
    assert with_loopback("10.0.0.0/8") == "10.0.0.0/8,127.0.0.0/8"
    assert with_loopback("") == "0.0.0.0/0,::/0,127.0.0.0/8"
