"""Every operation of the OpenAPI document as a call that can be made: what it names is up to the test."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from streamward.model.ids import PATTERN
from tests.support.app import ControlUnderTest

DOCUMENT: dict[str, Any] = ControlUnderTest().app.openapi()
OPERATIONS = [(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods]
NO_OBJECTS = {"incarnation", "shard_id", "detector", "name"}  # ids, but not of anything that a tenant has

_SEEN_AT = "2026-01-01T12:00:00Z"
_LOGIN = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The things that a call names, as the document calls them."""

    tenant_id: str = "t-01"
    site_id: str = "site-a"
    camera_uuid: str = "cam-1"
    name: str = "door"  # of a camera
    runner_id: str = "r1"
    invitation_id: str = "inv-1"
    identity_id: str = "id-1"
    subject: str = "ada"
    object_id: str = "cam-1"
    batch_id: str = "batch-1"
    new_id: str = "t-01-new"  # of whatever is created within a tenant
    new_tenant: str = "t-new"
    speaker: str = "r1"  # the runner that a runner's message is from


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One operation with everything that it names filled in."""

    method: str
    path: str
    query: dict[str, Any]
    body: dict[str, Any] | None
    file: str | None

    @property
    def request(self) -> dict[str, Any]:
        """What `Client.call` takes beside method and path."""
        if self.file is not None:
            return {"params": self.query, "content": self.file, "headers": {"Content-Type": "application/x-ndjson"}}
        return {"params": self.query, "json": self.body, "headers": {"If-Match": "*"}}


def call_of(path: str, method: str, names: Names) -> Call:
    """The call of an operation that names these."""
    query = {name: value for name, value in asdict(names).items() if name in _queried(path, method)}
    kind = body_kind(path, method)
    return Call(
        method=method.upper(),
        path=path.format(**asdict(names)),
        query=query | ({"timeout_s": 0} if "timeout_s" in _queried(path, method) else {}),
        body=None if kind is None else bodies(names)[kind],
        file=files(names).get((path, method)),
    )


def body_kind(path: str, method: str) -> str | None:
    """The message that an operation takes; None: it takes none, or a file."""
    content = DOCUMENT["paths"][path][method].get("requestBody", {}).get("content", {})
    if "application/json" not in content:
        return None
    reference: str = content["application/json"]["schema"]["$ref"]
    return reference.rpartition("/")[2]


def takes_file(path: str, method: str) -> bool:
    """Whether an operation takes a file."""
    return "requestBody" in DOCUMENT["paths"][path][method] and body_kind(path, method) is None


def files(names: Names) -> dict[tuple[str, str], str]:
    """What the operations that take a file are sent."""
    kept = {"camera_uuid": names.camera_uuid, "site_id": names.site_id, "max_fps": 3}
    new = bodies(names)["CreateCamera"]
    return {("/v1/cameras/import", "post"): "".join(f"{json.dumps(line)}\n" for line in (kept, new))}


def bodies(names: Names) -> dict[str, dict[str, Any]]:
    """Each message as short as it can be while it names all that it can."""
    return _of_runners(names) | _of_people(names)


def _of_runners(names: Names) -> dict[str, dict[str, Any]]:
    runner = {"runner_id": names.speaker}
    camera = {"camera_uuid": names.camera_uuid}
    leases = [{**camera, "version": 1}]
    return {
        "AcquireCamera": {**runner, **camera, "ttl_seconds": 10},
        "RenewCamera": {**runner, **camera, "ttl_seconds": 10},
        "ReleaseCamera": {**runner, **camera},
        "AcquireCameras": {**runner, "limit": 1},
        "RenewCameras": {**runner, "cameras": leases},
        "ReleaseCameras": {**runner, "cameras": leases},
        "RegisterRunner": {**runner, "site_id": names.site_id},
        "Heartbeat": {**runner, "streams_owned": 0},
        "ReleaseAll": runner,
        "AskReleaseToken": runner,
        "NamedDial": {**camera, "version": 1},
        "TakeDials": {"items": [{"site_id": names.site_id, **camera, "version": 1}]},
        "FinishDials": {"items": [{"site_id": names.site_id, **camera, "version": 1}]},
        "AskHandovers": {**runner, "room": 1, "shown": [names.camera_uuid], "refused": [names.camera_uuid]},
        "AskLogins": {
            **runner,
            "told": [{**camera, "login": _LOGIN, "outcome": "refused"}],
            "asks": [{**camera, "login": _LOGIN}],
        },
        "StreamReports": {"items": [{**runner, **camera, "state": "STREAMING", "ts": _SEEN_AT}]},
    }


def _of_people(names: Names) -> dict[str, dict[str, Any]]:
    return {
        "ReclaimCamera": {"camera_uuid": names.camera_uuid, "version": 1},
        "ChangeRunner": {"cordoned": True},
        "RebalanceFleet": {"dry_run": False},
        "CreateCamera": {
            "site_id": names.site_id,
            "name": names.new_id,  # only somebody of the whole installation gives an id too
            "rtsp_url": "rtsp://192.0.2.7/1",
        },
        "ChangeCamera": {"site_id": names.site_id, "name": names.new_id, "max_fps": 3},
        "CreateSite": {"site_id": names.new_id, "tenant_id": names.tenant_id},
        "ChangeSite": {"capacity": 7},
        "CreateTenant": {"tenant_id": names.new_tenant},
        "FindDeletedTenants": {"tenant_ids": [names.tenant_id]},
        "ChangeTenant": {"name": "changed"},
        "ChangeBatching": {"window_s": 60},
        "CreateInvitation": {"subject": names.new_id, "role": "runner", "tenant_id": names.tenant_id},
        "RedeemCode": {"code": "AAAA", "public_key": "A" * 43},
        "ChangeIdentity": {"role": "operator"},
        "AskToken": {"assertion": "x"},
    }


def ids_in_body(kind: str) -> set[str]:
    """The fields of a message that name something which a tenant has, however deep they stand."""
    return set(_ids(DOCUMENT["components"]["schemas"][kind])) - NO_OBJECTS


def _ids(schema: dict[str, Any]) -> Iterator[str]:
    for name, each in schema.get("properties", {}).items():
        for form in each.get("anyOf", [each]):
            if form.get("pattern") == PATTERN:
                yield name
            yield from _inner_ids(form.get("items", form))


def _inner_ids(schema: dict[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield from _ids(DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]])


def _queried(path: str, method: str) -> set[str]:
    parameters = DOCUMENT["paths"][path][method].get("parameters", [])
    return {each["name"] for each in parameters if each["in"] == "query"}
