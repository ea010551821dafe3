"""A Worker that its fork server has just made: everything is loaded, and its Manager says over the channel what to do.

Until the Manager says `Begin` it belongs to no tenant, so one that waits is the spare.
"""

import asyncio
import socket
import sys

from streamward.model.errors import StreamwardError
from streamward.runner.worker_app import exit_code, run_managed
from streamward.runtime.blame import Board

ENTRY = "streamward.runner.born:live"


def live(channel: socket.socket, board: Board) -> int:
    """What the fork server calls; the exit code is one of `WorkerExit`."""
    try:
        return asyncio.run(run_managed(channel, board=board))
    except StreamwardError as error:
        sys.stderr.write(f"streamward: {error}\n")
        return exit_code(error)
