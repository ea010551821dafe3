"""Objects in memory: the twin of the folder and of S3."""

from collections.abc import Sequence

from streamward.model.ids import TenantId
from streamward.model.objects import ObjectKey, StoreAway


class MemoryObjects:
    """Forgets everything with its process."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.is_away = False

    async def put(self, key: ObjectKey, content: bytes) -> None:
        """Keeps an object."""
        self._check()
        self.kept[str(key)] = bytes(content)

    async def get(self, key: ObjectKey) -> bytes | None:
        """An object."""
        self._check()
        return self.kept.get(str(key))

    async def names(self, tenant_id: TenantId, *, limit: int) -> list[str]:
        """Some objects of a tenant."""
        self._check()
        return [key for key in self.kept if key.startswith(f"{tenant_id}/")][:limit]

    async def delete(self, names: Sequence[str]) -> None:
        """Deletes objects."""
        self._check()
        for name in names:
            self.kept.pop(name, None)

    def url(self, key: ObjectKey) -> str:
        """Good for nobody else."""
        return f"memory:{key}"

    def _check(self) -> None:
        if self.is_away:
            raise StoreAway("memory", "it was told to be away")
