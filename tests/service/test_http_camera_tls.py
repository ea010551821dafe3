"""Pins of cameras' certificates and the CAs of sites, through the HTTP application."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.app import ControlUnderTest
from tests.support.certificates import Authority

PATH = "/v1/cameras/t-01-new"
PIN = "ab" * 32


@pytest.fixture
async def control() -> ControlUnderTest:
    control = await ControlUnderTest().with_cameras(site="site-a")
    body = {"site_id": "site-a", "camera_uuid": "t-01-new", "rtsp_url": "rtsps://192.0.2.7/live"}
    added = await control.operator().post("/v1/cameras", body | {"tls_fingerprint": ":".join(["AB"] * 32)})
    assert (added.status_code, added.json()["tls_fingerprint"]) == (201, PIN)
    return control


async def source_of(control: ControlUnderTest) -> dict[str, Any]:
    asked = {"runner_id": "r1", "camera_uuid": "t-01-new", "ttl_seconds": 10, "incarnation": "inc-1"}
    source: dict[str, Any] = (await control.runner().post("/v1/leases/camera/acquire", asked)).json()["source"]
    return source


async def test_the_runner_that_holds_a_camera_gets_its_pin(control: ControlUnderTest) -> None:
    assert (await source_of(control))["tls_fingerprint"] == PIN


async def test_a_pin_stays_is_replaced_and_is_taken_away(control: ControlUnderTest) -> None:
    operator = control.operator(tenant="t-01")
    stays, other, none = {"enabled": True}, {"tls_fingerprint": "CD" * 32}, {"tls_fingerprint": None}
    for fields, pin in ((stays, PIN), (other, "cd" * 32), (none, None)):
        assert (await operator.patch(PATH, fields, if_match="*")).json()["tls_fingerprint"] == pin
    assert "tls_fingerprint" not in await source_of(control)


@pytest.mark.parametrize("pin", ["ab" * 20, "ab" * 33, "xy" * 32, "a:b" * 32, PIN + "\n", ""])
async def test_what_is_no_sha256_fingerprint_is_refused(control: ControlUnderTest, pin: str) -> None:
    refused = await control.operator().patch(PATH, {"tls_fingerprint": pin}, if_match="*")
    assert refused.status_code == 422


async def test_a_site_has_a_ca_which_is_read_replaced_and_taken_away(control: ControlUnderTest, tmp_path: Path) -> None:
    one, two = (Authority(tmp_path, name).file.read_text() for name in ("one", "two"))
    operator = control.operator()
    added = await operator.post("/v1/sites", {"site_id": "new", "tenant_id": "t-01", "tls_ca": one})
    assert (added.status_code, added.json()["tls_ca"]) == (201, one)
    assert (await control.runner().get("/v1/sites/new")).json()["tls_ca"] == one
    for fields, ca in (({"capacity": 3}, one), ({"tls_ca": two}, two), ({"tls_ca": None}, None)):
        assert (await operator.patch("/v1/sites/new", fields, if_match="*")).json().get("tls_ca") == ca


async def test_a_ca_that_is_no_certificate_is_refused(control: ControlUnderTest, tmp_path: Path) -> None:
    key = Authority(tmp_path).issue("nvr").key.read_text()
    for text, why in (("hello", "PEM"), (key, "private key"), ("A" * 20_000, "tls_ca")):
        refused = await control.operator().patch("/v1/sites/site-a", {"tls_ca": text}, if_match="*")
        assert (refused.status_code, why in refused.json()["detail"]) == (422, True), refused.text
