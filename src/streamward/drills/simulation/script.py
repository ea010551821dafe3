"""Which faults happen when: drawn from the seed alone.

Each run switches on a random part of the kinds of fault, so that rare combinations get long stretches of their own.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

BETWEEN_STEPS = 3.0  # seconds: every control plane looks at the database's clock in between (`leases.clock_guard`)


class Fault(StrEnum):
    """What can go wrong, or be done in the middle."""

    PAUSE = "pause"
    SUSPEND = "suspend"
    CUT_UP = "cut-up"
    CUT_DOWN = "cut-down"
    CUT_BOTH = "cut-both"
    LOSS = "loss"
    DELAY = "delay"
    REPEATS = "repeats"
    KILL = "kill"
    TWIN = "twin"  # a second process with the same runner id
    LEAVE = "leave"
    CONTROL_RESTART = "control-restart"
    CONTROL_FREEZE = "control-freeze"
    DATABASE_STEP = "database-step"
    RUNNER_STEP = "runner-step"
    CORDON = "cordon"
    DRAIN_SOFT = "drain-soft"
    DRAIN_HARD = "drain-hard"
    CAMERA_OFF = "camera-off"
    CAMERA_DELETED = "camera-deleted"
    CAMERA_RECREATED = "camera-recreated"  # deleted, and at once created again, perhaps for another tenant
    PLAIN_RELEASE = "plain-release"  # an owner releases as a client of plain S0 does: without its last moment
    SLOW_ANSWERS = "slow-answers"  # of one runner
    SLOW_LINK = "slow-link"  # of one runner, both ways
    REBALANCE = "rebalance"  # an operator's; drawn from a generator of its own, see `draw`


REBALANCES_FROM = 5_000_000  # the first seed with rebalances: those before keep the traces for which they were recorded
_DRAWN: tuple[Fault, ...] = tuple(fault for fault in Fault if fault is not Fault.REBALANCE)


@dataclass(frozen=True, slots=True)
class Event:
    """One fault: when, which, on whom, how long, how much."""

    at: float
    fault: Fault
    target: int  # the world takes it modulo what it has
    lasts: float
    amount: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A run, before it runs."""

    runners: int
    cameras: int
    controls: int
    capacity: int  # of each runner
    stubborn: int | None  # the runner that goes on past its deadlines
    events: tuple[Event, ...]
    heals_at: float
    has_rebalances: bool = False


def draw(rng: random.Random, *, rebalances: random.Random | None = None, heals_at: float = 600.0) -> Script:
    """A script for one seed; without a generator for them there are no rebalances."""
    runners = rng.randint(3, 5)
    cameras = rng.randint(1, 20)
    kinds = [fault for fault in _DRAWN if rng.random() < 0.45] or [Fault.PAUSE]
    script = Script(
        runners=runners,
        cameras=cameras,
        controls=rng.choice((1, 1, 2)),
        stubborn=_stubborn(rng, runners, kinds),
        capacity=rng.choice((math.ceil(cameras / runners), cameras, cameras, max(1, cameras // runners))),
        events=tuple(_events(rng, kinds, until=heals_at - 1.0)),
        heals_at=heals_at,
    )
    if rebalances is None:
        return script
    asked = _rebalances(rebalances, until=heals_at - 1.0)
    events = tuple(sorted((*script.events, *asked), key=lambda event: event.at))
    return replace(script, events=events, has_rebalances=True)


def _rebalances(rng: random.Random, *, until: float) -> Iterator[Event]:
    at, every = 5.0, rng.choice((10.0, 30.0, 60.0))
    while (at := at + rng.expovariate(1 / every)) < until:
        yield Event(at, Fault.REBALANCE, target=0, lasts=0.0, amount=0.0)


def _events(rng: random.Random, kinds: list[Fault], *, until: float) -> Iterator[Event]:
    at, stepped_at = 5.0, 0.0
    every = rng.choice((4.0, 8.0, 16.0))
    while (at := at + rng.expovariate(1 / every)) < until:
        fault = rng.choice(kinds)
        event = Event(at, fault, target=rng.randrange(1000), lasts=_log_uniform(rng, 0.1, 60.0), amount=_step(rng))
        if fault is Fault.DATABASE_STEP:
            if at - stepped_at < BETWEEN_STEPS:
                continue
            stepped_at = at
        yield event


def _stubborn(rng: random.Random, runners: int, kinds: list[Fault]) -> int | None:
    """Not beside steps of the database's clock: who goes on past a lease has nothing else to date its records by."""
    if rng.random() < 0.3 and Fault.DATABASE_STEP not in kinds:
        return rng.randrange(runners)
    return None


def _log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def _step(rng: random.Random) -> float:
    """How far a clock is set: from what counts as no step up to an hour, either way."""
    return rng.choice((-1, 1)) * rng.choice((3600.0, _log_uniform(rng, 0.05, 3.0), _log_uniform(rng, 1.5, 3600.0)))
