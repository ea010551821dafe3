"""Sees to it that the parent can always give the leases back: asks for a release token, and hands it over."""

from collections.abc import Callable
from functools import partial

from streamward.leases.lease import Owner
from streamward.protocol.ticket import AskReleaseToken, ReleaseTicket, ReleaseTokenGiven
from streamward.runner.own_leases import Control
from streamward.runtime.clock import Clock
from streamward.runtime.hedging import WITHIN, hedged

RETRY_AFTER = 1.0
_RENEWED_AT = 0.5  # of its life


class TicketKeeper:
    """A service runs its ticks."""

    def __init__(
        self,
        owner: Owner,
        control: Control,
        *,
        clock: Clock,
        place: Callable[[ReleaseTokenGiven], ReleaseTicket],
        hand_over: Callable[[ReleaseTicket], None],
    ) -> None:
        self._owner = owner
        self._control = control
        self._clock = clock
        self._place = place
        self._hand_over = hand_over

    async def tick(self) -> float:
        """A fresh ticket, in good time."""
        message = AskReleaseToken(runner_id=self._owner.runner_id, incarnation=self._owner.incarnation)
        path = "/v1/runners/release-token"
        given = await hedged(partial(self._control.post, path, message, ReleaseTokenGiven, within=WITHIN))
        if not isinstance(given, ReleaseTokenGiven):
            return RETRY_AFTER
        self._hand_over(self._place(given))
        left = (given.expires_at - self._clock.wall()).total_seconds()
        return max(RETRY_AFTER, left * _RENEWED_AT)
