"""Workers that come and go at a recorder that refuses them: it counts two bad logins in all, whoever dies when."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

from streamward.drivers.addresses import CameraAddress
from streamward.leases.logins import FRESH_FOR, PARKED_FOR
from streamward.model.ids import CameraId
from streamward.model.source_url import Credential
from streamward.model.status import Substate
from streamward.model.stream_error import StreamErrorCode
from streamward.nvr import faults
from streamward.nvr.server import Nvr
from streamward.nvr.spec import Access
from streamward.nvr.tally import Deed
from streamward.protocol import codec
from streamward.protocol.streams import StreamReports
from streamward.runner.logins import PARKED_LOOK, ControlLogins
from streamward.runner.own_leases import Control
from tests.support.app import VAULT, ControlUnderTest
from tests.support.links import Start, started
from tests.support.plants import CameraPlant, at
from tests.support.recorders import ADA, WRONG, a_recorder

CAMERAS = tuple(CameraId(f"cam-{number}") for number in (1, 2, 3, 4))


class Muzzled:
    """A Worker's way to the control plane that ends whenever it has something to tell: it dies before it can."""

    def __init__(self, link: Control) -> None:
        self._link = link

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any:
        return None if message.told else await self._link.post(path, message, kind, within=within)


class Site:
    """A recorder with two cameras, each watched twice, and the control plane that knows them."""

    def __init__(self, control: ControlUnderTest, nvr: Nvr) -> None:
        self.control = control
        self.nvr = nvr
        self._starts = 0

    @property
    def bad_logins(self) -> int:
        return self.nvr.tally.total(Deed.LOGIN_BAD)

    @asynccontextmanager
    async def worker(
        self, *, credential: Credential = WRONG, mistyped: tuple[CameraId, ...] = (), dies: bool = False
    ) -> AsyncIterator[tuple[Start, CameraPlant]]:
        """One more start, of one runner and the other in turn, which takes all cameras."""
        self._starts += 1
        urls = [self.nvr.url(f"cam-{1 + place % 2}") for place in range(len(CAMERAS))]
        cameras: dict[str, CameraAddress] = {
            name: at(url, credential=WRONG if name in mistyped else credential)
            for name, url in zip(CAMERAS, urls, strict=True)
        }
        async with started(self.control, *CAMERAS, number=self._starts, runner_id=f"r{2 - self._starts % 2}") as begun:
            link = Muzzled(begun.link) if dies else begun.link
            logins = ControlLogins(begun.owner, link, clock=self.control.clock)
            async with CameraPlant(cameras, logins=logins) as plant:
                yield begun, plant


@asynccontextmanager
async def a_site() -> AsyncIterator[Site]:
    control = await ControlUnderTest().with_cameras(*CAMERAS)
    async with a_recorder(access=Access(credential=ADA)) as nvr:
        yield Site(control, nvr)


async def refused(plant: CameraPlant) -> None:
    """Until one camera's login was refused."""
    await plant.until(lambda: [told for each in CAMERAS for told in plant.errors(each)])


async def parked(plant: CameraPlant) -> None:
    """Until all cameras say that they are."""
    await plant.until(lambda: [each.substate for each in plant.reports.values()] == [Substate.PARKED] * len(CAMERAS))


async def test_two_bad_logins_in_all_however_often_workers_are_replaced():
    async with a_site() as site:
        for _ in range(4):
            async with site.worker() as (_, plant):
                await parked(plant)
            assert site.bad_logins == 2


async def test_two_bad_logins_in_all_when_each_worker_dies_before_it_tells():
    async with a_site() as site:
        for count in (1, 2):
            async with site.worker(dies=True) as (_, plant):
                await refused(plant)
            assert site.bad_logins == count
        for dies in (True, False, True):
            async with site.worker(dies=dies) as (_, plant):
                await parked(plant)
    assert site.bad_logins == 2


async def test_a_new_credential_goes_at_once_and_an_old_one_stays_parked():
    async with a_site() as site:
        async with site.worker() as (_, plant):
            await parked(plant)
        async with site.worker(credential=ADA) as (_, plant):
            await plant.streaming()
        async with site.worker() as (_, plant):
            await parked(plant)
    assert site.bad_logins == 2


async def test_a_password_that_was_changed_at_the_recorder_costs_two_logins_and_not_one_for_each_camera():
    async with a_site() as site:
        async with site.worker(credential=ADA) as (_, plant):
            await plant.streaming()
        site.control.clock.advance(FRESH_FOR)
        await site.nvr.set(faults.LoginRefused())
        async with site.worker(credential=ADA) as (_, plant):
            await parked(plant)
        assert site.bad_logins == 2


async def test_after_a_reboot_all_cameras_come_back():
    async with a_site() as site, site.worker(credential=ADA) as (_, plant):
        await plant.streaming()
        site.control.clock.advance(FRESH_FOR)
        await site.nvr.set(faults.Reboot(down_for=0.1))
        await plant.until(lambda: len({told.camera for each in CAMERAS for told in plant.errors(each)}) == len(CAMERAS))
        await plant.streaming(since=min(told.at for each in CAMERAS for told in plant.errors(each)))
        assert site.bad_logins == 0


async def test_a_password_that_is_wrong_for_one_camera_stops_no_other_camera_of_the_recorder():
    async with a_site() as site, site.worker(credential=ADA, mistyped=CAMERAS[:1]) as (_, plant):
        await plant.until(lambda: plant.reports[CAMERAS[0]].substate is Substate.PARKED)
        await plant.streaming(*CAMERAS[1:])
        site.control.clock.advance(FRESH_FOR)
        since = max(told.at for told in plant.told)
        await site.nvr.set(faults.Reboot(down_for=0.1))
        await plant.streaming(*CAMERAS[1:], since=since)
        assert site.bad_logins == 2


async def test_why_tells_which_login_is_parked_until_when_and_an_operator_allows_one_more_try():
    async with a_site() as site, site.worker() as (begun, plant):
        for place, camera_id in enumerate(CAMERAS):
            camera = site.control.database.cameras[camera_id]
            sealed = VAULT.seal(WRONG, tenant_id=camera.tenant_id, camera_id=camera_id)
            url = site.nvr.url(f"cam-{1 + place % 2}")
            await site.control.store.save_camera(replace(camera, rtsp_url=url, sealed=sealed, credential_version=3))
        await parked(plant)
        reports = codec.encode(StreamReports(items=list(plant.reports.values())))
        assert (await begun.client.call("POST", "/v1/streams/status/batch", content=reports)).json() == {"accepted": 4}
        operator = site.control.operator()
        [why] = (await operator.get("/v1/cameras/cam-1/why")).json()["reasons"]
        until = site.control.clock.wall() + timedelta(seconds=PARKED_FOR)
        assert why["code"] == "auth-parked"
        assert "version 3 of the credential) was refused twice, for " in why["detail"]
        assert f"not tried until {until:%Y-%m-%d %H:%M:%S} UTC" in why["detail"]
        assert not [word for word in (WRONG.user.reveal(), WRONG.password.reveal()) if word in why["detail"]]

        assert (await operator.post("/v1/cameras/cam-2/retry")).json() == {"camera_uuid": "cam-2", "was_parked": True}
        [why] = (await operator.get("/v1/cameras/cam-1/why")).json()["reasons"]
        assert "may be tried again now" in why["detail"]
        site.control.clock.advance(PARKED_LOOK)
        await plant.until(lambda: site.bad_logins == 3)
        await plant.until(lambda: sum(told.code == StreamErrorCode.RTSP_AUTH_FAILED for told in plant.told) >= 3)
        await parked(plant)
    assert site.bad_logins == 3


async def test_a_login_that_is_not_parked_needs_no_other_try():
    control = await ControlUnderTest().with_cameras("cam-1")
    for _ in range(2):
        told = await control.operator().post("/v1/cameras/cam-1/retry")
        assert (told.status_code, told.json()["was_parked"]) == (200, False)
    assert (await control.operator().post("/v1/cameras/absent/retry")).status_code == 404
