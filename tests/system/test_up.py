"""`streamward up`: a whole fleet that streams, keeps its cameras when a runner dies, and leaves nothing behind."""

import asyncio
import json
import os
import re
import signal
from pathlib import Path

import av

from streamward.insight.records import Recent
from tests.support.batch_plant import Plant
from tests.support.labs import children_of, until
from tests.support.ports import lasting_port
from tests.support.processes import run
from tests.support.ups import PATIENCE, UpProcess, up

_ALL = Recent(scope=None, limit=1000)
PORT_OPTIONS = (
    "--port",
    "--cameras-port",
    "--faults-port",
    "--batcher-port",
    "--runner-metrics-port",
    "--worker-metrics-port",
)
OTHER = {"runner-a": "runner-b", "runner-b": "runner-a"}


def test_a_fleet_outlives_a_manager_ends_without_a_trace_and_can_be_started_smaller(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with up(data, "--cameras", "2") as fleet:
        first_code = fleet.until_said(r"streamward login \S+ --code (\S+)")[1]
        fleet.until_said("all 2 cameras stream")
        printed = dict(re.findall(r"export STREAMWARD_(\w+)=(\S+)", fleet.said))
        elsewhere = run("leases", "list", data=tmp_path / "elsewhere" / "data", **printed)
        assert "cam-1" in elsewhere.stdout, elsewhere
        first = str(fleet.leases()["cam-1"]["owner_id"])
        killed = fleet.command("runners", "kill", first)
        assert f"cam-1 streams at {OTHER[first]}, generation 2, " in killed.stdout, killed
        assert fleet.streams_at("cam-1", OTHER[first])
        fleet.until_said(f"moved from {first} to {OTHER[first]}, away for ")
        shown = [json.loads(line) for line in fleet.command("fleet", "--once", "--json").stdout.splitlines()]
        assert [each["camera_uuid"] for each in shown] == ["cam-1", "cam-2"]
        assert f"{OTHER[first]}: " in fleet.command("fleet", "--once").stdout
        fleet.until_said(f"{first} ended with exit code 137")
        fleet.until_said(f"{first} was started again")
        assert "another `streamward up`" in fleet.command("up").stderr
        assert fleet.ended(signal.SIGINT) == 0
        assert "everything ended; kept in" in fleet.said
        assert fleet.left() == []
    with up(data, "--cameras", "1") as fleet:
        fleet.until_said("the camera streams")
        assert fleet.until_said(r"streamward login \S+ --code (\S+)")[1] != first_code
        assert "cam-2" in fleet.command("cameras", "list", "--disabled").stdout
        assert len(fleet.left()) > 5
        os.kill(min(children_of(fleet.process.pid)), signal.SIGKILL)  # the control plane, the first that was started
        code = fleet.until_said(r"to sign in, use its new code: streamward login \S+ --code (\S+)")[1]
        assert "signed in at" in fleet.command("login", "--code", code).stdout
        fleet.process.kill()
        fleet.process.wait()
        until(lambda: fleet.left() == [], within=PATIENCE)


async def test_what_simulated_cameras_show_ends_in_batches_that_are_told(tmp_path: Path) -> None:
    data = tmp_path / "data"
    quick = {"BATCH_WINDOW_SECONDS": 5, "BATCH_IDLE_TIMEOUT_SECONDS": 2, "BATCH_CHECK_SECONDS": 1, "BATCH_PORT": 0}
    with up(data, "--cameras", "1", "--runners", "1", **quick) as fleet:
        fleet.until_said("the first batch of detections closed")
        async with asyncio.timeout(PATIENCE), Plant(data).insight() as insight:
            while not (told := [each for each in await insight.records.batches(_ALL) if each.is_told]):
                pass
            seen = await insight.records.detections_of(told[-1].batch.batch_id, scope=None)
        assert {(each.seen.tenant_id, each.seen.camera_id) for each in seen} == {("demo", "cam-1")}
        assert [each.detection_id for each in seen] == list(told[-1].batch.detection_ids)
        assert fleet.ended(signal.SIGINT) == 0
        assert fleet.left() == []


def test_every_port_can_be_chosen_and_one_in_use_is_named_with_its_option(tmp_path: Path) -> None:
    first = {option: lasting_port() for option in PORT_OPTIONS}
    chosen = [word for option, port in first.items() for word in (option, str(port))]
    with up(tmp_path / "data", "--cameras", "1", "--runners", "1", *chosen) as fleet:
        fleet.until_said("the camera streams")
        fleet.until_said("runner-a is ready: ")
        assert [option for option, port in first.items() if f"://127.0.0.1:{port}" not in fleet.said] == []
        for option, port in first.items():
            refused = run("up", option, str(port), data=tmp_path / "other")
            assert refused.returncode == 1
            assert refused.stderr == (
                f"streamward: cannot listen on 127.0.0.1 port {port} (address already in use): "
                f"choose another with {option}\n"
            )
        assert fleet.ended(signal.SIGINT) == 0
        assert fleet.left() == []


def test_what_a_camera_showed_just_now_can_be_saved(tmp_path: Path) -> None:
    clip, picture = tmp_path / "clip.mp4", tmp_path / "now.jpg"
    with up(tmp_path / "data", "--cameras", "1") as fleet:
        fleet.until_said("the camera streams")
        assert "clip.mp4: " in fleet.command("cameras", "clip", "cam-1", "--seconds", "2", "--out", str(clip)).stdout
        fleet.command("cameras", "snapshot", "cam-1", "--out", str(picture))
        assert "no such" not in fleet.command("cameras", "clip", "cam-9", "--out", str(clip)).stderr
        assert sorted(path.name for path in (tmp_path / "data").glob("*.local")) == ["runner-a.local", "runner-b.local"]
        assert fleet.ended(signal.SIGINT) == 0
    with av.open(str(clip)) as read:
        assert len(list(read.decode(video=0))) > 1
    assert picture.read_bytes()[:2] == b"\xff\xd8"
    assert not list((tmp_path / "data").glob("*.local"))


def test_who_enters_a_zone_that_was_drawn_and_leaves_it_can_be_read(tmp_path: Path) -> None:
    half = tmp_path / "zones.json"
    half.write_text('[{"name": "left", "points": [[0, 0], [0.5, 0], [0.5, 1], [0, 1]], "dwell_s": 0.2}]')
    with up(tmp_path / "data", "--cameras", "1", "--runners", "1", BATCH_PORT=0) as fleet:
        fleet.until_said("the camera streams")
        assert fleet.command("cameras", "set", "cam-1", "--zones", str(half)).returncode == 0
        until(lambda: all(word in crossings(fleet) for word in ("enter", "dwell", "leave")), within=PATIENCE)
        assert {zone for _, zone in crossings(fleet).values()} == {"left"}
        assert fleet.ended(signal.SIGINT) == 0


def crossings(fleet: UpProcess) -> dict[str, tuple[int, str]]:
    """By what was done: the track that did it last, and where."""
    listed = fleet.command("zones", "list", "--json").stdout.splitlines()
    return {each["type"]: (each["track_id"], each["zone"]) for each in map(json.loads, listed)}
