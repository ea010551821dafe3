"""Where things count in a camera's picture and how sure to be of them, through the HTTP application."""

from typing import Any

import pytest

from streamward.protocol.seeing import MOST_THRESHOLDS, MOST_ZONES
from tests.support.app import ControlUnderTest

PATH = "/v1/cameras/t-01-new"
TRIANGLE = [[0, 0.5], [0.25, 0.5], [0.25, 1]]
DOOR: dict[str, Any] = {"name": "door", "points": TRIANGLE, "leaves_out": True, "dwell_s": None}
YARD: dict[str, Any] = {"name": "yard", "points": [[0, 0], [1, 0], [1, 1], [0, 1]], "leaves_out": False, "dwell_s": 30}
SEEING: dict[str, Any] = {
    "zones": [DOOR, YARD],
    "thresholds": {"person": 0.5, "*": 0.25},
    "detect_every_n_frames": 3,
}
NOTHING: dict[str, Any] = {"zones": [], "thresholds": {}, "detect_every_n_frames": None}


@pytest.fixture
async def control() -> ControlUnderTest:
    """With a camera that says all three."""
    control = await ControlUnderTest().with_cameras(site="site-a")
    assert (await create(control, **SEEING)).status_code == 201
    return control


async def create(control: ControlUnderTest, *, camera: str = "t-01-new", **fields: Any) -> Any:
    body = {"site_id": "site-a", "camera_uuid": camera, "rtsp_url": "rtsp://192.0.2.7/live"}
    return await control.operator().post("/v1/cameras", body | fields)


async def change(control: ControlUnderTest, **fields: Any) -> Any:
    return await control.operator(tenant="t-01").patch(PATH, fields, if_match="*")


async def seeing(control: ControlUnderTest) -> dict[str, Any]:
    told = (await control.operator().get(PATH)).json()
    return {name: told[name] for name in SEEING}


async def test_a_camera_says_where_things_count_how_sure_to_be_and_how_often(control: ControlUnderTest) -> None:
    assert await seeing(control) == SEEING
    assert list((await seeing(control))["thresholds"]) == ["*", "person"]


async def test_a_camera_that_says_nothing_counts_everything(control: ControlUnderTest) -> None:
    told = (await create(control, camera="t-01-bare")).json()
    assert {name: told[name] for name in SEEING} == NOTHING


@pytest.mark.parametrize(
    "fields", [{"zones": [YARD]}, {"thresholds": {"dog": 1}}, {"detect_every_n_frames": 1000}, {"enabled": False}]
)
async def test_what_is_not_named_stays(control: ControlUnderTest, fields: dict[str, Any]) -> None:
    assert (await change(control, **fields)).status_code == 200
    assert await seeing(control) == SEEING | {name: value for name, value in fields.items() if name in SEEING}


async def test_all_of_it_can_be_taken_away(control: ControlUnderTest) -> None:
    assert (await change(control, **NOTHING)).status_code == 200
    assert await seeing(control) == NOTHING


async def test_the_runner_that_holds_it_is_told(control: ControlUnderTest) -> None:
    asked = {"runner_id": "r1", "camera_uuid": "t-01-new", "ttl_seconds": 10, "incarnation": "inc-1"}
    source = (await control.runner().post("/v1/leases/camera/acquire", asked)).json()["source"]
    assert {name: source[name] for name in SEEING} == SEEING


async def test_the_audit_tells_what_it_was_and_is(control: ControlUnderTest) -> None:
    await change(control, zones=[], thresholds={"dog": 0.75})
    [newest, *_] = (await control.operator().get("/v1/audit", object_id="t-01-new")).json()["items"]
    assert {name: newest["before"][name] for name in SEEING} == SEEING
    assert {name: newest["after"][name] for name in SEEING} == SEEING | {"zones": [], "thresholds": {"dog": 0.75}}


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"zones": [DOOR | {"points": TRIANGLE[:2]}]}, "a polygon has 3 to 64 points, and the zone door 2"),
        ({"zones": [DOOR | {"points": [*TRIANGLE, [0.5, 1.5]]}]}, "the zone door has a point at 0.5, 1.5, outside"),
        ({"zones": [DOOR | {"points": [[0, 0, 0]] * 3}]}, "points"),
        ({"zones": [DOOR, YARD, DOOR]}, "two zones have the name door"),
        ({"zones": [DOOR | {"name": "a door"}]}, "letters, digits"),
        ({"zones": [DOOR | {"dwell_s": 0}]}, "dwell_s"),
        ({"zones": [DOOR | {"dwell_s": 86_401}]}, "dwell_s"),
        ({"zones": [YARD | {"name": f"zone-{number}"} for number in range(MOST_ZONES + 1)]}, "length <= 32"),
        ({"zones": [DOOR | {"dwell_s": 30}]}, "the zone door leaves out: nobody is told of who stays in it"),
        ({"zones": [DOOR | {"points": [[0, 0], [0.5, 0.5], [1, 1]]}]}, "the points of the zone door lie on one line"),
        ({"zones": None}, "zones"),
        ({"thresholds": {"person": 1.01}}, "the threshold of person is 1.01, and must be from 0 to 1"),
        ({"thresholds": {"": 0.5}}, "a label has 1 to 64 characters"),
        ({"thresholds": {"per\nson": 0.5}}, "unlike 'per\\nson'"),
        ({"thresholds": {f"thing {number}": 0.5 for number in range(MOST_THRESHOLDS + 1)}}, "at most 256 thresholds"),
        ({"detect_every_n_frames": 0}, ">= 1"),
        ({"detect_every_n_frames": 1001}, "<= 1000"),
    ],
)
async def test_what_makes_no_sense_is_refused_and_changes_nothing(
    control: ControlUnderTest, fields: dict[str, Any], words: str
) -> None:
    for answer in (await change(control, **fields), await create(control, camera="t-01-other", **fields)):
        assert (answer.status_code, answer.json()["reason"]) == (422, "invalid-message")
        assert words in answer.json()["detail"]
    assert await seeing(control) == SEEING


async def test_a_file_with_a_bad_polygon_is_refused_by_its_line(control: ControlUnderTest) -> None:
    content = b'{"camera_uuid":"t-01-new","zones":[{"name":"door","points":[[0,0],[1,1]]}]}\n'
    answer = await control.operator().upload("/v1/cameras/import", content, kind="application/x-ndjson")
    assert answer.status_code == 422
    [fault] = answer.json()["lines"]
    assert (fault["line"], "the zone door 2" in fault["detail"]) == (1, True)
    assert await seeing(control) == SEEING
