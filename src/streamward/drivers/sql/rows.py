"""Rows as the core's values."""

import json
from typing import Any

from sqlalchemy.engine import Row

from streamward.leases.dialing import Bucket
from streamward.leases.handover import Handover, HandoverStage
from streamward.leases.lease import Lease, Owner, SessionState
from streamward.model.address_policy import AddressPolicy, parse_network
from streamward.model.announcement import EXCHANGE, Announcement
from streamward.model.camera import Camera, LeasePolicyName, Site
from streamward.model.identity import Author, Identity, Invitation, Role
from streamward.model.ids import Incarnation, RunnerId
from streamward.model.register import AuditRow
from streamward.model.runner import DrainMode, Making, Runner
from streamward.model.source_url import NETWORK, SourceKind
from streamward.model.status import StreamState, StreamStatus, Substate
from streamward.model.tenant import Tenant, TenantDeletion
from streamward.model.video import DecodeMode
from streamward.model.zone import Zone


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
        ended_at=row.l_ended_at,
        made_until=row.l_made_until,
    )


def handover_of(row: Row[Any]) -> Handover | None:
    """None: there never was one."""
    if row.h_camera_uuid is None:
        return None
    return Handover(
        camera_id=row.h_camera_uuid,
        generation=row.h_generation,
        heir=Owner(RunnerId(row.h_runner_id), Incarnation(row.h_incarnation)),
        stage=HandoverStage(row.h_stage),
        until=row.h_until,
        deadline=row.h_deadline,
    )


def camera_of(row: Row[Any]) -> Camera:
    return Camera(
        camera_id=row.c_camera_uuid,
        tenant_id=row.c_tenant_id,
        site_id=row.c_site_id,
        name=row.c_name,
        rtsp_url=row.c_rtsp_url,
        sealed=row.c_sealed_credential,
        credential_version=row.c_credential_version,
        enabled=row.c_enabled,
        do_not_process=row.c_do_not_process,
        detector=row.c_detector,
        max_fps=None if row.c_max_fps is None else float(row.c_max_fps),
        decode=None if row.c_decode is None else DecodeMode(row.c_decode),
        detect_every_n_frames=row.c_detect_every_n_frames,
        zones=tuple(map(_zone, json.loads(row.c_zones))),
        thresholds=tuple(json.loads(row.c_thresholds).items()),
        labels=tuple(json.loads(row.c_labels).items()),
        tls_fingerprint=row.c_tls_fingerprint,
        updated_at=row.c_updated_at,
        revision=row.c_revision,
    )


def _zone(said: dict[str, Any]) -> Zone:
    corners = tuple((x, y) for x, y in said["points"])
    return Zone(name=said["name"], corners=corners, leaves_out=said["leaves_out"], dwell_s=said["dwell_s"])


def site_of(row: Row[Any]) -> Site:
    return Site(
        site_id=row.s_site_id,
        tenant_id=row.s_tenant_id,
        policy=policy_of(row.s_policy),
        addresses=_addresses(json.loads(row.s_address_policy)),
        tls_ca=row.s_tls_ca,
        dials=row.s_capacity,
        dials_per_minute=float(row.s_refill_rate),
        updated_at=row.s_updated_at,
        revision=row.s_revision,
    )


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
        make=row.r_make,
        detector=row.r_detector,
        earlier_detector=row.r_earlier_detector,
        making=Making(proven=row.r_proven_make, tried=row.r_tried_make, problem=row.r_make_problem),
        answer_delay=row.r_answer_delay_s,
        revision=row.r_revision,
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
        error_detail=row.u_error_detail,
        retry_at=row.u_retry_at,
        fps=row.u_fps,
        last_frame_ts=row.u_last_frame_ts,
        last_frame_age_s=row.u_last_frame_age_s,
        streamed_at=row.u_streamed_at,
        streamed_generation=row.u_streamed_generation,
    )


def policy_of(name: str | None) -> LeasePolicyName | None:
    """A site's policy, if it has one."""
    return None if name is None else LeasePolicyName(name)


def tenant_of(row: Row[Any]) -> Tenant:
    return Tenant(
        tenant_id=row.e_tenant_id,
        tenant_key=row.e_tenant_key,
        name=row.e_name,
        updated_at=row.e_updated_at,
        revision=row.e_revision,
    )


def tenant_deletion_of(row: Row[Any]) -> TenantDeletion:
    return TenantDeletion(
        tenant_key=row.y_tenant_key,
        tenant_id=row.y_tenant_id,
        requested_at=row.y_requested_at,
        tokens_after=row.y_tokens_after,
        rows_deleted_at=row.y_rows_deleted_at,
        payloads_deleted_at=row.y_payloads_deleted_at,
        finished_at=row.y_finished_at,
        removed=json.loads(row.y_removed),
    )


def invitation_of(row: Row[Any]) -> Invitation:
    return Invitation(
        invitation_id=row.v_invitation_id,
        code_hash=row.v_code_hash,
        subject=row.v_subject,
        role=Role(row.v_role),
        tenant_id=row.v_tenant_id,
        expires_at=row.v_expires_at,
        used_at=row.v_used_at,
        updated_at=row.v_updated_at,
        revision=row.v_revision,
    )


def identity_of(row: Row[Any]) -> Identity:
    return Identity(
        identity_id=row.i_identity_id,
        subject=row.i_subject,
        role=Role(row.i_role),
        tenant_id=row.i_tenant_id,
        public_key=row.i_public_key,
        revoked_at=row.i_revoked_at,
        updated_at=row.i_updated_at,
        revision=row.i_revision,
    )


def audit_row_of(row: Row[Any]) -> AuditRow:
    return AuditRow(
        position=row.a_position,
        at=row.a_at,
        author=Author(
            subject=row.a_subject,
            role=row.a_role,
            tenant_id=row.a_author_tenant,
            address=row.a_address,
            request_id=row.a_request_id,
        ),
        action=row.a_action,
        tenant_id=row.a_tenant_id,
        object_id=row.a_object_id,
        before=None if row.a_before is None else json.loads(row.a_before),
        after=None if row.a_after is None else json.loads(row.a_after),
    )


def announcement_of(row: Row[Any]) -> Announcement:
    return Announcement(
        position=row.o_position,
        event_id=row.o_event_id,
        exchange=EXCHANGE,
        routing_key=row.o_routing_key,
        body=row.o_body,
        at=row.o_at,
    )
