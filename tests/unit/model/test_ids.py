"""One alphabet for all ids."""

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.ids import MalformedId, check_id, is_uuid

UUID = "6f1c8a0e-1d2b-4c3d-9e8f-0a1b2c3d4e5f"


@pytest.mark.parametrize(
    "text", ["a", "cam-1", "CAM_1", "0", "-", "x" * 64, UUID, "12345678-1234-1234-1234-123456789012"]
)
def test_an_id_is_kept_as_it_is(text):
    assert check_id("camera_uuid", text) == text


@pytest.mark.parametrize(
    "text",
    ["", " ", "x" * 65, "a b", "a.b", "a:b", "a#", "*", "a/b", "a\n", "\n", "a\x00", "é", "x" * (1 << 20), "cam-1\n\n"],
)
def test_a_text_that_would_need_escaping_somewhere_is_no_id(text):
    with pytest.raises(MalformedId) as refused:
        check_id("camera_uuid", text)
    assert str(refused.value) == "camera_uuid must be 1 to 64 letters, digits, '_' or '-' (a UUID in lower case)"


@pytest.mark.parametrize("text", [UUID.upper(), UUID[:-1] + "F", "A" + UUID[1:]])
def test_a_uuid_has_one_spelling(text):
    with pytest.raises(MalformedId):
        check_id("camera_uuid", text)


@given(st.uuids())
def test_every_uuid_in_lower_case_is_an_id(value: uuid.UUID):
    assert check_id("camera_uuid", str(value)) == str(value)


@given(st.text(max_size=70))
def test_whatever_is_accepted_stands_in_paths_keys_and_lines(text):
    try:
        check_id("id", text)
    except MalformedId:
        return
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", text)


def test_a_uuid_is_known_by_its_shape():
    assert is_uuid("3f2b8c1e-5a4d-4c3b-9a2e-1f0e9d8c7b6a")
    assert not is_uuid("3F2B8C1E-5A4D-4C3B-9A2E-1F0E9D8C7B6A")
    assert not is_uuid("cam-1")
