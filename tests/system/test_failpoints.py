"""The one failpoint that a test cannot survive, reached in a process of its own."""

import signal
import subprocess
import sys

SCRIPT = """
from streamward.runtime import failpoints
point = failpoints.declare("test.point")
failpoints.arm(failpoints.parse("test.point=exit"))
try:
    failpoints.reach(point)
finally:
    print("survived")
"""


def test_an_armed_exit_ends_the_process_as_kill_9_does_without_a_last_word():
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGKILL, "", "")
