"""A password put in through any door comes out of none but the lease holder's: logs, answers, metrics, files, reprs."""

import gc
import io
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from streamward.control.api.application import Holdings, create_app
from streamward.control.api.routing import Upload
from streamward.control.credentials import seal_urls
from streamward.control.master_keys import MasterKeys
from streamward.drivers.sql import SqlStore
from streamward.drivers.sql.insight import SqlInsight
from streamward.insight.rules import Rules
from streamward.model.camera import Camera, Site
from streamward.model.ids import CameraId, SiteId, TenantId
from streamward.model.source_url import parse
from streamward.protocol.cameras import ChangeCamera, CreateCamera
from streamward.protocol.codec import decode, encode
from streamward.protocol.fields import ClearText
from streamward.protocol.leases import CameraSource
from streamward.protocol.transfer import CameraLine
from streamward.runtime import log
from streamward.settings import Settings
from tests.support.app import VAULT, ControlUnderTest
from tests.support.clocks import START

USER, PASSWORD = "Us3r@: /#?%", "Can4ry@: /#?%"
TRACES = ("Us3r", "Can4ry")
USERINFO = f"{quote(USER, safe='')}:{quote(PASSWORD, safe='')}"
PLAIN = "rtsp://192.0.2.7/1"
WITH_LOGIN = f"rtsp://{USERINFO}@192.0.2.7/1"
FIELDS = {"username": USER, "password": PASSWORD}
REFUSED = [
    f"http://{USERINFO}@192.0.2.7/1",
    f"rtsp://{USER}:{PASSWORD}@192.0.2.7/1",
    f"rtsp://{USERINFO}@@192.0.2.7/1",
    f"rtsp://{USERINFO}@127.0.0.1/1",
    f"rtsp://{USERINFO}@192.0.2.7:99999/1",
    f"rtsp://{USERINFO}%0a@192.0.2.7/1",
    f"{WITH_LOGIN}#x",
]


class World:
    """A control plane on a SQLite file, with its log kept at the most talkative level."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = io.StringIO()
        self.control = ControlUnderTest()
        self.store = SqlStore(f"sqlite:///{folder}/test.db", clock=self.control.clock, bell=self.control.bell)
        self.control.app = create_app(
            Holdings(self.store, SqlInsight(self.store.database, rules=Rules())),
            bell=self.control.bell,
            journal=self.control.journal,
            trust=self.control.trust,
            vault=VAULT,
            clock=self.control.clock,
        )
        self.answers: list[str] = []
        self.files = b""

    async def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """A person's call; all of its answer is kept."""
        answer = await self.control.operator().call(method, path, json=body, headers={"If-Match": "*", **headers})
        self.answers.append(f"{answer.headers} {answer.text}")
        return answer

    async def send(self, kind: str, content: str, *, query: str = "") -> Any:
        """A person's import; all of its answer is kept."""
        answer = await self.control.operator().upload(f"/v1/cameras/import{query}", content, kind=kind)
        self.answers.append(f"{answer.headers} {answer.text}")
        return answer

    def keep_files(self) -> None:
        """What stands in the files now: a deletion wipes it."""
        self.files += b"".join(path.read_bytes() for path in self.folder.iterdir())

    def left(self) -> str:
        """Whatever could be read at any time."""
        self.keep_files()
        return "\n".join([self.files.decode(errors="replace"), self.said.getvalue(), *self.answers])


def assert_clean(text: str) -> None:
    assert not [trace for trace in TRACES if trace in text]


@pytest.fixture
def kept_log() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    said = io.StringIO()
    log.configure(log.LogForm.JSON, level="debug", out=said)
    yield said
    root.handlers[:] = before
    root.setLevel(level)


@pytest.fixture
async def world(tmp_path: Path, kept_log: io.StringIO) -> AsyncIterator[World]:
    world = World(tmp_path)
    world.said = kept_log
    world.control.journal.subscribe(log.log_fact)
    await world.store.open()
    await world.store.save_site(Site(site_id=SiteId("s"), tenant_id=TenantId("t")))
    yield world
    await world.store.close()


async def use(world: World) -> None:
    """Everything that people can do with a camera once it is there, and what its runner is told."""
    for path in ("/v1/cameras/cam", "/v1/cameras", "/v1/cameras/cam/why", "/metrics", "/openapi.json"):
        assert (await world.ask("GET", path)).status_code == 200
    body = {"runner_id": "r1", "camera_uuid": "cam", "ttl_seconds": 10}
    source = (await world.control.runner().post("/v1/leases/camera/acquire", body)).json()["source"]
    assert (source["username"], source["password"]) == (USER, PASSWORD)
    world.keep_files()
    await world.ask("DELETE", "/v1/cameras/cam")


DOORS: dict[str, list[tuple[str, str, dict[str, Any]]]] = {
    "url": [("POST", "/v1/cameras", {"rtsp_url": WITH_LOGIN})],
    "fields": [("POST", "/v1/cameras", {"rtsp_url": PLAIN, **FIELDS})],
    "changed url": [
        ("POST", "/v1/cameras", {"rtsp_url": PLAIN}),
        ("PATCH", "/v1/cameras/cam", {"rtsp_url": WITH_LOGIN}),
    ],
    "changed fields": [("POST", "/v1/cameras", {"rtsp_url": PLAIN}), ("PATCH", "/v1/cameras/cam", FIELDS)],
}


@pytest.mark.parametrize("calls", DOORS.values(), ids=DOORS)
async def test_what_comes_in_by_a_door_of_the_api_is_seen_nowhere(world: World, calls: Any) -> None:
    for method, path, fields in calls:
        named = {"site_id": "s", "camera_uuid": "cam", **fields} if method == "POST" else fields
        for _ in range(2):
            answer = await world.ask(method, path, named, **{"Idempotency-Key": "k1"})
            assert answer.is_success, answer.text
    await use(world)
    await world.store.close()
    assert "request answered" in world.said.getvalue()
    assert_clean(world.left())


def as_csv(fields: dict[str, str]) -> tuple[str, str]:
    line = {"site_id": "s", "camera_uuid": "cam", **fields}
    return "text/csv", ",".join(line) + "\r\n" + ",".join(line.values()) + "\r\n"


def as_json_lines(fields: dict[str, str]) -> tuple[str, str]:
    return "application/x-ndjson", encode({"site_id": "s", "camera_uuid": "cam", **fields}).decode()


@pytest.mark.parametrize("is_there", [False, True], ids=["new", "known"])
@pytest.mark.parametrize("written", [as_csv, as_json_lines])
@pytest.mark.parametrize("fields", [{"rtsp_url": WITH_LOGIN}, {"rtsp_url": PLAIN, **FIELDS}], ids=["url", "fields"])
async def test_what_comes_in_by_a_file_is_seen_nowhere(world: World, fields: Any, written: Any, is_there: bool) -> None:
    if is_there:
        await world.ask("POST", "/v1/cameras", {"site_id": "s", "camera_uuid": "cam", "rtsp_url": PLAIN})
    for query in ("?dry_run=true", "", ""):
        answer = await world.send(*written(fields), query=query)
        assert answer.status_code == 200, answer.text
    for path in (
        "/v1/cameras/export",
        "/v1/cameras/export?format=jsonl",
        "/v1/cameras/changes?timeout_s=0",
        "/v1/audit",
    ):
        assert (await world.ask("GET", path)).status_code == 200
    await use(world)
    await world.store.close()
    assert_clean(world.left())


@pytest.mark.parametrize("url", REFUSED)
async def test_what_is_refused_of_a_file_is_not_repeated(world: World, url: str) -> None:
    for written in (as_csv, as_json_lines):
        for fields in ({"rtsp_url": url}, {"rtsp_url": url, **FIELDS}, {"rtsp_url": PLAIN, url: PASSWORD}):
            kind, content = written(fields)
            assert (await world.send(kind, content)).status_code == 422
            assert (await world.send(kind, content.replace("camera_uuid", "colour"))).status_code == 422
            assert (await world.send(kind, content.partition("\n")[2] + content)).status_code == 422
    await world.store.close()
    assert_clean(world.left())


async def test_what_an_older_version_left_in_a_url_is_seen_nowhere(tmp_path: Path, kept_log: io.StringIO) -> None:
    older, sealing, world = World(tmp_path), World(tmp_path), World(tmp_path)
    camera = Camera(
        camera_id=CameraId("cam"),
        tenant_id=TenantId("t"),
        site_id=SiteId("s"),
        rtsp_url=WITH_LOGIN,
        updated_at=START,
    )
    await older.store.open()
    await older.store.save_camera(camera)
    await older.store.close()
    await sealing.store.open()
    assert await seal_urls(sealing.store, VAULT) == 1
    await sealing.store.close()
    await world.store.open()
    world.said = kept_log
    await use(world)
    await world.store.close()
    assert_clean(world.left())


@pytest.mark.parametrize("url", REFUSED)
async def test_what_is_refused_is_not_repeated(world: World, url: str) -> None:
    body = {"site_id": "s", "camera_uuid": "cam", "rtsp_url": url}
    assert (await world.ask("POST", "/v1/cameras", body)).status_code == 422
    for wrong in ({**body, "password": [PASSWORD]}, {**body, "username": {USER: 1}}, {**body, "rtsp_url": [url]}):
        assert (await world.ask("POST", "/v1/cameras", wrong)).status_code == 422
    await world.store.close()
    assert_clean(world.left())


def test_no_message_or_value_that_holds_a_password_shows_it() -> None:
    text = encode({"rtsp_url": WITH_LOGIN, **FIELDS, "site_id": "s"})
    source = parse(WITH_LOGIN)
    assert source.credential is not None
    user, password = ClearText(source.credential.user), ClearText(source.credential.password)
    holders = [
        source,
        decode(text, CreateCamera),
        decode(text, ChangeCamera),
        decode(text, CameraLine),
        Upload("application/x-ndjson", text),
        CameraSource(rtsp_url=PLAIN, credential_version=1, username=user, password=password),
        MasterKeys(Path("master.key"), source.credential.password),
        Settings(master_key=SecretStr(PASSWORD)),
    ]
    for holder in holders:
        assert_clean(f"{holder!r} {holder}")


async def test_nothing_that_a_control_plane_keeps_shows_a_password(world: World) -> None:
    await world.ask("POST", "/v1/cameras", {"site_id": "s", "camera_uuid": "cam", "rtsp_url": WITH_LOGIN})
    await world.control.runner().post(
        "/v1/leases/camera/acquire", {"runner_id": "r1", "camera_uuid": "cam", "ttl_seconds": 10}
    )
    ours = [each for each in gc.get_objects() if str(type(each).__module__).startswith("streamward.")]
    assert ours
    for each in ours:
        assert_clean(repr(each))
