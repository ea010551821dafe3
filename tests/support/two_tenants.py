"""Two tenants on one control plane, each with one of everything, and everyone who might call."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import httpx

from streamward.control.refusals import Attempts
from streamward.drivers.key_pair import KeyPair
from streamward.drivers.memory import MemoryDatabase, MemoryInsight, MemoryStore
from streamward.insight.analysis import Case
from streamward.insight.batch import BatchId
from streamward.insight.database import Insight
from streamward.insight.summary import summarise
from streamward.leases.store import Store
from streamward.model.identity import Role
from streamward.model.ids import Incarnation, RunnerId, TenantId
from streamward.model.rate_limit import Rate
from tests.support.app import KEYRING, Client, ControlUnderTest
from tests.support.broadcasts import broadcast
from tests.support.identities import Somebody
from tests.support.operations import Names, call_of
from tests.support.sightings import a_crossed, a_sealed, a_seen
from tests.support.tokens import claims, signed

OURS, THEIRS = "t-01", "t-02"
ADDRESSES = {OURS: "10.1.0.7", THEIRS: "10.2.0.7"}
NOBODY: dict[str, Any] = {"inc": None, "role": "admin", "sub": "root"}  # but for its fault, it might do everything


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who calls; a runner speaks for itself."""

    client: Client
    runner_id: str | None = None

    async def make(self, path: str, method: str, names: Names) -> httpx.Response:
        """Calls an operation that names these."""
        call = call_of(path, method, replace(names, speaker=self.runner_id or names.runner_id))
        return await self.client.call(call.method, call.path, **call.request)


ENDLESS = Rate(burst=1e9, per_second=1e9)  # its clock stands still


class TwoTenants:
    """`t-01` and `t-02`: whatever one has, the other has under its own name."""

    def __init__(
        self,
        *,
        store: Callable[[MemoryStore], Store] = lambda memory: memory,
        insight: Callable[[MemoryInsight], Insight] = lambda memory: memory,
    ) -> None:
        self.control = ControlUnderTest(
            store=store, insight=insight, attempts=Attempts(of_address=ENDLESS, of_all=ENDLESS)
        )
        self._insight = insight(self.control.insight)
        self.names: dict[str, Names] = {}
        self._rows: dict[str, Any] = {}

    async def settle(self) -> "TwoTenants":
        """Brings both in through the API, as people and runners do."""
        for tenant, address in ADDRESSES.items():
            self.names[tenant] = await self._bring(tenant, address)
        await _made(self.control.runner("r-all").post("/v1/runners/register", {"runner_id": "r-all"}))
        self._rows = _copied(self.control.database)
        return self

    async def restore(self) -> None:
        """Everything as it was after both had settled (in memory)."""
        database = self.control.database
        for name, rows in copy.deepcopy(self._rows).items():
            if isinstance(rows, int):
                setattr(database, name, rows)
            else:  # in place: parts of the store know their table only
                table = getattr(database, name)
                table.clear()
                (table.extend if isinstance(rows, list) else table.update)(rows)
        await self.control.standing.tick()
        self.control.bell.ring()  # a new one: whoever waited at the old one did so in another loop

    def rows_of(self, tenant: str) -> list[str]:
        """Whatever is written down (in memory) that names the tenant or something of its own.

        Not the runners of others: those may say that they stand at a site that is not theirs, and nothing comes of it.
        """
        marks = self.marks(tenant)
        return [
            f"{name}: {row}"
            for name, rows in _copied(self.control.database).items()
            for row in map(repr, _each(rows))
            if any(mark in row for mark in marks) and not (name == "runners" and f"tenant_id='{tenant}'" not in row)
        ]

    def marks(self, tenant: str) -> list[str]:
        """Texts that stand for nobody but the tenant."""
        names = self.names[tenant]
        return [*_own(names), f"{tenant}-hidden", ADDRESSES[tenant]]

    def callers(self) -> dict[str, Visitor]:
        """Everyone, by the name of their column; `*` is of the whole installation."""
        control, now = self.control, int(self.control.clock.wall().timestamp())
        expired = signed(KEYRING, claims(now, **NOBODY, iat=now - 900, exp=now))
        elsewhere = signed(KEYRING, claims(now, **NOBODY, aud="somebody-else"))
        people = {
            f"{role}{mark}": self.person(role, tenant)
            for mark, tenant in (("", OURS), ("*", None), ("-2", THEIRS))
            for role in (Role.VIEWER, Role.OPERATOR, Role.ADMIN)
        }
        return {
            "none": Visitor(control.anyone()),
            "expired": Visitor(control.anyone(expired)),
            "elsewhere": Visitor(control.anyone(elsewhere)),
            **people,
            "runner": self.runner(OURS),
            "runner*": Visitor(control.runner("r-all"), "r-all"),
            "runner-2": self.runner(THEIRS),
        }

    def strangers(self) -> dict[str, Visitor]:
        """Everyone of the second tenant, who must learn nothing of the first."""
        return {name: caller for name, caller in self.callers().items() if name.endswith("-2")}

    def person(self, role: Role, tenant: str | None) -> Visitor:
        self.control.know(tenant)  # a store in the place of memory has its own
        name = "root" if tenant is None else f"{tenant}-ada"
        tenant_id = None if tenant is None else TenantId(tenant)
        return Visitor(self.control.anyone(self.control.mint.person(name, role=role, tenant_id=tenant_id)))

    def runner(self, tenant: str) -> Visitor:
        runner_id = f"{tenant}-runner"
        return Visitor(self.control.runner(runner_id, tenant=tenant), runner_id)

    async def _bring(self, tenant: str, address: str) -> Names:
        root = self.person(Role.ADMIN, None).client
        hidden = f"{tenant}-hidden"
        names = Names(
            tenant_id=tenant,
            site_id=f"{tenant}-site",
            camera_uuid=f"{tenant}-cam",
            name=f"{tenant}-door",
            runner_id=f"{tenant}-runner",
            subject=f"{tenant}-ada",
            object_id=f"{tenant}-cam",
            batch_id=f"batch-{tenant}",
            new_id=f"{tenant}-new",
        )
        await _made(root.post("/v1/tenants", {"tenant_id": tenant, "name": hidden}))
        admin = self.person(Role.ADMIN, tenant).client
        await _made(admin.post("/v1/sites", {"site_id": names.site_id, "sources": {"deny": [f"{address[:4]}.9.9"]}}))
        camera = {"site_id": names.site_id, "rtsp_url": f"rtsp://u:{hidden}@{address}/{hidden}", "detector": hidden}
        labels = {"labels": {hidden: hidden}}
        known = {"camera_uuid": names.camera_uuid, "name": names.name}
        await _made(root.post("/v1/cameras", {**camera, **labels, **known}))
        await _made(root.post("/v1/cameras", {**camera, "camera_uuid": f"{tenant}-free"}))
        await self._work(names)
        await self._see(names)
        return replace(names, **await self._invite(admin, hidden))

    async def _work(self, names: Names) -> None:
        """The tenant's runner takes a camera and tells how it is."""
        runner = self.runner(names.tenant_id)
        for path in ("/v1/runners/register", "/v1/leases/camera/acquire", "/v1/streams/status/batch"):
            await _made(runner.make(path, "post", names))

    async def _see(self, names: Names) -> None:
        """Something was seen on that camera, batched, analysed and told, and somebody entered a zone."""
        seen = replace(
            a_seen(
                f"{names.tenant_id}-hidden",
                camera_id=names.camera_uuid,
                tenant=names.tenant_id,
                site=names.site_id,
            ),
            runner_id=RunnerId(names.runner_id),
            incarnation=Incarnation("inc-1"),
            made_at=self.control.clock.wall(),
        )
        (stored,) = (await self._insight.detections.admit([seen])).stored
        assert stored is not None
        shared = ("runner_id", "incarnation", "made_at", "camera_id", "tenant_id", "site_id")
        named = {each: getattr(seen, each) for each in shared}
        (noted,) = await self._insight.zone_events.admit([a_crossed(seen.event_id, **named)])
        assert noted is not None
        batch = a_sealed([stored.detection_id], camera_id=names.camera_uuid, tenant=names.tenant_id)
        batch = replace(batch, batch_id=BatchId(names.batch_id))
        await self._insight.batches.close_batch(batch)
        (record,) = await self._insight.records.detections_of(batch.batch_id, scope=None)
        await self._insight.analyses.save(summarise(Case(batch=batch, seen=(record.recorded,))))
        bodies = [f'{{"camera_id":"{names.camera_uuid}"}}']
        await broadcast(self._insight, TenantId(names.tenant_id), "detection.new", bodies)

    async def _invite(self, admin: Client, subject: str) -> dict[str, str]:
        body = {"subject": subject, "role": "viewer"}
        open_one, used = [await _made(admin.post("/v1/invitations", body)) for _ in range(2)]
        somebody = Somebody(self.control, KeyPair.new())
        identity = await _made(somebody.redeem(used["code"]))
        return {"invitation_id": open_one["invitation_id"], "identity_id": identity["identity_id"]}


def _own(names: Names) -> list[str]:
    return [getattr(names, each.name) for each in fields(names) if each.name not in {"speaker", "new_tenant"}]


async def _made(answering: Any) -> dict[str, Any]:
    answer = await answering
    assert answer.is_success, answer.text
    told: dict[str, Any] = answer.json()
    return told


def _copied(database: MemoryDatabase) -> dict[str, Any]:
    return {each.name: copy.deepcopy(getattr(database, each.name)) for each in fields(database) if each.name != "clock"}


def _each(rows: Any) -> list[Any]:
    if isinstance(rows, dict):
        return list(rows.items())
    return sorted(rows, key=repr) if isinstance(rows, set | list) else [rows]
