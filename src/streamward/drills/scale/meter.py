"""What the processes of a scale drill use, and what the control plane was asked meanwhile."""

import asyncio
import http.client
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from streamward.drills.roles import ANSWERED_WITHIN, ENDED_WITHIN, ProcessFailed
from streamward.drills.scale import pages
from streamward.drills.scale.account import Scrape, Window
from streamward.drills.scale.fleet import SERVES, Fleet
from streamward.drills.scale.hearing import Hearing
from streamward.drills.takeover.runner import Runner, tree
from streamward.protocol.lease_listing import LeasePage
from streamward.runtime.clock import Clock

_TICK = os.sysconf("SC_CLK_TCK")

Used = dict[int, float]  # seconds of processor time, by process


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How things stand at one moment."""

    at: float  # boot-time
    control: Used
    runners: Mapping[str, Used]
    page: list[pages.Sample]
    leases: LeasePage
    detections: int
    statuses: int


class Meter:
    """Looks at a fleet."""

    def __init__(self, fleet: Fleet, hearing: Hearing, *, clock: Clock) -> None:
        self._fleet = fleet
        self._hearing = hearing
        self._clock = clock

    async def look(self) -> Look:
        """Everything at once."""
        return await asyncio.to_thread(self._look)

    def _look(self) -> Look:
        leases = self._fleet.desk.leases()
        page = pages.samples(self._page(f"{self._fleet.desk.url}/metrics"))
        return Look(
            at=self._clock.boot(),
            control=used([self._fleet.control.process.pid]),
            runners={name: used(tree(each.role.process.pid)) for name, each in self._fleet.runners.items()},
            page=page,
            leases=leases,
            detections=self._hearing.detections,
            statuses=self._hearing.statuses,
        )

    def window(self, before: Look, after: Look) -> Window:
        """What went on between two looks."""
        seconds = after.at - before.at
        held = Counter(row.owner_id for row in after.leases.items if row.owner_id)
        versions = {row.camera_uuid: row.version for row in before.leases.items}
        changed = [row for row in after.leases.items if row.version != versions.get(row.camera_uuid)]
        ours = self._fleet.spec.layout.first_runners
        return Window(
            cameras=len(after.leases.items),
            runners=len(self._fleet.runners),
            seconds=round(seconds, 1),
            load=round(os.getloadavg()[0], 1),
            control_cpu=round(spent(before.control, after.control) / seconds, 4),
            control_mb=round(_megabytes([self._fleet.control.process.pid]), 1),
            runner_cpu=round(_mean(spent(before.runners[each], after.runners[each]) for each in ours) / seconds, 4),
            runner_cameras=round(_mean(held[each] for each in ours), 1),
            runner_mb=round(_mean(_megabytes(after.runners[each]) for each in ours), 1),
            statements=round(_more(before, after, pages.STATEMENTS) / seconds, 1),
            calls=pages.calls(before.page, after.page),
            expired=int(_more(before, after, pages.EXPIRED)),
            granted=int(_more(before, after, pages.GRANTED)),
            changed=len(changed),
            detections=round((after.detections - before.detections) / seconds, 1),
            statuses=round((after.statuses - before.statuses) / seconds, 1),
        )

    async def scrape(self) -> Scrape:
        """All pages of all processes, asked for at once, as if all were due in the same moment."""
        own = f"{self._fleet.desk.url}/metrics"
        urls = [own, *(url for each in self._fleet.runners.values() for url in _served(each))]
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(len(urls)) as threads:
            began = self._clock.boot()
            read = [loop.run_in_executor(threads, self._timed, url) for url in urls]
            answers = await asyncio.gather(*read)
            took = self._clock.boot() - began
        told = [pages.samples(page) for page, _ in answers]
        both = pages.cameras(told[:1], "camera_desired") & pages.cameras(told[1:], "stream_up")
        size = sum(len(page) for page, _ in answers)
        return Scrape(round(took, 3), round(answers[0][1], 3), size, len(both))

    def _timed(self, url: str) -> tuple[str, float]:
        began = self._clock.boot()
        return self._page(url), self._clock.boot() - began

    def _page(self, url: str) -> str:
        """Asks again for a while: a database that is busy just now is no failure of the drill."""
        last = self._clock.boot() + ENDED_WITHIN
        while True:
            try:
                return self._read(url)
            except ProcessFailed:
                if self._clock.boot() > last:
                    raise
                time.sleep(0.1)

    def _read(self, url: str) -> str:
        place = urlsplit(url)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=ANSWERED_WITHIN)
        try:
            connection.request("GET", place.path, headers={"Authorization": f"Bearer {self._fleet.desk.token}"})
            answer = connection.getresponse()
            content = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise ProcessFailed(place.path, str(error)) from error
        finally:
            connection.close()
        if answer.status != http.HTTPStatus.OK:
            raise ProcessFailed(place.path, f"{answer.status}: {content[:500]}")
        return content


def used(pids: Iterable[int]) -> Used:
    """What these processes used so far, as far as they live."""
    found = {pid: _seconds(pid) for pid in pids}
    return {pid: seconds for pid, seconds in found.items() if seconds is not None}


def spent(before: Used, after: Used) -> float:
    """What was used meanwhile; what a process used before it was born is nothing."""
    return sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())


def _seconds(pid: int) -> float | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / _TICK


def _megabytes(pids: Iterable[int]) -> float:
    """In memory; what processes share is divided among them."""
    return sum(map(_proportional, pids)) / 1024


def _proportional(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def _served(runner: Runner) -> list[str]:
    """Where a runner's pages are: its own, and all its Workers' as one."""
    told = next(line for line in runner.role.lines() if line.get("event") == SERVES)
    return [f"http://127.0.0.1:{told[port]}/metrics" for port in ("own_port", "workers_port")]


def _more(before: Look, after: Look, name: str) -> float:
    return pages.total(after.page, name) - pages.total(before.page, name)


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every) if every else 0.0
