"""Libraries that run models write nothing into the user's folders and connect to nobody."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.support.material import the_model
from tests.support.onnx_files import a_model

# Runs a model by each library that can, and tells what was connected to or looked up meanwhile, and sockets left open.
# Libraries in C raise no audit events: what they still have open is seen in /proc.
SCRIPT = """
import json, os, sys
called = []
sys.addaudithook(lambda event, _: called.append(event) if event in {"socket.connect", "socket.getaddrinfo"} else None)
import numpy as np
from streamward.drivers.detectors.litert_model import LiteRtDetector
from streamward.drivers.detectors.onnx_model import OnnxDetector, OpenVinoDetector
onnx, litert = (open(path, "rb").read() for path in sys.argv[1:])
for made in (OnnxDetector(onnx), OpenVinoDetector(onnx), LiteRtDetector(litert)):
    made.detect(np.zeros((made.size.height, made.size.width, 3), np.uint8))
folder = "/proc/self/fd"
links = [os.readlink(f"{folder}/{fd}") for fd in os.listdir(folder) if os.path.islink(f"{folder}/{fd}")]
loaded = [name for name in ("onnxruntime", "openvino", "ai_edge_litert") if name in sys.modules]
sockets = [each for each in links if each.startswith("socket:")]
print(json.dumps({"called": called, "sockets": sockets, "loaded": loaded}))
"""


def test_a_detector_leaves_no_file_in_the_users_folders_and_connects_to_nobody(tmp_path: Path) -> None:
    home, model = tmp_path / "home", tmp_path / "model.onnx"
    for folder in (home, tmp_path / "tmp"):
        folder.mkdir()
    output = np.zeros((1, 6, 10), np.float32)
    model.write_bytes(a_model({"output0": output}, operator="Add", looks=True, names="['person', 'car']"))
    litert = the_model("efficientdet-lite0") / "efficientdet-lite0.tflite"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(model), str(litert)],
        env=kept | {"HOME": str(home), "TMPDIR": str(tmp_path / "tmp")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout) == {
        "called": [],
        "sockets": [],
        "loaded": ["onnxruntime", "openvino", "ai_edge_litert"],
    }
    assert [str(path) for path in tmp_path.rglob("*") if path.is_file()] == [str(model)]
