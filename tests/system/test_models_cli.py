"""`streamward models` as people use it, on a real picture."""

import json
from pathlib import Path

import av
import pytest

from tests.support.bundles import STRANGER, a_bundle, finds
from tests.support.material import the_clip, the_model
from tests.support.processes import run

BROKEN = "it is no ONNX file, or only a part of one"


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "street.png"
    with av.open(str(the_clip())) as clip:
        next(clip.decode(video=0)).save(str(path))
    return path


def test_a_real_model_finds_people_in_a_real_picture(tmp_path: Path, picture: Path):
    models = the_model("efficientdet-lite0")
    shown = run("models", "test", "efficientdet-lite0", "--image", str(picture), "--json", data=tmp_path, MODELS=models)
    assert shown.returncode == 0, shown.stderr
    assert [json.loads(line)["label"] for line in shown.stdout.splitlines()].count("person") >= 3
    assert "things in 768 × 576" in shown.stderr


def test_a_model_is_measured(tmp_path: Path):
    models = the_model("yunet")
    measured = run("models", "bench", "colour", "yunet", "--looks", "2", "--json", data=tmp_path, MODELS=models)
    assert measured.returncode == 0, measured.stderr
    rows = [json.loads(line) for line in measured.stdout.splitlines()]
    assert [(row["detector"], row["size"]) for row in rows] == [("colour", "320x180"), ("yunet", "640x360")]
    assert all(0 < row["p50_ms"] <= row["p95_ms"] for row in rows)


def test_models_are_listed_for_people_and_programs(tmp_path: Path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "yard.onnx").write_bytes(b"nothing")
    table = run("models", "list", data=tmp_path)
    assert table.stdout.splitlines()[0].split() == ["MODEL", "FINDS", "TAKES", "LICENCE", "NEEDS", "HERE"]
    rows = [json.loads(line) for line in run("models", "list", "--json", data=tmp_path).stdout.splitlines()]
    assert {row["model"]: row["here"] for row in rows}["yunet"] is False
    assert rows[-1] == {"model": "yard", "finds": None, "takes": None, "licence": None, "needs": "onnx", "here": True}


@pytest.mark.parametrize(
    ("args", "code", "why"),
    [
        (("pull", "resnet"), 1, "no model 'resnet' is known: there are efficientdet-lite0,"),
        (("pull", "yolo11n"), 1, "say --accept-licence AGPL-3.0"),
        (("test", "yard", "--image", "picture"), 1, BROKEN),
        (("test", "resnet", "--image", "picture"), 1, "no model or package has that name"),
        (("test", "colour", "--image", "none"), 1, "cannot show none: no such file or directory"),
        (("test", "colour", "--image", "models/yard.onnx"), 1, "it is no picture that can be read"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(tmp_path: Path, picture: Path, args: tuple[str, ...], code: int, why: str):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "yard.onnx").write_bytes(b"nothing that anybody could load")
    named = {"picture": str(picture), "models/yard.onnx": str(tmp_path / "models" / "yard.onnx")}
    done = run("models", *(named.get(each, each) for each in args), data=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert why in done.stderr.splitlines()[-1]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    pytest.importorskip("onnxruntime")
    path = tmp_path / "dog.onnx"
    path.write_bytes(finds("dog"))
    assert run("models", "new-key", str(tmp_path / "key"), data=tmp_path).returncode == 0
    return path


@pytest.mark.parametrize(
    ("args", "code", "why"),
    [
        (("--name", "no/name", "--version", "1"), 1, "nothing was signed:"),
        (("--name", "yard", "--version", "0"), 2, "--version"),
        (("--name", "yard", "--version", "1", "--expect", "cat"), 2, "needs a picture"),
        (("--name", "yard", "--version", "1", "--expect", "cat", "--image", "picture"), 1, "it finds no cat"),
        (("--name", "yard", "--version", "1", "--output", "none/yard.bundle"), 1, "cannot write none/yard.bundle"),
    ],
)
def test_what_hosts_would_refuse_is_not_even_signed(
    tmp_path: Path, picture: Path, model: Path, args: tuple[str, ...], code: int, why: str
):
    named = (str(picture) if each == "picture" else each for each in args)
    done = run("models", "sign", str(model), "--key", str(tmp_path / "key"), *named, data=tmp_path)
    assert done.returncode == code
    assert why in done.stderr
    assert not list(tmp_path.rglob("*.bundle"))


def test_a_bundle_of_another_key_is_not_installed(tmp_path: Path):
    pytest.importorskip("onnxruntime")
    assert run("models", "new-key", str(tmp_path / "key"), data=tmp_path).returncode == 0
    (tmp_path / "yard.bundle").write_bytes(a_bundle(finds("dog"), key=STRANGER))
    refused = run("models", "install", str(tmp_path / "yard.bundle"), data=tmp_path, MODELS_KEY=tmp_path / "key.pub")
    assert refused.returncode == 1
    assert "its signature is not that of the key" in refused.stderr
    unasked = run("models", "verify", str(tmp_path / "yard.bundle"), data=tmp_path)
    assert "nobody said whose signature counts" in unasked.stderr
    assert not (tmp_path / "models").exists()


def test_an_older_version_is_installed_only_if_somebody_says_so(tmp_path: Path, model: Path):
    bundle, named = str(tmp_path / "yard.bundle"), ("--key", str(tmp_path / "key"), "--name", "yard", "--version", "1")
    assert run("models", "sign", str(model), *named, "--output", bundle, data=tmp_path).returncode == 0
    (tmp_path / "used-models").mkdir()
    (tmp_path / "used-models" / "yard.2").touch()  # as a Worker notes it
    refused = run("models", "install", bundle, data=tmp_path, MODELS_KEY=tmp_path / "key.pub")
    assert refused.returncode == 1
    assert "it is version 1, and 2 was used on this host before" in refused.stderr
    assert not (tmp_path / "models").exists()
    done = run("models", "install", bundle, "--older", data=tmp_path, MODELS_KEY=tmp_path / "key.pub")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "models" / "yard.bundle").exists()
    assert not list((tmp_path / "used-models").iterdir())
