"""A spool at whose every step a process may die, and the account of what became of each record."""

import os
import random
from pathlib import Path

from streamward.runtime import failpoints
from streamward.runtime.failpoints import Act, Deed, FailpointReached
from streamward.runtime.spool import Gap, Spool, Waiting


def die(spool: Spool) -> None:
    """What is left of a process that was killed: the files, and no locks."""
    for segment in spool._segments:
        segment.close()
    os.close(spool._lock)


class Account:
    """Plays a process that appends, sends and dies, and books every record."""

    def __init__(self, folder: Path, rng: random.Random, *, most_bytes: int) -> None:
        self.folder = folder
        self.most_bytes = most_bytes
        self.appended = 0
        self.arrived: set[bytes] = set()  # what the bus has, confirmed to us or not
        self.lost: dict[tuple[int, Gap], int] = {}  # gaps as the bus has them, each once
        self.deaths = 0
        self._rng = rng
        self._era = 0  # numbers begin anew in a spool that was empty
        self._hands: list[Waiting] = []
        self._unsure: bytes | None = None  # being appended when it died
        self._spool = Spool(folder, most_bytes=most_bytes)

    def step(self) -> None:
        """One thing happens; or the process dies in the middle of it and another takes over."""
        act = self._rng.choices([self._append, self._take, self._confirm, self._roll, self._die], [60, 12, 25, 2, 1])[0]
        if self._rng.random() < 0.02:
            point = self._rng.choice([point for point in failpoints.declared() if point.startswith("spool.")])
            failpoints.arm({point: Deed(Act.RAISE)})
        try:
            act()
        except FailpointReached:
            self._die()
        finally:
            failpoints.disarm()

    def finish(self) -> None:
        """Everything goes through."""
        while not self._spool.is_empty:
            self._spool.roll()
            self._hands += self._spool.backlog(100)
            while self._hands:
                self._settle()
        self._spool.close()

    @property
    def size(self) -> int:
        return sum(path.stat().st_size for path in self.folder.iterdir())

    def _append(self) -> None:
        payload = b"%d " % (self.appended + 1) + b"x" * self._rng.randrange(400, 3000)
        self._unsure = payload
        self._spool.append(payload)
        self._unsure = None
        self.appended += 1

    def _take(self) -> None:
        most = self._rng.randrange(1, 40)
        taken = self._spool.live(most) + self._spool.backlog(self._rng.randrange(1, 40))
        self._hands += taken

    def _confirm(self) -> None:
        for _ in range(self._rng.randrange(0, 10)):
            if self._hands:
                self._settle()

    def _settle(self) -> None:
        """The bus has it from here on; whether we hear of it is another matter."""
        waiting = self._hands.pop(self._rng.randrange(len(self._hands)))
        match waiting.entry:
            case Gap() as gap:
                self.lost[self._era, gap] = gap.count
            case record:
                self.arrived.add(record.payload)
        self._spool.confirm(waiting)

    def _roll(self) -> None:
        self._spool.roll()

    def _die(self) -> None:
        """A record that was being appended may be there or not; the test asks the files."""
        self.deaths += 1
        self._hands.clear()
        die(self._spool)
        before = self._spool._number
        self._spool = Spool(self.folder, most_bytes=self.most_bytes)
        self._era += self._spool._number == 1
        if self._unsure is not None:
            self.appended += self._spool._number > before
            self._unsure = None
