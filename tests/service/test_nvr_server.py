"""The simulated recorder, watched over real sockets by the protocol's own client."""

import asyncio
import socket
import ssl

import pytest

from streamward.model.stream_error import StreamErrorCode
from streamward.model.video import NAL_CODECS
from streamward.nvr.faults import FpsChange
from streamward.nvr.spec import Access
from streamward.nvr.tally import Deed
from streamward.protocol.rtsp.authentication import Algorithm
from streamward.protocol.rtsp.client import Ended, Failed, Playing
from tests.support.certificates import Authority
from tests.support.recorders import ADA, PICTURE, WRONG, a_recorder
from tests.support.watching import Watch, played, watching


@pytest.mark.parametrize("codec", NAL_CODECS)
async def test_a_client_starts_at_the_latest_keyframe_and_gets_every_picture(codec):
    async with a_recorder(codec=codec) as nvr, watching(nvr.url("cam-1")) as seen:
        units = await seen.pictures(40)
        numbers = [seen.note(unit).number for unit in units]
        assert units[0].is_keyframe
        assert not any(unit.is_damaged for unit in units)
        assert numbers == list(range(numbers[0], numbers[0] + 40))


async def test_a_recorder_that_is_not_prompt_sends_nothing_that_was_before_a_client():
    async with a_recorder(is_prompt=False) as nvr, watching(nvr.url("cam-1")) as first:
        await first.pictures(2)
        newest = nvr.recorder.camera("cam-1").number
        async with watching(nvr.url("cam-1")) as later:
            assert later.note((await later.pictures(1))[0]).number > newest


async def test_each_picture_says_which_camera_sent_it_and_the_truth_of_it_is_known():
    async with a_recorder() as nvr, watching(nvr.url("cam-2")) as seen:
        for unit in await seen.pictures(5):
            note = seen.note(unit)
            moment = nvr.recorder.moment("cam-2", note.number)
            assert note.camera == "cam-2"
            assert moment is not None
            assert moment.reel.scene is not None
            assert (moment.reel.scene.number, moment.place) == (2, note.number % PICTURE.loop)


async def test_several_clients_watch_one_camera():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as one, watching(nvr.url("cam-1")) as other:
        await played(one)
        await played(other)
        assert nvr.recorder.sessions.count(0.0) == 2
        newest = one.note(one.units[-1]).number
        await other.until(lambda watch: watch.note(watch.units[-1]).number >= newest)


async def test_sender_reports_tell_the_time_of_pictures():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        unit = (await seen.pictures(1))[0]
        report = (await seen.until(lambda watch: watch.reports))[0]
        assert report.timestamp == unit.timestamp & 0xFFFF_FFFF
        assert abs(report.wall_time - seen.note(unit).sent_at_us / 1e6) < 0.01


async def test_a_session_that_is_given_back_is_counted_so():
    async with a_recorder() as nvr, watching(nvr.url("cam-1")) as seen:
        await played(seen)
        seen.give_back()
        await seen.first(Ended)
        assert nvr.tally.total(Deed.SESSION_ENDED) == 1
        assert nvr.recorder.sessions.count(0.0) == 0


async def test_what_clients_do_is_counted_by_camera_and_address():
    async with a_recorder() as nvr:
        async with watching(nvr.url("cam-1"), come_from="127.0.0.7") as seen:
            await played(seen)
        assert nvr.tally.total(Deed.DIALED, camera="cam-1", address="127.0.0.7") == 1
        assert nvr.tally.total(Deed.DIALED, camera="cam-2") == 0
        assert nvr.tally.total(Deed.SESSION_OPENED, address="127.0.0.7") == 1


async def test_a_camera_that_is_not_there_is_not_found():
    async with a_recorder() as nvr, watching(nvr.url("cam-1") + "1") as seen:
        assert (await seen.first(Failed)).code is StreamErrorCode.RTSP_NOT_FOUND


@pytest.mark.parametrize(
    "access",
    [
        Access(credential=ADA),
        Access(credential=ADA, algorithms=(Algorithm.SHA256, Algorithm.MD5), has_qop=True),
        Access(credential=ADA, algorithms=(), allows_basic=True),
    ],
)
async def test_only_the_right_login_is_let_in(access):
    async with a_recorder(access=access) as nvr:
        async with watching(nvr.url("cam-1"), credential=ADA) as seen:
            await played(seen)
        async with watching(nvr.url("cam-1"), credential=WRONG) as seen:
            assert (await seen.first(Failed)).is_login_refused
        async with watching(nvr.url("cam-1")) as seen:
            assert (await seen.first(Failed)).code is StreamErrorCode.RTSP_AUTH_FAILED
        assert (nvr.tally.total(Deed.LOGIN_GOOD), nvr.tally.total(Deed.LOGIN_BAD)) == (1, 1)


async def test_a_recorder_can_be_watched_over_tls(tmp_path):
    authority = Authority(tmp_path)
    pair = authority.issue("nvr")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate, pair.key)
    async with a_recorder(tls=context) as nvr:
        assert nvr.url("cam-1").startswith("rtsps://127.0.0.1:")
        async with watching(nvr.url("cam-1"), trust=authority.trusting()) as seen:
            await seen.pictures(30)


@pytest.mark.parametrize(
    ("access", "second"),
    [(Access(max_sessions=1), "cam-2"), (Access(max_sessions_per_camera=1), "cam-1")],
)
async def test_more_sessions_than_fit_are_refused(access, second):
    async with a_recorder(access=access) as nvr, watching(nvr.url("cam-1")) as first:
        await first.first(Playing)
        async with watching(nvr.url(second)) as refused:
            failed = await refused.first(Failed)
            assert (failed.code, failed.status) == (StreamErrorCode.CAMERA_FULL, 453)


async def test_a_client_that_is_silent_for_too_long_is_cut():
    async with a_recorder(session_timeout=0.2) as nvr, asyncio.timeout(60):
        while not nvr.tally.total(Deed.SESSION_OPENED):  # on a busy machine it may be cut before it has a session
            async with watching(nvr.url("cam-1")) as seen:
                await seen.until(lambda watch: watch.is_cut)
        assert nvr.tally.total(Deed.SESSION_LOST) == 1


async def test_a_client_that_does_not_read_is_dropped_and_the_others_notice_nothing():
    async with a_recorder(largest_backlog=65_536) as nvr, watching(nvr.url("cam-1")) as other:
        await nvr.set(FpsChange(fps=120))
        await stuck(nvr.port, nvr.url("cam-1"), other, until=lambda: nvr.tally.total(Deed.DROPPED) == 1)
        assert not any(unit.is_damaged for unit in other.units)
        assert not other.facts[1:]  # the first tells the size


async def stuck(port, url, other: Watch, *, until) -> None:
    """Plays without reading, while another one goes on watching, until something is the case."""
    loop = asyncio.get_running_loop()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", port))
        transport = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"
        await loop.sock_sendall(client, f"SETUP {url}/trackID=0 RTSP/1.0\r\nCSeq: 1\r\n{transport}\r\n\r\n".encode())
        answer = (await loop.sock_recv(client, 4096)).decode()
        session = answer.partition("Session: ")[2].partition(";")[0]
        await loop.sock_sendall(client, f"PLAY {url} RTSP/1.0\r\nCSeq: 2\r\nSession: {session}\r\n\r\n".encode())
        async with asyncio.timeout(60):
            while not until():
                await other.pictures(1)
