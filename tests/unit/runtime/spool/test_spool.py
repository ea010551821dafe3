"""The spool: nothing appended is lost, everything that gives way is counted once, whatever is killed when."""

import os
import random
from pathlib import Path

import pytest

from streamward.runtime.spool import Gap, RecordTooLong, Spool, SpoolInUse, abandoned
from tests.support.spools import Account, die

ROOMY = 10 * 2**20


def payloads(waiting) -> list[bytes]:
    return [each.entry.payload for each in waiting]


def test_what_is_appended_is_handed_out_in_order_and_gone_when_confirmed(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=ROOMY)
    for number in range(200):
        spool.append(b"%d" % number)
    taken = spool.live(150) + spool.live(150)
    assert payloads(taken) == [b"%d" % number for number in range(200)]
    assert spool.live(10) == []
    for each in reversed(taken):
        assert not spool.is_empty
        spool.confirm(each)
    assert spool.is_empty
    spool.close()
    assert not (tmp_path / "spool").exists()


def test_a_process_that_died_leaves_what_was_not_confirmed(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=ROOMY)
    for number in range(100):
        spool.append(b"%d" % number)
    taken = spool.live(60)
    for each in taken[:30]:
        spool.confirm(each)
    die(spool)
    (heir,) = abandoned(tmp_path, most_bytes=ROOMY)
    assert payloads(heir.backlog(1000)) == [b"%d" % number for number in range(30, 100)]
    heir.close()


def test_a_spool_in_use_is_nobody_elses(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=ROOMY)
    with pytest.raises(SpoolInUse, match="another process uses the spool"):
        Spool(tmp_path / "spool", most_bytes=ROOMY)
    assert abandoned(tmp_path, most_bytes=ROOMY) == []
    assert abandoned(tmp_path / "nowhere", most_bytes=ROOMY) == []
    spool.close()


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_record_that_was_cut_short_is_dropped_and_the_rest_is_whole(tmp_path: Path, cut: int) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=ROOMY)
    for number in range(5):
        spool.append(b"%d is a record" % number)
    die(spool)
    (segment,) = (tmp_path / "spool").glob("0*")
    os.truncate(segment, segment.stat().st_size - cut)
    heir = Spool(tmp_path / "spool", most_bytes=ROOMY)
    assert payloads(heir.backlog(10)) == [b"%d is a record" % number for number in range(4)]
    heir.close()


def test_a_record_that_was_spoilt_ends_its_file(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=ROOMY)
    for number in range(5):
        spool.append(b"%d is a record" % number)
    spool.roll()
    die(spool)
    (segment,) = (tmp_path / "spool").glob("0*")
    segment.write_bytes(segment.read_bytes().replace(b"3 is", b"3 IS"))
    heir = Spool(tmp_path / "spool", most_bytes=ROOMY)
    assert payloads(heir.backlog(3)) == [b"%d is a record" % number for number in range(3)]
    (gap,) = heir.backlog(3)
    assert gap.entry == Gap(4, 6)
    heir.close()


def test_new_records_go_before_the_backlog_after_a_roll(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=ROOMY)
    for word in (b"old", b"older"):
        spool.append(word)
    spool.roll()
    spool.append(b"new")
    assert payloads(spool.live(10)) == [b"new"]
    assert payloads(spool.backlog(10)) == [b"old", b"older"]
    spool.close()


def test_what_was_live_when_its_segment_was_full_goes_before_the_backlog(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=ROOMY)
    spool.append(b"old")
    spool.roll()
    new = [b"%d" % number + b"x" * 100_000 for number in range(30)]
    for payload in new:
        spool.append(payload)
    assert len(list((tmp_path / "spool").iterdir())) > 4
    assert spool.unread_live == len(new)
    waiting = [*spool.live(7), *spool.live(100)]
    assert payloads(waiting) == new
    assert (spool.unread_live, spool.live(1)) == (0, [])
    waiting += spool.backlog(100)
    assert payloads(waiting[-1:]) == [b"old"]
    for each in waiting:
        spool.confirm(each)
    assert spool.is_empty
    spool.close()


def test_a_full_spool_drops_its_oldest_and_says_how_many(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=1_000_000)
    for number in range(5000):
        spool.append(b"%6d" % number + b"x" * 1000)
    assert sum(path.stat().st_size for path in (tmp_path / "spool").iterdir()) <= 1_000_000
    assert len(list((tmp_path / "spool").iterdir())) < 20
    spool.roll()
    told = spool.backlog(10_000)
    assert told[0].entry == Gap(1, spool.lost + 1)
    assert [int(each[:6]) for each in payloads(told[1:])] == list(range(spool.lost, 5000))
    for each in told:
        spool.confirm(each)
    spool.close()
    assert not (tmp_path / "spool").exists()


def test_what_was_handed_out_is_never_dropped(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=1_000_000)
    for number in range(100):
        spool.append(b"%6d" % number + b"x" * 1000)
    handed = spool.live(50)
    for number in range(100, 5000):
        spool.append(b"%6d" % number + b"x" * 1000)
    die(spool)
    heir = Spool(tmp_path / "spool", most_bytes=1_000_000)
    told = heir.backlog(10_000)
    assert {each.entry for each in handed} <= {each.entry for each in told}
    gaps = [each.entry for each in told if isinstance(each.entry, Gap)]
    records = len(told) - len(gaps)
    assert records + sum(gap.count for gap in gaps) == 5000
    heir.close()


def test_a_gap_that_may_have_been_told_is_told_again_as_it_was(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=1_000_000)
    for _ in range(2000):
        spool.append(b"x" * 1000)
    (told, *_) = spool.backlog(1)
    die(spool)
    heir = Spool(tmp_path / "spool", most_bytes=1_000_000)
    for _ in range(2000):
        heir.append(b"x" * 1000)
    again = heir.backlog(5)
    assert again[0].entry == told.entry
    heir.close()


def test_a_record_that_is_too_long_is_refused(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=ROOMY)
    with pytest.raises(RecordTooLong, match="too long"):
        spool.append(b"x" * 5_000_000)
    spool.append(b"x" * 1_000_000)
    assert payloads(spool.live(1)) == [b"x" * 1_000_000]
    spool.close()


def test_only_its_owner_can_read_a_spool(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", most_bytes=ROOMY, is_synced=True)
    spool.append(b"a secret")
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "spool").iterdir()} == {0o600}
    spool.close()


@pytest.mark.parametrize("seed", range(8))
def test_every_record_arrives_or_is_counted_once_whatever_dies_when(tmp_path: Path, seed: int) -> None:
    account = Account(tmp_path / "spool", random.Random(seed), most_bytes=400_000)
    for _ in range(700):
        account.step()
        assert account.size <= 400_000
    account.finish()
    assert len(account.arrived) + sum(account.lost.values()) == account.appended
    assert account.deaths
