"""Whether a service did its work when it last tried: what `/ready` asks."""

from streamward.runtime.service import Ticks


class Watched:
    """Ticks, and how the last one went."""

    def __init__(self, body: Ticks) -> None:
        self.is_well = False
        self._body = body

    async def tick(self) -> float:
        """One tick of what is watched."""
        try:
            rest = await self._body.tick()
        except BaseException:
            self.is_well = False
            raise
        self.is_well = True
        return rest
