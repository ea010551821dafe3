"""The numbers of batching: the installation's, and what a tenant wants otherwise."""

from dataclasses import dataclass, field, replace
from typing import Any

from streamward.insight.batch import Limits
from streamward.insight.urgency import Trigger, Triggers

DAY = 86_400.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What holds for the batches of one tenant."""

    limits: Limits = field(default_factory=Limits)
    triggers: Triggers = field(default_factory=Triggers)
    detections_kept: float = 30 * DAY  # seconds; and their batches and analyses


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What one tenant wants otherwise; None: as the installation has it. A trigger without labels is off."""

    window: float | None = None
    idle: float | None = None
    most: int | None = None
    alert: Trigger | None = None
    analyse: Trigger | None = None
    detections_kept: float | None = None

    def applied(self, rules: Rules) -> Rules:
        """The installation's rules with these."""
        limits = {"window": self.window, "idle": self.idle, "most": self.most}
        triggers = {"alert": self.alert, "analyse": self.analyse}
        return Rules(
            limits=replace(rules.limits, **_said(limits)),
            triggers=replace(rules.triggers, **_said(triggers)),
            detections_kept=rules.detections_kept if self.detections_kept is None else self.detections_kept,
        )


def _said(wishes: dict[str, Any]) -> dict[str, Any]:
    return {name: wish for name, wish in wishes.items() if wish is not None}
