"""One process of a fleet: started by the real command line, it dies with us, and what it logs is kept in a file.

It reports by a readiness message that it serves. Its standard output is discarded: a one-time code is printed there.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from streamward.model.errors import StreamwardError
from streamward.runtime.process_tree import die_with
from streamward.up.ready_pipe import EndedBeforeReady, R, ReadyPipe

READY_WITHIN = 300.0  # seconds: a busy machine is no failure, and a role that ends is noticed at once
LAST_LINES = 10  # of a log, shown when its process has ended

_WELL = (0, -signal.SIGTERM, 128 + signal.SIGTERM)  # by the signal: it had not begun


class PartEnded(StreamwardError):
    """A process ended, or reported nothing, before it served."""

    def __init__(self, name: str, how: str, log: Path, lines: list[str]) -> None:
        super().__init__(name, how, log, lines)
        self.name = name
        self.how = how
        self.log = log
        self.lines = lines

    def __str__(self) -> str:
        return "\n  ".join([f"{self.name} {self.how}; the end of {self.log}:", *self.lines])


@dataclass(frozen=True, slots=True, kw_only=True)
class PartSpec(Generic[R]):
    """What is started."""

    name: str
    command: tuple[str, ...]  # of `streamward`
    environment: Mapping[str, str]
    log: Path
    ready: type[R]  # the message that it sends when it serves


class Part(Generic[R]):
    """A process that can be started again."""

    def __init__(self, spec: PartSpec[R]) -> None:
        self.name = spec.name
        self._spec = spec
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: ReadyPipe[R] | None = None
        self._began = 0.0
        spec.log.unlink(missing_ok=True)

    @property
    def pid(self) -> int | None:
        """Its process, if it lives."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    @property
    def lived(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self._began

    def start(self) -> None:
        """Starts it in a group of its own: a Ctrl-C is for us to pass on, in the right order."""
        me = os.getpid()
        self.close()
        self._began = time.monotonic()
        self._pipe = pipe = ReadyPipe(self._spec.ready)
        with self._spec.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-m", "streamward", *self._spec.command, *pipe.option],
                env=dict(self._spec.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=[pipe.writer],
                process_group=0,
                preexec_fn=lambda: die_with(me),  # noqa: PLW1509 - we have one thread
            )
        pipe.close_writer()

    def wait_ready(self) -> R:
        """Its readiness message; raises PartEnded if it ends first, or takes too long."""
        assert self._pipe is not None
        assert self._process is not None
        try:
            ready = self._pipe.receive(within=READY_WITHIN)
        except EndedBeforeReady:
            self._process.wait()
            raise self.ended() from None
        if ready is None:
            raise self.ended()
        return ready

    def poll_ready(self) -> R | None:
        """Its readiness message, if it has arrived; None also if it ended first, which `pid` says."""
        with contextlib.suppress(EndedBeforeReady):
            return None if self._pipe is None else self._pipe.receive()
        return None

    def ended(self) -> PartEnded:
        """How it ended, with the last lines of its log."""
        return PartEnded(self.name, self._how(), self._spec.log, self._lines())

    def tell_to_end(self) -> None:
        """Asks it to end in good order; one that is dead already has been told of."""
        if self.pid is not None and self._process is not None:
            self._process.terminate()
        elif self._process is not None:
            self.close()
            self._process = None

    def end(self, *, within: float) -> bool:
        """Waits for its end, and kills it after so many seconds; returns whether it ended in good order."""
        process = self._process
        if process is None:
            return True
        try:
            is_well = process.wait(within) in _WELL
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            is_well = False
        self.close()
        return is_well

    def kill(self) -> None:
        """Ends it at once."""
        if self.pid is not None and self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Closes the pipe of its readiness message."""
        if self._pipe is not None:
            self._pipe.close()
            self._pipe = None

    def _how(self) -> str:
        code = None if self._process is None else self._process.poll()
        if code is None:
            return f"did not serve within {READY_WITHIN:.0f} s"
        return f"was ended by {_signal(-code)}" if code < 0 else f"ended with exit code {code}"

    def _lines(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return [readable(line) for line in self._spec.log.read_text(errors="replace").splitlines()[-LAST_LINES:]]
        return []


def readable(line: str) -> str:
    """A line of a log as people read it, without what a terminal would act on."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        said = json.loads(line)
        line = " ".join(
            str(said[key]) for key in ("ts", "level", "msg", "error_code", "stack") if said[key] is not None
        )
    return "".join(each if each.isprintable() else " " for each in line)


def _signal(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
