"""What cannot wait for its batch.

Two questions are kept apart: whether somebody is told now, and whether it is analysed now. Both are off until a tenant
says how sure a detector must be, and of what. What the fence calls late is never urgent.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """When a detection is urgent: that sure, and one of these, compared without case (S2-30)."""

    confidence: float
    labels: frozenset[str]  # as they were set
    _folded: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_folded", frozenset(map(str.casefold, self.labels)))

    def fires(self, label: str, confidence: float) -> bool:
        return confidence >= self.confidence and label.casefold() in self._folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Urgency:
    """What is done at once with one detection."""

    alert: bool = False
    analyse: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """What a tenant calls urgent; None: nothing."""

    alert: Trigger | None = None
    analyse: Trigger | None = None

    def judge(self, label: str, confidence: float, *, is_late: bool) -> Urgency:
        if is_late:
            return Urgency()
        return Urgency(
            alert=self.alert is not None and self.alert.fires(label, confidence),
            analyse=self.analyse is not None and self.analyse.fires(label, confidence),
        )
