"""Objects in memory: the twin of the folder and of S3."""

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

    def url(self, key: ObjectKey) -> str:
        """Good for nobody else."""
        return f"memory:{key}"

    def _check(self) -> None:
        if self.is_away:
            raise StoreAway("memory", "it was told to be away")
