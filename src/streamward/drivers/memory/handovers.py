"""Handovers in memory: `leases.handover` and `leases.rebalance` applied to a dictionary."""

from datetime import datetime

from streamward.drivers.memory.leases import MemoryLeases
from streamward.leases import eligibility, handover, rebalance
from streamward.leases.handover import HandoverAsk, HandoversTold, Offer
from streamward.leases.rebalance import Rebalance, RebalanceAsk
from streamward.model.runner import DrainMode, Runner


class MemoryHandovers(MemoryLeases):
    """The handover port on a `MemoryDatabase`, beside its leases."""

    async def hand_over(self, ask: HandoverAsk) -> HandoversTold:
        now = self._db.now()
        offers = self._offers(now)
        runner = self._db.runners.get(ask.owner.runner_id)
        if runner is None or eligibility.refusal(runner, ask.owner):
            return HandoversTold()
        share = self._share(runner, free=len(offers), now=now) if offers and runner.takes_leases else 0
        for each in handover.plan(
            ask, offers, share=share, suits=lambda camera: eligibility.mismatch(runner, camera) is None, now=now
        ):
            self._db.handovers[each.camera_id] = each
        return handover.told(ask, self._offers(now), now)

    async def rebalance(self, ask: RebalanceAsk) -> Rebalance:
        now = self._db.now()
        planned = rebalance.plan(self._db.runners.values(), self._held(), ask, now=now)
        for move in () if ask.dry_run else planned.moves:
            self._db.handovers[move.camera_id] = rebalance.handover_of(move, now)
        return planned

    def _offers(self, now: datetime) -> list[Offer]:
        """What is handed over: cameras of runners that drain softly, and those that move to balance."""
        return [
            offer
            for offer in self._held()
            if offer.camera.is_wanted
            and self._db.leases[offer.camera.camera_id].ended_at is None
            and (_hands_over(self._db.runners[offer.owner.runner_id]) or _moves(offer, now))
        ]

    def _held(self) -> list[Offer]:
        """What takes a slot at a runner's present incarnation."""
        return [
            Offer(
                camera=self._db.cameras[lease.camera_id],
                generation=lease.generation,
                owner=lease.owner,
                handover=self._db.handovers.get(lease.camera_id),
            )
            for lease in self._db.leases.values()
            if lease.owner is not None
            and lease.takes_slot
            and lease.camera_id in self._db.cameras
            and self._db.runners[lease.owner.runner_id].incarnation == lease.owner.incarnation
        ]


def _hands_over(runner: Runner) -> bool:
    return runner.drain is DrainMode.SOFT


def _moves(offer: Offer, now: datetime) -> bool:
    standing = offer.standing(now)
    return standing is not None and standing.deadline is not None
