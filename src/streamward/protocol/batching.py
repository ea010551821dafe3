"""What a tenant wants of batching."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from streamward.insight.rules import DAY, Rules, Wishes
from streamward.insight.urgency import Trigger
from streamward.protocol.fields import Message

MOST_TYPES = 100

Label = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]{1,200}$(?!\n)")]
Seconds = Annotated[float, msgspec.Meta(ge=1, le=DAY)]
Days = Annotated[float, msgspec.Meta(gt=0, le=36_500)]
Most = Annotated[int, msgspec.Meta(ge=1, le=10_000)]


class TriggerRule(Message, frozen=True):
    """Which detections something is done with at once: that sure, and one of these; none of them: it is off."""

    confidence: Annotated[float, msgspec.Meta(ge=0, le=1)]
    object_types: Annotated[list[Label], msgspec.Meta(max_length=MOST_TYPES)]


class ChangeBatching(Message, frozen=True):
    """Admin changes what a tenant wants; null: as the installation has it. Answered by BatchingDetails."""

    window_s: Seconds | UnsetType | None = UNSET
    idle_timeout_s: Seconds | UnsetType | None = UNSET
    max_detections: Most | UnsetType | None = UNSET
    fast_path: TriggerRule | UnsetType | None = UNSET
    alert: TriggerRule | UnsetType | None = UNSET
    kept_days: Days | UnsetType | None = UNSET


class BatchingDetails(Message, frozen=True):
    """Control plane: what holds for a tenant's batches; `own` names what is its own wish, not the installation's."""

    tenant_id: str
    window_s: float
    idle_timeout_s: float
    max_detections: int
    fast_path: TriggerRule | None
    alert: TriggerRule | None
    kept_days: float
    own: list[str]


def details(tenant_id: str, wishes: Wishes, rules: Rules) -> BatchingDetails:
    """What holds for a tenant, by its wishes and the installation's rules."""
    held = wishes.applied(rules)
    return BatchingDetails(
        tenant_id=tenant_id,
        window_s=held.limits.window,
        idle_timeout_s=held.limits.idle,
        max_detections=held.limits.most,
        fast_path=_told(held.triggers.analyse),
        alert=_told(held.triggers.alert),
        kept_days=held.detections_kept / DAY,
        own=[name for name, wish in told(wishes).items() if wish is not None],
    )


def changed(wishes: Wishes, message: ChangeBatching) -> Wishes:
    """The wishes with what a message says."""
    said = told(wishes) | {
        name: value for name in message.__struct_fields__ if (value := getattr(message, name)) is not UNSET
    }
    return Wishes(
        window=said["window_s"],
        idle=said["idle_timeout_s"],
        most=said["max_detections"],
        alert=_meant(said["alert"]),
        analyse=_meant(said["fast_path"]),
        detections_kept=None if said["kept_days"] is None else said["kept_days"] * DAY,
    )


def told(wishes: Wishes) -> dict[str, Any]:
    """Wishes by the names of the message, null where there is none."""
    return {
        "window_s": wishes.window,
        "idle_timeout_s": wishes.idle,
        "max_detections": wishes.most,
        "fast_path": _told(wishes.analyse),
        "alert": _told(wishes.alert),
        "kept_days": None if wishes.detections_kept is None else wishes.detections_kept / DAY,
    }


def _told(trigger: Trigger | None) -> TriggerRule | None:
    return None if trigger is None else TriggerRule(confidence=trigger.confidence, object_types=sorted(trigger.labels))


def _meant(rule: TriggerRule | None) -> Trigger | None:
    return None if rule is None else Trigger(confidence=rule.confidence, labels=frozenset(rule.object_types))
