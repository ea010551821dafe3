"""`streamward up` as a real process, in a folder of its own."""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.bearers import bearers
from tests.support.labs import children_of
from tests.support.processes import COMMAND, environment, run

PATIENCE = 240.0  # seconds: clips are encoded, and six programs loaded, on a machine that may be busy


class UpProcess:
    """A whole fleet."""

    def __init__(self, process: subprocess.Popen[bytes], *, data: Path) -> None:
        self.process = process
        self.data = data
        self.said = ""

    def until_said(self, sentence: str) -> re.Match[str]:
        """Reads what it says until that."""
        assert self.process.stdout is not None
        last = time.monotonic() + PATIENCE
        while not (found := re.search(sentence, self.said)):
            assert time.monotonic() < last, self.said
            if select.select([self.process.stdout], [], [], 1)[0]:
                piece = os.read(self.process.stdout.fileno(), 65_536).decode()
                assert piece, f"it ended: {self.said}"
                self.said += piece
        return found

    def manager(self, runner_id: str) -> int:
        """The Manager's process of a runner."""
        found = re.findall(rf"{runner_id} (?:was started again )?\(process (\d+)\)", self.said)
        return children_of(int(found[-1]))[0]

    def command(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Runs a command as it would be typed in another terminal."""
        (api,) = re.findall(r"API +(\S+)/openapi.json", self.said)
        return run(*args, data=self.data, CONTROL_URL=api)

    def leases(self) -> dict[str, dict[str, Any]]:
        """Who has which camera, by camera."""
        listed = self.command("leases", "list", "--json").stdout.splitlines()
        return {each["camera_uuid"]: each for each in map(json.loads, listed)}

    def streams_at(self, camera: str, runner_id: str) -> bool:
        """Whether a runner shows a camera, under the lease that counts."""
        lease = self.leases()[camera]
        stream = lease["stream"]
        return bool(
            stream
            and stream["state"] == "STREAMING"
            and stream["version"] == lease["version"]
            and lease["owner_id"] == runner_id
        )

    def ended(self, by: signal.Signals) -> int:
        """Its exit code after a signal; what it said meanwhile is kept."""
        self.process.send_signal(by)
        out, _ = self.process.communicate(timeout=PATIENCE)
        self.said += out.decode()
        return self.process.returncode

    def left(self) -> list[int]:
        """Processes that have this fleet's folder in their environment."""
        return bearers(f"STREAMWARD_DATA={self.data}")


@contextlib.contextmanager
def up(data: Path, *args: str, **settings: object) -> Iterator[UpProcess]:
    """A fleet; what it said is shown if the test fails."""
    process = subprocess.Popen(
        [*COMMAND, "up", *args],
        env=environment(data, **{"SOURCES_ALLOW": "", "RUNNER_SOURCE_ALLOW": "", **settings}),
        cwd=data.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    started = UpProcess(process, data=data)
    try:
        yield started
    except BaseException as err:
        err.add_note(f"streamward up:\n{started.said}")
        for log in sorted((data / "logs").glob("*.log")):
            err.add_note(f"{log.name}:\n{log.read_text()[-3000:]}")
        raise
    finally:
        process.kill()  # its processes die with it
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
