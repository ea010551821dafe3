"""A private server of S3 (SeaweedFS from a wheel): its own folder and ports, ended and removed with the session.

It listens on loopback only, plain and with TLS, checks every signature, and dies with this process whatever happens.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from streamward.drivers.objects.signing import Request, Signer
from streamward.model.secret import Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.shards import ObjectsAt
from tests.support.certificates import Authority
from tests.support.ports import lasting_port

PATIENCE = 60.0  # seconds for each step of a request: the first objects take it a while
BUCKET = "events"
ACCESS_KEY, SECRET_KEY = "streamward", "s3-c@nary/se+cret"
_PROGRAM = Path(sys.executable).with_name("weed")
_PARTS = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc")
_IDENTITY = {
    "name": "worker",
    "credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}],
    "actions": ["Admin", "Read", "Write", "List"],
}


class EndedEarly(Exception):
    """It did not come up."""


class SeaweedServer:
    """One server, running or not."""

    def __init__(self) -> None:
        self.port, self.tls_port = lasting_port(), lasting_port()
        self._folder = Path(tempfile.mkdtemp(prefix="sws3-", dir="/tmp"))
        self._ports = {"s3.port": self.port, "s3.port.https": self.tls_port, "s3.port.grpc": lasting_port()}
        self._ports |= {part: lasting_port() for part in _PARTS}
        self._process: subprocess.Popen[bytes] | None = None
        authority = Authority(self._folder)
        authority.issue("node")
        self.authority = authority.file
        (self._folder / "s3.json").write_text(json.dumps({"identities": [_IDENTITY]}))
        (self._folder / "files").mkdir()

    def start(self) -> None:
        """Runs it until there is a bucket that takes objects."""
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", str(_PROGRAM), "server", *self._options()],
                env={"PATH": os.environ["PATH"], "HOME": str(self._folder)},
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        while not (self._takes(f"/{BUCKET}") and self._takes(f"/{BUCKET}/ready", b"x")):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=0.1)
                raise EndedEarly((self._folder / "output").read_text())

    def remove(self) -> None:
        """Ends it, and takes away what it left."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=60)
        shutil.rmtree(self._folder)
        for port in self._ports.values():
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink(missing_ok=True)

    def place(self, prefix: str = "", *, secret_key: str = SECRET_KEY, bucket: str = BUCKET) -> ObjectsAt:
        """How a Worker is told of it."""
        return ObjectsAt(
            url=f"s3://{bucket}/{prefix}",
            endpoint=f"http://127.0.0.1:{self.port}",
            access_key=ClearText(Secret(ACCESS_KEY)),
            secret_key=ClearText(Secret(secret_key)),
        )

    def _options(self) -> list[str]:
        fixed = {
            "dir": "files",
            "ip": "127.0.0.1",
            "ip.bind": "127.0.0.1",
            "master.telemetry": "false",
            "master.volumeSizeLimitMB": 64,
            "volume.max": 3,
            "filer": "true",
            "s3": "true",
            "s3.iam": "false",
            "s3.autoCreateBucket": "false",
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
            "s3.config": "s3.json",
            "s3.cert.file": "node.pem",
            "s3.key.file": "node.key",
        }
        return [f"-{name}={value}" for name, value in {**fixed, **self._ports}.items()]

    def _takes(self, path: str, content: bytes = b"") -> bool:
        """Whether it makes a bucket or an object, or has it."""
        signer = Signer(region="us-east-1", access_key=Secret(ACCESS_KEY), secret_key=Secret(SECRET_KEY))
        request = Request(method="PUT", host=f"127.0.0.1:{self.port}", path=path, content=content)
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("PUT", path, content, headers=signer.headers(request, datetime.now(UTC)))
            return connection.getresponse().status in {200, 409}
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()


@pytest.fixture(scope="session")
def seaweed() -> Iterator[SeaweedServer]:
    """The session's server, started by the first test that wants it."""
    if not (_PROGRAM.exists() and shutil.which("setpriv")):
        pytest.skip(f"no server of S3: no {_PROGRAM.name} beside Python, or no setpriv")
    server = _started()
    yield server
    server.remove()


def _started() -> SeaweedServer:
    """A server; another one if somebody took one of its ports."""
    for _ in range(4):
        server = SeaweedServer()
        try:
            server.start()
        except EndedEarly:
            server.remove()
        else:
            return server
    raise AssertionError("no server of S3 stays up")
