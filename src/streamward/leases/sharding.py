"""Which of a runner's cameras share a Worker process.

    gone cameras leave ─→ shards over the target give up their smallest sites ─→ newcomers join, site by site

A newcomer joins a shard that has its site already; else the fullest shard of its tenant that has room for all of its
site's newcomers; else a shard of its own. A shard's cameras are of one tenant: the decoder is the attack surface.

Guaranteed: the same cameras and the same previous plan give the same plan, in whatever order they are told; each camera
is in exactly one shard; no shard is above the target. A camera moves only if its shard is too large for the target, and
no more of them than that takes: one camera more or less moves nobody. A plan made from nothing has, for a tenant with n
cameras, one shard or fewer than 2·n / target. A shard keeps its id while it lives, and an id is not used again in the
plan that ends it, for its old Worker may still be draining.
When many cameras have left, `packed` dissolves shards that fit into another with a quarter to spare, one at a time: so
a camera that comes and goes moves nobody to and fro.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId, ShardId, SiteId, TenantId

DEFAULT_TARGET = 12  # S0-076
PACKED_TO = 0.75  # of the target, at most, where a shard takes the cameras of another


class TargetTooSmall(StreamwardError):
    """Shards that could hold no camera."""

    def __init__(self, target: int) -> None:
        super().__init__(target)
        self.target = target

    def __str__(self) -> str:
        return f"a shard needs room for one camera at least, not {self.target}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedCamera:
    """A camera that the runner holds, and what the planner needs to know of it."""

    camera_id: CameraId
    tenant_id: TenantId
    site_id: SiteId


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """The cameras of one Worker, in the order of their ids."""

    shard_id: ShardId
    tenant_id: TenantId
    cameras: tuple[CameraId, ...]
    make: int = 0  # of its Worker: which program and which settings (`leases/rollout.py`)


def assign(
    cameras: Iterable[OwnedCamera],
    previous: Iterable[Shard],
    *,
    target: int = DEFAULT_TARGET,
    taken: Iterable[ShardId] = (),
    make: int = 0,
) -> list[Shard]:
    """The shards to run now, as close to the previous ones as the target allows; new ones are of that make."""
    if target < 1:
        raise TargetTooSmall(target)
    before = sorted(previous, key=_rank)
    homeless = {camera.camera_id: camera for camera in cameras}
    drafts = [_kept(shard, homeless, target) for shard in before]
    ids = fresh_ids({*taken, *(shard.shard_id for shard in before)})
    plan = _Plan(target, [draft for draft in drafts if draft.cameras], ids=ids, make=make)
    for newcomers in _by_site(homeless.values()):
        plan.join(newcomers)
    return sorted(map(_finished, plan.drafts), key=_rank)


def packed(shards: Sequence[Shard], *, target: int = DEFAULT_TARGET) -> list[Shard]:
    """The same with one shard less, if the smallest that fits into another of its tenant and make does."""
    most = int(PACKED_TO * target)
    for small in sorted(shards, key=lambda shard: (len(shard.cameras), _rank(shard))):
        fitting = [
            shard
            for shard in shards
            if shard is not small
            and (shard.tenant_id, shard.make) == (small.tenant_id, small.make)
            and len(shard.cameras) + len(small.cameras) <= most
        ]
        if fitting:
            fullest = max(fitting, key=lambda shard: len(shard.cameras))
            grown = replace(fullest, cameras=tuple(sorted(fullest.cameras + small.cameras)))
            return [grown if shard is fullest else shard for shard in shards if shard is not small]
    return list(shards)


def fresh_ids(taken: Collection[ShardId]) -> Iterator[ShardId]:
    """Names for new shards, the lowest first."""
    return (ShardId(name) for number in count() if (name := f"shard-{number}") not in taken)


@dataclass(slots=True)
class _Draft:
    """A shard while it is planned."""

    shard_id: ShardId
    tenant_id: TenantId
    cameras: list[OwnedCamera]
    make: int

    def count(self, site_id: SiteId) -> int:
        return sum(camera.site_id == site_id for camera in self.cameras)


class _Plan:
    """The shards so far, and the ids that are taken."""

    def __init__(self, target: int, drafts: list[_Draft], *, ids: Iterator[ShardId], make: int) -> None:
        self.drafts = drafts
        self._target = target
        self._ids = ids
        self._make = make

    def join(self, newcomers: list[OwnedCamera]) -> None:
        """Gives cameras of one site their shards."""
        rest = newcomers
        for draft in self._with_site(newcomers[0]):
            room = self._room(draft)
            draft.cameras += rest[:room]
            rest = rest[room:]
        for start in range(0, len(rest), self._target):
            self._place(rest[start : start + self._target])

    def _place(self, together: list[OwnedCamera]) -> None:
        fitting = [draft for draft in self._of(together[0].tenant_id) if self._room(draft) >= len(together)]
        if fitting:
            fullest = min(fitting, key=self._room)
            fullest.cameras += together
        else:
            self.drafts.append(_Draft(next(self._ids), together[0].tenant_id, together, self._make))

    def _with_site(self, camera: OwnedCamera) -> list[_Draft]:
        """The shards that know this camera's site, those with most of it first."""
        knowing = [draft for draft in self._of(camera.tenant_id) if draft.count(camera.site_id)]
        return sorted(knowing, key=lambda draft: -draft.count(camera.site_id))

    def _of(self, tenant_id: TenantId) -> Iterator[_Draft]:
        return (draft for draft in self.drafts if draft.tenant_id == tenant_id)

    def _room(self, draft: _Draft) -> int:
        return self._target - len(draft.cameras)


def _kept(shard: Shard, homeless: dict[CameraId, OwnedCamera], target: int) -> _Draft:
    """Those of a shard's cameras that stay in it; takes them from the homeless."""
    known = [homeless[camera_id] for camera_id in sorted(set(shard.cameras)) if camera_id in homeless]
    fitting = [camera for camera in known if camera.tenant_id == shard.tenant_id]
    sizes = Counter(camera.site_id for camera in fitting)
    fitting.sort(key=lambda camera: (-sizes[camera.site_id], camera.site_id, camera.camera_id))
    for camera in fitting[:target]:
        del homeless[camera.camera_id]
    return _Draft(shard.shard_id, shard.tenant_id, fitting[:target], shard.make)


def _by_site(cameras: Iterable[OwnedCamera]) -> list[list[OwnedCamera]]:
    """The cameras of each site of each tenant, large sites first: small ones then fill what is left."""
    groups: dict[tuple[TenantId, SiteId], list[OwnedCamera]] = {}
    for camera in sorted(cameras, key=lambda camera: camera.camera_id):
        groups.setdefault((camera.tenant_id, camera.site_id), []).append(camera)
    return [groups[key] for key in sorted(groups, key=lambda key: (key[0], -len(groups[key]), key[1]))]


def _finished(draft: _Draft) -> Shard:
    cameras = tuple(sorted(camera.camera_id for camera in draft.cameras))
    return Shard(shard_id=draft.shard_id, tenant_id=draft.tenant_id, cameras=cameras, make=draft.make)


def _rank(shard: Shard) -> tuple[int, ShardId]:
    return len(shard.shard_id), shard.shard_id  # shard-2 before shard-10
