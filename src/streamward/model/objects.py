"""What is too large for the event bus lies in an object store: a folder of this host, or anything that speaks S3.

Guaranteed by every driver: what `put` returned from is there, whole, whatever is killed afterwards; nobody ever reads
half of it. Putting the same again changes nothing that anybody could notice. A key begins with its tenant, so what one
tenant's people may read can be granted by that alone.
Not guaranteed: how long an object is kept. That is configured in the store (a bucket's life cycle, a timer over the
folder); only the objects of a deleted tenant are deleted by us. A missing object is an answer, not an error.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import Protocol, Self

from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId, TenantId

MOST_STORED = 1024 * 1024  # of one event that is put there: a frame with ten thousand things in it

_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}", re.ASCII)
_KEY = re.compile(rf"({_NAME.pattern})/({_NAME.pattern})/(\d\d\d\d-\d\d-\d\d)/({_NAME.pattern})", re.ASCII)


class StoreAway(StreamwardError):
    """The store does not answer, lets nobody in, or is full; what was put may or may not have arrived."""

    def __init__(self, store: str, why: str) -> None:
        super().__init__(store, why)
        self.store = store  # a folder, or a bucket and its host; never a key or a password
        self.why = why

    def __str__(self) -> str:
        return f"the object store {self.store} cannot be used: {self.why}"


class StoreUnusable(StreamwardError):
    """A store that is described in a way that no driver understands."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"the object store cannot be opened: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectKey:
    """Where an object lies in any store: `<tenant>/<camera>/<day>/<name>`."""

    tenant_id: TenantId
    camera_id: CameraId
    day: date
    name: str

    def __post_init__(self) -> None:
        assert all(map(_NAME.fullmatch, (self.tenant_id, self.camera_id, self.name))), self

    @classmethod
    def of(cls, tenant_id: TenantId, camera_id: CameraId, *, day: date, name: str) -> Self:
        """A key for a name that others chose; one that is no file name everywhere is told by its digest."""
        safe = name if _NAME.fullmatch(name) else sha256(name.encode()).hexdigest()
        return cls(tenant_id=tenant_id, camera_id=camera_id, day=day, name=safe)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The key that a text is, if it is one exactly."""
        found = _KEY.fullmatch(text)
        if found is None:
            return None
        tenant_id, camera_id, day, name = found.groups()
        try:
            read = cls(
                tenant_id=TenantId(tenant_id), camera_id=CameraId(camera_id), day=date.fromisoformat(day), name=name
            )
        except ValueError:  # no such day
            return None
        return read

    def __str__(self) -> str:
        return f"{self.tenant_id}/{self.camera_id}/{self.day.isoformat()}/{self.name}"


class ObjectStore(Protocol):
    """Keeps what is too large."""

    async def put(self, key: ObjectKey, content: bytes) -> None:
        """Keeps an object, in the place of one that was there; raises StoreAway."""
        ...

    async def get(self, key: ObjectKey) -> bytes | None:
        """An object, or None if there is none; raises StoreAway."""
        ...

    async def names(self, tenant_id: TenantId, *, limit: int) -> list[str]:
        """The names of some objects of a tenant, and of what a killed process left of one; raises StoreAway."""
        ...

    async def delete(self, names: Sequence[str]) -> None:
        """Deletes objects by the names that `names` gave, or by their keys; raises StoreAway: some may be left."""
        ...

    def url(self, key: ObjectKey) -> str:
        """What others call that place; without a password."""
        ...
