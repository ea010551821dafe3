"""Schemathesis against a control plane: whatever it makes of the OpenAPI document, sent as every role and as none.

Each case is sent twice: as it was made, by one caller after the other, and aimed at things that exist, by one after the
other who may. A world of its own for each operation keeps what one did from hiding what the next one would meet.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

import httpx
import hypothesis
import requests
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.config import ProjectConfig
from schemathesis.core.transport import Response
from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, HypothesisTestMode, create_test
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from streamward.control.keys import load_keyring
from streamward.control.tokens import TokenMint
from streamward.model.identity import Role
from streamward.model.ids import Incarnation, RunnerId, TenantId
from streamward.protocol.listening import LONGEST_LISTEN
from streamward.protocol.wait import LONGEST_WAIT
from streamward.runtime.clock import SystemClock
from tests.support.operations import Names, call_of
from tests.support.processes import ControlProcess

Case = schemathesis.Case[Any]
Send = Callable[[httpx.Request], httpx.Response]

ALWAYS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
    allow_header_conformance,
]
PATIENCE = 60.0  # seconds
WAITING = {"/v1/wait": LONGEST_WAIT, "/v1/cameras/changes": LONGEST_WAIT, "/v1/events/stream": LONGEST_LISTEN}
HOST = "http://control"


def brief(*, examples: int, derandomize: bool = True) -> hypothesis.settings:
    """So many random cases, after those of the edges; what fails is told as it was met."""
    return hypothesis.settings(
        max_examples=examples,
        derandomize=derandomize,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )


class Fuzzer:
    """One control plane and everyone who calls it."""

    def __init__(self, document: dict[str, Any], send: Send, *, mint: TokenMint, host: str = HOST) -> None:
        self.schema = schemathesis.openapi.from_dict(document)
        self.calls: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.unavailable = 0  # answers that were asked for again
        self._send = send
        self._mint = mint
        self._host = host
        self._worlds = itertools.count(1)

    def run(
        self, label: str, *, settings: hypothesis.settings, seed: int | None = None, with_edges: bool = True
    ) -> None:
        """Fuzzes one operation: every case of the document's edges, then random ones."""
        operation = self.schema.find_operation_by_label(label)
        assert operation is not None, label
        names = self.settle(f"w{next(self._worlds)}")
        everyone = self._callers(names.tenant_id)
        wanted = operation.definition.raw.get("x-role")
        callers = itertools.cycle(everyone.items())
        entitled = itertools.cycle([each for each in everyone.items() if wanted is None or _may(each[0], wanted)])

        def judge(case: Case) -> None:
            # A query parameter without a value counts as left out, which the document cannot say.
            is_plain = "" not in (case.query or {}).values()
            self._judge(case, next(callers), checks=[*ALWAYS, *([negative_data_rejection] if is_plain else [])])
            if case.method.upper() == operation.method.upper():
                self._judge(_aimed(case, names), next(entitled), checks=ALWAYS)

        config = HypothesisTestConfig(
            project=ProjectConfig(),
            modes=[HypothesisTestMode.FUZZING, *([HypothesisTestMode.COVERAGE] if with_edges else [])],
            settings=settings,
            seed=seed,
        )
        create_test(operation=operation, test_func=judge, config=config)()

    def _judge(self, case: Case, caller: tuple[str, str | None], *, checks: list[Any]) -> None:
        name, token = caller
        _cut_wait(case)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        told = case.as_transport_kwargs(base_url=self._host, headers=headers)
        prepared = requests.Request(**_known(told)).prepare()
        answer = self._answer(lambda: _as_httpx(prepared))
        self.calls[name] += 1
        self.statuses[answer.status_code] += 1
        case.validate_response(Response.from_any(answer), checks=checks, headers=headers)

    def _answer(self, request: Callable[[], httpx.Request]) -> httpx.Response:
        """The answer; 503 asks to come again, as it does when the machine is busy, and only one that stays is told.

        A control plane that could not read for 5 s who was revoked trusts nobody until it has.
        """
        ends_at = time.monotonic() + PATIENCE
        while (answer := self._send(request())).status_code == HTTPStatus.SERVICE_UNAVAILABLE:
            if time.monotonic() > ends_at:
                break
            self.unavailable += 1
        return answer

    def _callers(self, tenant: str) -> dict[str, str | None]:
        people = {
            f"{role}{mark}": self._mint.person("ada", role=role, tenant_id=tenant_id)
            for mark, tenant_id in (("", TenantId(tenant)), ("*", None))
            for role in (Role.VIEWER, Role.OPERATOR, Role.ADMIN)
        }
        runner = self._runner(f"{tenant}-runner", tenant)
        return {"none": None, **people, "runner": runner, "runner*": self._runner("r-all", None)}

    def _runner(self, runner_id: str, tenant: str | None) -> str:
        tenant_id = None if tenant is None else TenantId(tenant)
        return self._mint.runner(RunnerId(runner_id), incarnation=Incarnation(f"{tenant}-1"), tenant_id=tenant_id)

    def settle(self, tenant: str) -> Names:
        """A tenant with one of everything."""
        names = Names(
            tenant_id=tenant,
            site_id=f"{tenant}-site",
            camera_uuid=f"{tenant}-cam",
            runner_id=f"{tenant}-runner",
            object_id=f"{tenant}-cam",
            new_id=f"{tenant}-cam",
            new_tenant=tenant,
            speaker=f"{tenant}-runner",
        )
        root, runner = self._mint.person("root", role=Role.ADMIN), self._runner(names.runner_id, tenant)
        self._make(root, "/v1/tenants", names)
        self._make(root, "/v1/sites", names, site_id=names.site_id)
        self._make(root, "/v1/cameras", names, camera_uuid=names.camera_uuid)
        invitation = self._make(root, "/v1/invitations", names, role="viewer")["invitation_id"]
        for path in ("/v1/runners/register", "/v1/leases/camera/acquire"):
            self._make(runner, path, names)
        return Names(**asdict(names) | {"invitation_id": invitation})

    def _make(self, token: str, path: str, names: Names, **changed: str) -> dict[str, Any]:
        call = call_of(path, "post", names)
        body, headers = (call.body or {}) | changed, {"Authorization": f"Bearer {token}"}
        answer = self._answer(lambda: httpx.Request("POST", f"{self._host}{path}", json=body, headers=headers))
        assert answer.is_success, answer.text
        told: dict[str, Any] = answer.json()
        return told


def a_fuzzer(process: ControlProcess, client: httpx.Client) -> Fuzzer:
    """One for a real process, by the document that it serves and with the key that it has."""
    document: dict[str, Any] = client.get(f"{process.url}/openapi.json").json()
    mint = TokenMint(load_keyring(process.data / "keys" / "signing.pem"), clock=SystemClock())
    return Fuzzer(document, client.send, mint=mint, host=process.url)


def _may(caller: str, wanted: str) -> bool:
    """Whether a caller has the role that the document names."""
    word, _, of_all = wanted.partition(" of ")
    if caller == "none" or (of_all and not caller.endswith("*")):
        return False
    return Role(caller.rstrip("*")).covers(Role(word))


def _aimed(case: Case, names: Names) -> Case:
    """The same case, but naming what exists wherever it names anything."""
    known = asdict(names)
    headers = {name: "*" if name == "If-Match" else value for name, value in (case.headers or {}).items()}
    made: Case = case.operation.Case(
        method=case.method,
        path_parameters=_naming(case.path_parameters, known),
        headers=headers,
        query=_naming(case.query, known),
        body=_naming(case.body, known),
        media_type=case.media_type,
    )
    return made


def _naming(body: Any, known: dict[str, Any]) -> Any:
    if isinstance(body, list):
        return [_naming(each, known) for each in body]
    if isinstance(body, dict):
        return {name: known[name] if name in known else _naming(each, known) for name, each in body.items()}
    return body


def _cut_wait(case: Case) -> None:
    """Waits for nothing where the control plane would wait; a wait that is too long is for it to refuse."""
    longest = WAITING.get(case.operation.path)
    if longest is not None and _is_wait((case.query or {}).get("timeout_s", 0), longest):
        case.query = {**(case.query or {}), "timeout_s": 0}


def _is_wait(value: Any, longest: float) -> bool:
    try:
        return value in ("", [""]) or 0 <= float(value[0] if isinstance(value, list) else value) <= longest
    except (TypeError, ValueError, IndexError):
        return False


def _known(told: dict[str, Any]) -> dict[str, Any]:
    taken = {"method", "url", "headers", "files", "data", "params", "auth", "cookies", "json"}
    return {name: value for name, value in told.items() if name in taken}


def _as_httpx(prepared: requests.PreparedRequest) -> httpx.Request:
    assert prepared.method is not None
    assert prepared.url is not None
    assert prepared.body is None or isinstance(prepared.body, bytes | str)
    headers = [
        (name.encode("latin-1"), (value if isinstance(value, bytes) else value.encode("latin-1")).strip())
        for name, value in prepared.headers.items()
    ]
    return httpx.Request(prepared.method, prepared.url, headers=headers, content=prepared.body)
