"""What dead Workers left: whoever lives takes it, whenever they died."""

from dataclasses import dataclass, field
from pathlib import Path

from streamward.runner.heir import Heir
from streamward.runtime.spool import Spool

MOST = 10 * 2**20


@dataclass
class Estate:
    """What was taken."""

    spools: list[Spool] = field(default_factory=list)

    def adopt(self, spool: Spool) -> None:
        self.spools.append(spool)


def a_spool(folder: Path) -> Spool:
    spool = Spool(folder, most_bytes=MOST)
    spool.append(b"seen")
    return spool


async def test_what_is_left_by_one_who_dies_later_is_taken_too(tmp_path: Path):
    estate = Estate()
    heir = Heir(tmp_path, estate, most_bytes=MOST)
    a_spool(tmp_path / "shard-0.a").close()
    living = a_spool(tmp_path / "shard-1.b")
    for _ in range(2):
        await heir.tick()
        assert [each.folder.name for each in estate.spools] == ["shard-0.a"]
    living.close()
    await heir.tick()
    assert [each.folder.name for each in estate.spools] == ["shard-0.a", "shard-1.b"]
    for each in estate.spools:
        assert not each.is_empty
        each.close()
