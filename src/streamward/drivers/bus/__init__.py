"""The embedded event bus: one SQLite file that the processes of one machine share, and no server.

    publish ─writer thread→ [BEGIN · a row for each queue that wants it · COMMIT] ─→ confirmed
    take    ─writer thread→ [BEGIN · rows get this consumer as owner · COMMIT]    ─→ delivered
    ack     ─writer thread→ [BEGIN · rows are deleted · COMMIT]                   ─→ gone

Guaranteed beyond the port: a confirm is a commit that was synced to disk, so what is confirmed survives kill −9 of
every process and a power cut. Everything that one process asks for while a commit is under way goes together into the
next one. The file and its companions are readable by their owner only and shrink again after a backlog.

Not guaranteed: anything over a network file system. A consumer that stands still keeps what it has in hand until it
goes on or dies. One that dies holds nothing: each consumer has a lock of the operating system, which goes with it. A
process that is stopped in the middle of a commit stops everybody's: publishers are told that the bus is away until it
goes on or dies, and their spools take over.
`is_persistent` changes nothing here: everything is kept.
"""

from streamward.drivers.bus.embedded import EmbeddedBus

__all__ = ["EmbeddedBus"]
