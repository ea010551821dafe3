"""Workers without processes."""

import os
import socket
from dataclasses import dataclass, field

from streamward.runner.spawner import Spawnling
from streamward.runtime import blame
from streamward.runtime.blame import Board
from streamward.runtime.channel import pair


@dataclass
class Nursery:
    """Makes Workers that only this test speaks for."""

    ends: dict[int, socket.socket] = field(default_factory=dict)
    stopped: list[int] = field(default_factory=list)
    is_ready: bool = True

    async def spawn(self, log: int) -> Spawnling:
        assert log == 2
        ours, theirs = pair()
        number = len(self.ends) + 1
        self.ends[number] = theirs
        return Spawnling(number=number, pid=os.getpid(), channel=ours, board=Board.over(blame.new_page()))

    def stop(self, number: int, *, grace: float) -> None:
        assert grace >= 0
        self.stopped.append(number)

    def close(self) -> None:
        """Lets go of their ends of the channels."""
        for end in self.ends.values():
            end.close()
