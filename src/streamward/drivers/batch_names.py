"""Names for batches that nobody used before."""

import secrets
from collections.abc import Callable

from streamward.insight.batch import BatchId

Names = Callable[[], BatchId]  # asked once for each detection that is offered, whether a batch opens for it or not


def fresh() -> BatchId:
    """`batch-` and 32 hex digits by chance; the first eight of them are for people."""
    return BatchId(f"batch-{secrets.token_hex(16)}")
