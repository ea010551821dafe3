"""What is told of cameras whose runner was killed."""

from streamward.cli.runner_kill import Moved, NotHere, Takeover
from tests.support.builders import at
from tests.support.fleet_rows import a_row, streaming


def test_a_camera_has_moved_when_it_streams_under_a_later_generation():
    takeover = Takeover([streaming(1)], killed_at=at(1.5))
    assert not list(takeover.observe([streaming(1), streaming(9, camera="cam-2", version=7)]))
    assert not list(takeover.observe([a_row(owner="runner-b", version=2)]))
    (moved,) = takeover.observe([streaming(2.5, runner="runner-b", version=2)])
    assert moved == Moved(camera_uuid="cam-1", owner_id="runner-b", version=2, gap_s=1.0)
    assert str(moved) == "cam-1 streams at runner-b, generation 2, 1.0 s after the kill"
    assert not takeover.waiting


def test_it_is_told_once_and_no_gap_is_below_zero():
    takeover = Takeover([a_row()], killed_at=at(5))
    rows = [streaming(4.9, runner="runner-b", version=2)]
    assert [each.gap_s for each in takeover.observe(rows)] == [0.0]
    assert not list(takeover.observe(rows))


def test_a_runner_elsewhere_is_named_with_what_can_be_done(tmp_path):
    assert "`streamward runners drain runner-x hard`" in str(NotHere("runner-x", tmp_path))
