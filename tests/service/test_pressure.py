"""The valve, and what it asks: pressure stops the intake, and whatever is missing or broken does not."""

import asyncio
import ctypes
from pathlib import Path

import pytest

from streamward.batcher.facts import PressureChanged
from streamward.batcher.pressure import ASK_EVERY, QueueDepth, Valve
from streamward.drivers.memory.bus import MemoryBus, MemoryQueues
from streamward.drivers.pressure import HostMemory, NoSuchSource, NvmlMemory, load_source
from streamward.insight.pressure import Pressure
from streamward.protocol.batches import ANALYSIS, EXCHANGE
from streamward.runtime.journal import Journal
from streamward.runtime.virtual_time import run
from tests.support.buses import a_message
from tests.support.clocks import LoopClock, ManualClock


class Said:
    def __init__(self, level: Pressure | Exception) -> None:
        self.now = level
        self.asked = 0

    async def level(self) -> Pressure:
        self.asked += 1
        if isinstance(self.now, Exception):
            raise self.now
        return self.now


class Mute:
    async def level(self) -> Pressure:
        await asyncio.get_running_loop().create_future()
        raise AssertionError


def test_the_valve_closes_while_anything_is_critical_and_says_so():
    async def main() -> None:
        facts: list[object] = []
        journal, source, other = Journal(), Said(Pressure.NORMAL), Said(Pressure.NORMAL)
        journal.subscribe(facts.append)
        valve = Valve({"gpu": source, "host": other}, journal=journal, clock=LoopClock())
        assert not await valve.should_apply_backpressure()
        source.now = Pressure.CRITICAL
        assert not await valve.should_apply_backpressure()  # asked a moment ago
        assert source.asked == 1
        await asyncio.sleep(ASK_EVERY)
        assert await valve.should_apply_backpressure()
        source.now = Pressure.NORMAL
        await asyncio.sleep(ASK_EVERY)
        assert not await valve.should_apply_backpressure()
        assert facts == [
            PressureChanged(level=Pressure.CRITICAL, sources="gpu"),
            PressureChanged(level=Pressure.NORMAL, sources=""),
        ]

    run(main())


@pytest.mark.parametrize("broken", [Said(RuntimeError("driver crashed")), Mute()])
def test_a_source_that_fails_or_never_answers_counts_as_normal(broken):
    async def main() -> None:
        valve = Valve({"gpu": broken}, journal=Journal(), clock=LoopClock())
        assert not await valve.should_apply_backpressure()

    run(main())


async def test_without_sources_nothing_ever_waits():
    assert not await Valve({}, journal=Journal(), clock=ManualClock()).should_apply_backpressure()


@pytest.mark.parametrize(("available", "level"), [(21, Pressure.NORMAL), (20, Pressure.CRITICAL)])
async def test_the_hosts_memory_is_critical_when_programs_can_have_no_more(tmp_path: Path, available, level):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable: {available} kB\n")
    assert await HostMemory(meminfo).level() is level


async def test_this_host_has_a_level():
    assert await load_source("memory").level() in set(Pressure)


class Gpu:
    """NVML as its library answers: one device with so much used of a hundred."""

    def __init__(self, used: int, *, code: int = 0) -> None:
        self._used, self._code = used, code

    def nvmlInit_v2(self) -> int:  # noqa: N802 - NVML's names
        return self._code

    def nvmlDeviceGetCount_v2(self, count) -> int:  # noqa: N802
        count._obj.value = 1
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, place, device) -> int:  # noqa: N802
        return 0

    def nvmlDeviceGetMemoryInfo(self, device, memory) -> int:  # noqa: N802
        memory._obj.total, memory._obj.used = 100, self._used
        return 0


@pytest.mark.parametrize(
    ("library", "level"),
    [(Gpu(94), Pressure.NORMAL), (Gpu(95), Pressure.CRITICAL), (Gpu(99, code=1), Pressure.NORMAL)],
)
async def test_a_gpus_memory_is_asked_for_through_nvml(library, level):
    assert await NvmlMemory(lambda _: library).level() is level


async def test_a_host_without_nvml_has_no_pressure():
    def missing(name: str) -> ctypes.CDLL:
        raise OSError(f"{name}: cannot open shared object file")

    source = NvmlMemory(missing)
    assert await source.level() is Pressure.NORMAL
    assert await source.level() is Pressure.NORMAL


def test_a_name_that_nobody_knows_is_refused():
    with pytest.raises(NoSuchSource, match="no source of pressure 'gpuu'"):
        load_source("gpuu")


async def test_the_analysis_queue_can_be_a_source():
    bus = MemoryBus(MemoryQueues(ManualClock()))
    await bus.declare(ANALYSIS)
    for number in range(7_999):
        await bus.publish(a_message(number, exchange=EXCHANGE, key="analysis.t.c"))
    assert await QueueDepth(bus).level() is Pressure.NORMAL
    await bus.publish(a_message(8_000, exchange=EXCHANGE, key="analysis.t.c"))
    assert await QueueDepth(bus).level() is Pressure.CRITICAL
