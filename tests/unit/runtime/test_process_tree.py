"""Ending children: until none is left, and for how long; real ones are in `tests/system/test_tree_kills.py`."""

import os
import signal
import subprocess

import pytest

from streamward.runtime import process_tree
from streamward.runtime.process_tree import Children


class Family:
    """So many children, of which one dies with each wait; some never do."""

    def __init__(self, mortal: int, *, immortal: int = 0) -> None:
        self.now = 0.0
        self.mortal, self.immortal = mortal, immortal
        self.kills = 0

    def kill(self) -> None:
        self.kills += 1

    def reap(self) -> bool:
        return self.mortal + self.immortal == 0

    def wait(self, seconds: float) -> None:
        self.mortal = max(0, self.mortal - 1)
        self.now += seconds


def test_nobody_is_signalled_when_nobody_is_left():
    family = Family(0)
    assert process_tree.end(family, within=1.0)
    assert family.kills == 0


def test_those_who_come_up_when_others_die_are_killed_too():
    family = Family(5)
    assert process_tree.end(family)
    assert family.kills == 5


def test_what_does_not_die_is_given_up_when_the_time_is_over_and_not_before():
    family = Family(3, immortal=1)
    assert not process_tree.end(family, within=1.0, now=lambda: family.now)
    assert family.now == pytest.approx(1.0)
    assert family.kills > 3


def test_whoever_dies_at_the_last_moment_counts_as_dead():
    family = Family(1)
    assert process_tree.end(family, within=0.1, now=lambda: family.now)


def test_a_child_is_listed_until_it_is_reaped_and_others_are_left_alone():
    others = {*process_tree.children(), -1}
    child = subprocess.Popen(["sleep", "600"])
    assert set(process_tree.children()) - others == {child.pid}
    family = Children(but=lambda: others)
    while not family.reap():
        family.kill()
        family.wait(1.0)
    assert child.pid not in process_tree.children()
    child.wait()


def test_the_first_process_is_nobodys_child_of_ours():
    assert os.getppid() not in process_tree.children()
    assert os.getpid() not in process_tree.children()


def test_what_a_block_started_ends_with_it_and_orphans_of_later_processes_go_elsewhere():
    before = subprocess.Popen(["sleep", "600"])
    orphaning = ["sh", "-c", "sleep 600 >/dev/null & echo $!"]
    with process_tree.ending_what_starts(within=30.0):
        orphan = int(subprocess.check_output(orphaning))
        assert orphan in process_tree.children()
    assert orphan not in process_tree.children()
    assert before.poll() is None
    later = int(subprocess.check_output(orphaning))
    assert later not in process_tree.children()
    os.kill(later, signal.SIGKILL)
    before.kill()
    before.wait()
