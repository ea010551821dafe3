"""Which cameras to move so that runners hold equally many, as far as tenant, site and capacity allow.

    runners and what each holds ─plan→ moves ─handover_of→ handovers of single cameras (`leases/handover.py`)

A move is a handover with a deadline whose owner does not drain: the successor watches the camera without output, the
owner releases it when the successor has frames. If the successor reports nothing, cannot connect, or has no frames
before the deadline, the handover ends and the owner keeps the camera.

Guaranteed: every move goes from a runner to one that has at least two cameras less, counting what is under way, so
that each lowers the sum of the squares of these numbers and rounds cannot oscillate; a round that is cut off after any
move leaves a fleet that is nearer to balance, and the next round plans the rest; a fleet in balance gets no move. No
camera moves that has a handover under way, had one refused or a move begun in the last minute, that is not wanted, or
whose owner is drained or not heard. No successor gets more than its capacity, also if nothing that it gives away has
left it yet.

Not guaranteed: the best spread that is possible where runners serve different sites or tenants. A chain of moves, each
between runners that differ by one camera, is not looked for.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from streamward.leases import eligibility
from streamward.leases.handover import LASTS, MOVED_WITHIN, Handover, HandoverStage, Offer
from streamward.leases.lease import Owner
from streamward.leases.placement import ASKS_WITHIN
from streamward.model.camera import Camera
from streamward.model.ids import CameraId, Generation, RunnerId, SiteId, TenantId
from streamward.model.runner import DrainMode, Runner

MOST_AT_ONCE = 20  # cameras that a round moves, with those that are under way: each is decoded twice meanwhile
LEAST_DIFFERENCE = 2  # cameras by which owner and successor differ before a move


@dataclass(frozen=True, slots=True, kw_only=True)
class RebalanceAsk:
    """A round of rebalancing."""

    scope: TenantId | None = None  # only this tenant's cameras move; None: all
    most: int = MOST_AT_ONCE
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A camera that goes from one runner to another."""

    camera_id: CameraId
    tenant_id: TenantId
    generation: Generation  # of the present owner
    owner: Owner
    successor: Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalance:
    """A planned round."""

    moves: tuple[Move, ...] = ()
    left: int = 0  # moves that are needed besides, for later rounds
    under_way: int = 0  # of earlier rounds
    before: Mapping[RunnerId, int] = field(default_factory=dict)  # cameras of each runner now
    after: Mapping[RunnerId, int] = field(default_factory=dict)  # when these moves, and those under way, are done


def plan(runners: Iterable[Runner], held: Iterable[Offer], ask: RebalanceAsk, *, now: datetime) -> Rebalance:
    """The moves of a round, most needed first; `held` is every lease that takes a slot at its runner."""
    fleet = _Fleet(runners, held, ask, now=now)
    most, moves, left = max(0, ask.most - fleet.under_way), list[Move](), 0
    after = dict(fleet.load)
    while (move := fleet.next_move()) is not None:
        fleet.apply(move)
        if len(moves) < most:
            moves.append(move)
            after = dict(fleet.load)
        else:
            left += 1
    return Rebalance(moves=tuple(moves), left=left, under_way=fleet.under_way, before=fleet.held, after=after)


def handover_of(move: Move, now: datetime) -> Handover:
    """The handover that carries a move out."""
    return Handover(
        camera_id=move.camera_id,
        generation=move.generation,
        heir=move.successor,
        stage=HandoverStage.AWAITED,
        until=now + LASTS[HandoverStage.AWAITED],
        deadline=now + timedelta(seconds=MOVED_WITHIN),
    )


_Group = tuple[TenantId, SiteId]  # cameras that the same runners may hold


class _Fleet:
    """How many cameras each runner has while moves are planned."""

    def __init__(self, runners: Iterable[Runner], held: Iterable[Offer], ask: RebalanceAsk, *, now: datetime) -> None:
        by_owner = {Owner(each.runner_id, each.incarnation): each for each in runners if each.incarnation is not None}
        self._by_id = {runner.runner_id: runner for runner in by_owner.values() if _is_heard(runner, now)}
        self._owners = {runner.runner_id: owner for owner, runner in by_owner.items()}
        self.held: dict[RunnerId, int] = dict.fromkeys(sorted(self._by_id), 0)
        self.load = dict(self.held)  # counting what is under way
        self._incoming: Counter[RunnerId] = Counter()
        self._movable: dict[RunnerId, dict[_Group, list[Offer]]] = {runner_id: {} for runner_id in self.held}
        self.under_way = 0
        for offer in sorted(held, key=lambda each: each.camera.camera_id, reverse=True):
            runner = by_owner.get(offer.owner)
            if runner is not None and runner.runner_id in self.held:
                self._count(runner, offer, ask.scope, now)

    def _count(self, runner: Runner, offer: Offer, scope: TenantId | None, now: datetime) -> None:
        self.held[runner.runner_id] += 1
        self.load[runner.runner_id] += 1
        handover, camera = offer.standing(now), offer.camera
        if handover is not None:
            if handover.stage is not HandoverStage.REFUSED:
                self._count_under_way(runner.runner_id, handover)
        elif runner.drain is DrainMode.NONE and _may_leave(offer, scope, now):
            group = camera.tenant_id, camera.site_id
            self._movable[runner.runner_id].setdefault(group, []).append(offer)

    def _count_under_way(self, runner_id: RunnerId, handover: Handover) -> None:
        self.under_way += handover.deadline is not None
        if handover.heir.runner_id in self.load:
            self.load[runner_id] -= 1
            self.load[handover.heir.runner_id] += 1
            self._incoming[handover.heir.runner_id] += 1

    def next_move(self) -> Move | None:
        """One from the runner that has most to the one that has fewest, of those pairs that can have a move."""
        by_load = sorted(self.load, key=lambda each: (self.load[each], each))
        pairs = ((runner_id, successor_id) for runner_id in reversed(by_load) for successor_id in by_load)
        for runner_id, successor_id in pairs:
            if self.load[runner_id] - self.load[successor_id] >= LEAST_DIFFERENCE:
                offer = self._candidate(runner_id, self._by_id[successor_id])
                if offer is not None:
                    return _move(offer, self._owners[successor_id])
        return None

    def apply(self, move: Move) -> None:
        """Counts a move as done; the camera does not move again in this round."""
        source, target = move.owner.runner_id, move.successor.runner_id
        self.load[source] -= 1
        self.load[target] += 1
        self._incoming[target] += 1
        for offers in self._movable[source].values():
            offers[:] = [each for each in offers if each.camera.camera_id != move.camera_id]

    def _candidate(self, runner_id: RunnerId, successor: Runner) -> Offer | None:
        """The first camera of a runner that another may take now."""
        slots_used = self.held[successor.runner_id] + self._incoming[successor.runner_id]
        if eligibility.unfit(successor, slots_used=slots_used) or successor.answer_delay is not None:
            return None
        groups: Sequence[list[Offer]] = list(self._movable[runner_id].values())
        fitting = [offers[-1] for offers in groups if offers and _fits(successor, offers[-1].camera)]
        return min(fitting, key=lambda each: each.camera.camera_id, default=None)


def _fits(successor: Runner, camera: Camera) -> bool:
    return eligibility.mismatch(successor, camera) is None


def _may_leave(offer: Offer, scope: TenantId | None, now: datetime) -> bool:
    camera = offer.camera
    return camera.is_wanted and scope in (None, camera.tenant_id) and not offer.settles(now)


def _is_heard(runner: Runner, now: datetime) -> bool:
    """Whether it takes part: a runner whose heartbeats are missing neither asks for cameras nor gives any away."""
    return abs((now - runner.last_seen_at).total_seconds()) <= ASKS_WITHIN


def _move(offer: Offer, successor: Owner) -> Move:
    return Move(
        camera_id=offer.camera.camera_id,
        tenant_id=offer.camera.tenant_id,
        generation=offer.generation,
        owner=offer.owner,
        successor=successor,
    )
