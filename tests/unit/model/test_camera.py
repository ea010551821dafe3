"""Which cameras are wanted, and what of their URLs may be seen."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.camera import without_credentials
from streamward.model.vault import Sealed
from tests.support.builders import a_camera


@pytest.mark.parametrize(
    ("before", "after", "withdraws"),
    [
        (a_camera(), a_camera(), False),
        (a_camera(), a_camera(enabled=False), True),
        (a_camera(), a_camera(do_not_process=True), True),
        (a_camera(), a_camera(site="site-2"), True),
        (a_camera(), a_camera(tenant="tenant-2"), True),
        (a_camera(enabled=False), a_camera(), False),
        (a_camera(enabled=False), a_camera(do_not_process=True), False),
    ],
)
def test_a_change_withdraws_a_camera_that_is_not_wanted_any_more_or_moved(before, after, withdraws):
    assert after.withdraws(before) is withdraws


@pytest.mark.parametrize(
    ("enabled", "do_not_process", "wanted"),
    [(True, False, True), (True, True, False), (False, False, False), (False, True, False)],
)
def test_a_camera_is_wanted_if_enabled_and_not_to_be_left_alone(enabled, do_not_process, wanted):
    assert a_camera(enabled=enabled, do_not_process=do_not_process).is_wanted is wanted


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("rtsp://10.0.0.7/live", "rtsp://10.0.0.7/live"),
        ("rtsp://10.0.0.7:554/live?user=a@b", "rtsp://10.0.0.7:554/live?user=a@b"),
        ("rtsp://admin@10.0.0.7/live", "rtsp://***@10.0.0.7/live"),
        ("rtsp://admin:secret@10.0.0.7/live", "rtsp://***@10.0.0.7/live"),
        ("rtsps://admin:p@ss:w@rd@host:322/a", "rtsps://***@host:322/a"),
        ("file:///clips/a.mp4", "file:///clips/a.mp4"),
    ],
)
def test_user_and_password_are_blacked_out(url, seen):
    assert without_credentials(url) == seen


def test_a_sealed_credential_is_told_but_not_shown():
    camera = replace(a_camera(), rtsp_url="rtsp://192.0.2.7/a://b", sealed=Sealed("v1.key.c2VhbA=="))
    assert camera.shown_url == "rtsp://***@192.0.2.7/a://b"
    assert "v1.key" not in repr(camera)
    assert "hunter2" not in repr(replace(camera, rtsp_url="rtsp://ada:hunter2@192.0.2.7/a"))
    assert a_camera().shown_url == a_camera().rtsp_url


@given(st.text(st.characters(exclude_characters="/?#*"), min_size=1), st.text(st.characters(exclude_characters="/?#*")))
def test_no_password_is_ever_seen(user, password):
    assert without_credentials(f"rtsp://{user}:{password}@host/path") == "rtsp://***@host/path"


@pytest.mark.parametrize(("url", "kind"), [("rtsps://x/", "rtsps"), ("file:///a.mp4", "file"), ("http://x/", None)])
def test_a_source_s_kind_is_its_scheme(url, kind):
    assert replace(a_camera(), rtsp_url=url).source_kind == kind
