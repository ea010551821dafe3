"""Gives up looks that last too long, and ends a Worker that they make useless, so that another takes its place."""

from collections.abc import Callable

from streamward.model.errors import StreamwardError
from streamward.protocol.worker_link import WorkerExit
from streamward.runner import facts
from streamward.runtime.journal import Journal
from streamward.vision.patience import Hopeless, Look

EVERY = 0.2  # seconds

GiveUp = Callable[[], Hopeless | None]
End = Callable[[WorkerExit], None]  # in good order


class DetectorStuck(StreamwardError):
    """A detector that does not come back."""

    def __init__(self, look: Look) -> None:
        super().__init__(look)
        self.look = look

    def __str__(self) -> str:
        return f"the detector has not come back from a picture of {self.look.camera_id} for {self.look.lasts:.0f} s"


class Impatience:
    """A service runs its ticks."""

    def __init__(self, give_up: GiveUp, *, end: End, journal: Journal) -> None:
        self._give_up = give_up
        self._end = end
        self._journal = journal
        self._has_ended = False

    async def tick(self) -> float:
        """One look at the looks; the last word is said once."""
        hopeless = self._give_up()
        if hopeless is not None and not self._has_ended:
            self._has_ended = True
            self._journal.record(
                facts.DetectorGivenUp(
                    camera_id=hopeless.look.camera_id,
                    is_to_blame=hopeless.is_to_blame,
                    error=DetectorStuck(hopeless.look),
                )
            )
            self._end(WorkerExit.DETECTOR_STUCK if hopeless.is_to_blame else WorkerExit.DETECTOR_UNUSABLE)
        return EVERY
