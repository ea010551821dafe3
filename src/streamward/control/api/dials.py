"""When a first connection to a site's cameras may go."""

from typing import Protocol

from streamward.control.api.routing import Access, Routes
from streamward.control.api.sites import UNKNOWN
from streamward.leases import facts
from streamward.leases.dial_forecast import dialed_in
from streamward.leases.dialing import DialGranted, DialRefusal, DialRefused
from streamward.leases.store import BudgetView, Dial, DialOutcome, DialStore
from streamward.model.camera import Site
from streamward.model.identity import Caller
from streamward.model.ids import CameraId, Generation, SiteId, TenantId
from streamward.protocol.dials import DialAnswer, DialsAnswered, DialsFinished, FinishDials, SiteDial, TakeDials
from streamward.protocol.problem import Problem
from streamward.protocol.sites import BudgetQuery, DialFinished, DialToken, NamedDial, SiteBudget
from streamward.runtime.journal import Journal

_NO_SUCH = {404: "There is no such site"}
_SENTENCES = {
    DialRefusal.EMPTY: "the site's dial budget is empty",
    DialRefusal.IN_FLIGHT: "as many dials as the site bears are under way",
}


class BudgetStore(DialStore, Protocol):
    """The ports that know budgets and whose they are."""

    async def find_site(self, site_id: SiteId, *, scope: TenantId | None) -> Site | None: ...


def add_dials(routes: Routes, store: BudgetStore, *, journal: Journal) -> None:
    """Adds the routes about dial budgets."""

    @routes.post(
        "/v1/sites/{site_id}/budget/consume",
        access=Access.RUNNER,
        body_required=False,
        refuses={**_NO_SUCH, 409: "Empty: try again after Retry-After, with jitter"},
    )
    async def consume_budget(caller: Caller, site_id: str, message: NamedDial) -> DialToken | Problem:
        """Takes one token for one first connection."""
        dial = _dial(site_id, message)
        outcome = await store.consume(dial, scope=caller.tenant_id)
        if outcome is None:
            return UNKNOWN
        return _told(dial, outcome, journal)

    @routes.post("/v1/sites/{site_id}/budget/done", access=Access.RUNNER, body_required=False, refuses=_NO_SUCH)
    async def finish_dial(caller: Caller, site_id: str, message: NamedDial) -> DialFinished | Problem:
        """Says that a dial has connected or failed."""
        if await store.find_site(SiteId(site_id), scope=caller.tenant_id) is None:
            return UNKNOWN
        finished = await store.finish(_dial(site_id, message), scope=caller.tenant_id)
        return DialFinished(site_id=site_id, finished=finished)

    @routes.post("/v1/dials", access=Access.RUNNER)
    async def take_dials(caller: Caller, message: TakeDials) -> DialsAnswered:
        """Takes tokens for many first connections, or says of each why not."""
        dials = list(map(_site_dial, message.items))
        outcomes = await store.consume_all(dials, scope=caller.tenant_id)
        return DialsAnswered(items=[_answer(*each, journal) for each in zip(dials, outcomes, strict=True)])

    @routes.post("/v1/dials/done", access=Access.RUNNER)
    async def finish_dials(caller: Caller, message: FinishDials) -> DialsFinished:
        """Says that many dials have connected or failed."""
        finished = await store.finish_all(list(map(_site_dial, message.items)), scope=caller.tenant_id)
        return DialsFinished(finished=finished)

    @routes.get("/v1/sites/{site_id}/budget", refuses=_NO_SUCH)
    async def get_budget(caller: Caller, site_id: str, query: BudgetQuery) -> SiteBudget | Problem:
        """Tells a site's budget, and what would come of more cameras."""
        seen = await store.budget(SiteId(site_id), scope=caller.tenant_id)
        return UNKNOWN if seen is None else _budget(site_id, seen, more=query.add)


def _budget(site_id: str, seen: BudgetView, *, more: int) -> SiteBudget:
    bucket = seen.bucket
    lasts = dialed_in(bucket, dials=seen.waiting + more, in_flight=seen.in_flight)
    return SiteBudget(
        site_id=site_id,
        tokens=round(bucket.tokens, 3),
        capacity=bucket.capacity,
        refill_rate=bucket.per_minute,
        reserve=round(bucket.reserve, 3),
        reserve_size=bucket.reserve_size,
        in_flight=seen.in_flight,
        waiting=seen.waiting,
        dialed_in_s=None if lasts is None else round(lasts, 3),
        updated_at=bucket.updated_at,
    )


def _dial(site_id: str, message: NamedDial) -> Dial:
    return Dial(
        site_id=SiteId(site_id),
        camera_id=None if message.camera_uuid is None else CameraId(message.camera_uuid),
        generation=None if message.version is None else Generation(message.version),
    )


def _site_dial(message: SiteDial) -> Dial:
    return _dial(message.site_id, NamedDial(camera_uuid=message.camera_uuid, version=message.version))


def _answer(dial: Dial, outcome: DialOutcome, journal: Journal) -> DialAnswer:
    told = UNKNOWN if outcome is None else _told(dial, outcome, journal)
    camera_uuid = str(dial.camera_id)
    if isinstance(told, DialToken):
        return DialAnswer(camera_uuid=camera_uuid)
    return DialAnswer(camera_uuid=camera_uuid, reason=told.reason, retry_in_ms=told.retry_in_ms)


def _told(dial: Dial, outcome: DialGranted | DialRefused, journal: Journal) -> DialToken | Problem:
    if isinstance(outcome, DialRefused):
        journal.record(facts.DialDelayed(site_id=dial.site_id, camera_id=dial.camera_id, reason=outcome.reason))
        return Problem(
            title="Conflict",
            status=409,
            detail=_SENTENCES[outcome.reason],
            reason=outcome.reason,
            retry_in_ms=round(outcome.retry_in * 1000),
        )
    journal.record(facts.DialAllowed(site_id=dial.site_id, camera_id=dial.camera_id))
    return DialToken(
        site_id=dial.site_id, tokens=round(outcome.bucket.tokens, 3), reserve=round(outcome.bucket.reserve, 3)
    )
