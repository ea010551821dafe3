"""The numbers of batching, per tenant."""

from dataclasses import dataclass, field

from streamward.insight.batch import Limits
from streamward.insight.urgency import Triggers

DAY = 86_400.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What holds for the batches of one tenant."""

    limits: Limits = field(default_factory=Limits)
    triggers: Triggers = field(default_factory=Triggers)
    detections_kept: float = 30 * DAY  # seconds; and their batches and analyses
