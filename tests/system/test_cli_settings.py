"""`streamward settings`: values with their origin, and no secret in any of them."""

import json
from pathlib import Path

from tests.support.processes import run


def test_every_setting_is_told_with_its_origin(tmp_path: Path) -> None:
    (tmp_path / "streamward.toml").write_text("[lease]\nttl_s = 9\n")
    (tmp_path / ".env").write_text("STREAMWARD_HOST=::1\n")
    lines = run("settings", "--json", data=tmp_path / "data").stdout.splitlines()
    by_name = {told["name"]: (told["key"], told["value"], told["origin"]) for told in map(json.loads, lines)}
    assert by_name["STREAMWARD_LEASE_TTL_S"] == ("lease.ttl_s", 9.0, "streamward.toml")
    assert by_name["STREAMWARD_HOST"] == ("host", "::1", ".env")
    assert by_name["STREAMWARD_PORT"] == ("port", 0, "environment")
    assert by_name["STREAMWARD_LOG_LEVEL"] == ("log.level", "info", "default")


def test_secrets_are_told_as_three_stars(tmp_path: Path) -> None:
    url = "postgresql://u:hunter2@db/x?password=hunter2"
    for args in ((), ("--json",)):
        told = run("settings", *args, data=tmp_path, DATABASE_URL=url, MASTER_KEY="hunter2", TOKEN="hunter2")
        assert told.returncode == 0
        assert "postgresql://***@db/x?***" in told.stdout
        assert "hunter2" not in told.stdout + told.stderr


def test_settings_that_cannot_be_meant_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "streamward.toml").write_text("prot = 9\n")
    refused = run("settings", data=tmp_path / "data")
    assert (refused.returncode, refused.stderr) == (1, "streamward: streamward.toml: prot is not a setting: port is\n")
