"""`streamward nvr` as a process, read by libavformat: a client that we did not write."""

import signal
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import av
import pytest

from streamward.nvr import mark
from tests.support.certificates import Authority
from tests.support.films import a_film
from tests.support.nvr import SMALL, NvrProcess, recorder
from tests.support.processes import STOP_WITHIN, run

PATIENCE = (60.0, 60.0)  # seconds to open, and to read


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Clips are made once for all tests."""
    return tmp_path_factory.mktemp("nvr") / "data"


def opened(url: str) -> av.container.InputContainer:
    return av.open(url, options={"rtsp_transport": "tcp"}, timeout=PATIENCE)


def marks(url: str, count: int) -> list[tuple[int, int] | None]:
    """What the corners of a camera's pictures say."""
    with opened(url) as container:
        return [mark.read(frame.to_ndarray(format="rgb24")) for frame in islice(container.decode(video=0), count)]


def truth(nvr: NvrProcess, camera: str, frame: int) -> dict[str, int]:
    answer: dict[str, int] = nvr.control.get("/truth", params={"camera": camera, "frame": frame, "loop": 1}).json()
    return answer


@pytest.mark.parametrize("codec", ["h264", "h265"])
def test_libavformat_reads_pictures_whose_marks_are_the_truth(data, codec):
    with recorder(data, "--cameras", "2", "--codec", codec) as nvr:
        read = marks(nvr.urls[1], 40)
        first = read[0]
        assert first is not None
        assert read == [(2, (first[1] + place) % 125) for place in range(40)]
        told = truth(nvr, "cam-2", first[1])
        assert (told["scene"], told["loop_frame"]) == first


def test_libavformat_signs_in_by_digest(data, tmp_path):
    password = tmp_path / "password"
    password.write_text("lovelace\n")
    with recorder(data, "--cameras", "1", "--user", "ada", "--password-file", str(password)) as nvr:
        url = nvr.urls[0]
        assert None not in marks(url.replace("//", "//ada:lovelace@"), 3)
        with pytest.raises(av.error.HTTPUnauthorizedError):
            opened(url.replace("//", "//ada:byron@"))
        counted = nvr.control.get("/counts").json()["counts"]
        deeds = {each["deed"]: each["total"] for each in counted}
        assert (deeds["login_good"], deeds["login_bad"]) == (1, 1)
        assert "lovelace" not in nvr.said


def frames(container: av.container.InputContainer) -> Iterator[tuple[int, int] | None]:
    return (mark.read(frame.to_ndarray(format="rgb24")) for frame in container.decode(video=0))


def test_a_frozen_picture_looks_frozen_to_libavformat_and_thaws(data):
    with recorder(data, "--cameras", "1") as nvr, opened(nvr.urls[0]) as container:
        shown = frames(container)
        assert len(set(islice(shown, 5))) == 5
        nvr.set("cam-1", kind="frozen")
        seen = [next(shown)]
        while len(seen) < 5 or len(set(seen[-5:])) > 1:
            seen.append(next(shown))
        nvr.clear()
        while next(shown) == seen[-1]:
            pass


def test_a_size_change_in_mid_stream_reaches_libavformat(data):
    with recorder(data, "--cameras", "1") as nvr, opened(nvr.urls[0]) as container:
        sizes = ((frame.width, frame.height) for frame in container.decode(video=0))
        assert next(sizes) == (320, 192)
        nvr.set("cam-1", kind="reencode", width=384, height=224)
        while next(sizes) != (384, 224):
            pass


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ({"kind": "missing"}, av.error.HTTPNotFoundError),
        ({"kind": "full"}, av.error.HTTPOtherClientError),
        ({"kind": "full", "status": 503}, av.error.HTTPServerError),
        ({"kind": "refuse"}, ConnectionRefusedError),
    ],
)
def test_a_refusal_is_a_refusal_to_libavformat(data, fault, error):
    with recorder(data, "--cameras", "1") as nvr:
        nvr.set(**fault)
        with pytest.raises(error):
            opened(nvr.urls[0])
        nvr.clear()
        assert None not in marks(nvr.urls[0], 1)


def test_libavformat_reads_over_tls(data, tmp_path):
    pair = Authority(tmp_path).issue("nvr")
    with recorder(data, "--tls-certificate", str(pair.certificate), "--tls-key", str(pair.key)) as nvr:
        assert nvr.urls[0].startswith("rtsps://")
        assert None not in marks(nvr.urls[0], 3)


def test_a_certificate_that_is_none_is_refused_in_a_sentence(data, tmp_path):
    refused = run("nvr", "--tls-certificate", str(tmp_path / "none.pem"), data=data)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "cannot serve TLS with" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_port_that_is_taken_is_told_in_a_sentence(data):
    with recorder(data, "--cameras", "1") as nvr:
        for option, url in (("--port", nvr.urls[0]), ("--control-port", str(nvr.control.base_url))):
            taken = urlsplit(url).port
            refused = run("nvr", *SMALL, "--cameras", "1", option, str(taken), data=data)
            assert (refused.returncode, refused.stdout) == (1, "")
            assert refused.stderr == (
                f"streamward: cannot listen on 127.0.0.1 port {taken} (address already in use): "
                f"choose another with {option}\n"
            )


def test_files_are_shown_beside_scenes_and_instead_of_them(data, tmp_path):
    files = [a_film(tmp_path / "a.mp4"), a_film(tmp_path / "b.avi", "mpeg4", options={})]
    with recorder(data, "--clip", str(files[0]), "--clip", str(files[1])) as nvr:
        assert [url.rpartition("/")[2] for url in nvr.urls] == ["clip-1", "clip-2"]
        for url in nvr.urls:
            with opened(url) as container:
                shown = [frame.to_ndarray(format="gray") for frame in islice(container.decode(video=0), 25)]
            assert shown[0].shape == (192, 320)
            assert len({picture.tobytes() for picture in shown}) >= 10
        assert truth(nvr, "clip-1", 3)["is_known"] is False
    with recorder(data, "--cameras", "1", "--clip", str(files[0])) as nvr:
        assert [url.rpartition("/")[2] for url in nvr.urls] == ["cam-1", "clip-1"]


def test_a_file_that_cannot_be_shown_is_one_sentence(data, tmp_path):
    letter = tmp_path / "letter.mp4"
    letter.write_text("to my mother " * 100)
    for args, code, why in (
        (("--clip", str(letter)), 1, f"cannot show {letter}: it is no video that can be read\n"),
        (("--clip", str(tmp_path / "none.mp4")), 1, "none.mp4: no such file or directory\n"),
        (("--cameras", "0"), 2, "no camera is left"),
    ):
        refused = run("nvr", *args, data=data)
        assert (refused.returncode, refused.stdout) == (code, "")
        assert why in refused.stderr
        assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_told_while_clients_watch(data, by):
    with recorder(data, "--cameras", "1") as nvr, opened(nvr.urls[0]) as container:
        assert next(frames(container))
        nvr.process.send_signal(by)
        assert nvr.process.wait(STOP_WITHIN) == 0


def test_clips_are_made_once(data):
    with recorder(data, "--cameras", "2"):
        pass
    with recorder(data, "--cameras", "2") as again:
        pass
    assert again.log == ""
