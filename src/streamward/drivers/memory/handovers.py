"""Handovers in memory: `leases.handover` applied to a dictionary."""

from streamward.drivers.memory.leases import MemoryLeases
from streamward.leases import eligibility, handover
from streamward.leases.handover import HandoverAsk, HandoversTold, Offer
from streamward.model.runner import DrainMode, Runner


class MemoryHandovers(MemoryLeases):
    """The handover port on a `MemoryDatabase`, beside its leases."""

    async def hand_over(self, ask: HandoverAsk) -> HandoversTold:
        now, offers = self._db.now(), self._offers()
        runner = self._db.runners.get(ask.owner.runner_id)
        if runner is None or eligibility.refusal(runner, ask.owner):
            return HandoversTold()
        share = self._share(runner, free=len(offers), now=now) if offers and runner.takes_leases else 0
        for each in handover.plan(
            ask, offers, share=share, suits=lambda camera: eligibility.mismatch(runner, camera) is None, now=now
        ):
            self._db.handovers[each.camera_id] = each
        return handover.told(ask, self._offers(), now)

    def _offers(self) -> list[Offer]:
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
            and lease.ended_at is None
            and lease.camera_id in self._db.cameras
            and self._db.cameras[lease.camera_id].is_wanted
            and _hands_over(self._db.runners[lease.owner.runner_id])
            and self._db.runners[lease.owner.runner_id].incarnation == lease.owner.incarnation
        ]


def _hands_over(runner: Runner) -> bool:
    return runner.drain is DrainMode.SOFT
