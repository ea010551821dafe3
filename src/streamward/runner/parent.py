"""The top process of a runner: small, single-threaded, and the last to go.

    parent ─starts→ Manager ─→ fork server ─→ Workers ─→ whatever they start
       ↑ a ticket, good for "release all" and nothing else

When the Manager dies, however it does, the parent kills and reaps until nothing of the tree is left, and only then
gives the runner's leases back with the ticket. A tree that is not gone within a second is still killed, but nothing is
given back: something may run that holds a camera, and the leases run out by themselves. Told to end, the parent passes
that on and waits for the Manager's grace; told twice, it does not wait.

    python -m streamward.runner.parent GRACE COMMAND …

runs the Manager as `COMMAND … --parent-channel=<descriptor> --parent-pid=<pid>`; it has GRACE seconds to end in good
order.
"""

import contextlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NoReturn, Protocol

from streamward.runner import farewell
from streamward.runtime import core_dumps, process_tree
from streamward.runtime.process_tree import Children, Kin

GONE_WITHIN = 1.0  # seconds in which the tree must be gone for its leases to be released
LONGEST_TICKET = 16_384  # bytes
WITHDRAWN = b"-"  # in the place of a ticket: everything was given back already

_ENDINGS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_CANNOT_START = 127  # as a shell says it


class Farewell(Protocol):
    """What is done after the tree; `streamward.runner.farewell`."""

    def release(self, ticket: bytes) -> None:
        """Gives the leases back: nothing runs any more."""
        ...

    def linger(self) -> None:
        """Says that something does not die."""
        ...


class Ward:
    """The Manager's process, and the ticket that it handed over last."""

    def __init__(self, pid: int, channel: socket.socket) -> None:
        self.pid = pid
        self.channel = channel
        self.ticket = b""  # none: there is nothing to release

    @classmethod
    def start(cls, command: Sequence[str]) -> "Ward":
        """Starts it in a session of its own: a Ctrl-C is for the parent to pass on."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        told = [f"--parent-channel={theirs.fileno()}", f"--parent-pid={os.getpid()}"]
        parent = os.getpid()
        with _endings_held_back():
            pid = os.fork()
            if pid == 0:
                _become([*command, *told], parent=parent, kept=theirs.fileno())
        theirs.close()
        return cls(pid, ours)

    def take_tickets(self) -> bool:
        """Keeps the newest ticket that has come; returns whether more may come."""
        while True:
            try:
                ticket = self.channel.recv(LONGEST_TICKET)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not ticket:
                return False
            self.ticket = b"" if ticket == WITHDRAWN else ticket


class Parent:
    """Watches one Manager to its end, and sees to it that nothing is left of it."""

    def __init__(self, ward: Ward, *, grace: float, kin: Kin) -> None:
        self._ward = ward
        self._grace = grace
        self._kin = kin
        self._kill_at: float | None = None

    def watch(self, heard: int) -> int:
        """Until the Manager is dead; `heard` is where the numbers of signals arrive. Returns its exit code."""
        death = os.pidfd_open(self._ward.pid)
        events = select.poll()
        for file in (death, heard, self._ward.channel.fileno()):
            events.register(file, select.POLLIN)
        while death not in (ready := dict(events.poll(self._patience()))):
            if heard in ready:
                self._pass_on(os.read(heard, 64))
            if self._ward.channel.fileno() in ready and not self._ward.take_tickets():
                events.unregister(self._ward.channel)
            if self._kill_at is not None and time.monotonic() >= self._kill_at:
                os.kill(self._ward.pid, signal.SIGKILL)
                self._kill_at = time.monotonic() + GONE_WITHIN
        os.close(death)
        self._ward.take_tickets()  # what it sent before it died counts
        return os.waitstatus_to_exitcode(os.waitpid(self._ward.pid, 0)[1])

    def bury(self, farewell: Farewell) -> None:
        """Ends the tree, and releases if it was gone in time."""
        self._kin.kill()
        if process_tree.end(self._kin, within=GONE_WITHIN):
            if self._ward.ticket:
                farewell.release(self._ward.ticket)
        else:
            farewell.linger()
            process_tree.end(self._kin)

    def _patience(self) -> float | None:
        return None if self._kill_at is None else max(0.0, self._kill_at - time.monotonic()) * 1000

    def _pass_on(self, signals: bytes) -> None:
        for number in signals:
            if number not in _ENDINGS:
                continue
            is_first = self._kill_at is None
            self._kill_at = time.monotonic() + (self._grace if is_first else 0.0)
            if is_first:
                os.kill(self._ward.pid, signal.SIGTERM)


def main(arguments: Sequence[str]) -> int:
    """Runs a Manager; returns its exit code, or 128 + the signal that ended it."""
    grace, *command = arguments
    core_dumps.forbid_as_inherited()
    process_tree.adopt_orphans()
    with _signals() as heard:
        parent = Parent(Ward.start(command), grace=float(grace), kin=Children())
        code = parent.watch(heard)
        parent.bury(farewell)
    return code if code >= 0 else 128 - code


def _become(command: list[str], *, parent: int, kept: int) -> NoReturn:
    """In the child: turns into the Manager, which dies with the parent until it says that it can do better."""
    try:
        process_tree.die_with(parent)
        os.setsid()  # not only a process group: renewals do not wait behind other processes of this session
        for number in _ENDINGS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS)
        os.set_inheritable(kept, True)
        os.execvp(command[0], command)  # noqa: S606 - the operator's own command
    except OSError as error:
        os.write(2, f"the Manager cannot be started: {error}\n".encode())
    finally:
        os._exit(_CANNOT_START)


@contextlib.contextmanager
def _endings_held_back() -> Iterator[None]:
    """A signal that comes now waits: passed on between fork and exec it would be lost."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDINGS)


@contextlib.contextmanager
def _signals() -> Iterator[int]:
    """Where the number of each signal that asks for the end can be read."""
    heard, told = os.pipe()
    os.set_blocking(told, False)
    for number in _ENDINGS:
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(told)
    try:
        yield heard
    finally:
        signal.set_wakeup_fd(-1)
        os.close(heard)
        os.close(told)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
