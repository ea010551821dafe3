"""Deletes what this host has of deleted tenants: spools that were not published, and payloads in its own folder.

    <data>/spool/<runner>/<tenant>/<shard>.<start>     <data>/objects/<tenant>/…

The control plane is asked about the tenants whose data is here, also by a runner that was offline when the tenant was
deleted; only a tenant that it knows as deleted counts, not one that it does not know. What is deleted was listed before
the question, so nothing of a later tenant of that name is. A spool that a Worker still uses is deleted when that ended.
A clip's file has no name and ends with its camera.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from streamward.model.ids import RunnerId, TenantId
from streamward.model.objects import ObjectStore
from streamward.protocol.problem import Problem
from streamward.protocol.tenants import TENANT_GONE, DeletedTenants, FindDeletedTenants
from streamward.runner.own_leases import Control
from streamward.runtime.journal import Journal
from streamward.runtime.spool import discard

ASK_EVERY = 10.0  # seconds
ASK_WITHIN = 3.0  # seconds
_MOST = 1000  # tenants in one question
_EVERY = 2**31  # objects


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantDataDeleted:
    """Data of a deleted tenant was on this host, and is not any more."""

    tenant_id: TenantId
    spools: int
    objects: int


class TenantData:
    """What a runner has of tenants; a service runs its ticks."""

    def __init__(self, data: Path, runner_id: RunnerId, *, objects: ObjectStore | None, journal: Journal) -> None:
        """Objects are of a folder on this host, or None: then a batcher deletes them."""
        self._spools = data / "spool" / runner_id
        self._payloads = data / "objects"
        self._objects = objects
        self._journal = journal

    async def delete_gone(self, control: Control) -> bool:
        """Asks which tenants were deleted, and deletes their data; False: this runner's own tenant was deleted."""
        found = await self._found()
        for names in _parts(list(found)):
            asked = FindDeletedTenants(tenant_ids=[str(each) for each in names])
            answer = await control.post("/v1/deleted-tenants", asked, DeletedTenants, within=ASK_WITHIN)
            if not isinstance(answer, DeletedTenants):
                return not is_gone(answer)
            await self._delete({each: found[each] for each in map(TenantId, answer.tenant_ids) if each in found})
        return True

    async def delete_all(self) -> None:
        """Deletes the data of every tenant that this runner served: it was bound to one, which is deleted."""
        await self._delete({each: held for each, held in (await self._found()).items() if held.spools})

    async def _found(self) -> dict[TenantId, "_Held"]:
        folders = await asyncio.to_thread(_folders, self._spools)
        spools = {each.name: await asyncio.to_thread(_folders, each) for each in folders}
        payloads = [] if self._objects is None else await asyncio.to_thread(_folders, self._payloads)
        found: dict[TenantId, _Held] = {}
        for name in sorted({*spools, *(each.name for each in payloads)}):
            tenant_id = TenantId(name)
            objects = [] if self._objects is None else await self._objects.names(tenant_id, limit=_EVERY)
            found[tenant_id] = _Held(spools.get(name, []), objects)
        return found

    async def _delete(self, gone: dict[TenantId, "_Held"]) -> None:
        for tenant_id, held in gone.items():
            spools = await asyncio.to_thread(_discarded, self._spools / tenant_id, held.spools)
            if self._objects is not None:
                await self._objects.delete(held.objects)
            if spools or held.objects:
                self._journal.record(TenantDataDeleted(tenant_id=tenant_id, spools=spools, objects=len(held.objects)))


@dataclass(frozen=True, slots=True)
class _Held:
    """What is here of one tenant."""

    spools: list[Path]
    objects: list[str]


class TenantDataKeeper:
    """Asks again and again; a service runs its ticks."""

    def __init__(self, data: TenantData, control: Control, *, refusal: Callable[[], Problem | None]) -> None:
        self._data = data
        self._control = control
        self._refusal = refusal  # why this runner gets no token

    async def tick(self) -> float:
        """Deletes what is of deleted tenants; raises StoreAway."""
        is_ours_live = await self._data.delete_gone(self._control)
        if not is_ours_live or is_gone(self._refusal()):
            await self._data.delete_all()
        return ASK_EVERY


def is_gone(answer: object) -> bool:
    """Whether a control plane refused a runner because its tenant was deleted."""
    return isinstance(answer, Problem) and answer.reason == TENANT_GONE


def _parts(names: list[TenantId]) -> list[list[TenantId]]:
    return [names[start : start + _MOST] for start in range(0, len(names), _MOST)]


def _folders(place: Path) -> list[Path]:
    return sorted(each for each in place.iterdir() if each.is_dir()) if place.is_dir() else []


def _discarded(tenant: Path, spools: Iterable[Path]) -> int:
    count = sum(map(discard, spools))
    try:
        tenant.rmdir()
    except OSError:  # a Worker uses one of its spools, or there is no folder
        return count
    return count
