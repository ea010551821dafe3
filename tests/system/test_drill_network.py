"""The network of a drill: namespaces of its own, a link that loses and swallows, and nothing of it left behind."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from streamward.drills.network import namespace
from streamward.drills.network.link import FAIR, Weather
from streamward.drills.network.plant import Network, network
from tests.support.namespaces import need_namespaces

PATIENCE = 60
MAKER = "from streamward.drills.network.plant import network\nwith network(['a']): print('made', flush=True); input()"
DIALER = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3]))"
LISTENER = """
import socket, sys
server = socket.create_server((sys.argv[1], 0))
print(server.getsockname()[1], flush=True)
input()
"""
NOBODY = """
import os
from streamward.drills.network.plant import network
os.setgroups([]); os.setgid(65534); os.setuid(65534)
with network(["a"]): pass
"""


@pytest.fixture
def made() -> Iterator[Network]:
    need_namespaces()
    with network(["a", "b"]) as made:
        yield made


@pytest.fixture
def port(made: Network) -> Iterator[int]:
    """Somebody who listens on this host."""
    with started(LISTENER, made.host) as listener:
        assert listener.stdout is not None
        yield int(listener.stdout.readline())
        listener.communicate(input=b"\n", timeout=PATIENCE)


def started(code: str, *args: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", code, *args]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def dials(made: Network, who: str, port: int, *, within: float = PATIENCE) -> bool:
    command = [*made.entering(who), sys.executable, "-c", DIALER, made.host, str(port), str(within)]
    return subprocess.run(command, capture_output=True, timeout=2 * PATIENCE, check=False).returncode == 0


def test_whoever_is_cut_off_reaches_nobody_and_the_others_do(made: Network, port: int) -> None:
    assert dials(made, "a", port)
    made.link("a").weather = Weather(is_cut=True)
    assert not dials(made, "a", port, within=1.5)
    assert dials(made, "b", port)
    made.link("a").weather = FAIR
    assert dials(made, "a", port)


def test_packets_are_lost_and_dialing_succeeds_all_the_same(made: Network, port: int) -> None:
    made.link("a").weather = Weather(loss=0.3, delay=0.01)
    assert all(dials(made, "a", port) for _ in range(8))
    assert made.link("a").lost > 0


def test_what_a_killed_drill_left_is_removed_by_the_next_and_nothing_else(made: Network) -> None:
    ours = namespace.names()
    with started(MAKER) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == b"made\n"
        left = f"{namespace.PREFIX}{killed.pid}-a"
        assert left in namespace.names()
        lives_there = subprocess.Popen([*namespace.entering(left), "sleep", "600"])
        killed.kill()
    namespace.sweep()
    assert lives_there.wait(PATIENCE) == -signal.SIGKILL
    assert set(ours) <= set(namespace.names())
    assert left not in namespace.names()


def test_whoever_may_not_make_one_is_told_what_it_takes(made: Network) -> None:
    assert made.host
    with started(NOBODY) as nobody:
        _, said = nobody.communicate(timeout=PATIENCE)
    assert nobody.returncode == 1
    assert b"this needs root" in said
