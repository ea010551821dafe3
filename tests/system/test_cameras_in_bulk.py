"""Files of cameras and their changes, with real control processes on PostgreSQL and the real command line."""

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.postgres import PostgresServer
from tests.support.processes import ControlProcess, control

COUNT = 2500  # more than several parts of a statement
HEADER = "camera_uuid,site_id,rtsp_url,labels\n"


@pytest.fixture
def planes(tmp_path: Path, postgres: PostgresServer) -> Iterator[tuple[ControlProcess, ControlProcess]]:
    name = asyncio.run(postgres.create())
    data, url = tmp_path / "data", postgres.url(name)
    with control(data, "--demo", DATABASE_URL=url) as one, control(data, DATABASE_URL=url) as two:
        yield one, two
    asyncio.run(postgres.drop(name))


def fleet(*, site: str = "harbour") -> str:
    return HEADER + "".join(
        f"bulk-{number},{site},rtsp://ada:s3cret{number}@127.0.0.1/{number},door=north\n" for number in range(COUNT)
    )


def test_a_file_goes_in_and_out_and_in_again(planes: tuple[ControlProcess, ControlProcess], tmp_path: Path) -> None:
    one, _ = planes
    file, exported = tmp_path / "fleet.csv", tmp_path / "exported.jsonl"
    file.write_text(fleet())
    tried = one.command("cameras", "import", str(file), "--dry-run")
    assert tried.stdout == "would create 2,500, update 0 and leave 0 as they are\n", tried.stderr
    assert one.command("cameras", "import", str(file)).stdout == "created 2,500, updated 0, left 0 as they were\n"
    assert one.command("cameras", "export", "--output", str(exported)).stdout == f"wrote 2,512 cameras to {exported}\n"
    assert "s3cret" not in exported.read_text()
    again = one.command("cameras", "import", str(exported), "--json")
    assert json.loads(again.stdout)["unchanged"] == COUNT + 12
    table = one.command("cameras", "export", "--site", "harbour").stdout
    typed = one.command("cameras", "import", "-", "--format", "csv", typed=table)
    assert typed.stdout == "created 0, updated 0, left 2,504 as they were\n"


def test_a_file_with_a_bad_line_does_nothing_and_says_why(planes: tuple[ControlProcess, ControlProcess]) -> None:
    one, _ = planes
    bad = fleet() + "bulk-x,nowhere,rtsp://ada:hunter2@127.0.0.1/1,\n"
    refused = one.command("cameras", "import", "-", "--format", "csv", typed=bad)
    assert refused.returncode == 1
    heading, *rows = refused.stdout.splitlines()
    assert (heading.split(), [row.split(None, 2) for row in rows]) == (
        ["LINE", "CAMERA", "WRONG"],
        [[str(COUNT + 2), "bulk-x", "there is no such site"]],
    )
    assert "nothing was imported" in refused.stderr
    assert "hunter2" not in refused.stdout + refused.stderr
    told = one.command("cameras", "import", "-", "--format", "csv", "--json", typed=bad)
    assert json.loads(told.stdout)["lines"][0]["reason"] == "site-unknown"
    assert one.command("cameras", "export", "--format", "jsonl").stdout.count("\n") == 12
    assert one.command("cameras", "import", "fleet").returncode == 2
    assert one.command("cameras", "import", "nowhere.csv").returncode == 2


def test_changes_by_one_control_plane_end_a_wait_at_another(planes: tuple[ControlProcess, ControlProcess]) -> None:
    one, two = planes
    path = "/v1/cameras/changes"
    with two.client("--runner", "r1") as runner, ThreadPoolExecutor(1) as pool:
        cursor = runner.get(path, params={"timeout_s": 0}).json()["cursor"]
        waiting = pool.submit(runner.get, path, params={"after": cursor, "timeout_s": 25, "limit": 1000})
        assert one.command("cameras", "import", "-", "--format", "csv", typed=fleet()).returncode == 0
        answer, seen = waiting.result().json(), []
        while answer["items"]:
            seen += [(each["type"], each["camera_uuid"]) for each in answer["items"]]
            answer = runner.get(path, params={"after": answer["cursor"], "timeout_s": 0, "limit": 1000}).json()
    assert sorted(seen) == sorted(("camera.created", f"bulk-{number}") for number in range(COUNT))
