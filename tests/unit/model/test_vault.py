"""What is told of a credential that cannot be opened."""

from streamward.model.ids import CameraId
from streamward.model.vault import CredentialUnreadable


def test_an_unreadable_credential_is_told_by_camera_and_key():
    told = str(CredentialUnreadable(CameraId("cam-1"), "abc"))
    assert told == "the credential of camera cam-1, sealed with key abc, cannot be opened"
