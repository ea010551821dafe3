"""The HTTP application: every route over one store, with nothing started and nothing opened."""

import functools
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from streamward import __version__
from streamward.control.admission import Admission
from streamward.control.api.audit import add_audit
from streamward.control.api.batching import add_batching
from streamward.control.api.cameras import add_camera_edits, add_camera_sources, add_cameras
from streamward.control.api.changes import add_changes
from streamward.control.api.dials import add_dials
from streamward.control.api.edge import Edge
from streamward.control.api.events import Lobby, add_events
from streamward.control.api.health import add_health
from streamward.control.api.identities import (
    add_admission,
    add_identities,
    add_identity_changes,
    add_invitations,
    add_revocation,
)
from streamward.control.api.lease_listing import add_lease_listing
from streamward.control.api.leases import add_leases
from streamward.control.api.logins import add_logins
from streamward.control.api.openapi import document
from streamward.control.api.problems import plain_problem, problem_response
from streamward.control.api.rebalancing import add_rebalancing
from streamward.control.api.records import add_records
from streamward.control.api.routing import Routes
from streamward.control.api.runners import add_runners
from streamward.control.api.sites import add_sites
from streamward.control.api.streams import add_streams
from streamward.control.api.tenants import add_tenant_deletion, add_tenants
from streamward.control.api.transfer import add_transfer
from streamward.control.api.wait import add_wait
from streamward.control.clerk import Clerk
from streamward.control.courier import SourceCourier
from streamward.control.cursor import Cursors
from streamward.control.feed import Feed
from streamward.control.handing import HandoverService
from streamward.control.importing import Importer
from streamward.control.leasing import LeaseService
from streamward.control.logins import LoginService
from streamward.control.metrics import Metrics
from streamward.control.rebalancing import RebalanceService
from streamward.control.refusals import Attempts, Refusals
from streamward.control.registrar import Registrar
from streamward.control.trust import Rereads, Trust
from streamward.insight.database import Insight
from streamward.insight.rules import Rules
from streamward.leases.store import Store
from streamward.model.address_policy import DEFAULT_LIMITS, AddressPolicy
from streamward.model.vault import CredentialVault
from streamward.runtime.bell import Bell
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal

_ABOUT = "Who may process which camera: leases, dial budgets, runners. Errors are RFC 9457 problem details."


@dataclass(frozen=True, slots=True)
class Holdings:
    """What one database holds: who may process what, and what was seen."""

    store: Store
    insight: Insight
    rules: Rules = field(default_factory=Rules)  # of batches, for tenants that want nothing else
    limits: AddressPolicy = DEFAULT_LIMITS  # of sources, whatever a site allows
    attempts: Attempts = field(default_factory=Attempts)  # at codes and assertions


def create_app(
    holdings: Holdings,
    *,
    bell: Bell,
    journal: Journal,
    trust: Trust,
    vault: CredentialVault,
    clock: Clock,
) -> FastAPI:
    """The application over a database, which its caller opens and closes."""
    app = FastAPI(
        title="Streamward control plane",
        version=__version__,
        description=_ABOUT,
        docs_url=None,  # the interactive pages load from a CDN
        redoc_url=None,
        redirect_slashes=False,
    )
    store, metrics = holdings.store, Metrics(clock=clock)
    journal.subscribe(metrics.note)
    journal.subscribe(metrics.note_refusal)
    courier = SourceCourier(vault, journal)
    refusals = app.state.refusals = Refusals(store, journal=journal, clock=clock, attempts=holdings.attempts)
    routes = Routes(app, tokens=trust.check, refusals=refusals)
    service, handovers = LeaseService(store, journal, courier=courier), HandoverService(store, courier=courier)
    # First: routes are tried in order, and these are called most.
    add_leases(routes, service, cameras=store, handovers=handovers)
    cursors = Cursors(functools.partial(trust.check.derive, "cursor"))
    clerk = Clerk(store, digest_keys=functools.partial(trust.check.derive, "once"))
    registrar = Registrar(store, vault, clerk=clerk, limits=holdings.limits)
    add_changes(routes, store, bell=bell, cursors=cursors)  # these two before the cameras, whose ids take any word
    add_transfer(routes, store, importer=Importer(store, store, registrar=registrar))
    add_lease_listing(routes, store, cursors=cursors)
    logins = LoginService(store, vault, journal, functools.partial(trust.check.derive, "login"))
    add_cameras(routes, store, cursors=cursors, logins=logins)
    add_camera_edits(routes, store, registrar=registrar, clerk=clerk)
    add_camera_sources(routes, store, courier=courier)
    add_runners(routes, store, service=service, clerk=clerk, mint=trust.mint)
    add_rebalancing(routes, RebalanceService(store, journal))
    add_dials(routes, store, journal=journal)
    add_logins(routes, store, logins=logins)
    _add_places(routes, holdings, clerk=clerk, cursors=cursors, standing=trust.standing)
    admission = Admission(store, clerk=clerk, mint=trust.mint, clock=clock)
    add_admission(routes, admission, refusals=refusals)
    _add_identities(routes, store, trust=trust, clerk=clerk, cursors=cursors, admission=admission)
    _add_insight(routes, holdings, lobby=_lobby(holdings, bell, journal, trust), cursors=cursors)
    add_streams(routes, store)
    add_wait(routes, bell)
    add_health(routes, store, metrics=metrics)
    _document(app, routes)
    app.add_exception_handler(HTTPException, _unrouted)
    app.add_middleware(Edge, clock=clock, meter=metrics)
    return app


def _add_places(routes: Routes, holdings: Holdings, *, clerk: Clerk, cursors: Cursors, standing: Rereads) -> None:
    store = holdings.store
    add_sites(routes, store, clerk=clerk, cursors=cursors, limits=holdings.limits)
    add_tenants(routes, store, clerk=clerk, cursors=cursors, standing=standing)
    add_audit(routes, store, cursors=cursors)


def _add_identities(
    routes: Routes, store: Store, *, trust: Trust, clerk: Clerk, cursors: Cursors, admission: Admission
) -> None:
    add_invitations(routes, store, admission=admission, clerk=clerk, cursors=cursors)
    add_identities(routes, store, cursors=cursors)
    add_identity_changes(routes, store, admission=admission, clerk=clerk, standing=trust.standing)
    add_revocation(routes, admission, standing=trust.standing)
    add_tenant_deletion(routes, store, clerk=clerk, admission=admission, standing=trust.standing)


def _add_insight(routes: Routes, holdings: Holdings, *, lobby: Lobby, cursors: Cursors) -> None:
    add_events(routes, lobby)
    add_records(routes, holdings.insight, cursors=cursors)
    add_batching(routes, holdings.insight.rules, rules=holdings.rules)


def _lobby(holdings: Holdings, bell: Bell, journal: Journal, trust: Trust) -> Lobby:
    return Lobby(Feed(holdings.insight.broadcasts, journal=journal), bell, journal, trust.standing)


def _document(app: FastAPI, routes: Routes) -> None:
    @functools.cache
    def openapi() -> dict[str, Any]:
        return document(app, routes.schemas)

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way to replace the document


async def _unrouted(request: Request, error: Exception) -> Response:
    """What the router says when no route takes a call: 404, or 405 with the methods that exist."""
    assert isinstance(error, HTTPException)
    response = problem_response(plain_problem(error.status_code))
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers["Allow"] = ", ".join(sorted(_methods(request)))
    return response


def _methods(request: Request) -> set[str]:
    """The methods of all routes of this path: the router itself tells those of the first."""
    routes = [route for route in request.app.router.routes if isinstance(route, Route)]
    path = next(route.path for route in routes if route.matches(request.scope)[0] is not Match.NONE)
    return {method for route in routes if route.path == path for method in route.methods or ()}
