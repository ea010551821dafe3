"""Sealed batches that this batcher has to close: whoever seals one puts it here, and the closer takes it from here."""

from collections.abc import Callable, Iterable

from streamward.insight.batch import BatchId, Sealed


class InHand:
    """What is to be closed, each once, in the order in which it was sealed."""

    def __init__(self, *, ring: Callable[[], None] = lambda: None) -> None:
        self.ring = ring  # told when there is something
        self._batches: dict[BatchId, Sealed] = {}

    def put(self, sealed: Iterable[Sealed]) -> None:
        """Takes over what is over."""
        before = len(self._batches)
        for batch in sealed:
            self._batches.setdefault(batch.batch_id, batch)
        if len(self._batches) > before:
            self.ring()

    def every(self) -> list[Sealed]:
        """All that is to be closed; it stays here until it is dropped."""
        return list(self._batches.values())

    def drop(self, closed: Iterable[Sealed]) -> None:
        """They are written down."""
        for batch in closed:
            self._batches.pop(batch.batch_id, None)

    def __len__(self) -> int:
        return len(self._batches)
