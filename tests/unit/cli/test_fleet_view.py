"""A fleet as lines: groups, what fits, and who took over from whom."""

from streamward.cli.fleet import By
from streamward.cli.fleet_view import listing, screen, told
from streamward.model.status import StreamState
from streamward.protocol.ownership import Ownership
from tests.support.builders import at
from tests.support.fleet_rows import a_row, a_stream, streaming


def test_cameras_are_grouped_by_runner_with_how_many_stream():
    failing = a_stream(state=StreamState.CONNECTING, error_code="TCP_REFUSED", fps=None)
    rows = [
        a_row("cam-1", stream=a_stream()),
        a_row("cam-2", stream=failing),
        a_row("cam-3", owner=None),
        a_row("cam-4", version=2, stream=a_stream()),
    ]
    assert listing(rows, by=By.RUNNER, now=at(1.5), width=None) == [
        "CAMERA  STATE                   FPS  FRAME      GENERATION  WHERE",
        "nobody: 0 of 1 stream",
        "cam-3   FREE                    –    –          1           yard",
        "runner-a: 1 of 3 stream",
        "cam-1   STREAMING               6.0  1.5 s ago  1           yard",
        "cam-2   CONNECTING TCP_REFUSED  –    1.5 s ago  1           yard",
        "cam-4   TAKEN                   –    –          2           yard",
    ]


def test_cameras_are_grouped_by_site_with_their_owners():
    shown = listing([a_row(stream=a_stream())], by=By.SITE, now=at(0), width=80)
    assert shown[1:] == [
        "yard: 1 of 1 stream",
        "cam-1   STREAMING  6.0  0.0 s ago  1           runner-a",
    ]


def test_cameras_and_groups_are_sorted_as_people_count():
    rows = [
        a_row(camera, owner=owner) for owner in ("runner-10", "runner-2") for camera in ("cam-10", "cam-9", "10", "9")
    ]
    shown = [line.split()[0] for line in listing(rows, by=By.RUNNER, now=at(0), width=None)[1:]]
    assert shown == ["runner-2:", "cam-9", "cam-10", "9", "10", "runner-10:", "cam-9", "cam-10", "9", "10"]


def test_a_takeover_is_told_with_its_gap_when_the_new_owner_streams():
    ownership = Ownership()
    assert not list(ownership.observe([streaming(1)]))
    assert not list(ownership.observe([streaming(2)]))
    assert not list(ownership.observe([a_row(owner="runner-b", version=2, stream=a_stream(2))]))
    (change,) = ownership.observe([streaming(4.5, runner="runner-b", version=2)])
    assert (change.before, change.after, change.generation, change.gap) == ("runner-a", "runner-b", 2, 2.5)
    assert told(change).endswith("cam-1  runner-a → runner-b, generation 2, gap ≤ 2.5 s")
    assert not list(ownership.observe([streaming(5.5, runner="runner-b", version=2)]))


def test_what_does_not_fit_a_screen_is_cut_with_a_word():
    ownership = Ownership()
    changes = [
        change for version in range(1, 20) for change in ownership.observe([streaming(version, version=version)])
    ]
    lines = screen("head", [f"line {place} {'x' * 100}" for place in range(100)], changes, size=(80, 24))
    assert len(lines) == 24
    assert max(map(len, lines)) <= 80
    assert lines[16].startswith("… 85 more lines")
    assert lines[-1] == told(changes[-1])


def test_a_small_fleet_is_shown_whole():
    assert screen("head", ["a", "b"], [], size=(80, 24)) == ["head", "a", "b", "", "nothing changed hands yet"]
