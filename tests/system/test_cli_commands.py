"""Every operator's command against a running control plane: tables for people, JSON for programs."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificates import Authority
from tests.support.processes import ControlProcess, control

PASSWORD = "c@n:a/r#y? 100%"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlProcess]:
    with control(tmp_path_factory.mktemp("plane") / "data", "--demo", SOURCES_KINDS="file") as process:
        for name in ("r1", "r2"):
            with process.client("--runner", name, "--incarnation", "i1") as runner:
                runner.post("/v1/runners/register", json={"runner_id": name, "incarnation": "i1"}).raise_for_status()
        yield process


def done(result: subprocess.CompletedProcess[str]) -> str:
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def told(result: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done(result))


def facts(text: str) -> dict[str, str]:
    """What `print_facts` told, by name."""
    return dict(line.split("  ", 1) for line in text.splitlines()) if text else {}


def fact(text: str, name: str) -> str:
    return {key.strip(): value.strip() for key, value in facts(text).items()}[name]


def test_cameras_are_listed_in_a_table(plane: ControlProcess) -> None:
    lines = done(plane.command("cameras", "list", "--site", "depot")).splitlines()
    assert lines[0].split() == ["CAMERA", "NAME", "SITE", "TENANT", "ENABLED", "SOURCE"]
    assert lines[1].split() == ["depot-1", "–", "depot", "north", "yes", "rtsp://127.0.0.1:8555/depot-1"]
    assert len(lines) == 5


def test_cameras_are_listed_as_json_lines(plane: ControlProcess) -> None:
    lines = done(plane.command("cameras", "list", "--tenant", "south", "--enabled", "--json")).splitlines()
    assert [json.loads(line)["camera_uuid"] for line in lines] == [f"vineyard-{number}" for number in range(1, 5)]


def test_a_listing_without_anything_says_so_beside_it(plane: ControlProcess) -> None:
    empty = plane.command("cameras", "list", "--site", "nowhere")
    assert (empty.returncode, empty.stdout) == (0, "")
    assert "no camera matches" in empty.stderr


def test_a_camera_is_shown(plane: ControlProcess) -> None:
    text = done(plane.command("cameras", "show", "harbour-1"))
    assert fact(text, "source") == "rtsp://127.0.0.1:8554/harbour-1"
    assert told(plane.command("cameras", "show", "harbour-1", "--json"))["etag"] == fact(text, "etag")


def test_why_is_told(plane: ControlProcess) -> None:
    assert "harbour-1 does not run\n" in done(plane.command("cameras", "why", "harbour-1"))
    assert told(plane.command("cameras", "why", "harbour-1", "--json"))["running"] is False


def test_a_camera_is_added_changed_and_removed(plane: ControlProcess, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(f"{PASSWORD}\n")
    source = ("harbour", "rtsp://127.0.0.1:9/live", "--user", "ada", "--password-file", str(tmp_path / "password"))
    added = done(plane.command("cameras", "add", *source, "--id", "new-1", "--disabled"))
    assert fact(added, "source") == "rtsp://***@127.0.0.1:9/live"
    kept = told(plane.command("cameras", "set", "new-1", "--url", "rtsp://***@127.0.0.1:9/x", "--enabled", "--json"))
    assert (kept["rtsp_url"], kept["credential_version"], kept["enabled"]) == ("rtsp://***@127.0.0.1:9/x", 1, True)
    assert "removed new-1" in done(plane.command("cameras", "remove", "new-1", "--yes"))
    assert plane.command("cameras", "remove", "new-1", "--yes").returncode == 3


def test_how_a_camera_is_looked_at_is_changed(plane: ControlProcess) -> None:
    options = ("--detector", "people", "--max-fps", "5", "--label", "floor=1", "--label", "gate=north=2")
    result = plane.command("cameras", "set", "vineyard-2", *options)
    assert result.returncode == 0
    changed = result.stdout
    assert (fact(changed, "detector"), fact(changed, "frames a second")) == ("people", "5")
    assert fact(changed, "labels") == "floor=1, gate=north=2"
    none = ("--detector", "none", "--max-fps", "0", "--label", "none")
    bare = told(plane.command("cameras", "set", "vineyard-2", *none, "--json"))
    assert (bare["detector"], bare["max_fps"], bare["labels"]) == (None, None, {})
    assert plane.command("cameras", "set", "vineyard-2", "--label", "floor").returncode == 2


def test_a_detector_that_nobody_has_tried_to_load_is_accepted_with_a_warning(plane: ControlProcess) -> None:
    source = ("harbour", "rtsp://127.0.0.1:9/live", "--id", "detector-1")
    added = plane.command("cameras", "add", *source, "--detector", "nosuch")
    changed = plane.command("cameras", "set", "detector-1", "--detector", "nosuch2")
    done(plane.command("cameras", "remove", "detector-1", "--yes"))
    assert (added.returncode, changed.returncode) == (0, 0)
    assert "warning: no runner holds the camera yet" in added.stderr
    assert "its detector nosuch:" in added.stderr
    assert "its detector nosuch2:" in changed.stderr


def test_where_things_count_is_named_shown_and_taken_away(plane: ControlProcess, tmp_path: Path) -> None:
    road = {"name": "road", "points": [[0, 0], [1, 0], [1, 0.4]], "leaves_out": True}
    yard = {"name": "yard", "points": [[0, 0.4], [1, 0.4], [1, 1], [0, 1]], "dwell_s": 30}
    (tmp_path / "zones.json").write_text(json.dumps([road, yard], indent=2))
    options = ("--zones", str(tmp_path / "zones.json"), "--threshold", "person=0.5", "--threshold", "*=0.25")
    changed = done(plane.command("cameras", "set", "vineyard-3", *options, "--detect-every", "3"))
    assert fact(changed, "zones") == "road (3 points, leaves out), yard (4 points, a stay told after 30 s)"
    assert (fact(changed, "thresholds"), fact(changed, "looked at")) == (
        "person 0.5, all others 0.25",
        "one of 3 pictures",
    )
    typed = json.dumps([yard])
    kept = told(plane.command("cameras", "set", "vineyard-3", "--zones", "-", "--json", typed=typed))
    assert ([zone["name"] for zone in kept["zones"]], kept["detect_every_n_frames"]) == (["yard"], 3)
    none = ("--zones", "none", "--threshold", "none", "--detect-every", "0")
    bare = done(plane.command("cameras", "set", "vineyard-3", *none))
    assert (fact(bare, "zones"), fact(bare, "looked at")) == ("everywhere", "each picture")
    wrong = plane.command("cameras", "set", "vineyard-3", "--zones", "-", typed=json.dumps([yard, yard]))
    assert (wrong.returncode, "two zones have the name yard" in wrong.stderr) == (2, True)


def test_a_certificate_is_pinned_and_a_site_has_a_ca(plane: ControlProcess, tmp_path: Path) -> None:
    pin = ":".join(["AB"] * 32)
    source = ("harbour", "rtsps://127.0.0.1:9/z", "--id", "new-tls", "--disabled")
    added = done(plane.command("cameras", "add", *source, "--tls-fingerprint", pin))
    assert fact(added, "certificate") == f"SHA-256 {'ab' * 32}"
    bare = told(plane.command("cameras", "set", "new-tls", "--tls-fingerprint", "none", "--json"))
    assert bare["tls_fingerprint"] is None
    wrong = plane.command("cameras", "set", "new-tls", "--tls-fingerprint", "ab:cd")
    assert (wrong.returncode, "SHA-256" in wrong.stderr) == (2, True)
    done(plane.command("cameras", "remove", "new-tls", "--yes"))
    authority = Authority(tmp_path)
    site = told(plane.command("sites", "set", "harbour", "--tls-ca", str(authority.file), "--json"))
    assert site["tls_ca"] == authority.file.read_text()
    assert fact(done(plane.command("sites", "show", "harbour")), "CA of cameras") == "given"
    key = plane.command("sites", "set", "harbour", "--tls-ca", str(authority.issue("nvr").key))
    assert (key.returncode, "private key" in key.stderr) == (2, True)
    assert "tls_ca" not in told(plane.command("sites", "set", "harbour", "--tls-ca", "none", "--json"))


def test_a_camera_is_added_with_its_zones(plane: ControlProcess) -> None:
    typed = json.dumps([{"name": "gate", "points": [[0, 0], [1, 0], [1, 1]]}])
    source = ("harbour", "rtsp://127.0.0.1:9/z", "--id", "new-3", "--disabled")
    added = told(
        plane.command("cameras", "add", *source, "--zones", "-", "--threshold", "dog=1", "--json", typed=typed)
    )
    assert (added["zones"][0]["name"], added["thresholds"]) == ("gate", {"dog": 1.0})
    done(plane.command("cameras", "remove", "new-3", "--yes"))


def test_a_tenant_s_operator_adds_and_finds_a_camera_by_its_name(plane: ControlProcess) -> None:
    bob = {"TOKEN": plane.token("--operator", "bob", "--tenant", "north")}
    source = ("harbour", "rtsp://127.0.0.1:9/z")
    refused = plane.command("cameras", "add", *source, "--id", "depot-1", **bob)
    assert (refused.returncode, "give the camera a name" in refused.stderr) == (1, True)
    made = told(plane.command("cameras", "add", *source, "--name", "pier", "--json", **bob))
    assert told(plane.command("cameras", "show", "pier", "--json", **bob))["camera_uuid"] == made["camera_uuid"]
    assert made["camera_uuid"] in done(plane.command("cameras", "list", "--name", "pier"))
    assert made["camera_uuid"] in done(plane.command("cameras", "why", "pier", **bob))
    assert made["camera_uuid"] in done(plane.command("leases", "show", "pier", **bob))
    renamed = told(plane.command("cameras", "set", "pier", "--name", "quay", "--json", **bob))
    assert (renamed["camera_uuid"], renamed["name"]) == (made["camera_uuid"], "quay")
    assert "name" not in told(plane.command("cameras", "set", "quay", "--name", "none", "--json", **bob))
    assert plane.command("cameras", "show", "quay", **bob).returncode == 3
    done(plane.command("cameras", "remove", made["camera_uuid"], "--yes", **bob))


def test_a_password_is_read_from_standard_input_as_it_is(plane: ControlProcess) -> None:
    source = ("harbour", "rtsp://127.0.0.1:9/y", "--user", "ada", "--password-file", "-", "--id", "new-2")
    done(plane.command("cameras", "add", *source, typed=f"{PASSWORD}\n"))
    with plane.client("--runner", "r2", "--incarnation", "i1") as runner:
        body = {"runner_id": "r2", "camera_uuid": "new-2", "ttl_seconds": 10, "incarnation": "i1"}
        got = runner.post("/v1/leases/camera/acquire", json=body).json()["source"]
    assert (got["username"], got["password"]) == ("ada", PASSWORD)
    done(plane.command("cameras", "remove", "new-2", "--yes", "--json"))


def test_a_site_is_added_changed_and_shown(plane: ControlProcess) -> None:
    added = done(plane.command("sites", "add", "yard", "--tenant", "north", "--allow", "10.0.0.0/8", "--dials", "3"))
    assert (fact(added, "allowed networks"), fact(added, "dials at once")) == ("10.0.0.0/8", "3")
    options = ("--allow", "none", "--deny", "10.1.0.0/16", "--kind", "file", "--policy", "sticky", "--rate", "60")
    changed = told(plane.command("sites", "set", "yard", *options, "--json"))
    assert changed["sources"] == {"allow": [], "deny": ["10.1.0.0/16"], "kinds": ["file"]}
    assert (changed["policy"], changed["capacity"], changed["refill_rate"]) == ("sticky", 3, 60.0)
    shown = done(plane.command("sites", "show", "yard"))
    assert (fact(shown, "lease policy"), fact(shown, "dials under way")) == ("sticky", "0")
    assert fact(shown, "limit of sources") == "rtsp, rtsps, file, null"
    refused = plane.command("sites", "set", "yard", "--kind", "device")
    assert (refused.returncode, "sources.kinds names device" in refused.stderr) == (1, True)
    own = told(plane.command("sites", "set", "yard", "--policy", "runner", "--json"))
    assert own["policy"] is None


def test_a_budget_tells_how_long_it_takes_for_those_who_wait_and_for_more(plane: ControlProcess) -> None:
    heading, *rows = done(plane.command("sites", "budget", "--add", "60")).splitlines()
    assert heading.split("  ")[0] == "SITE"
    assert "DIALED WITH 60 MORE" in heading
    assert "depot" in {row.split()[0] for row in rows}
    now, then = (told(plane.command("sites", "budget", "depot", *more, "--json")) for more in ((), ("--add", "60")))
    assert (now["tokens"], now["in_flight"], now["waiting"]) == (10.0, 0, 4)
    assert (now["dialed_in_s"], then["dialed_in_s"]) == (1.0, 28.0)


def test_sites_are_listed_and_removed(plane: ControlProcess) -> None:
    heading, *rows = done(plane.command("sites", "list")).splitlines()
    assert heading.split() == ["SITE", "TENANT", "POLICY", "DIALS", "PER", "MINUTE"]
    assert [row.split()[:2] for row in rows if row.startswith("depot")] == [["depot", "north"]]
    done(plane.command("sites", "add", "gone", "--tenant", "south"))
    lines = done(plane.command("sites", "list", "--json")).splitlines()
    assert "gone" in {json.loads(line)["site_id"] for line in lines}
    assert done(plane.command("sites", "remove", "gone", "--yes")) == "removed gone\n"
    assert "remove them first" in plane.command("sites", "remove", "depot", "--yes").stderr


def test_tenants_need_an_admin(plane: ControlProcess) -> None:
    admin = plane.token("--admin", "ada")
    assert fact(done(plane.command("tenants", "add", "west", "--name", "The West", TOKEN=admin)), "name") == "The West"
    assert told(plane.command("tenants", "set", "west", "--name", "W", "--json", TOKEN=admin))["name"] == "W"
    heading, *rows = done(plane.command("tenants", "list")).splitlines()
    assert heading.split() == ["TENANT", "NAME", "STATE", "CHANGED"]
    assert [row.split()[:3] for row in rows if row.startswith("west")] == [["west", "W", "live"]]
    assert told(plane.command("tenants", "show", "west", "--json"))["tenant_id"] == "west"
    refused = plane.command("tenants", "remove", "west", "--yes", TOKEN=plane.token("--operator", "bob"))
    assert refused.returncode == 4
    assert "this needs the token of an admin" in refused.stderr
    begun = told(plane.command("tenants", "remove", "west", "--yes", "--no-wait", "--json", TOKEN=admin))
    assert (begun["tenant_id"], begun["state"]) == ("west", "deleting")
    rows = [row for row in done(plane.command("tenants", "list")).splitlines() if row.startswith("west")]
    assert [row.split()[2] for row in rows] in (["deleting"], []), "it may be gone by now"


def test_the_deletion_of_a_tenant_is_waited_for_and_shown(plane: ControlProcess) -> None:
    admin = plane.token("--admin", "ada")
    done(plane.command("tenants", "add", "east", TOKEN=admin))
    removed = plane.command("tenants", "remove", "east", "--yes", TOKEN=admin)
    assert removed.stdout.startswith("deleted east and all of its data: ")
    assert "deleting east: " in removed.stderr
    assert fact(done(plane.command("tenants", "deletion", "east", TOKEN=admin)), "state") == "gone"
    assert told(plane.command("tenants", "deletion", "east", "--json", TOKEN=admin))["waiting_for"] is None
    assert fact(done(plane.command("tenants", "add", "east", TOKEN=admin)), "tenant") == "east"


def test_the_audit_tells_who_changed_what(plane: ControlProcess) -> None:
    ada = plane.token("--operator", "ada")
    done(plane.command("cameras", "set", "vineyard-1", "--do-not-process", TOKEN=ada))
    heading, row = done(plane.command("audit", "list", "--object", "vineyard-1", "--by", "ada")).splitlines()
    assert heading.split() == ["AT", "WHO", "ACTION", "OBJECT", "TENANT", "FROM"]
    assert row.split()[2:] == ["ada", "camera.updated", "vineyard-1", "south", "127.0.0.1"]
    entry = told(plane.command("audit", "list", "--action", "camera.updated", "--by", "ada", "--limit", "1", "--json"))
    assert (entry["before"]["do_not_process"], entry["after"]["do_not_process"]) == (False, True)
    assert "no change matches" in plane.command("audit", "list", "--by", "nobody").stderr


def test_runners_are_listed_and_shown(plane: ControlProcess) -> None:
    heading, row, _ = done(plane.command("runners", "list")).splitlines()
    assert heading.split() == ["RUNNER", "SITE", "POLICY", "CAPACITY", "CORDONED", "DRAIN", "SEEN"]
    assert row.split()[:3] == ["r1", "any", "fast"]
    lines = done(plane.command("runners", "list", "--json")).splitlines()
    assert [json.loads(line)["runner_id"] for line in lines] == ["r1", "r2"]
    assert fact(done(plane.command("runners", "show", "r1")), "incarnation") == "i1"


@pytest.mark.parametrize(
    ("args", "field", "value"),
    [
        (("cordon", "r1"), "cordoned", True),
        (("uncordon", "r1"), "cordoned", False),
        (("drain", "r1"), "drain_mode", "soft"),
        (("drain", "r1", "hard"), "drain_mode", "hard"),
        (("drain", "r1", "none"), "drain_mode", "none"),
        (("set", "r1", "--capacity", "7"), "capacity_streams", 7),
    ],
)
def test_a_runner_is_steered(plane: ControlProcess, args: tuple[str, ...], field: str, value: object) -> None:
    assert told(plane.command("runners", *args, "--json"))[field] == value


def test_what_nobody_holds_is_not_reclaimed(plane: ControlProcess) -> None:
    refused = plane.command("leases", "reclaim", "harbour-2")
    assert refused.returncode == 1
    assert "nobody holds camera harbour-2" in refused.stderr


def test_what_a_tenant_wants_of_batching_is_shown_changed_and_taken_back(plane: ControlProcess) -> None:
    wanted = ("--window", "60", "--fast-path", "0.9:person,car", "--alert", "off")
    changed = told(plane.command("tenants", "batching", "north", *wanted, "--json"))
    assert (changed["window_s"], changed["fast_path"]["object_types"]) == (60.0, ["car", "person"])
    text = done(plane.command("tenants", "batching", "north", "--window", "default"))
    assert (fact(text, "window"), fact(text, "fast path")) == ("90 s", "car, person from 0.9")
    refused = plane.command("tenants", "batching", "north", "--idle", "99")
    assert (refused.returncode, "longer than the window" in refused.stderr) == (1, True)
    assert plane.command("tenants", "batching", "north", "--alert", "often").returncode == 2
    assert plane.command("tenants", "batching", "nowhere").returncode == 3


def test_without_a_batcher_there_is_nothing_to_list(plane: ControlProcess) -> None:
    for noun in ("batches", "detections", "zones"):
        empty = plane.command(noun, "list")
        assert (empty.returncode, empty.stdout) == (0, "")
        assert "streamward batcher" in empty.stderr
    assert plane.command("batches", "show", "batch-1").returncode == 3
