"""Settings: where they come from, and what is refused in one sentence."""

from pathlib import Path

import pytest

from streamward.settings import Settings, SettingsRefused, find, handed_on, load, render_example, render_page, variables

NOWHERE = Path("no-such-file.env")


def refusal(**environment: str) -> str:
    with pytest.raises(SettingsRefused) as refused:
        load({f"STREAMWARD_{name}": value for name, value in environment.items()}, file=NOWHERE)
    return str(refused.value)


def test_a_process_of_ours_is_handed_its_settings_and_no_others() -> None:
    ours = handed_on({"PORT": "0"}, {"PATH": "/bin", "STREAMWARD_DATA": "elsewhere"})
    assert ours == {"PATH": "/bin", "STREAMWARD_PORT": "0"}


def test_without_an_environment_there_are_the_defaults() -> None:
    settings = load({}, file=NOWHERE)
    assert settings == Settings()
    assert (settings.host, settings.port) == ("127.0.0.1", 8080)
    assert (settings.lease.ttl_s, settings.lease.renew_interval_s) == (8.0, 2.0)
    assert settings.database_url == "sqlite:///data/streamward.db"
    assert settings.key_file == Path("data/keys/signing.pem")
    assert settings.retention == "30 days or 2,048 MiB"


def test_the_environment_is_read() -> None:
    settings = load(
        {
            "STREAMWARD_DATA": "elsewhere",
            "STREAMWARD_PORT": "0",
            "STREAMWARD_DATABASE_URL": "postgresql://u:hunter2@db/x",
            "STREAMWARD_LEASE_TTL_S": "20",
            "streamward_log_level": "debug",
            "STREAMWARD_MASTER_KEY": "hunter2",
            "PORT": "9",
        },
        file=NOWHERE,
    )
    assert (settings.data, settings.port, settings.lease.ttl_s) == (Path("elsewhere"), 0, 20.0)
    assert (settings.log.level, settings.log.format) == ("debug", "auto")
    assert settings.database_url == "postgresql://u:hunter2@db/x"
    assert settings.retention == "30 days"
    assert settings.master_key is not None
    assert settings.master_key.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(settings)


def test_an_empty_variable_is_none() -> None:
    assert load({"STREAMWARD_DATABASE_URL": "", "STREAMWARD_PORT": ""}, file=NOWHERE) == Settings()


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("STREAMWARD_PORT=1\nSTREAMWARD_LEASE_TTL_S=30\nSTREAMWARD_LEASE_RENEW_INTERVAL_S=3\nOTHER=x\n")
    settings = load({"STREAMWARD_PORT": "2", "STREAMWARD_LEASE_TTL_S": "40"}, file=file)
    assert (settings.port, settings.lease.ttl_s, settings.lease.renew_interval_s) == (2, 40.0, 3.0)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"TLS_CERTIFICATE": "c.pem"}, ["CERTIFICATE", "KEY"]),
        ({"TLS_KEY": "c.key"}, ["CERTIFICATE", "KEY"]),
        ({"TLS_CLIENT_CA": "ca.pem"}, ["CLIENT_CA", "CERTIFICATE", "KEY"]),
    ],
    ids=["certificate alone", "key alone", "client CA alone"],
)
def test_parts_of_tls_alone_are_refused_by_name(given: dict[str, str], named: list[str]) -> None:
    said = refusal(**given)
    assert all(f"STREAMWARD_TLS_{name}" in said for name in named)
    assert ";" not in said


def test_the_files_of_tls_are_read() -> None:
    names = {"CERTIFICATE": "c.pem", "KEY": "c.key", "CLIENT_CA": "ca.pem"}
    tls = load({f"STREAMWARD_TLS_{name}": value for name, value in names.items()}, file=NOWHERE).tls
    assert (tls.certificate, tls.key, tls.client_ca) == (Path("c.pem"), Path("c.key"), Path("ca.pem"))


def test_timings_that_contradict_each_other_are_refused_by_name() -> None:
    said = refusal(LEASE_TTL_S="8", LEASE_RENEW_INTERVAL_S="3.5")
    assert said == (
        "STREAMWARD_LEASE_TTL_S and STREAMWARD_LEASE_RENEW_INTERVAL_S contradict each other: "
        "lease ttl 8 s is trusted for 6.7 s, but renewing every 3.5 s needs 8 s: raise the ttl or renew more often"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "http"),
        ("PORT", "65536"),
        ("LEASE_TTL_S", "nan"),
        ("LEASE_TTL_S", "1e9"),
        ("LEASE_RENEW_INTERVAL_S", "0"),
        ("LOG_LEVEL", "loud"),
        ("DATABASE_URL", "mysql://u:hunter2@x/y"),
        ("CONTROL_URL", "control.example"),
        ("CONTROL_URL", "http://u:hunter2@control.example"),
        ("CONTROL_URL", "http://control.example:70000"),
        ("CONTROL_URL", "http://control.example/?a"),
        ("CONTROL_CLIENT_KEY", "key.pem"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_by_name(name: str, value: str) -> None:
    said = refusal(**{name: value})
    assert f"STREAMWARD_{name}" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("name", ["DATABASE_ULR", "LEASE_TTL", "LEASE_RENEW_INTERVALL_S", "LOGLEVEL"])
def test_a_misspelled_name_is_refused(name: str) -> None:
    assert f"STREAMWARD_{name} is not a setting" in refusal(**{name: "1"})


@pytest.mark.parametrize(
    "name", ["STREAMWARD_REQUIRE_ALL", "STREAMWARD_CONTROL_SERVICE_HOST", "STREAMWARD_DATABASE_PORT"]
)
def test_what_others_set_under_our_prefix_is_left_alone(name: str) -> None:
    assert load({name: "tcp://10.0.0.1:80"}, file=NOWHERE) == Settings()


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({}, "http://127.0.0.1:8080"),
        ({"STREAMWARD_PORT": "0"}, "http://127.0.0.1:8080"),
        ({"STREAMWARD_HOST": "0.0.0.0", "STREAMWARD_PORT": "81"}, "http://127.0.0.1:81"),
        ({"STREAMWARD_HOST": "::1"}, "http://[::1]:8080"),
        ({"STREAMWARD_CONTROL_URL": "https://control.example/fleet/"}, "https://control.example/fleet"),
    ],
)
def test_commands_find_the_control_plane(settings: dict[str, str], url: str) -> None:
    assert load(settings, file=NOWHERE).control_url == url


def test_settings_do_not_change() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Settings().port = 1


def test_the_page_and_the_example_tell_every_setting() -> None:
    for variable in variables():
        assert f"| `{variable.name}` |" in render_page()
        assert f"# {variable.name}=" in render_example()
        assert variable.meaning
    assert len(variables()) > 50


def test_the_example_with_everything_uncommented_is_the_defaults(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(render_example().replace("# STREAMWARD_", "STREAMWARD_"))
    assert load({}, file=file) == Settings()


def configured(folder: Path, text: str, **environment: str) -> Settings:
    path = folder / "streamward.toml"
    path.write_text(text)
    return load({f"STREAMWARD_{name}": value for name, value in environment.items()}, file=NOWHERE, config=path)


def test_a_file_of_toml_is_read(tmp_path: Path) -> None:
    settings = configured(tmp_path, 'port = 81\ndata = "d"\n[lease]\nttl_s = 10\n[log]\nlevel = "debug"\n')
    assert (settings.port, settings.data, settings.lease.ttl_s, settings.log.level) == (81, Path("d"), 10.0, "debug")


def test_the_environment_wins_over_dotenv_and_that_over_toml(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("STREAMWARD_PORT=2\nSTREAMWARD_LEASE_TTL_S=12\n")
    (tmp_path / "s.toml").write_text('port = 3\nhost = "h"\n[lease]\nttl_s = 11\nrenew_interval_s = 1\n')
    found = find({"STREAMWARD_PORT": "1"}, file=tmp_path / ".env", config=tmp_path / "s.toml")
    lease = found.settings.lease
    assert (found.settings.port, lease.ttl_s, lease.renew_interval_s) == (1, 12.0, 1.0)
    assert found.origins["port",] == "environment"
    assert found.origins["lease", "ttl_s"] == str(tmp_path / ".env")
    assert found.origins["lease", "renew_interval_s"] == str(tmp_path / "s.toml")
    assert found.origins["log", "level"] == "default"


def test_a_variable_names_another_file(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("port = 3\n")
    assert load({"STREAMWARD_CONFIG": str(tmp_path / "s.toml")}, file=NOWHERE).port == 3
    with pytest.raises(SettingsRefused, match=r"STREAMWARD_CONFIG names nowhere\.toml, which is not there"):
        load({"STREAMWARD_CONFIG": "nowhere.toml"}, file=NOWHERE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[lease]\nttl = 8\n", "lease.ttl is not a setting: lease.ttl_s is"),
        ("prot = 8\n", "prot is not a setting: port is"),
        ("zebra = 8\n", "zebra is not a setting"),
        ("lease = 8\n", "lease is not a setting"),
        ("[port]\nx = 1\n", "port.x is not a setting"),
        ('config = "x"\n', "config is not a setting"),
        ("port = 70000\n", "streamward.toml: port: Input should be less than or equal to 65535"),
        ("port = \n", "is not TOML"),
        ("\xff", "is not TOML"),
        (f"port = {'9' * 5000}\n", "is not TOML that can be read"),
        (f"port = {'[' * 5000}\n", "is not TOML that can be read"),
        ("[lease]\nttl_s = 4\n", "contradict each other"),
    ],
)
def test_what_cannot_be_meant_in_a_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        configured(tmp_path, text, LEASE_RENEW_INTERVAL_S="2")
    assert said in str(refused.value)


@pytest.mark.parametrize("value", ["{", '{"ttl_s":' + "9" * 5000 + "}", "[" * 100_000])
def test_a_part_that_is_given_as_json_that_cannot_be_read_is_one_sentence(value: str) -> None:
    with pytest.raises(SettingsRefused, match=r"STREAMWARD_.* is not JSON that can be read"):
        load({"STREAMWARD_LEASE": value}, file=NOWHERE)


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsRefused, match="cannot be read"):
        load({}, file=NOWHERE, config=tmp_path)
