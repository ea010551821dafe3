"""Which ports a fleet gets."""

import socket
from collections.abc import Iterator

import pytest

from streamward.runtime.listening import CannotListen
from streamward.up.ports import NoPortFree, PortRequest, allocate
from tests.support.ports import lasting_port


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that a process listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def a_request(*, chosen: int | None = None, usual: int = 0, option: str = "--port") -> PortRequest:
    return PortRequest(option=option, chosen=chosen, usual=usual)


def test_a_usual_port_in_use_gives_way_to_the_next(taken: int) -> None:
    assert allocate({"control": a_request(usual=taken)})["control"] > taken


def test_a_chosen_port_in_use_is_refused_with_its_option(taken: int) -> None:
    with pytest.raises(CannotListen) as refused:
        allocate({"cameras": a_request(chosen=taken, option="--cameras-port")})
    assert str(refused.value) == (
        f"cannot listen on 127.0.0.1 port {taken} (address already in use): choose another with --cameras-port"
    )


def test_a_port_chosen_twice_is_refused_with_both_options() -> None:
    port = lasting_port()
    requests = {"control": a_request(chosen=port), "cameras": a_request(chosen=port, option="--cameras-port")}
    with pytest.raises(CannotListen, match=r"\(--port takes it\): choose another with --cameras-port"):
        allocate(requests)


def test_what_was_chosen_is_not_given_to_what_was_not() -> None:
    port = lasting_port()
    ports = allocate({"first": a_request(usual=port), "second": a_request(usual=port), "third": a_request(chosen=port)})
    assert ports["third"] == port
    assert len(set(ports.values())) == 3


def test_any_port_is_left_to_the_process() -> None:
    assert allocate({"runner": a_request(), "workers": a_request()}) == {"runner": 0, "workers": 0}


def test_no_free_port_at_all_is_refused_with_the_option(taken: int) -> None:
    given = {f"chosen {port}": a_request(chosen=port) for port in range(65_500, 65_536)}
    with pytest.raises(NoPortFree, match=r"no port of 127\.0\.0\.1 from 65500 to 65535 is free: choose .* --port"):
        allocate({**given, "control": a_request(usual=65_500)})


def test_an_address_of_another_host_is_refused_with_the_setting() -> None:
    elsewhere = PortRequest(option="--port", chosen=None, usual=8080, host="192.0.2.1")
    with pytest.raises(CannotListen, match=r"on 192\.0\.2\.1 port 8080 .*: set STREAMWARD_HOST to an address of this"):
        allocate({"control": elsewhere})
