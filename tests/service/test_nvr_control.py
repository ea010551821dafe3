"""The control API of a simulated recorder, asked over HTTP."""

import contextlib
from collections.abc import AsyncIterator

import httpx
import pytest

from streamward.nvr.control import ControlApi
from streamward.nvr.server import Nvr
from tests.support.recorders import PICTURE, a_recorder
from tests.support.watching import played, watching


@contextlib.asynccontextmanager
async def controlled() -> AsyncIterator[tuple[Nvr, httpx.AsyncClient]]:
    """A recorder and a client of its control API."""
    async with a_recorder() as nvr:
        api = ControlApi(nvr)
        address = await api.start()
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            yield nvr, client
        await api.stop()


async def test_cameras_are_listed_with_what_they_show():
    async with controlled() as (nvr, client):
        listed = (await client.get("/cameras")).json()
        assert [each["camera"] for each in listed] == ["cam-1", "cam-2"]
        assert listed[1]["url"] == nvr.url("cam-2")
        assert (listed[1]["scene"], listed[1]["codec"], listed[1]["fps"]) == (2, "h264", 25)


async def test_the_truth_is_told_by_running_number_and_by_loop_frame():
    async with controlled() as (nvr, client), watching(nvr.url("cam-1")) as seen:
        number = seen.note((await seen.pictures(1))[0]).number
        told = (await client.get("/truth", params={"camera": "cam-1", "frame": number})).json()
        looped = await client.get("/truth", params={"camera": "cam-1", "frame": told["loop_frame"], "loop": 1})
        scene = nvr.recorder.cameras["cam-1"].manner.reel.scene
        assert scene is not None
        assert told == looped.json()
        assert told["loop_frame"] == number % PICTURE.loop
        boxes = [(label, [box.x1, box.y1, box.x2, box.y2]) for label, box in scene.truth(number)]
        assert [(each["label"], each["box"]) for each in told["objects"]] == boxes


async def test_when_a_picture_was_taken_is_told_as_the_note_in_the_stream_tells_it():
    async with controlled() as (nvr, client), watching(nvr.url("cam-1")) as seen:
        notes = [seen.note(unit) for unit in await seen.pictures(3)]
        told = (await client.get("/sent", params={"camera": "cam-1", "since": notes[0].number})).json()
        for note, sent in zip(notes, told, strict=False):
            assert (sent["frame"], sent["loop_frame"], sent["scene"]) == (note.number, note.number % PICTURE.loop, 1)
            assert int(sent["sent_at"] * 1_000_000) == note.sent_at_us
        assert len((await client.get("/sent", params={"camera": "cam-1"})).json()) >= len(told)


async def test_faults_are_set_listed_and_taken_away():
    async with controlled() as (nvr, client):
        order = {"fault": {"kind": "mute", "after": "setup"}, "camera": "cam-1"}
        assert (await client.post("/faults", json=order)).json() == [order]
        assert nvr.recorder.conduct("cam-1").mute is not None
        assert (await client.get("/faults")).json() == [order]
        assert (await client.delete("/faults", params={"kind": "loss"})).json() == [order]
        assert (await client.delete("/faults", params={"camera": "cam-1"})).json() == []
        assert nvr.recorder.conduct("cam-1").mute is None


async def test_counts_tell_who_did_what_when_and_can_be_reset():
    async with controlled() as (nvr, client):
        async with watching(nvr.url("cam-1")) as seen:
            await played(seen)
            told = (await client.get("/counts")).json()
            by_deed = {(each["deed"], each["camera"]): each for each in told["counts"]}
            assert (told["sessions"], told["most_sessions"]) == (1, 1)
            assert by_deed["dialed", "cam-1"]["total"] == len(by_deed["dialed", "cam-1"]["times"]) == 1
        assert (await client.post("/counts/reset")).json()["counts"] == []


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nowhere", None, 404),
        ("PUT", "/faults", None, 405),
        ("GET", "/truth?camera=cam-9&frame=1", None, 404),
        ("GET", "/truth?camera=cam-1&frame=x", None, 400),
        ("GET", f"/truth?camera=cam-1&frame={'9' * 5000}", None, 400),
        ("GET", "/truth?camera=cam-1&frame=99999999", None, 404),
        ("GET", "/sent?camera=cam-9", None, 404),
        ("GET", "/sent?camera=cam-1&since=-1", None, 400),
        ("POST", "/faults", b"{", 400),
        ("POST", "/faults", b'{"fault":{"kind":"sulk"}}', 400),
        ("POST", "/faults", b'{"fault":{"kind":"loss","share":2}}', 400),
        ("POST", "/faults", b'{"fault":{"kind":"frozen"},"camera":"cam-9"}', 404),
    ],
)
async def test_what_cannot_be_done_is_refused_with_a_reason(method, path, body, status):
    async with controlled() as (nvr, client):
        answer = await client.request(method, path, content=body)
        assert answer.status_code == status
        assert answer.json()["error"]
        assert not nvr.recorder.board.placed()


async def test_pages_of_a_browser_are_refused():
    async with controlled() as (_, client):
        assert (await client.get("/cameras", headers={"Origin": "http://example.com"})).status_code == 403
