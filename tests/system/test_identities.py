"""People and runners from their first code to their revocation, by the command line and on several control planes."""

import asyncio
import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from streamward.drivers.key_pair import KeyPair, StoredIdentity
from tests.support.postgres import PostgresServer
from tests.support.processes import ControlProcess, control

PATIENCE = 60.0  # seconds; 5 are promised, and measured on a quiet machine (docs/measured.md)


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlProcess]:
    with control(tmp_path / "data", "--demo") as process:
        yield process


def done(result: subprocess.CompletedProcess[str]) -> str:
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def code_in(text: str) -> str:
    """The code in the line that somebody has to type."""
    found = re.search(r"--code (\S+)", text)
    assert found is not None, text
    return found[1]


def signed_in(plane: ControlProcess, file: Path, verb: str = "login", *, code: str) -> None:
    done(plane.command(verb, plane.url, "--code", code, IDENTITY=file))


def fresh_token(plane: ControlProcess, file: Path) -> dict[str, str]:
    return {"Authorization": f"Bearer {done(plane.command('token', IDENTITY=file)).strip()}"}


def test_the_code_of_the_first_start_signs_an_admin_in_once(tmp_path: Path) -> None:
    file = tmp_path / "ada.json"
    with control(tmp_path / "data") as plane:
        assert plane.code is not None
        signed_in(plane, file, code=plane.code)
        assert "admin" in done(plane.command("whoami", IDENTITY=file))
        assert done(plane.command("tenants", "add", "north", IDENTITY=file))
        again = plane.command("login", plane.url, "--code", plane.code, IDENTITY=tmp_path / "eve.json")
        assert (again.returncode, again.stdout) == (4, "")
        assert not list(tmp_path.glob("eve.json*")), "a refused login leaves no key behind"
        away = plane.command("login", "http://127.0.0.1:1", "--code", plane.code, IDENTITY=tmp_path / "eve.json")
        assert away.returncode == 5
        assert not list(tmp_path.glob("eve.json*"))
        assert "was used, or has expired: ask for a new one" in again.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    with control(tmp_path / "data") as plane:  # somebody is admin
        assert plane.code is None


def test_a_start_without_an_admin_prints_another_code_and_ends_the_last(tmp_path: Path) -> None:
    with control(tmp_path / "data") as plane:
        old = plane.code
    with control(tmp_path / "data") as plane:
        assert old is not None
        assert plane.code not in (None, old)
        assert plane.command("login", plane.url, "--code", old, IDENTITY=tmp_path / "eve.json").returncode == 4


def test_a_person_is_invited_changed_and_revoked(plane: ControlProcess, tmp_path: Path) -> None:
    file = tmp_path / "bob.json"
    told = done(plane.command("people", "invite", "bob", "--role", "operator", "--tenant", "north", "--ttl", "1h"))
    assert "bob is invited as operator of tenant north until " in told
    assert f"streamward login {plane.url} --code " in told
    assert "bob" in done(plane.command("people", "invitations"))
    signed_in(plane, file, code=code_in(told))
    heading, row = done(plane.command("people", "list")).splitlines()
    assert heading.split() == ["ID", "NAME", "ROLE", "TENANT", "CHANGED"]
    identity = row.split()[0]
    assert row.split()[1:4] == ["bob", "operator", "north"]
    changed = json.loads(done(plane.command("people", "set", identity, "--role", "viewer", "--json")))
    assert changed["role"] == "viewer"
    assert "vineyard" not in done(plane.command("leases", "list", IDENTITY=file))
    assert done(plane.command("people", "revoke", identity, "--yes")) == f"revoked {identity}\n"
    refused = plane.command("cameras", "list", IDENTITY=file)
    assert refused.returncode == 4
    assert "sign in again with a new one-time code" in refused.stderr
    assert identity in done(plane.command("people", "list", "--all"))
    assert "nobody is known" in plane.command("people", "list").stderr


def test_who_logs_out_has_no_key_and_is_not_signed_in(plane: ControlProcess, tmp_path: Path) -> None:
    file = tmp_path / "eve.json"
    invited = done(plane.command("people", "invite", "eve", "--role", "viewer", "--tenant", "north"))
    signed_in(plane, file, code=code_in(invited))
    ended = plane.command("logout", IDENTITY=file)
    assert ended.returncode == 0, ended
    assert not list(tmp_path.glob("eve.json*"))
    assert plane.command("token", IDENTITY=file).returncode == 4


def test_an_invitation_is_cancelled(plane: ControlProcess, tmp_path: Path) -> None:
    made = json.loads(done(plane.command("people", "invite", "eve", "--role", "viewer", "--json")))
    cancelled = done(plane.command("people", "cancel", made["invitation_id"]))
    assert cancelled == f"cancelled {made['invitation_id']}\n"
    late = plane.command("login", plane.url, "--code", made["code"], IDENTITY=tmp_path / "eve.json")
    assert late.returncode == 4
    gone = plane.command("people", "cancel", made["invitation_id"])
    assert (gone.returncode, "streamward people invitations" in gone.stderr) == (3, True)


def test_whoami_tells_by_what_commands_speak(plane: ControlProcess, tmp_path: Path) -> None:
    on_the_host = json.loads(done(plane.command("whoami", "--json")))
    assert (on_the_host["role"], on_the_host["tenant"]) == ("admin", "all")
    assert on_the_host["by"] == f"the signing key in {plane.data / 'keys'}"
    token = plane.token("--viewer", "eve")
    given = json.loads(done(plane.command("whoami", "--json", TOKEN=token)))
    assert (given["subject"], given["role"], given["by"]) == ("eve", "viewer", "the token in STREAMWARD_TOKEN")
    for wrong in ("nonsense", token[:-8] + "AAAAAAAA"):
        assert plane.command("whoami", TOKEN=wrong).returncode == 4
    assert plane.command("whoami", DATA=tmp_path / "elsewhere").returncode == 4


def test_a_runner_enrols_works_and_is_revoked(plane: ControlProcess, tmp_path: Path) -> None:
    file = tmp_path / "runner.json"
    told = done(plane.command("runners", "invite", "r7", "--tenant", "north"))
    assert f"streamward enrol {plane.url} --code " in told
    signed_in(plane, file, "enrol", code=code_in(told))
    with httpx.Client(base_url=plane.url, headers=fresh_token(plane, file), timeout=60) as runner:
        assert runner.post("/v1/runners/register", json={"runner_id": "r7"}).status_code == 200
        body = {"runner_id": "r7", "camera_uuid": "harbour-1", "ttl_seconds": 10}
        assert runner.post("/v1/leases/camera/acquire", json=body).status_code == 200
        heading, row = done(plane.command("leases", "list", "--runner", "r7")).splitlines()
        assert heading.split() == ["CAMERA", "SITE", "TENANT", "STATE", "OWNER", "GENERATION", "LASTS"]
        assert row.split()[:6] == ["harbour-1", "harbour", "north", "ACTIVE", "r7", "1"]
        assert "GENERATION" in done(plane.command("leases", "show", "harbour-1"))
        assert plane.command("runners", "revoke", "r7").returncode == 2  # nobody is here to ask
        assert "revoked r7" in done(plane.command("runners", "revoke", "r7", "--yes"))
        assert runner.post("/v1/runners/register", json={"runner_id": "r7"}).json()["reason"] == "token-revoked"
    assert plane.command("token", IDENTITY=file).returncode == 4


def test_a_clock_that_is_ten_minutes_off_is_told(plane: ControlProcess) -> None:
    pair = KeyPair.new()
    code = json.loads(done(plane.command("runners", "invite", "r8", "--json")))["code"]
    with httpx.Client(base_url=plane.url, timeout=60) as stranger:
        body = {"code": code, "public_key": pair.public_key}
        assert stranger.post("/v1/identities", json=body).status_code == 201
        for off, side in ((-600, "behind"), (600, "ahead of")):
            assertion = pair.assertion(now=int(time.time()) + off, incarnation="i1")
            refused = stranger.post("/v1/tokens", json={"assertion": assertion})
            assert (refused.status_code, refused.json()["reason"]) == (401, "clock-skew")
            sentence = rf"your clock is (5[4-9][0-9]|6[0-5][0-9]) s {side} the control plane's, .* \(NTP\)"
            assert re.search(sentence, refused.json()["detail"])


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    name = asyncio.run(postgres.create())
    yield name
    asyncio.run(postgres.drop(name))


def refused_after(one: ControlProcess, two: ControlProcess, file: Path) -> float:
    """How many seconds after somebody was revoked at one control plane another refuses them."""
    told = done(one.command("people", "invite", file.stem, "--role", "viewer"))
    signed_in(one, file, code=code_in(told))
    revoke = f"/v1/identities/{StoredIdentity.load(file).pair.identity_id}"
    with one.client("--admin", "ada") as admin, httpx.Client(base_url=two.url, timeout=60) as other:
        other.headers.update(fresh_token(one, file))
        assert other.get("/v1/cameras").status_code == 200
        began = time.monotonic()
        assert admin.delete(revoke).status_code == 200
        while other.get("/v1/cameras").status_code == 200:
            assert time.monotonic() - began < PATIENCE
        return time.monotonic() - began


def test_who_is_revoked_at_one_control_plane_is_refused_by_another(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    data, url = tmp_path / "data", postgres.url(database)
    with control(data, DATABASE_URL=url) as one, control(data, DATABASE_URL=url) as two:
        took = [refused_after(one, two, tmp_path / f"bob{number}.json") for number in range(5)]
    print(f"\nrevoked elsewhere after {min(took):.2f} to {max(took):.2f} s")
    assert max(took) <= PATIENCE


def test_without_its_database_a_control_plane_trusts_nobody_after_a_while(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    with control(tmp_path / "data", DATABASE_URL=postgres.url(database)) as plane, plane.client("--viewer", "v") as ada:
        assert ada.get("/v1/wait", params={"timeout_s": 0}).status_code == 200  # asks no database
        with postgres.shut(database):
            began = time.monotonic()
            while ada.get("/v1/wait", params={"timeout_s": 0}).status_code == 200:
                assert time.monotonic() - began < PATIENCE
            took = time.monotonic() - began
            refused = ada.get("/v1/wait", params={"timeout_s": 0})
            assert (refused.status_code, refused.json()["reason"]) == (503, "store-unavailable")
    print(f"\ntrusted without a database for {took:.2f} s")
