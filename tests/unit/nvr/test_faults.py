"""Faults as values, and the board on which they are set."""

import msgspec
import pytest

from streamward.nvr.faults import Board, Fault, Frozen, Loss, Mute, PlacedFault, Reboot, Refuse, Step, kind_of


def test_a_camera_s_own_fault_goes_before_the_recorder_s():
    board = Board()
    board.set(PlacedFault(Loss(share=0.1)))
    board.set(PlacedFault(Loss(share=0.5), "a"))
    shares = [(found := board.find(Loss, camera)) and found.share for camera in ("a", "b", None)]
    assert shares == [0.5, 0.1, 0.1]


def test_the_last_of_a_kind_counts():
    board = Board()
    board.set(PlacedFault(Mute(after=Step.SETUP), "a"))
    board.set(PlacedFault(Mute(after=Step.PLAY), "a"))
    assert board.find(Mute, "a") == Mute(after=Step.PLAY)


@pytest.mark.parametrize(
    ("camera", "kind", "left"),
    [(None, None, 0), ("a", None, 1), (None, "frozen", 1), ("a", "loss", 2), ("b", None, 3)],
)
def test_faults_are_taken_away_by_camera_by_kind_or_all(camera, kind, left):
    board = Board()
    for placed in (PlacedFault(Frozen()), PlacedFault(Frozen(), "a"), PlacedFault(Loss(), "a")):
        board.set(placed)
    gone = board.clear(camera, kind)
    assert len(board.placed()) == left
    assert len(gone) == 3 - left


def test_who_refuses_is_away_and_nobody_else():
    board = Board()
    board.set(PlacedFault(Refuse(), "a"))
    assert [board.is_away(camera, 0.0) for camera in ("a", "b", None)] == [True, False, False]


@pytest.mark.parametrize(
    ("reboot", "down"),
    [
        (Reboot(down_for=2), [0, 1]),
        (Reboot(down_for=2, up_for=1), [0, 1, 3, 4, 6]),
        (Reboot(down_for=0, up_for=0), []),
    ],
)
def test_a_reboot_is_down_for_its_time(reboot, down):
    board = Board()
    board.set(PlacedFault(reboot, None, 10.0))
    assert [second for second in range(7) if board.is_rebooting("a", 10.0 + second)] == down


def test_every_fault_is_told_by_its_kind():
    for kind in Fault.__args__:
        fields = {"most": 1, "to": "rtsp://x/y", "fps": 5, "after": "play"}
        needed = {field.name: fields[field.name] for field in msgspec.structs.fields(kind) if field.required}
        fault = kind(**needed)
        sent = msgspec.json.encode(fault)
        assert msgspec.json.decode(sent)["kind"] == kind_of(fault)
        assert msgspec.json.decode(sent, type=Fault) == msgspec.convert(msgspec.to_builtins(fault), Fault)
