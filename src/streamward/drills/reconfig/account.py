"""What a reconfiguration drill comes to: figures, and what each is held against."""

from dataclasses import dataclass, field
from enum import StrEnum

from streamward.drills.figures import Objective, Spread, spread, within

AFTER_TOKEN = 3.0  # seconds


class Order(StrEnum):
    """What an operator does to a camera."""

    ADD = "add"
    RENAME = "rename"  # a label: nothing that concerns its stream
    ADDRESS = "address"
    CREDENTIAL = "credential"
    DISABLE = "disable"
    ENABLE = "enable"
    REMOVE = "remove"


NEW = frozenset({Order.ADD, Order.ENABLE})  # somebody acquires it, and asks for a token to dial with
ENDS = frozenset({Order.DISABLE, Order.REMOVE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Others:
    """What cameras that nobody meant went through meanwhile."""

    lost: int  # pictures
    dials: int  # connections that the recorder counted
    begun: int  # cameras that were taken up anew
    moved: int  # that changed hands


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One order, and what it came to; seconds, None: it did not."""

    number: int
    order: Order
    camera: str
    done_after: float | None  # it streams, or its session is over
    after_token: float | None  # it streams, since its new owner might dial
    dials: int  # its own connections
    others: Others


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A drill in figures."""

    cameras: int
    runners: int
    database: str
    bus: str
    seconds: float
    load: tuple[float, float]  # of the machine, over a minute, at the start and at the end
    unread: int
    steps: list[Step]
    objectives: list[Objective] = field(default_factory=list)

    def spreads(self) -> dict[str, Spread]:
        """How long each kind of order took."""
        return {
            order: spread([
                each.done_after for each in self.steps if each.order is order and each.done_after is not None
            ])
            for order in Order
            if order is not Order.RENAME
        }


def judge(account: Account) -> list[Objective]:
    """Everything that is wanted, and whether it was so."""
    steps = account.steps
    done = sum(each.done_after is not None for each in steps)
    renamed = sum(each.dials for each in steps if each.order is Order.RENAME)
    return [
        *_of_others(steps),
        Objective("connections of a renamed camera", str(renamed), "0", renamed == 0),
        Objective("orders that were done", f"{done} of {len(steps)}", "all", done == len(steps) > 0),
        _after_token(steps),
    ]


def _of_others(steps: list[Step]) -> list[Objective]:
    counted = {
        "pictures lost by other cameras": sum(each.others.lost for each in steps),
        "connections of other cameras": sum(each.others.dials for each in steps),
        "other cameras begun anew or moved": sum(each.others.begun + each.others.moved for each in steps),
    }
    return [Objective(name, str(count), "0", count == 0) for name, count in counted.items()]


def _after_token(steps: list[Step]) -> Objective:
    dialed = [each.after_token for each in steps if each.order in NEW]
    told = [each for each in dialed if each is not None]
    measured, goal, is_met = within(max(told, default=0.0), AFTER_TOKEN)
    name = f"streams after its token ({len(told)} of {len(dialed)}), longest"
    return Objective(name, measured, goal, is_met and len(told) == len(dialed))
