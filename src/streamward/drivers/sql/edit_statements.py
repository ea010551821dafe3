"""The statements by which people's edits are made, the same for every noun: lists in, keys and revisions out."""

# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from dataclasses import dataclass, field
from typing import Any

import msgspec

from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.statement import Shape, Statement, statement
from streamward.model.camera import Camera, Site
from streamward.model.identity import Author, Identity, Invitation
from streamward.model.register import Note, Thing
from streamward.model.runner import Runner
from streamward.model.tenant import Tenant

AUDITED = ("action", "tenant_id", "object_id", "before", "after")
ANNOUNCED = ("event_id", "tenant_id", "routing_key", "body")
BUDGETED = ("site_id", "capacity", "refill_rate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Where a noun's rows lie."""

    name: str
    key: str
    fixed: tuple[str, ...] = ()  # written once
    written: tuple[str, ...]  # written with each change
    kept_by: dict[str, str] = field(default_factory=dict)  # a column that changes only with that other one
    is_dated: bool = True
    parent: type[Thing] | None = None  # the noun whose row it needs, and names by that one's key
    children: str | None = None  # the table whose rows need it


TABLES: dict[type[Thing], Table] = {
    Tenant: Table(name="tenants", key="tenant_id", fixed=("tenant_key",), written=("name",), children="sites"),
    Site: Table(
        name="sites",
        key="site_id",
        fixed=("tenant_id",),
        written=("policy", "address_policy", "tls_ca"),
        parent=Tenant,
        children="cameras",
    ),
    Camera: Table(
        name="cameras",
        key="camera_uuid",
        fixed=("tenant_id",),
        written=(
            "site_id",
            "name",
            "rtsp_url",
            "sealed_credential",
            "credential_version",
            "enabled",
            "do_not_process",
            "detector",
            "max_fps",
            "decode",
            "detect_every_n_frames",
            "zones",
            "thresholds",
            "labels",
            "tls_fingerprint",
        ),
        kept_by={"sealed_credential": "credential_version"},
        parent=Site,
    ),
    Runner: Table(
        name="runners",
        key="runner_id",
        written=("cordoned", "drain_mode", "capacity_streams", "make", "detector", "earlier_detector"),
        is_dated=False,
    ),
    Invitation: Table(
        name="invitations",
        key="invitation_id",
        fixed=("code_hash", "subject", "role", "tenant_id", "expires_at"),
        written=("used_at",),
    ),
    Identity: Table(
        name="identities",
        key="identity_id",
        fixed=("subject", "tenant_id", "public_key"),
        written=("role", "revoked_at"),
    ),
}


class EditStatements:
    """One noun's statements, spelled for one database."""

    def __init__(self, table: Table, dialect: SqlDialect) -> None:
        self.table = table
        now = f"({dialect.now})"
        self.stamps = Shape("x", " ".join((table.key, *(("updated_at",) if table.is_dated else ()), "revision")))
        self.state = tuple(name for name in self.stamps.names if name != table.key)
        self.given = (table.key, *table.fixed, *table.written)
        self.changed = (table.key, *table.written, *self.state)
        stamped = dialect.returning("x", *self.stamps.names)
        is_it = " AND ".join(f"x.{name} = n.{name}" for name in self.stamps.names)
        dated = {"updated_at": now} if table.is_dated else {}
        self.add = statement(
            f"INSERT INTO {table.name} AS x ({', '.join((*self.given, *dated))})"
            f" SELECT {', '.join((*(f'n.{name}' for name in self.given), *dated.values()))}"
            f" FROM {dialect.listed(*self.given)} WHERE true ON CONFLICT DO NOTHING {stamped}",
            self.stamps,
        )
        assigned = {name: self._value(name) for name in table.written} | dated | {"revision": "x.revision + 1"}
        self.change = statement(
            f"UPDATE {table.name} AS x SET {', '.join(f'{name} = {value}' for name, value in assigned.items())}"
            f" FROM {dialect.listed(*self.changed)} WHERE {is_it} {stamped}",
            self.stamps,
        )
        self.remove = statement(
            f"DELETE FROM {table.name} AS x WHERE EXISTS"
            f" (SELECT 1 FROM {dialect.listed(*self.stamps.names)} WHERE {is_it}) {stamped}",
            self.stamps,
        )
        self.in_use = None if table.children is None else _in_use(table, dialect)

    def _value(self, name: str) -> str:
        if (other := self.table.kept_by.get(name)) is None:
            return f"n.{name}"
        return f"CASE WHEN x.{other} = n.{other} THEN x.{name} ELSE n.{name} END"


class RecordStatements:
    """What is written down of every edit."""

    def __init__(self, dialect: SqlDialect) -> None:
        now = f"({dialect.now})"
        self.audit = statement(
            f"INSERT INTO audit (at, subject, role, author_tenant, address, request_id, {', '.join(AUDITED)})"
            f" SELECT {now}, :subject, :role, :author_tenant, :address, :request_id,"
            f" {', '.join(f'n.{name}' for name in AUDITED)} FROM {dialect.listed(*AUDITED)}"
        )
        self.announce = statement(
            f"INSERT INTO outbox ({', '.join(ANNOUNCED)}, at)"
            f" SELECT {', '.join(f'n.{name}' for name in ANNOUNCED)}, {now} FROM {dialect.listed(*ANNOUNCED)}"
        )
        self.named = statement(
            "SELECT c.camera_uuid, c.tenant_id, c.name FROM cameras AS c"
            f" JOIN {dialect.listed('tenant_id', 'name')} ON c.tenant_id = n.tenant_id AND c.name = n.name",
            returns="camera_uuid tenant_id name",
        )
        self.budget = statement(
            "INSERT INTO site_start_budget"
            " (site_id, tokens, capacity, refill_rate, reserve, reserve_size, updated_at)"
            f" SELECT n.site_id, n.capacity, n.capacity, n.refill_rate, 0, 0, {now} FROM {dialect.listed(*BUDGETED)}"
            " WHERE true"
            " ON CONFLICT (site_id) DO UPDATE SET capacity = excluded.capacity, refill_rate = excluded.refill_rate"
        )


def lock_rows(table: Table, dialect: SqlDialect) -> Statement:
    """Keeps rows that others need from being removed, and those that are removed from being needed."""
    names = dict.fromkeys((table.key, "tenant_id"))
    return statement(
        f"SELECT {', '.join(f'x.{name}' for name in names)} FROM {table.name} AS x"
        f" JOIN {dialect.listed(table.key)} ON x.{table.key} = n.{table.key}"
        f" ORDER BY x.{table.key} {dialect.locking('x')}",
        returns=" ".join(names),
    )


def _in_use(table: Table, dialect: SqlDialect) -> Statement:
    return statement(
        f"SELECT n.{table.key} FROM {dialect.listed(table.key)}"
        f" WHERE EXISTS (SELECT 1 FROM {table.children} AS y WHERE y.{table.key} = n.{table.key})",
        returns=table.key,
    )


def signed(author: Author) -> dict[str, Any]:
    """An author as parameters."""
    return {
        "subject": author.subject,
        "role": author.role,
        "author_tenant": author.tenant_id,
        "address": author.address,
        "request_id": author.request_id,
    }


def audited_row(note: Note) -> dict[str, Any]:
    """A note as its columns, but for its author."""
    return {
        "action": note.action,
        "tenant_id": note.tenant_id,
        "object_id": note.object_id,
        "before": None if note.before is None else _json(note.before),
        "after": None if note.after is None else _json(note.after),
    }


def noted(note: Note, dialect: SqlDialect) -> dict[str, Any]:
    """The parameters of one row of the audit."""
    row = audited_row(note)
    return {**dialect.pack(AUDITED, [[row[name] for name in AUDITED]]), **signed(note.author)}


def row_of(thing: Thing) -> dict[str, Any]:
    """A thing as its columns."""
    match thing:
        case Tenant():
            own: dict[str, Any] = {
                "tenant_id": thing.tenant_id,
                "tenant_key": thing.tenant_key,
                "name": thing.name,
            }
        case Site():
            own = _site_row(thing)
        case Camera():
            own = _camera_row(thing)
        case Runner():
            own = {
                "runner_id": thing.runner_id,
                "cordoned": thing.cordoned,
                "drain_mode": thing.drain,
                "capacity_streams": thing.capacity,
                "make": thing.make,
                "detector": thing.detector,
                "earlier_detector": thing.earlier_detector,
            }
        case Invitation() | Identity():
            own = {name: getattr(thing, name) for name in _columns(TABLES[type(thing)])}
    dated = {} if isinstance(thing, Runner) else {"updated_at": thing.updated_at}
    return {**own, **dated, "revision": thing.revision}


def _columns(table: Table) -> tuple[str, ...]:
    return (table.key, *table.fixed, *table.written)


def _site_row(site: Site) -> dict[str, Any]:
    return {
        "site_id": site.site_id,
        "tenant_id": site.tenant_id,
        "policy": site.policy,
        "address_policy": _json(site.addresses.described()),
        "tls_ca": site.tls_ca,
        "capacity": site.dials,
        "refill_rate": site.dials_per_minute,
    }


def _camera_row(camera: Camera) -> dict[str, Any]:
    return {
        "camera_uuid": camera.camera_id,
        "tenant_id": camera.tenant_id,
        "site_id": camera.site_id,
        "name": camera.name,
        "rtsp_url": camera.rtsp_url,
        "sealed_credential": camera.sealed,
        "credential_version": camera.credential_version,
        "enabled": camera.enabled,
        "do_not_process": camera.do_not_process,
        "detector": camera.detector,
        "max_fps": camera.max_fps,
        "decode": camera.decode,
        "detect_every_n_frames": camera.detect_every_n_frames,
        "zones": _json([zone.described() for zone in camera.zones]),
        "thresholds": _json(dict(camera.thresholds)),
        "labels": _json(dict(camera.labels)),
        "tls_fingerprint": camera.tls_fingerprint,
    }


def _json(value: dict[str, Any] | list[Any]) -> str:
    return msgspec.json.encode(value).decode()
