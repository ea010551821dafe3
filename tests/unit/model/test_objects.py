"""Keys of objects, and what is said of stores."""

from datetime import date

import pytest

from streamward.model.ids import CameraId, TenantId
from streamward.model.objects import ObjectKey, StoreAway, StoreUnusable

DAY = date(2026, 11, 16)


def named(name: str) -> ObjectKey:
    return ObjectKey.of(TenantId("t-01"), CameraId("cam-1"), day=DAY, name=name)


def test_a_key_reads_as_it_is_written():
    key = named("cam-1.3.1.7")
    assert str(key) == "t-01/cam-1/2026-11-16/cam-1.3.1.7"
    assert ObjectKey.read(str(key)) == key


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "../x", "ä", "a b", "x" * 129, "a\n", "a\x00"])
def test_a_name_that_could_mean_another_place_is_told_by_its_digest(name):
    assert len(named(name).name) == 64
    assert named(name) != named(f"{name}.")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "t-01/cam-1/2026-11-16",
        "t-01/cam-1/2026-11-16/a/b",
        "../cam-1/2026-11-16/a",
        "t-01/../2026-11-16/a",
        "t-01/cam-1/2026-02-30/a",
        "t-01/cam-1/2026-11-16/.a",
        "t-01/cam-1/2026-11-16/a\n",
        "/t-01/cam-1/2026-11-16/a",
        "t-01/cam-1/２026-11-16/a",
    ],
)
def test_what_is_no_key_is_not_read_as_one(text):
    assert ObjectKey.read(text) is None


def test_a_key_is_never_made_of_a_part_that_leads_elsewhere():
    with pytest.raises(AssertionError):
        ObjectKey(tenant_id=TenantId(".."), camera_id=CameraId("cam-1"), day=DAY, name="a")


def test_stores_that_cannot_be_used_are_one_sentence():
    assert str(StoreAway("s3://x", "403")) == "the object store s3://x cannot be used: 403"
    assert str(StoreUnusable("no URL")) == "the object store cannot be opened: no URL"
