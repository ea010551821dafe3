"""What a parent does when its Manager is dead: releases if nothing is left, and does not while something may run."""

import os
import signal
import socket
import subprocess
import sys

import pytest

from streamward.runner.parent import WITHDRAWN, Parent, Ward


class Family:
    """Children that die when they are killed so many times."""

    def __init__(self, lives: float) -> None:
        self.lives = lives

    def kill(self) -> None:
        self.lives -= 1

    def reap(self) -> bool:
        return self.lives <= 0

    def wait(self, seconds: float) -> None:
        pass


class Heard:
    """What was done after the tree, and whether anybody lived then."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self.said: list[object] = []

    def release(self, ticket: bytes) -> None:
        self.said.append((ticket, self._family.reap()))

    def linger(self) -> None:
        self.said.append("lingers")
        self._family.lives = 3  # it dies after all, much later


@pytest.fixture
def ward():
    """A Manager that is long dead, and the end of its channel that it had."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    with ours, theirs:
        yield Ward(0, ours), theirs


def buried(ward: Ward, family: Family) -> list[object]:
    ward.take_tickets()
    heard = Heard(family)
    Parent(ward, grace=1.0, kin=family).bury(heard)
    assert family.reap(), "it never stops before nothing is left"
    return heard.said


def test_the_newest_ticket_is_used_when_nothing_lives_any_more(ward):
    ward, theirs = ward
    theirs.send(b"old")
    theirs.send(b"new")
    theirs.close()
    assert buried(ward, Family(3)) == [(b"new", True)]


def test_what_the_release_needs_is_loaded_before_and_that_is_little():
    program = "import sys, streamward.runner.parent; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert {"streamward.runner.farewell", "http.client"} <= set(loaded)
    assert not {"msgspec", "logging", "asyncio", "streamward.protocol", "streamward.leases"} & set(loaded)


def test_without_a_ticket_there_is_nothing_to_release(ward):
    assert buried(ward[0], Family(3)) == []


def test_what_was_given_back_is_not_released_again(ward):
    ward, theirs = ward
    theirs.send(b"ticket")
    theirs.send(WITHDRAWN)
    assert buried(ward, Family(0)) == []


def test_nothing_is_released_when_the_tree_does_not_die_in_time_and_it_is_killed_all_the_same(ward):
    ward, theirs = ward
    theirs.send(b"ticket")
    assert buried(ward, Family(float("inf"))) == ["lingers"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_manager_that_does_not_end_in_its_grace_or_is_told_twice_is_killed(ward, times: int) -> None:
    stubborn = "trap '' TERM; echo up; while :; do read line; done"
    process = subprocess.Popen(["sh", "-c", stubborn], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    ward[0].pid = process.pid
    heard, told = os.pipe()
    os.write(told, bytes([signal.SIGTERM] * times))
    parent = Parent(ward[0], grace=0.1 if times == 1 else 600.0, kin=Family(0))
    assert parent.watch(heard) == -signal.SIGKILL
    process.communicate()
    os.close(heard)
    os.close(told)
