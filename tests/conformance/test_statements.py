"""What a control plane asks its database is counted, on whichever way it goes."""

from itertools import pairwise

from streamward.leases.store import Renewal
from tests.support.builders import an_owner
from tests.support.fleet import named, take, with_cameras, with_runners
from tests.support.stores import World

OWNER = an_owner("runner-1")


async def test_every_call_counts_as_many_statements_as_it_sends(world: World) -> None:
    await with_cameras(world.store)
    await with_runners(world.store, OWNER)
    await take(world.store, OWNER)
    counts = [world.store.statements]
    for _ in range(2):
        await world.store.renew(Renewal(owner=OWNER, leases=(named(),)))
        counts.append(world.store.statements)
        await world.store.runners()
        counts.append(world.store.statements)
    renewed, listed, *again = [after - before for before, after in pairwise(counts)]
    assert [renewed, listed] == again
    assert (renewed, listed) in {(0, 0), (1, 1), (2, 1)}  # memory, PostgreSQL, SQLite
