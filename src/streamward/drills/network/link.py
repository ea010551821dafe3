"""The only way out of a namespace: two devices, and this process carries every packet from one to the other.

    program in the namespace ─→ inner device ─→ [carried, delayed, lost or swallowed here] ─→ outer device ─→ this host

So a cut is what it is for a host whose cable was pulled: nobody is told, and nothing comes any more. Loss and delay are
made here and not by the kernel's netem, which many kernels do not have. The devices vanish with this process.
"""

import contextlib
import fcntl
import heapq
import itertools
import os
import secrets
import select
import struct
import threading
import time
from dataclasses import dataclass
from ipaddress import IPv4Address
from random import Random

from streamward.drills.network.namespace import NoNamespace, ip

_DEVICE = "/dev/net/tun"
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_LARGEST = 65_536  # bytes of a packet
_AT_A_TIME = 64  # packets of one side before the other gets its turn

_UnderWay = tuple[float, int, int, bytes]  # due when, in which order, to which device


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """What packets meet."""

    loss: float = 0.0  # share of all, each way
    delay: float = 0.0  # seconds, there and back together
    is_cut: bool = False  # nothing passes


FAIR = Weather()
CUT_OFF = Weather(is_cut=True)  # nothing gets out, nor in, and nobody is told


def due(weather: Weather, dice: Random, now: float) -> float | None:
    """When a packet arrives on the other side; None: never."""
    if weather.is_cut or (weather.loss and dice.random() < weather.loss):
        return None
    return now + weather.delay / 2


class Link:
    """From a namespace to this host and back, until it is closed."""

    def __init__(self, namespace: str, *, outer: IPv4Address, inner: IPv4Address, seed: int) -> None:
        self.weather = FAIR  # read anew for each packet
        self.lost = 0  # packets
        self._dice = Random(seed)  # noqa: S311 - repeatable, not secret
        self._numbers = itertools.count()
        self._wake = os.eventfd(0)
        name = f"swd{secrets.token_hex(5)}"
        ours, theirs = (_device(f"{name}{side}") for side in "oi")
        self._devices = {ours: theirs, theirs: ours}
        try:
            _furnish(namespace, name, outer=outer, inner=inner)
        except NoNamespace:
            self._let_go()
            raise
        self._thread = threading.Thread(target=self._carry, name="link", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends it."""
        os.eventfd_write(self._wake, 1)
        self._thread.join()
        self._let_go()

    def _let_go(self) -> None:
        for each in (*self._devices, self._wake):
            os.close(each)

    def _carry(self) -> None:
        under_way: list[_UnderWay] = []
        while True:
            rest = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
            ready, _, _ = select.select([*self._devices, self._wake], [], [], rest)
            if self._wake in ready:
                return
            for device in ready:
                self._take(device, under_way)
            while under_way and under_way[0][0] <= time.monotonic():
                _, _, device, packet = heapq.heappop(under_way)
                with contextlib.suppress(OSError):  # its queue is full, or its device is gone: as lost as any
                    os.write(device, packet)

    def _take(self, device: int, under_way: list[_UnderWay]) -> None:
        for packet in _packets(device):
            at = due(self.weather, self._dice, time.monotonic())
            if at is None:
                self.lost += 1
            else:
                heapq.heappush(under_way, (at, next(self._numbers), self._devices[device], packet))


def _packets(device: int) -> list[bytes]:
    found: list[bytes] = []
    with contextlib.suppress(OSError):  # there is none left, or its device went with the namespace
        found.extend(os.read(device, _LARGEST) for _ in range(_AT_A_TIME))
    return found


def _device(name: str) -> int:
    try:
        device = os.open(_DEVICE, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as err:
        raise NoNamespace(f"{_DEVICE}: {err.strerror}") from err
    try:
        fcntl.ioctl(device, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    except OSError as err:
        os.close(device)
        raise NoNamespace(f"{_DEVICE}: {err.strerror}") from err
    return device


def _furnish(namespace: str, name: str, *, outer: IPv4Address, inner: IPv4Address) -> None:
    """Addresses and ways for the two devices, one of which moves into the namespace."""
    ours, theirs = f"{name}o", f"{name}i"
    ip("address", "add", f"{outer}", "peer", f"{inner}", "dev", ours)
    ip("link", "set", ours, "up")
    ip("link", "set", theirs, "netns", namespace)
    ip("-n", namespace, "address", "add", f"{inner}", "peer", f"{outer}", "dev", theirs)
    ip("-n", namespace, "link", "set", theirs, "up")
    ip("-n", namespace, "route", "add", "default", "dev", theirs)
