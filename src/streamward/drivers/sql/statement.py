"""Statements as text, with types by name: a column or parameter of one name means the same everywhere."""

import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Double,
    Integer,
    Text,
    TextClause,
    TextualSelect,
    bindparam,
    column,
    text,
)
from sqlalchemy.types import TypeEngine

from streamward.drivers.sql.instant import Instant

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")

_NAMES: Mapping[TypeEngine[Any], str] = {
    Text(): (
        "camera_uuid tenant_id site_id runner_id incarnation shard_id rtsp_url state substate policy site_policy "
        "drain_mode error_code error_detail after scope sealed_credential old new address_policy subject once_key "
        "digest object_id name detector labels role author_tenant address request_id action before event_id "
        "routing_key body invitation_id code_hash identity_id public_key login record earlier_detector "
        "make_problem batch_id label detection_ids reason kind wishes box decode stage zones thresholds type zone "
        "key_id tenant_key removed tls_fingerprint tls_ca"
    ),
    Boolean(): (
        "enabled do_not_process wanted cordoned is_served is_dialed is_live is_held is_late may_wait is_told is_left "
        "is_granted"
    ),
    BigInteger(): (
        "generation streamed_generation revision position detection_id seq before_number track_id zone_event_id size"
    ),
    Integer(): (
        "capacity capacity_streams reserve_size limit held free asked caller place in_flight leased orphaned "
        "unowned free_slots runners wanted_cameras waiting credential_version make proven_make tried_make idx stamp "
        "detect_every_n_frames count"
    ),
    Double(): (
        "ttl soft_for steady_for tokens refill_rate reserve fps last_frame_age_s max_fps confidence kept stayed_s "
        "answer_delay_s"
    ),
    Instant(): (
        "now updated_at granted_at expires_at not_before free_since last_seen_at ts last_frame_ts streamed_at retry_at "
        "made_until earliest latest seen_at made_at at since used_at revoked_at stored_at stored_before started_at "
        "closed_at until happened_at pipeline_start_time ended_at stamped_at echo floor requested_at tokens_after "
        "rows_deleted_at payloads_deleted_at finished_at deadline"
    ),
}
Statement = TextClause | TextualSelect
IN_SCOPE = "(CAST(:scope AS text) IS NULL OR {}.tenant_id = :scope)"
_LISTS = ("n", "m")  # the aliases of lists that go with a statement
TYPES: dict[str, TypeEngine[Any]] = {name: kind for kind, names in _NAMES.items() for name in names.split()}


class Shape:
    """The columns of one table that make one value; in a result each is marked with the table's alias."""

    def __init__(self, alias: str, names: str) -> None:
        self.alias = alias
        self.names = tuple(names.split())

    @property
    def columns(self) -> str:
        """The columns as a result list."""
        return ", ".join(f"{self.alias}.{name} AS {self.alias}_{name}" for name in self.names)

    @property
    def types(self) -> dict[str, TypeEngine[Any]]:
        return {f"{self.alias}_{name}": TYPES[name] for name in self.names}


LEASE = Shape(
    "l",
    "camera_uuid generation runner_id incarnation state ttl soft_for granted_at expires_at not_before ended_at"
    " made_until updated_at",
)
CAMERA = Shape(
    "c",
    "camera_uuid tenant_id site_id name rtsp_url sealed_credential credential_version enabled do_not_process detector "
    "max_fps decode detect_every_n_frames zones thresholds labels tls_fingerprint updated_at revision",
)
SITE = Shape("s", "site_id tenant_id policy address_policy tls_ca capacity refill_rate updated_at revision")
RUNNER = Shape(
    "r",
    "runner_id incarnation tenant_id site_id policy capacity_streams cordoned drain_mode last_seen_at "
    "make detector earlier_detector proven_make tried_make make_problem answer_delay_s revision",
)
STATUS = Shape(
    "u",
    "camera_uuid runner_id state ts generation shard_id substate error_code error_detail retry_at fps last_frame_ts "
    "last_frame_age_s streamed_at streamed_generation",
)
TENANT = Shape("e", "tenant_id tenant_key name updated_at revision")
TENANT_DELETION = Shape(
    "y",
    "tenant_key tenant_id requested_at tokens_after rows_deleted_at payloads_deleted_at finished_at removed",
)
INVITATION = Shape("v", "invitation_id code_hash subject role tenant_id expires_at used_at updated_at revision")
IDENTITY = Shape("i", "identity_id subject role tenant_id public_key revoked_at updated_at revision")
AUDIT = Shape("a", "position at subject role author_tenant address request_id action tenant_id object_id before after")
ANNOUNCEMENT = Shape("o", "position event_id routing_key body at")
DETECTION = Shape(
    "d",
    "detection_id event_id idx tenant_id site_id camera_uuid generation made_at stored_at is_late label confidence "
    "box track_id zones batch_id stamped_at",
)
ZONE_EVENT = Shape(
    "z",
    "zone_event_id event_id idx tenant_id site_id camera_uuid generation made_at stored_at is_late type zone track_id "
    "label stayed_s stamped_at",
)
BATCH = Shape(
    "b", "position batch_id tenant_id camera_uuid detection_ids started_at pipeline_start_time closed_at reason"
)
BROADCAST = Shape("b", "seq tenant_id kind body at")
ANALYSIS = Shape("a", "position body at")
HANDOVER = Shape("h", "camera_uuid generation runner_id incarnation stage until deadline")
BUCKET = Shape("b", "capacity refill_rate tokens reserve reserve_size updated_at")


def statement(sql: str, *shapes: Shape, returns: str = "") -> Statement:
    """A statement with every parameter typed, and its result too: first the single columns, then the shapes.

    The order must be the statement's own: columns matched by place are worked out once, by name in every call.
    """
    typed = text(sql).bindparams(*(bindparam(name, type_=_parameter(name)) for name in set(_PARAMETER.findall(sql))))
    types = {name: TYPES[name] for name in returns.split()}
    for shape in shapes:
        types |= shape.types
    return typed.columns(*(column(name, kind) for name, kind in types.items())) if types else typed


def _parameter(name: str) -> TypeEngine[Any]:
    """A column of a list (`n_…`, `m_…`) is an array; a whole list (SQLite) is a text."""
    alias, _, listed = name.partition("_")
    if alias not in _LISTS:
        return TYPES[name]
    return Text() if listed == "list" else ARRAY(TYPES[listed])
