"""A process's spool: what it made waits here, in files, until the bus has confirmed it."""

from streamward.runtime.spool.marks import Gap
from streamward.runtime.spool.spool import RecordTooLong, Spool, SpoolInUse, Waiting, abandoned, discard

__all__ = ["Gap", "RecordTooLong", "Spool", "SpoolInUse", "Waiting", "abandoned", "discard"]
