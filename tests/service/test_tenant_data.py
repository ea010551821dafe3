"""What a runner deletes of tenants that were deleted, and what it leaves alone."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from streamward.drivers.objects import open_store
from streamward.model.ids import CameraId, RunnerId, TenantId
from streamward.model.objects import ObjectKey
from streamward.protocol.problem import Problem
from streamward.protocol.shards import ObjectsAt
from streamward.protocol.tenants import TENANT_GONE, DeletedTenants, FindDeletedTenants
from streamward.runner.tenant_data import TenantData, TenantDataDeleted, TenantDataKeeper, is_gone
from streamward.runtime.journal import Journal
from streamward.runtime.spool import Spool
from tests.support.clocks import START

RUNNER = RunnerId("r1")
GONE = Problem(title="Unauthorized", status=401, detail="deleted", reason=TENANT_GONE)


class Answering:
    """A control plane that has one answer."""

    def __init__(self, answer: object) -> None:
        self.answer = answer
        self.asked: list[FindDeletedTenants] = []

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any:
        assert (path, kind) == ("/v1/deleted-tenants", DeletedTenants)
        self.asked.append(message)
        return self.answer


class Host:
    """A data folder with unpublished spools and payloads of some tenants."""

    def __init__(self, folder: Path, *tenants: str, has_objects: bool = True) -> None:
        self.folder = folder
        self.objects = open_store(ObjectsAt(url=(folder / "objects").as_uri()))
        self.facts: list[object] = []
        journal = Journal()
        journal.subscribe(self.facts.append)
        self.data = TenantData(folder, RUNNER, objects=self.objects if has_objects else None, journal=journal)
        for tenant in tenants:
            self.spool(tenant).close()

    def spool(self, tenant: str, name: str = "shard-0.1") -> Spool:
        spool = Spool(self.folder / "spool" / RUNNER / tenant / name, most_bytes=1 << 20)
        spool.append(b"content")
        return spool

    async def put(self, tenant: str) -> None:
        key = ObjectKey(tenant_id=TenantId(tenant), camera_id=CameraId("cam-1"), day=START.date(), name="event-1")
        await self.objects.put(key, b"content")

    def files(self) -> set[str]:
        found = (path.relative_to(self.folder).parts for path in self.folder.rglob("*") if path.is_file())
        return {f"{parts[0]} {parts[2 if parts[0] == 'spool' else 1]}" for parts in found}


async def test_the_data_of_deleted_tenants_is_deleted_and_that_of_others_is_not(tmp_path: Path) -> None:
    host = Host(tmp_path, "north", "south")
    await host.put("north")
    await host.put("west")
    control = Answering(DeletedTenants(tenant_ids=["north"]))
    assert await host.data.delete_gone(control)
    assert control.asked == [FindDeletedTenants(tenant_ids=["north", "south", "west"])]
    assert host.files() == {"spool south", "objects west"}
    assert not (tmp_path / "spool" / RUNNER / "north").exists()
    assert host.facts == [TenantDataDeleted(tenant_id=TenantId("north"), spools=1, objects=1)]


async def test_all_tenants_are_asked_about_however_many_there_are(tmp_path: Path) -> None:
    host = Host(tmp_path, "zz-last")
    for number in range(1000):
        (tmp_path / "spool" / RUNNER / f"tenant-{number:04}" / "shard-0.1").mkdir(parents=True)
    control = Answering(DeletedTenants(tenant_ids=["zz-last"]))
    assert await host.data.delete_gone(control)
    assert [len(message.tenant_ids) for message in control.asked] == [1000, 1]
    assert host.files() == set()


async def test_a_runner_without_data_asks_nothing(tmp_path: Path) -> None:
    control = Answering(None)
    assert await Host(tmp_path).data.delete_gone(control)
    assert control.asked == []


@pytest.mark.parametrize("answer", [None, Problem(title="", status=503, detail="", reason="store-unavailable")])
async def test_nothing_is_deleted_without_a_word_that_the_tenant_was_deleted(tmp_path: Path, answer: object) -> None:
    host = Host(tmp_path, "north", has_objects=False)
    keeper = TenantDataKeeper(host.data, Answering(answer), refusal=lambda: None)
    assert await keeper.tick() > 0
    assert host.files() == {"spool north"}
    assert host.facts == []


async def test_a_spool_that_a_worker_uses_is_deleted_when_that_has_ended(tmp_path: Path) -> None:
    host = Host(tmp_path)
    spool = host.spool("north")
    keeper = TenantDataKeeper(host.data, Answering(DeletedTenants(tenant_ids=["north"])), refusal=lambda: None)
    await keeper.tick()
    assert host.files() == {"spool north"}
    spool.close()
    await keeper.tick()
    assert host.files() == set()


async def test_a_runner_whose_own_tenant_was_deleted_deletes_all_that_it_has_of_it(tmp_path: Path) -> None:
    for answer, refusal in ((GONE, None), (None, GONE)):
        host = Host(tmp_path, "north")
        await host.put("north")
        await host.put("south")
        await TenantDataKeeper(host.data, Answering(answer), refusal=partial(_same, refusal)).tick()
        assert host.files() == {"objects south"}


def _same(refusal: Problem | None) -> Problem | None:
    return refusal


def test_only_one_reason_says_that_a_tenant_was_deleted() -> None:
    assert is_gone(GONE)
    assert not is_gone(Problem(title="", status=401, detail="", reason="token-tenant-unknown"))
