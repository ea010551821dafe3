"""What is seen and batched, as it happens: for programs, browsers and `curl -N`."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.websockets import WebSocket

from streamward import __version__
from streamward.control.api.edge import VERSION
from streamward.control.api.event_stream import Attendance, EventStream, serve_socket
from streamward.control.api.hearing import Hearing
from streamward.control.api.problems import problem_of, problem_response
from streamward.control.api.routing import Access, Promise, Routes, Seen, bearer, client_address
from streamward.control.feed import Feed, Interest
from streamward.control.trust import Rereads
from streamward.model.errors import StreamwardError
from streamward.model.identity import Caller
from streamward.protocol.codec import decode_query
from streamward.protocol.listening import BEARER, MEDIA_TYPE, ListenQuery
from streamward.runtime.bell import Bell
from streamward.runtime.journal import Journal

SOCKET = "/v1/events/socket"
_VIEWER = Promise(access=Access.VIEWER)


@dataclass(frozen=True, slots=True)
class Lobby:
    """Where those wait who want to listen."""

    feed: Feed
    bell: Bell
    journal: Journal
    standing: Rereads

    async def attended(
        self, caller: Caller, query: ListenQuery, *, after: int | None, address: str, recheck: Callable[[], object]
    ) -> Attendance:
        """Lets somebody in, who then has a seat; raises TooManyListen, StoreUnavailable."""
        newest = await self.feed.broadcasts.newest()
        self.feed.take_seat(caller.tenant_id)
        return Attendance(
            feed=self.feed,
            interest=Interest(
                scope=caller.tenant_id,
                camera_id=query.camera_uuid,
                kind=query.kind,
                after=self.standing.records_after(caller.tenant_id),
            ),
            position=newest if after is None else after,
            bounds=Hearing(recheck=recheck, bell=self.bell, until=newest, ends_in=query.timeout_s),
            subject=caller.subject,
            address=address,
            journal=self.journal,
        )


def add_events(routes: Routes, lobby: Lobby) -> None:
    """Adds both ways to listen."""

    @routes.get(
        "/v1/events/stream",
        access=Access.VIEWER,
        streams=(MEDIA_TYPE,),
        refuses={429: "The tenant has as many listeners as it may have"},
    )
    async def stream_events(
        caller: Caller, query: ListenQuery, last_event_id: int | None, seen: Seen, recheck: Callable[[], Caller]
    ) -> EventStream:
        """Tells what is seen and batched as server-sent events, as it happens."""
        after = query.after if last_event_id is None else last_event_id
        return EventStream(await lobby.attended(caller, query, after=after, address=seen.address, recheck=recheck))

    @routes.socket(SOCKET)
    async def events_socket(socket: WebSocket) -> None:
        def recheck() -> Caller:
            return routes.admit(_token(socket), _VIEWER)

        try:
            caller = recheck()
            query = decode_query(socket.query_params.multi_items(), ListenQuery)
            attendance = await lobby.attended(
                caller, query, after=query.after, address=client_address(socket), recheck=recheck
            )
        except StreamwardError as error:
            problem = problem_of(error)
            routes.note_refusal(problem, socket, route=SOCKET, token=_token(socket))
            response = problem_response(problem)
            response.headers[VERSION] = __version__
            await socket.send_denial_response(response)
            return
        await serve_socket(socket, attendance)


def _token(socket: WebSocket) -> str | None:
    """From the header, or from a subprotocol that a browser names it in: never from the URL, which is logged."""
    named = (each.removeprefix(BEARER) for each in socket.scope.get("subprotocols", []) if each.startswith(BEARER))
    return bearer(socket) or next(named, None)
