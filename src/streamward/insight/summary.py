"""The built-in analyst: it counts, and judges by rules that can be read here.

The risk is that of the worst kind of thing, less if no detector was sure of it, more for a long stay and for several at
once. What no rule knows is of little risk, not of none. Nothing is learnt, and the same batch is always judged alike.
"""

from dataclasses import dataclass

from streamward.insight.analysis import Analysis, Case, Presence, analysis, presences
from streamward.insight.batch import CloseReason

NAME = "summary"

WEIGHTS = {
    **dict.fromkeys(("fire", "smoke", "gun", "pistol", "rifle", "knife", "weapon"), 80),
    "person": 40,
    **dict.fromkeys(("car", "truck", "bus", "motorcycle", "bicycle", "boat", "vehicle"), 20),
    **dict.fromkeys(("dog", "cat", "bird", "horse", "bear", "animal"), 10),
}
OTHER = 5  # of what no rule knows
LONG_STAY = 60.0  # seconds
_FOR_STAYING = 15
_FOR_SEVERAL = 10
_FOR_URGENCY = 20


@dataclass(frozen=True, slots=True)
class Risk:
    """How much somebody should worry, and why."""

    score: int  # 0 to 100
    reasons: tuple[str, ...]


def summarise(case: Case) -> Analysis:
    """What can be said of a batch by counting."""
    found = presences(case.seen)
    risk = judge(found, reason=case.batch.reason)
    return analysis(case, analyst=NAME, summary=sentence(case, found), risk=risk.score, reasons=risk.reasons)


def judge(found: tuple[Presence, ...], *, reason: CloseReason) -> Risk:
    """The risk of a batch with these in it."""
    worst = max(found, key=_weight)
    score = _weight(worst)
    reasons = [f"{worst.label} seen with a confidence of {worst.confidence:.2f}"]
    if stayed := [each for each in found if each.dwell >= LONG_STAY]:
        score += _FOR_STAYING
        reasons += [f"{each.label} stayed for {each.dwell:.0f} s" for each in stayed]
    if several := [each for each in found if each.most_at_once > 1]:
        score += _FOR_SEVERAL
        reasons += [f"{each.most_at_once} × {each.label} at once" for each in several]
    if reason is CloseReason.FAST_PATH:
        score += _FOR_URGENCY
        reasons.append("the tenant calls it urgent")
    return Risk(min(100, round(score)), tuple(reasons))


def sentence(case: Case, found: tuple[Presence, ...]) -> str:
    """A batch in one sentence."""
    counts = ", ".join(map(_count, found))
    spanned = (max(each.last_seen for each in found) - min(each.first_seen for each in found)).total_seconds()
    zones = sorted({zone for each in found for zone in each.zones})
    where = f" in {', '.join(zones)}" if zones else ""
    return f"{counts} on {case.batch.camera_id}{where} within {spanned:.0f} s"


def _count(presence: Presence) -> str:
    """How many things, where that is known; else in how many places of how many frames."""
    if presence.tracks is None:
        return f"{presence.count} × {presence.label}"
    return f"{presence.tracks} × {presence.label} ({presence.count} detections)"


def _weight(presence: Presence) -> float:
    return WEIGHTS.get(presence.label.lower(), OTHER) * max(0.0, min(1.0, presence.confidence))
