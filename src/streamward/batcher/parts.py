"""What the services of one batcher share."""

from dataclasses import dataclass

from streamward.batcher.clock import DatabaseTime
from streamward.batcher.known_rules import KnownRules
from streamward.insight.database import Insight
from streamward.insight.rules import Rules
from streamward.insight.store import OpenBatches
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The database, the index, and how they are read."""

    insight: Insight
    index: OpenBatches
    rules: KnownRules
    time: DatabaseTime
    journal: Journal
    clock: Clock


def parts(insight: Insight, index: OpenBatches, *, otherwise: Rules, journal: Journal, clock: Clock) -> Parts:
    """With time and rules as the database has them; `otherwise` is for tenants of which it knows nothing."""
    return Parts(
        insight=insight,
        index=index,
        rules=KnownRules(insight.rules, otherwise=otherwise, clock=clock),
        time=DatabaseTime(insight.now, clock=clock),
        journal=journal,
        clock=clock,
    )
