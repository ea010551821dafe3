"""Every route of the OpenAPI document, called in every way that fails: each answer is one that it documents.

The client in `tests.support.app` holds each answer of every service test against the document; this module makes sure
that each route meets each kind of refusal, and that the document itself is whole.
"""

import logging
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

import pytest

from streamward import __version__
from streamward.leases.store import StoreUnavailable
from streamward.model.identity import Caller, Role
from streamward.model.ids import Incarnation
from streamward.protocol.codec import MAX_BODY
from tests.support.app import Client, ControlUnderTest
from tests.support.operations import DOCUMENT, OPERATIONS, Names, body_kind, call_of

GUARDED = [each for each in OPERATIONS if DOCUMENT["paths"][each[0]][each[1]]["security"]]
WITH_BODY = [each for each in OPERATIONS if body_kind(*each) is not None]
NOT_JSON = {
    ("/metrics", "200"): ["text/plain"],
    ("/v1/cameras/export", "200"): ["text/csv", "application/x-ndjson"],
    ("/v1/events/stream", "200"): ["text/event-stream"],
}
ANSWERS = {
    ("/v1/leases/camera/renew", "post"): 404,
    ("/v1/leases/reclaim", "post"): 409,
    ("/v1/streams/status/batch", "post"): 202,
    ("/v1/cameras", "post"): 201,
    ("/v1/cameras/{camera_uuid}/source", "get"): 404,  # nobody holds it
    ("/v1/sites", "post"): 201,
    ("/v1/sites/{site_id}", "delete"): 409,  # it has a camera
    ("/v1/tenants", "post"): 201,
    ("/v1/tenants/{tenant_id}/deletion", "get"): 404,  # it was not deleted
    ("/v1/invitations", "post"): 201,
    ("/v1/invitations/{invitation_id}", "delete"): 404,
    ("/v1/identities", "post"): 403,  # no such code
    ("/v1/identities/{identity_id}", "get"): 404,
    ("/v1/identities/{identity_id}", "patch"): 404,
    ("/v1/identities/{identity_id}", "delete"): 404,
    ("/v1/tokens", "post"): 401,  # nobody signed that
    ("/v1/tenants/{tenant_id}", "delete"): 409,  # it has a site
    ("/v1/batches/{batch_id}", "get"): 404,
}


class Unreachable(Exception):
    """What a driver must not let out, and lets out here."""


class Failing:
    """A store of which every method fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, _name: str) -> Any:
        async def fail(*_args: object, **_named: object) -> None:
            raise self._error

        return fail


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingInsight:
    """The same of what was seen."""

    detections: Any
    batches: Any
    rules: Any
    records: Any
    broadcasts: Any
    analyses: Any
    zone_events: Any
    deletions: Any

    async def open(self) -> None: ...
    async def close(self) -> None: ...
    async def now(self) -> datetime:
        raise StoreUnavailable


def filled(path: str) -> str:
    return path.format(**asdict(Names()))


def fitting(control: ControlUnderTest, path: str, method: str) -> Client:
    """A client that the route lets in."""
    return control.person(Role.ADMIN) if is_for_people(path, method) else control.runner()


def is_for_people(path: str, method: str) -> bool:
    role: str = DOCUMENT["paths"][path][method].get("x-role", "runner")
    return role != "runner"


async def call(client: Client, path: str, method: str) -> int:
    made = call_of(path, method, Names())
    return (await client.call(made.method, made.path, **made.request)).status_code


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
async def test_every_route_answers_well_to_whom_it_is_for(path: str, method: str) -> None:
    control = await ControlUnderTest().with_cameras("cam-1")
    await control.runner().post("/v1/runners/register", {"runner_id": "r1"})
    assert await call(fitting(control, path, method), path, method) == ANSWERS.get((path, method), 200)


@pytest.mark.parametrize(("path", "method"), GUARDED)
async def test_every_guarded_route_wants_a_token(path: str, method: str) -> None:
    assert await call(ControlUnderTest().anyone(), path, method) == 401


@pytest.mark.parametrize(("path", "method"), GUARDED)
async def test_a_token_of_the_wrong_role_is_403(path: str, method: str) -> None:
    control = await ControlUnderTest().with_cameras("cam-1")
    is_about_itself = path == "/v1/runners/{runner_id}"
    client = control.runner("r2") if is_for_people(path, method) or is_about_itself else control.operator()
    is_for_anyone = "x-role" not in DOCUMENT["paths"][path][method] and not is_about_itself
    assert (await call(client, path, method) == 403) is not is_for_anyone


@pytest.mark.parametrize(("path", "method"), GUARDED)
async def test_a_token_that_is_good_for_releasing_only_is_403_elsewhere(path: str, method: str) -> None:
    control = await ControlUnderTest().with_cameras("cam-1")
    runner = Caller(subject="r1", role=Role.RUNNER, incarnation=Incarnation("inc-1"))
    token, _ = control.mint.release(runner)
    assert await call(control.anyone(token), path, method) == (200 if path == "/v1/runners/release-all" else 403)


@pytest.mark.parametrize(("path", "method"), WITH_BODY)
@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b'{"x":1}', "application/json", 422),
        (b"{}", "text/plain", 415),
        (b" " * (MAX_BODY + 1), "application/json", 413),
    ],
    ids=["malformed", "invalid", "text", "large"],
)
async def test_every_route_with_a_body_refuses_a_bad_one(
    path: str, method: str, content: bytes, kind: str, status: int
) -> None:
    client = fitting(ControlUnderTest(), path, method)
    answer = await client.call(
        method.upper(), filled(path), content=content, headers={"Content-Type": kind, "If-Match": "*"}
    )
    assert answer.status_code == status


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
async def test_a_store_that_does_not_answer_is_503(path: str, method: str) -> None:
    away = Failing(StoreUnavailable())
    insight = FailingInsight(**dict.fromkeys((each.name for each in fields(FailingInsight)), away))
    control = ControlUnderTest(store=lambda _: away, insight=lambda _: insight)
    ask_nobody = {"/healthz": 200, "/v1/wait": 200, "/v1/tokens": 401, "/v1/runners/release-token": 200}
    expected = ask_nobody.get(path, 503)
    assert await call(fitting(control, path, method), path, method) == expected


@pytest.mark.parametrize(("path", "method"), [("/v1/cameras", "get"), ("/v1/leases/camera/acquire", "post")])
async def test_what_nobody_expected_is_a_bare_500_and_a_log_line_with_the_stack(
    path: str, method: str, caplog: pytest.LogCaptureFixture
) -> None:
    control = ControlUnderTest(store=lambda _: Failing(Unreachable("password=hunter2")))
    answer = await control.runner().call(method.upper(), filled(path), json=call_of(path, method, Names()).body)
    assert answer.status_code == 500
    assert answer.json()["detail"] == "the control plane failed on this call"
    assert "hunter2" not in answer.text
    line = next(record for record in caplog.records if record.name == "streamward.control.http")
    assert line.levelno == logging.ERROR
    assert line.exc_info is not None
    assert vars(line)["request_id"] == answer.headers["x-request-id"]


async def test_a_request_id_that_the_client_sent_comes_back() -> None:
    client = ControlUnderTest().anyone()
    answer = await client.call("GET", "/healthz", headers={"X-Request-Id": "trace-7"})
    assert answer.headers["x-request-id"] == "trace-7"
    for nonsense in ("a b", "x" * 65, "<script>"):
        answer = await client.call("GET", "/healthz", headers={"X-Request-Id": nonsense})
        assert answer.headers["x-request-id"] != nonsense


async def test_every_answer_tells_the_version() -> None:
    client = ControlUnderTest().anyone()
    for path in ("/healthz", "/v1/cameras", "/nowhere"):
        assert (await client.call("GET", path)).headers["Streamward-Version"] == __version__


async def test_the_document_is_served_to_everyone_and_pages_from_a_cdn_to_nobody() -> None:
    client = ControlUnderTest().anyone()
    assert (await client.get("/openapi.json")).json() == DOCUMENT
    assert (await client.get("/docs")).status_code == 404
    assert (await client.get("/redoc")).status_code == 404


def test_the_document_names_every_call_of_s0() -> None:
    assert {f"{method.upper()} {path}" for path, method in OPERATIONS} >= {
        "GET /v1/cameras",
        "POST /v1/leases/camera/acquire",
        "POST /v1/leases/camera/renew",
        "POST /v1/leases/camera/release",
        "POST /v1/sites/{site_id}/budget/consume",
        "POST /v1/runners/heartbeat",
        "GET /v1/runners/{runner_id}",
        "POST /v1/streams/status/batch",
    }


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_route_documents_itself(path: str, method: str) -> None:
    operation = DOCUMENT["paths"][path][method]
    assert operation["summary"].endswith(".")
    assert {each["name"] for each in operation.get("parameters", []) if each["in"] == "path"} == {
        part[1:-1] for part in path.split("/") if part.startswith("{")
    }
    for status, response in operation["responses"].items():
        expected = "application/problem+json" if status >= "400" else "application/json"
        assert list(response["content"]) == NOT_JSON.get((path, status), [expected])


def test_every_reference_leads_somewhere() -> None:
    text = str(DOCUMENT)
    for name in DOCUMENT["components"]["schemas"]:
        assert f"#/components/schemas/{name}'" in text, f"{name} is used nowhere"
    assert text.count("'$ref'") == sum(
        text.count(f"'#/components/schemas/{name}'") for name in DOCUMENT["components"]["schemas"]
    )
