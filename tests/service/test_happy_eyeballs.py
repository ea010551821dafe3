"""A host name with several addresses: the one that answers is connected to, whichever of them it is."""

import contextlib
import os
import resource
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from time import monotonic

import pytest

from streamward.drivers import happy_eyeballs
from streamward.drivers.addresses import HostLimits
from streamward.drivers.rtsp import DialFailed
from streamward.model.address_policy import AddressPolicy, parse_network
from streamward.model.source_url import Address
from streamward.model.stream_error import StreamErrorCode
from tests.support.cameras import dial
from tests.support.plants import at

ONE, TWO, THREE = (ip_address(f"127.0.0.{number}") for number in (1, 2, 3))


@contextlib.contextmanager
def listening(address: Address, port: int = 0) -> Iterator[int]:
    with socket.socket() as server:
        server.bind((str(address), port))
        server.listen()
        yield server.getsockname()[1]


@contextlib.contextmanager
def unanswered(address: Address, port: int) -> Iterator[None]:
    """An address of which no connection is ever established: its backlog is full."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind((str(address), port))
        server.listen(0)
        for _ in range(8):
            pending = stack.enter_context(socket.socket())
            pending.setblocking(False)
            pending.connect_ex((str(address), port))
        yield


async def peer_of(addresses: list[Address], port: int) -> str:
    with await happy_eyeballs.connect(addresses, port) as connected:
        return str(connected.getpeername()[0])


async def test_an_address_that_refuses_is_passed_over_at_once():
    with listening(THREE) as port:
        began = monotonic()
        assert await peer_of([ONE, TWO, THREE], port) == str(THREE)
    assert monotonic() - began < happy_eyeballs.CONNECT_WITHIN / 2


async def test_an_address_that_does_not_answer_delays_the_others_by_a_quarter_of_a_second_each():
    with listening(THREE) as port, unanswered(ONE, port), unanswered(TWO, port):
        began = monotonic()
        assert await peer_of([ONE, TWO, THREE], port) == str(THREE)
        took = monotonic() - began
    assert 2 * happy_eyeballs.ATTEMPT_EVERY <= took < happy_eyeballs.CONNECT_WITHIN / 2


async def test_the_first_address_is_used_while_it_answers():
    with listening(ONE) as port, listening(TWO, port):
        assert await peer_of([ONE, TWO], port) == str(ONE)


async def test_if_no_address_answers_the_dial_ends_in_time():
    with listening(THREE) as port, unanswered(ONE, port), unanswered(TWO, port):
        with pytest.raises(DialFailed) as failed:
            await happy_eyeballs.connect([ONE, TWO], port)
        assert (failed.value.failure.code, failed.value.failure.is_unreachable) == (StreamErrorCode.TCP_TIMEOUT, True)
        refused = ip_address("127.0.0.4")
        with pytest.raises(DialFailed) as failed:
            await happy_eyeballs.connect([ONE, refused], port)
    assert failed.value.failure.code is StreamErrorCode.TCP_REFUSED


def test_addresses_are_tried_once_each_and_the_families_alternate():
    four, six = [ip_address(f"192.0.2.{n}") for n in (1, 2, 3)], [ip_address(f"2001:db8::{n}") for n in (1, 2)]
    found = happy_eyeballs.in_order([*six, *four, *six, four[0]])
    assert found == [six[0], four[0], six[1], four[1], four[2]]
    many = [ip_address(f"192.0.2.{n}") for n in range(100)]
    assert happy_eyeballs.in_order(many) == many[: happy_eyeballs.MAX_ADDRESSES]


def test_each_address_of_a_name_is_judged_by_the_policy():
    site = AddressPolicy(deny=(parse_network("192.0.2.1"),))
    camera = at("rtsp://camera.example/x", addresses=site)
    limited = at("rtsp://camera.example/x")  # on this machine only
    open_host = type(camera)(url=camera.url, credential=None, addresses=site, limits=HostLimits())
    denied, metadata, good = (ip_address(each) for each in ("192.0.2.1", "169.254.169.254", "192.0.2.2"))
    assert open_host.allowed([denied, metadata, good]) == [good]
    with pytest.raises(DialFailed) as failed:
        open_host.allowed([denied, metadata])
    assert failed.value.failure.code is StreamErrorCode.URL_FORBIDDEN
    with pytest.raises(DialFailed):
        limited.allowed([good])


@contextlib.contextmanager
def without_descriptors() -> Iterator[None]:
    """No further file or socket can be opened."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(each.name) for each in Path("/proc/self/fd").iterdir())
    with contextlib.ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, before[1]))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        with contextlib.suppress(OSError):
            while True:
                stack.callback(os.close, os.dup(0))
        yield


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_worker_at_its_limit_of_descriptors_does_not_blame_the_camera(host: str):
    with listening(ONE) as port:
        with without_descriptors():
            failure = await dial(at(f"rtsp://{host}:{port}/x"))
        assert (failure.code, failure.is_unreachable) == (StreamErrorCode.HOST_RESOURCES, False)
        assert "LimitNOFILE" in failure.detail
