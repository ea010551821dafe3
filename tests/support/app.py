"""The control plane's HTTP application on memory, and a client that holds every answer against its documentation."""

import functools
from collections.abc import Callable
from datetime import datetime
from typing import Any, Self

import httpx

from streamward.control.api.application import Holdings, create_app
from streamward.control.keys import Keyring, new_keyring
from streamward.control.refusals import Attempts
from streamward.control.standing import KnownStanding, Tenants
from streamward.control.tokens import TokenCheck, TokenFault, TokenMint
from streamward.control.trust import Trust
from streamward.drivers.memory import MemoryDatabase, MemoryInsight, MemoryStore
from streamward.drivers.memory.tenant_deletions import standings
from streamward.drivers.vault import AesVault
from streamward.insight.database import Insight
from streamward.insight.rules import Rules
from streamward.leases.store import Store
from streamward.model.address_policy import DEFAULT_LIMITS, AddressPolicy
from streamward.model.camera import Camera, LeasePolicyName, Site
from streamward.model.identity import Role
from streamward.model.ids import CameraId, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.tenant import Tenant
from streamward.protocol.tokens import Claims
from streamward.runtime.bell import Bell
from streamward.runtime.journal import Journal
from tests.support.clocks import START, ManualClock
from tests.support.schema import Document

KEYRING: Keyring = new_keyring()
VAULT = AesVault(lambda: [b"k" * 32])
JSON = ("application/json", "application/problem+json")
PROBLEM = {"$ref": "#/components/schemas/Problem"}


class FreshStanding(KnownStanding):
    """One that nobody has to keep fresh; `tests/service/test_standing.py` is about that."""

    def __init__(self, store: MemoryStore, *, clock: ManualClock) -> None:
        super().__init__(store, clock=clock)
        self._database = store.database

    def fault(self, claims: Claims) -> TokenFault | None:
        self._tenants = Tenants.of(standings(self._database))
        return self._tenants.fault(claims) or self._doubts.fault(claims)


class ControlUnderTest:
    """One control plane in memory: two sites of two tenants, a clock that stands still, tokens for everyone."""

    def __init__(
        self,
        *,
        store: Callable[[MemoryStore], Store] = lambda memory: memory,
        insight: Callable[[MemoryInsight], Insight] = lambda memory: memory,
        limits: AddressPolicy = DEFAULT_LIMITS,
        attempts: Attempts | None = None,
    ) -> None:
        self.clock = ManualClock()
        self.bell = Bell("bell")
        self.journal = Journal()
        self.database = MemoryDatabase(clock=self.clock)
        self.store = MemoryStore(self.database, clock=self.clock, bell=self.bell)
        self.mint = TokenMint(KEYRING, clock=self.clock)
        self.standing = FreshStanding(self.store, clock=self.clock)
        self.trust = Trust(TokenCheck(KEYRING, clock=self.clock, standing=self.standing), self.mint, self.standing)
        self.insight = MemoryInsight(self.database, rules=Rules())
        self.app = create_app(
            Holdings(store(self.store), insight(self.insight), limits=limits, attempts=attempts or Attempts()),
            bell=self.bell,
            journal=self.journal,
            trust=self.trust,
            vault=VAULT,
            clock=self.clock,
        )

    async def with_cameras(self, *camera_ids: str, site: str = "site-a", tenant: str = "t-01", **fields: Any) -> Self:
        """Adds a site and its cameras."""
        policy: LeasePolicyName | None = fields.pop("policy", None)
        await self.store.save_site(Site(site_id=SiteId(site), tenant_id=TenantId(tenant), policy=policy))
        for camera_id in camera_ids:
            await self.store.save_camera(_camera(camera_id, site=site, tenant=tenant, **fields))
        return self

    def runner(self, runner_id: str = "r1", *, incarnation: str = "inc-1", tenant: str | None = None) -> "Client":
        """A client with a runner's token; its tenant is made if there never was one of that name."""
        self.know(tenant)
        token = self.mint.runner(
            RunnerId(runner_id),
            incarnation=Incarnation(incarnation),
            tenant_id=None if tenant is None else TenantId(tenant),
        )
        return Client(self, token)

    def operator(self, *, tenant: str | None = None) -> "Client":
        """A client with an operator's token."""
        return self.person(Role.OPERATOR, tenant=tenant)

    def person(self, role: Role, *, tenant: str | None = None) -> "Client":
        """A client with the token of somebody of that role; its tenant is made if there never was one of that name."""
        self.know(tenant)
        tenant_id = None if tenant is None else TenantId(tenant)
        return Client(self, self.mint.person("ada", role=role, tenant_id=tenant_id))

    def anyone(self, token: str | None = None) -> "Client":
        """A client with that token, or none."""
        return Client(self, token)

    def know(self, tenant: str | None) -> None:
        """Makes a tenant, if there never was one of that name."""
        names = {each.tenant_id for each in standings(self.database)}
        if tenant is not None and tenant not in names:
            tenant_id = TenantId(tenant)
            self.database.tenants[tenant_id] = Tenant(
                tenant_id=tenant_id, tenant_key=f"~{tenant}", updated_at=self.clock.wall(), revision=1
            )

    async def pass_time(self, seconds: float) -> None:
        """Lets time pass as it does with a keeper at work, which looks at the database's clock all the time."""
        for _ in range(int(seconds)):
            self.clock.advance(1.0)
            await self.store.lapse()


class Client:
    """Calls the application in this process; an answer that is not documented fails the test."""

    def __init__(self, control: ControlUnderTest, token: str | None) -> None:
        self._control = control
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    async def get(self, path: str, **query: Any) -> httpx.Response:
        return await self.call("GET", path, params=query)

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return await self.call("POST", path, json=body, headers=_spelled(headers))

    async def upload(self, path: str, content: str | bytes, *, kind: str = "text/csv", **query: Any) -> httpx.Response:
        """Sends a file."""
        return await self.call("POST", path, content=content, params=query, headers={"Content-Type": kind})

    async def patch(self, path: str, body: Any, **headers: str) -> httpx.Response:
        return await self.call("PATCH", path, json=body, headers=_spelled(headers))

    async def delete(self, path: str, **headers: str) -> httpx.Response:
        return await self.call("DELETE", path, headers=_spelled(headers))

    async def call(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Any call; headers given here win."""
        headers = {**self._headers, **request.pop("headers", {})}
        transport = httpx.ASGITransport(self._control.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://control") as client:
            response = await client.request(method, path, headers=headers, **request)
        _check(_document(), response)
        return response


def _spelled(headers: dict[str, str]) -> dict[str, str]:
    """`if_match` as `if-match`."""
    return {name.replace("_", "-"): value for name, value in headers.items()}


@functools.cache
def _document() -> Document:
    """The document, which is the same for every application."""
    return Document(ControlUnderTest().app.openapi())


def _check(document: Document, response: httpx.Response) -> None:
    """Holds an answer against the document, and every refusal against what all refusals must be."""
    assert response.headers["x-request-id"]
    operation = document.operation(response.request.method, response.request.url.path)
    kind = response.headers["content-type"].partition(";")[0]
    if response.is_error:
        assert kind == "application/problem+json", response.text
        assert document.faults(PROBLEM, response.json()) == []
        assert response.json()["status"] == response.status_code
        assert "Traceback" not in response.text
        assert len(response.content) < 1000 or "lines" in response.json()
    if operation is not None:
        documented = operation["responses"].get(str(response.status_code))
        assert documented, f"{response.status_code} of {response.request.url.path} is not documented: {response.text}"
        schema = documented["content"][kind]["schema"]
        assert document.faults(schema, response.json() if kind in JSON else response.text) == []


def _camera(camera_id: str, *, site: str, tenant: str, **fields: Any) -> Camera:
    defaults: dict[str, Any] = {"rtsp_url": f"rtsp://127.0.0.1:8554/{camera_id}", "updated_at": START}
    return Camera(
        camera_id=CameraId(camera_id), tenant_id=TenantId(tenant), site_id=SiteId(site), **(defaults | fields)
    )


def instant(text: str) -> datetime:
    """An instant as it stands on the wire."""
    return datetime.fromisoformat(text)
