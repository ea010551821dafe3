"""Rows as the core's values."""

import json
from typing import Any

from sqlalchemy.engine import Row

from streamward.leases.dialing import Bucket
from streamward.leases.lease import Lease, Owner, SessionState
from streamward.model.address_policy import AddressPolicy, parse_network
from streamward.model.camera import Camera, LeasePolicyName, Site
from streamward.model.ids import Incarnation, RunnerId
from streamward.model.runner import DrainMode, Runner
from streamward.model.source_url import NETWORK, SourceKind
from streamward.model.status import StreamState, StreamStatus, Substate


def lease_of(row: Row[Any]) -> Lease:
    return Lease(
        camera_id=row.l_camera_uuid,
        generation=row.l_generation,
        owner=None if row.l_runner_id is None else Owner(RunnerId(row.l_runner_id), Incarnation(row.l_incarnation)),
        state=SessionState(row.l_state),
        ttl=float(row.l_ttl),  # SQLite returns a whole number as an integer
        soft_for=float(row.l_soft_for),
        granted_at=row.l_granted_at,
        expires_at=row.l_expires_at,
        not_before=row.l_not_before,
    )


def camera_of(row: Row[Any]) -> Camera:
    return Camera(
        camera_id=row.c_camera_uuid,
        tenant_id=row.c_tenant_id,
        site_id=row.c_site_id,
        rtsp_url=row.c_rtsp_url,
        sealed=row.c_sealed_credential,
        credential_version=row.c_credential_version,
        enabled=row.c_enabled,
        do_not_process=row.c_do_not_process,
        updated_at=row.c_updated_at,
        revision=row.c_revision,
    )


def site_of(row: Row[Any]) -> Site:
    return Site(
        site_id=row.s_site_id,
        tenant_id=row.s_tenant_id,
        policy=policy_of(row.s_policy),
        addresses=_addresses(json.loads(row.s_address_policy)),
        revision=row.s_revision,
    )


def addresses_text(addresses: AddressPolicy) -> str:
    """An address policy as it is kept; what is not said is left out."""
    said: dict[str, list[str]] = {
        "allow": [str(network) for network in addresses.allow],
        "deny": [str(network) for network in addresses.deny],
        "kinds": sorted(addresses.kinds - NETWORK),
    }
    return json.dumps({name: words for name, words in said.items() if words})


def _addresses(said: dict[str, list[str]]) -> AddressPolicy:
    return AddressPolicy(
        allow=tuple(map(parse_network, said.get("allow", []))),
        deny=tuple(map(parse_network, said.get("deny", []))),
        kinds=NETWORK | {SourceKind(kind) for kind in said.get("kinds", [])},
    )


def runner_of(row: Row[Any]) -> Runner:
    return Runner(
        runner_id=row.r_runner_id,
        incarnation=row.r_incarnation,
        tenant_id=row.r_tenant_id,
        site_id=row.r_site_id,
        policy=LeasePolicyName(row.r_policy),
        capacity=row.r_capacity_streams,
        cordoned=row.r_cordoned,
        drain=DrainMode(row.r_drain_mode),
        last_seen_at=row.r_last_seen_at,
    )


def bucket_of(row: Row[Any]) -> Bucket:
    return Bucket(
        capacity=row.b_capacity,
        per_minute=row.b_refill_rate,
        tokens=row.b_tokens,
        reserve=row.b_reserve,
        reserve_size=row.b_reserve_size,
        updated_at=row.b_updated_at,
    )


def status_of(row: Row[Any]) -> StreamStatus:
    return StreamStatus(
        camera_id=row.u_camera_uuid,
        runner_id=row.u_runner_id,
        state=StreamState(row.u_state),
        ts=row.u_ts,
        generation=row.u_generation,
        shard_id=row.u_shard_id,
        substate=None if row.u_substate is None else Substate(row.u_substate),
        error_code=row.u_error_code,
        fps=row.u_fps,
        last_frame_ts=row.u_last_frame_ts,
        last_frame_age_s=row.u_last_frame_age_s,
        streamed_at=row.u_streamed_at,
        streamed_generation=row.u_streamed_generation,
    )


def policy_of(name: str | None) -> LeasePolicyName | None:
    """A site's policy, if it has one."""
    return None if name is None else LeasePolicyName(name)
