"""For consumers of Streamward's events: what every one of them has to do right."""

from streamward.model.errors import StreamwardError
from streamward.model.message import Message
from streamward.model.objects import ObjectKey, ObjectStore
from streamward.model.topic import Topic
from streamward.protocol import codec
from streamward.protocol.pointers import DATAREF, DetectionPointer, is_whole


class PayloadUnusable(StreamwardError):
    """A message points at something that is gone, is not what was put there, or is not its own."""

    def __init__(self, message_id: str, why: str) -> None:
        super().__init__(message_id, why)
        self.message_id = message_id
        self.why = why

    def __str__(self) -> str:
        return f"what the message {self.message_id[:100]} points at cannot be used: {self.why}"


async def payload(message: Message, store: ObjectStore) -> bytes:
    """A message's body, fetched from the object store if the message only says where it lies.

    A pointer leads nowhere but to the tenant and camera of the message's own routing key. Raises PayloadUnusable, and
    StoreAway.
    """
    if DATAREF not in message.headers:
        return message.body
    place = _pointer(message).object
    content = await store.get(payload_key(message))
    if content is None:
        raise PayloadUnusable(message.message_id, "it is gone")
    if not is_whole(place, content):
        raise PayloadUnusable(message.message_id, "it is not what was put there")
    return content


def payload_key(message: Message) -> ObjectKey:
    """Where the body of a message is that only says so; raises PayloadUnusable."""
    key, topic = ObjectKey.read(_pointer(message).object.key), Topic.read(message.routing_key)
    if key is None or (key.tenant_id, key.camera_id) != (topic.tenant, topic.camera):
        raise PayloadUnusable(message.message_id, "it is not of the camera that the message is about")
    return key


def _pointer(message: Message) -> DetectionPointer:
    try:
        return codec.decode(message.body, DetectionPointer)
    except codec.MalformedMessage as error:
        raise PayloadUnusable(message.message_id, f"the pointer cannot be read: {error}") from error
