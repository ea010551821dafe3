"""The way to the bus for events of any size: what is too large is put into the object store, and a pointer published.

An event whose store is away is answered like one that the bus refuses: it stays in the spool and is tried again, ever
less often, while others pass. It is put again after a crash; the key is made from the event, so that changes nothing.
"""

import asyncio
from dataclasses import replace

from streamward.model.bus import Published, Publisher, Refused
from streamward.model.ids import CameraId, TenantId
from streamward.model.message import MOST_BYTES, Message
from streamward.model.objects import ObjectKey, ObjectStore, StoreAway
from streamward.protocol import codec
from streamward.protocol.events import DetectionEvent
from streamward.protocol.pointers import DATAREF, pointer, stored
from streamward.runtime import failpoints

STORED = failpoints.declare("objects.after-put")
_AT_ONCE = 4  # objects under way


class PointingPublisher:
    """A bus, and a store for what is too large for it."""

    def __init__(self, publisher: Publisher, store: ObjectStore) -> None:
        self._publisher = publisher
        self._store = store
        self._turn = asyncio.Semaphore(_AT_ONCE)

    async def publish(self, message: Message) -> Published | Refused:
        """Sends one message, or puts its body into the store and sends where it lies; raises BusAway."""
        if len(message.body) <= MOST_BYTES:
            return await self._publisher.publish(message)
        try:
            async with self._turn:
                pointing = await self._put(message)
        except StoreAway as away:
            return Refused(str(away))
        failpoints.reach(STORED)
        return await self._publisher.publish(pointing)

    async def close(self) -> None:
        """Closes the bus."""
        await self._publisher.close()

    async def _put(self, message: Message) -> Message:
        event = codec.decode(message.body, DetectionEvent)
        tenant_id, camera_id = TenantId(event.tenant_id), CameraId(event.camera_uuid)
        key = ObjectKey.of(tenant_id, camera_id, day=event.ts.date(), name=event.event_id)
        await self._store.put(key, message.body)
        place = stored(message.body, key=str(key), url=self._store.url(key))
        headers = {**message.headers, DATAREF: place.url}
        return replace(message, body=codec.encode(pointer(event, place)), headers=headers)
