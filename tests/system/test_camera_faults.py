"""Every fault of the simulated recorder over real sockets, all at once: each has its code, none disturbs another."""

import socket

from streamward.model.address_policy import AddressPolicy
from streamward.model.stream_error import StreamErrorCode
from streamward.nvr.faults import Reboot, Refuse
from streamward.nvr.tally import Deed
from streamward.runtime.clock import SystemClock
from streamward.vision.hosts import PROBE_EVERY
from tests.support.camera_faults import DIALED, PLAYED, Case, a_plant_for, a_recorder_of
from tests.support.plants import CameraPlant, at
from tests.support.ports import free_port

NAMES = [f"cam-{number}" for number in range(12)]
Codes = dict[str, str | None]


def wanted(cases: list[Case]) -> Codes:
    return {case.name: case.code for case in cases}


def first_codes(plant: CameraPlant, cases: list[Case], *, since: float = 0.0) -> Codes:
    """By which code each camera's trouble was told first."""
    told = {case.name: plant.errors(f"cam-{number}", since=since) for number, case in enumerate(cases)}
    return {name: errors[0].code if errors else None for name, errors in told.items()}


async def test_what_is_wrong_when_a_camera_is_dialed_is_told_by_its_code():
    async with a_recorder_of(len(DIALED)) as nvr:
        for number, case in enumerate(DIALED):
            await nvr.set(case.fault, camera=f"cam-{number}")
        async with a_plant_for(nvr) as plant:
            well = [f"cam-{number}" for number, case in enumerate(DIALED) if case.code is None]
            await plant.streaming(*well)
            told = {name for name, code in wanted(DIALED).items() if code}
            await plant.until(lambda: told <= {name for name, code in first_codes(plant, DIALED).items() if code})
            assert first_codes(plant, DIALED) == wanted(DIALED)


async def test_what_goes_wrong_while_a_camera_streams_is_told_by_its_code():
    async with a_recorder_of(len(PLAYED)) as nvr, a_plant_for(nvr) as plant:
        await plant.streaming()
        since = SystemClock().boot()
        for number, case in enumerate(PLAYED):
            await nvr.set(case.fault, camera=f"cam-{number}")
        told = {name for name, code in wanted(PLAYED).items() if code}
        await plant.until(
            lambda: told <= {name for name, code in first_codes(plant, PLAYED, since=since).items() if code},
            within=120,
        )
        assert first_codes(plant, PLAYED, since=since) == wanted(PLAYED)
        for number, case in enumerate(PLAYED):
            if case.goes_on:
                assert not [told for told in plant.errors(f"cam-{number}", since=since) if told.retry_in], case.name


async def test_a_camera_whose_codec_changed_streams_again():
    change = next(case for case in PLAYED if case.code is StreamErrorCode.CODEC_UNSUPPORTED)
    async with a_recorder_of(1) as nvr, a_plant_for(nvr) as plant:
        await plant.streaming()
        since = SystemClock().boot()
        await nvr.set(change.fault)
        await plant.until(lambda: plant.errors("cam-0", since=since))
        told = plant.errors("cam-0", since=since)[0]
        assert told.code == StreamErrorCode.CODEC_UNSUPPORTED
        await plant.streaming(since=told.at)


async def test_all_cameras_of_a_recorder_that_was_away_stream_again():
    async with a_recorder_of(12) as nvr, a_plant_for(nvr) as plant:
        await plant.streaming()
        since = SystemClock().boot()
        await nvr.set(Refuse())
        await nvr.set(Reboot(down_for=0.1))  # cuts who is connected
        await plant.until(lambda: {each.camera for each in plant.told if each.retry_in == PROBE_EVERY} >= set(NAMES))
        dials = nvr.tally.total(Deed.DIALED)
        await nvr.clear()
        await plant.streaming(since=since)
        assert nvr.tally.total(Deed.DIALED) <= dials + 2 * len(NAMES)
        assert {each.code for name in NAMES for each in plant.errors(name, since=since)} == {"TCP_REFUSED"}


async def test_what_is_wrong_with_the_way_there_is_told_by_its_code():
    with socket.socket() as full:  # its queue holds one, and further connections are not answered
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with socket.create_connection(full.getsockname()):
            cameras = {
                "TCP_REFUSED": at(f"rtsp://127.0.0.1:{free_port()}/x"),
                "TCP_TIMEOUT": at(f"rtsp://127.0.0.1:{full.getsockname()[1]}/x"),
                "DNS_FAILED": at("rtsp://no-such-host.invalid/x"),
                "URL_FORBIDDEN": at("rtsp://127.0.0.1/x", addresses=AddressPolicy()),
            }
            async with CameraPlant(cameras) as plant:
                await plant.until(lambda: all(plant.errors(name) for name in cameras))
    assert {name: plant.errors(name)[0].code for name in cameras} == {name: name for name in cameras}
