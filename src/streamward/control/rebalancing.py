"""The rebalance service: moves cameras so that runners hold equally many, when an operator asks or at intervals."""

from typing import Protocol

from streamward.leases.facts import MoveStarted
from streamward.leases.rebalance import MOST_AT_ONCE, Rebalance, RebalanceAsk
from streamward.leases.store import HandoverStore
from streamward.model.identity import SYSTEM, Author
from streamward.model.register import Note
from streamward.protocol.rebalancing import CameraMove, FleetRebalanced
from streamward.runtime.journal import Journal

ACTION = "fleet.rebalanced"
FLEET = "fleet"  # in the place of an object's id


class RebalanceStore(HandoverStore, Protocol):
    """Handovers, and the audit."""

    async def write_note(self, note: Note) -> None: ...


class RebalanceService:
    """Starts rounds; the handovers that it stores are carried out by the runners."""

    def __init__(self, store: RebalanceStore, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    async def rebalance(self, author: Author, *, dry_run: bool = False, most: int = MOST_AT_ONCE) -> FleetRebalanced:
        """One round: only cameras of the author's tenant move."""
        planned = await self._store.rebalance(RebalanceAsk(scope=author.tenant_id, most=most, dry_run=dry_run))
        moves = _told(planned)
        if moves and not dry_run:
            after = {each.camera_uuid: f"{each.from_runner} to {each.to_runner}" for each in moves}
            note = Note(author=author, action=ACTION, tenant_id=author.tenant_id, object_id=FLEET, after=after)
            await self._store.write_note(note)
            for move in planned.moves:
                self._journal.record(
                    MoveStarted(
                        camera_id=move.camera_id,
                        runner_id=move.owner.runner_id,
                        successor_id=move.successor.runner_id,
                        generation=move.generation,
                    )
                )
        return FleetRebalanced(moves=moves, left=planned.left, dry_run=dry_run)


class Rebalancer:
    """Rebalances at intervals, a few cameras at a time; a service runs its ticks.

    Every control plane does this. A round counts the moves that are under way, so that all of them together move no
    more at a time than one would.
    """

    def __init__(self, service: RebalanceService, *, every: float, most: int) -> None:
        self._service = service
        self._every = every
        self._most = most
        self._has_waited = False

    async def tick(self) -> float:
        """A round, but not at the start, when runners may still be registering."""
        if self._has_waited:
            await self._service.rebalance(SYSTEM, most=self._most)
        self._has_waited = True
        return self._every


def _told(planned: Rebalance) -> list[CameraMove]:
    return [
        CameraMove(
            camera_uuid=move.camera_id,
            tenant_id=move.tenant_id,
            version=move.generation,
            from_runner=move.owner.runner_id,
            to_runner=move.successor.runner_id,
        )
        for move in planned.moves
    ]
