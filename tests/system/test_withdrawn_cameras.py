"""A camera that is deleted and created again for another tenant while a runner of the whole installation watches it."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.labs import Plant, plant, until


@pytest.fixture
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "2") as made:
        yield made


def grants(lab: Plant, camera: str) -> list[dict[str, Any]]:
    with lab.control.client("--admin", "ada") as ada:
        found: list[dict[str, Any]] = ada.get(f"/v1/leases/{camera}").raise_for_status().json()["grants"]
    return found


def test_a_re_created_camera_gets_a_new_grant_and_nothing_of_its_new_owner_is_its_old_tenant_s(lab: Plant):
    camera, other_url = lab.cameras[1], lab.nvr.urls[0]
    with lab.runner("everyone") as runner:
        until(lambda: runner.streaming() == set(lab.cameras))
        with lab.control.client("--admin", "ada") as ada:
            etag = ada.get(f"/v1/cameras/{camera}").headers["etag"]
            ada.delete(f"/v1/cameras/{camera}", headers={"if-match": etag}).raise_for_status()
            ada.post("/v1/tenants", json={"tenant_id": "other"}).raise_for_status()
            site = {"site_id": "site-2", "tenant_id": "other", "sources": {"allow": ["127.0.0.0/8"]}}
            ada.post("/v1/sites", json=site).raise_for_status()
            created = {"camera_uuid": camera, "site_id": "site-2", "rtsp_url": other_url}
            ada.post("/v1/cameras", json=created).raise_for_status()
        until(lambda: len(grants(lab, camera)) == 2)
        newest, withdrawn = grants(lab, camera)
        assert (withdrawn["tenant_id"], newest["tenant_id"], newest["version"]) == ("acme", "other", 2)
        assert withdrawn["made_until"] <= withdrawn["ended_at"] < newest["granted_at"]
        until(lambda: {each["tenant_id"] for each in runner.facts("stream.began")} == {"acme", "other"})
        assert [each["tenant_id"] for each in runner.facts("stream.ended")] == ["acme"]
        with lab.control.client("--viewer", "eve", "--tenant", "other") as eve:
            seen = eve.get(f"/v1/leases/{camera}").raise_for_status().json()["grants"]
        assert [each["tenant_id"] for each in seen] == ["other"]
