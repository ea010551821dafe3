"""How a route is written: a typed function, from whose signature both the decoding and the documentation come.

    @routes.post("/v1/things/{thing_id}", refuses={409: "somebody has it"})
    async def take_thing(caller: Caller, thing_id: str, message: TakeThing) -> Thing | Problem:
        \"\"\"Takes a thing.\"\"\"

`caller` is who bears the token, `author` the same as one who makes a change, `seen` from where the call comes, whoever
makes it, `message` the body, `query` the query string, `if_match` and `once_key` the headers of conditional edits and
of creations that may be repeated, `last_event_id` how far a stream was read, `upload` a file, `recheck` a function that
raises what is wrong with the token by then; any other parameter is an id in the path. All are checked before the
function runs, the token first: nothing is read for somebody unknown. A function that gives `Streamed` answers with a
file, part by part.
"""

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypedDict, TypeVar, Unpack, get_args, get_origin

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import StreamingResponse

from streamward.control.api.edge import request_id
from streamward.control.api.openapi import Schemas
from streamward.control.api.problems import (
    BodyCutShort,
    BodyTooLarge,
    MalformedOnceKey,
    MediaTypeRefused,
    NotJson,
    PreconditionMissing,
    RoleRefused,
    problem_of,
    problem_response,
)
from streamward.control.refusals import ANONYMOUS, Refusals
from streamward.control.tokens import TokenCheck, TokenFault, TokenRefused
from streamward.model.errors import StreamwardError
from streamward.model.identity import Author, Caller, Role
from streamward.model.ids import check_id
from streamward.protocol.codec import MAX_BODY, decode, decode_query, encode
from streamward.protocol.problem import Problem

Answering = Callable[..., Awaitable[Any]]
H = TypeVar("H", bound=Answering)
_HEADERS = ("if_match", "once_key", "last_event_id")
_NOT_IDS = {"caller", "author", "seen", "message", "query", "upload", "recheck", *_HEADERS}
_ONCE_KEY = re.compile(r"[\x21-\x7e]{1,128}")

T = TypeVar("T")


class Access(Enum):
    """Whose token a route wants."""

    OPEN = "nobody"
    ANYONE = "anyone"
    RUNNER = "a runner"
    VIEWER = "a viewer, operator or admin"
    OPERATOR = "an operator or admin"
    ADMIN = "an admin"


_ROLES = {
    Access.RUNNER: Role.RUNNER,
    Access.VIEWER: Role.VIEWER,
    Access.OPERATOR: Role.OPERATOR,
    Access.ADMIN: Role.ADMIN,
}


class Told(TypedDict, total=False):
    """What a route says about itself beyond its function's signature."""

    access: Access
    of_all: bool  # only for somebody of the whole installation, not of one tenant
    releases: bool  # also for a token that is good for nothing else
    status: int  # of a good answer
    body_required: bool
    takes: tuple[str, ...]  # the media types of `upload`
    largest: int  # bytes of a body
    streams: tuple[str, ...]  # the media types of `Streamed`
    refuses: dict[int, str]  # beyond what its access, body, query and path imply


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The same with nothing left out."""

    access: Access = Access.ANYONE
    of_all: bool = False
    releases: bool = False
    status: int = 200
    body_required: bool = True
    takes: tuple[str, ...] = ()
    largest: int = MAX_BODY
    streams: tuple[str, ...] = ()
    refuses: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """Where a call comes from, and what it is called."""

    address: str
    request_id: str


@dataclass(frozen=True, slots=True)
class Tagged(Generic[T]):
    """An answer with the ETag of what it tells."""

    body: T
    etag: str


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that was sent; it may hold passwords."""

    media_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer that is made while it is sent; what fails then cuts it short, and its reader sees that."""

    media_type: str
    parts: AsyncIterator[bytes]


class Signature:
    """What a route's function takes and gives."""

    def __init__(self, function: Answering) -> None:
        taken = inspect.signature(function)
        kinds = {name: parameter.annotation for name, parameter in taken.parameters.items()}
        self.body = kinds.get("message")
        self.query = kinds.get("query")
        self.path_ids = tuple(name for name in kinds if name not in _NOT_IDS)
        self.wants_caller = "caller" in kinds
        self.wants_author = "author" in kinds
        self.wants_seen = "seen" in kinds
        self.wants_recheck = "recheck" in kinds
        given = get_args(taken.return_annotation) or (taken.return_annotation,)
        answers = [kind for kind in given if kind not in (Problem, Response)]
        self.is_tagged = bool(answers) and get_origin(answers[0]) is Tagged
        self.answer = get_args(answers[0])[0] if self.is_tagged else next(iter(answers), None)
        self.headers = tuple(name for name in _HEADERS if name in kinds)


class Routes:
    """Puts routes into an application."""

    def __init__(self, app: FastAPI, *, tokens: TokenCheck, refusals: Refusals) -> None:
        self._app = app
        self._tokens = tokens
        self._refusals = refusals
        self.schemas = Schemas()

    def get(self, path: str, **told: Unpack[Told]) -> Callable[[H], H]:
        """A route that reads."""
        return self._route("GET", path, Promise(**told))

    def post(self, path: str, **told: Unpack[Told]) -> Callable[[H], H]:
        """A route that does."""
        return self._route("POST", path, Promise(**told))

    def patch(self, path: str, **told: Unpack[Told]) -> Callable[[H], H]:
        """A route that changes what is named."""
        return self._route("PATCH", path, Promise(**told))

    def delete(self, path: str, **told: Unpack[Told]) -> Callable[[H], H]:
        """A route that removes what is named."""
        return self._route("DELETE", path, Promise(**told))

    def socket(self, path: str) -> Callable[[H], H]:
        """A WebSocket, which admits by itself; the document has no word for these."""

        def add(function: H) -> H:
            self._app.router.add_websocket_route(path, function)
            return function

        return add

    def _route(self, method: str, path: str, promise: Promise) -> Callable[[H], H]:
        def add(function: H) -> H:
            signature = Signature(function)
            self._app.router.add_api_route(
                path,
                self._endpoint(function, signature, promise),
                methods=[method],
                status_code=promise.status,
                operation_id=getattr(function, "__name__", None),
                summary=inspect.getdoc(function),
                tags=[function.__module__.rpartition(".")[2]],
                response_class=Response,
                responses=self._responses(signature, promise),
                openapi_extra=self._extra(path, signature, promise),
                route_class_override=_BareRoute,
            )
            return function

        return add

    def _endpoint(
        self, function: Answering, signature: Signature, promise: Promise
    ) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                answer = await function(**await self._arguments(request, signature, promise))
            except StreamwardError as err:
                answer = problem_of(err)
            if isinstance(answer, Problem):
                self.note_refusal(answer, request, route=self._path_of(request), token=bearer(request))
                return problem_response(answer)
            if isinstance(answer, Response):
                return answer
            if isinstance(answer, Streamed):
                return StreamingResponse(answer.parts, status_code=promise.status, media_type=answer.media_type)
            headers = {"ETag": answer.etag} if isinstance(answer, Tagged) else None
            body = encode(answer.body if isinstance(answer, Tagged) else answer)
            return Response(body, status_code=promise.status, media_type="application/json", headers=headers)

        return endpoint

    async def _arguments(self, request: Request, signature: Signature, promise: Promise) -> dict[str, Any]:
        arguments = self._people(request, signature, promise)
        for name in signature.path_ids:
            arguments[name] = check_id(name, request.path_params[name])
        if "if_match" in signature.headers:
            arguments["if_match"] = _if_match(request)
        if "once_key" in signature.headers:
            arguments["once_key"] = _once_key(request)
        if "last_event_id" in signature.headers:
            arguments["last_event_id"] = _last_event_id(request)
        if signature.query is not None:
            arguments["query"] = decode_query(request.query_params.multi_items(), signature.query)
        if promise.takes:
            arguments["upload"] = await _file(request, promise)
        if signature.body is not None:
            body = await _json(request, promise)
            empty = not body and not promise.body_required
            arguments["message"] = signature.body() if empty else decode(body, signature.body)
        return arguments

    def _people(self, request: Request, signature: Signature, promise: Promise) -> dict[str, Any]:
        """Who is calling, as the function wants to know it."""
        told: dict[str, Any] = {}
        if signature.wants_seen:
            told["seen"] = Seen(client_address(request), request_id(request))
        if promise.access is Access.OPEN:
            return told
        caller = self._admit(request, promise)
        if signature.wants_caller:
            told["caller"] = caller
        if signature.wants_recheck:
            told["recheck"] = lambda: self._admit(request, promise)
        return told | ({"author": author(request, caller)} if signature.wants_author else {})

    def admit(self, token: str | None, promise: Promise) -> Caller:
        """Who bears a token, if that may do what a route promises."""
        if not token:
            raise TokenRefused(TokenFault.MISSING)
        caller = self._tokens.caller(token)
        if not caller.role.covers(_ROLES.get(promise.access, caller.role)):
            raise RoleRefused(promise.access.value)
        if caller.only_releases and not promise.releases:
            raise RoleRefused("somebody who may do more than release")
        if promise.of_all and caller.tenant_id is not None:
            raise RoleRefused(f"{promise.access.value} of the whole installation")
        return caller

    def note_refusal(self, problem: Problem, connection: HTTPConnection, *, route: str, token: str | None) -> None:
        """Counts, logs and audits a refused call under the subject of its token; anonymous without a valid one."""
        try:
            refused = author(connection, self._tokens.caller(token or ""))
        except StreamwardError:
            refused = Author(
                subject=ANONYMOUS,
                role=ANONYMOUS,
                tenant_id=None,
                address=client_address(connection),
                request_id=request_id(connection),
            )
        self._refusals.note(problem, route=route, author=refused)

    def _path_of(self, request: Request) -> str:
        """The path as it was declared."""
        return str(getattr(request.scope.get("route"), "path", "none"))

    def _admit(self, request: Request, promise: Promise) -> Caller:
        return self.admit(bearer(request), promise)

    def _responses(self, signature: Signature, promise: Promise) -> dict[int | str, dict[str, Any]]:
        statuses = {500}
        if promise.access is not Access.OPEN:
            statuses |= {401, 403, 503}
        if signature.body is not None or promise.takes:
            statuses |= {400, 413, 415, 422}
        if signature.path_ids or signature.query is not None:
            statuses.add(422)
        if "if_match" in signature.headers:
            statuses |= {412, 428}
        refusals = self.schemas.refusals({**dict.fromkeys(statuses, ""), **promise.refuses})
        if promise.streams:
            return {promise.status: {"description": "Done", **self.schemas.file(promise.streams)}, **refusals}
        answer = self.schemas.answer(signature.answer, "Done", is_tagged=signature.is_tagged)
        return {promise.status: answer, **refusals}

    def _extra(self, path: str, signature: Signature, promise: Promise) -> dict[str, Any]:
        extra: dict[str, Any] = {"security": [] if promise.access is Access.OPEN else [{"bearer": []}]}
        if role := _ROLES.get(promise.access):
            extra["x-role"] = f"{role} of all tenants" if promise.of_all else str(role)
        if parameters := self.schemas.parameters(path, signature.query, headers=signature.headers):
            extra["parameters"] = parameters
        if signature.body is not None:
            extra["requestBody"] = self.schemas.body(signature.body, required=promise.body_required)
        if promise.takes:
            extra["requestBody"] = {"required": True, **self.schemas.file(promise.takes)}
        return extra


class _BareRoute(APIRoute):
    """FastAPI's route without its parsing: the endpoint has done it all."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        endpoint: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return endpoint


def bearer(request: HTTPConnection) -> str | None:
    """The token in a call's header."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip(" ") if scheme.lower() == "bearer" else None


def author(request: HTTPConnection, caller: Caller) -> Author:
    """Who makes a change by this call, and from where."""
    return Author(
        subject=caller.subject,
        role=caller.role,
        tenant_id=caller.tenant_id,
        address=client_address(request),
        request_id=request_id(request),
    )


def client_address(request: HTTPConnection) -> str:
    """The peer of the connection; what a proxy says of others is not trusted."""
    return request.client.host if request.client is not None else "-"


def _if_match(request: Request) -> str:
    given = request.headers.get("if-match", "").strip()
    if not given:
        raise PreconditionMissing
    return given


def _once_key(request: Request) -> str | None:
    given = request.headers.get("idempotency-key")
    if given is not None and not _ONCE_KEY.fullmatch(given):
        raise MalformedOnceKey
    return given


def _last_event_id(request: Request) -> int | None:
    """What a browser sends when it comes again; one that is no number of ours counts as none."""
    given = request.headers.get("last-event-id", "")
    return int(given) if given.isdecimal() and len(given) < 19 else None


async def _json(request: Request, promise: Promise) -> bytes:
    kind = _media_type(request)
    if kind is not None and kind != "application/json":
        raise NotJson
    return await _read(request, promise.largest)


async def _file(request: Request, promise: Promise) -> Upload:
    kind = _media_type(request)
    if kind not in promise.takes:
        raise MediaTypeRefused(promise.takes)
    return Upload(kind, await _read(request, promise.largest))


def _media_type(request: Request) -> str | None:
    kind = request.headers.get("content-type")
    return None if kind is None else kind.partition(";")[0].strip().lower()


async def _read(request: Request, largest: int) -> bytes:
    """The body, unless it is too long; a length that was promised is not trusted."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > largest:
        raise BodyTooLarge(largest)
    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > largest:
                raise BodyTooLarge(largest)
            chunks.append(chunk)
    except ClientDisconnect:
        raise BodyCutShort from None
    return b"".join(chunks)
