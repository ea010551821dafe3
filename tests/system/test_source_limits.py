"""A runner opens nothing of its own host unless its settings say so, whatever a site allows."""

from pathlib import Path
from typing import Any

from tests.support.films import a_film
from tests.support.labs import Plant, plant, until


def reasons(lab: Plant, camera: str) -> dict[str, str]:
    """Why a camera does not run."""
    with lab.control.client("--admin", "ada") as ada:
        told: dict[str, Any] = ada.get(f"/v1/cameras/{camera}/why").json()
    return {each["code"]: each["detail"] for each in told["reasons"]}


def test_a_site_opens_a_runner_s_host_only_as_far_as_the_runner_s_settings_permit(tmp_path: Path) -> None:
    films, secrets = tmp_path / "films", tmp_path / "secrets"
    films.mkdir()
    secrets.mkdir()
    film, secret = a_film(films / "film.mp4", frames=40), a_film(secrets / "film.mp4", frames=40)
    secret.chmod(0o600)
    with plant(tmp_path, "--cameras", "1", SOURCES_KINDS="file") as lab:
        with lab.control.client("--admin", "ada") as ada:
            rules = {"sources": {"allow": ["127.0.0.0/8"], "kinds": ["file"]}}
            ada.patch("/v1/sites/site-1", json=rules, headers={"If-Match": "*"}).raise_for_status()
            for camera, path in (("film", film), ("secret", secret)):
                message = {"camera_uuid": camera, "site_id": "site-1", "rtsp_url": f"file://{path}"}
                ada.post("/v1/cameras", json=message).raise_for_status()
        cameras = ("cam-1", "film", "secret")
        with lab.runner("r1", RUNNER_SOURCE_ALLOW="") as runner:
            until(lambda: all("source-forbidden" in reasons(lab, each) for each in cameras))
            assert not runner.streaming()
            assert all("SOURCE_NOT_PERMITTED" in reasons(lab, each)["source-forbidden"] for each in cameras)
        permitted = {"RUNNER_SOURCE_KINDS": "file", "RUNNER_SOURCE_FOLDERS": films}
        with lab.runner("r1", RUNNER_SOURCE_ALLOW="127.0.0.0/8", **permitted) as runner:
            until(lambda: {"cam-1", "film"} <= runner.streaming())
            until(lambda: "source-forbidden" in reasons(lab, "secret"))
            assert "secret" not in runner.streaming()
