"""The memory of NVIDIA's GPUs, through NVML; a host without one, or without its library, has no pressure."""

import ctypes
from collections.abc import Callable

from streamward.insight.pressure import Pressure, judge

_LIBRARY = "libnvidia-ml.so.1"


class _Memory(ctypes.Structure):
    """NVML's `nvmlMemory_t`."""

    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class NvmlMemory:
    """The fullest of all GPUs decides."""

    def __init__(self, load: Callable[[str], ctypes.CDLL] = ctypes.CDLL) -> None:
        self._load = load
        self._nvml: ctypes.CDLL | None = None
        self._is_missing = False

    async def level(self) -> Pressure:
        """Normal, unless a GPU's memory is nearly used up."""
        if not self._is_ready():
            return Pressure.NORMAL
        levels = [judge(used, total) for used, total in self._memories()]
        return Pressure.CRITICAL if Pressure.CRITICAL in levels else Pressure.NORMAL

    def _is_ready(self) -> bool:
        if self._nvml is None and not self._is_missing:
            try:
                self._nvml = self._load(_LIBRARY)
                self._is_missing = self._nvml.nvmlInit_v2() != 0
            except OSError:
                self._is_missing = True
        return not self._is_missing

    def _memories(self) -> list[tuple[int, int]]:
        assert self._nvml is not None
        count = ctypes.c_uint()
        self._nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
        found = []
        for place in range(count.value):
            device, memory = ctypes.c_void_p(), _Memory()
            self._nvml.nvmlDeviceGetHandleByIndex_v2(place, ctypes.byref(device))
            if self._nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) == 0:
                found.append((memory.used, memory.total))
        return found
