"""Tables as people see them."""

from datetime import UTC, datetime, timedelta

import pytest

from streamward.cli.output import ago, cell, counted, cut, fit, table

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
LONG = "c" * 64


def test_columns_are_aligned() -> None:
    told = table(("CAMERA", "ENABLED"), [("a", True), ("harbour-1", False)], width=100)
    assert told == "CAMERA     ENABLED\na          yes\nharbour-1  no"


def test_a_table_fits_its_width_and_cuts_the_widest_cell() -> None:
    rows = [(LONG, "site", "rtsp://camera.example/" + "x" * 200)]
    told = table(("CAMERA", "SITE", "SOURCE"), rows, width=100)
    assert max(map(len, told.splitlines())) == 100
    assert LONG in told
    assert told.endswith("…")


def test_the_first_column_is_cut_last() -> None:
    assert fit([64, 64, 64], 100) == [64, 16, 16]
    assert fit([64, 64, 64], 60) == [40, 8, 8]
    assert fit([64, 64, 64], 10) == [8, 8, 8]
    assert fit([64], 20) == [20]


def test_nothing_is_cut_where_nobody_looks() -> None:
    assert fit([64, 640], None) == [64, 640]


def test_a_cut_text_says_so() -> None:
    assert (cut("harbour", 7), cut("harbour", 6)) == ("harbour", "harbo…")


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "–"),
        ("", "–"),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (2.5, "2.5"),
        (120.0, "120"),
        ([], "–"),
        (["a", "b"], "a, b"),
        ("a\x1b[31m\nb", "a?[31m?b"),
        (NOW, NOW.astimezone().strftime("%Y-%m-%d %H:%M:%S")),
    ],
)
def test_a_value_is_told_for_people(value: object, told: str) -> None:
    assert cell(value) == told


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(-3, "0 s ago"), (4, "4 s ago"), (119, "119 s ago"), (120, "2 min ago"), (7200, "2 h ago"), (864_000, "10 d ago")],
)
def test_the_past_is_told_in_one_unit(seconds: int, told: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == told


def test_counting_changes_nothing() -> None:
    assert list(counted(range(3), "cameras")) == [0, 1, 2]
