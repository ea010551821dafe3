"""Where large events go: what belongs together is refused alone, and keys are not shown."""

from pathlib import Path

import pytest

from streamward.settings import SettingsRefused, load

NOWHERE = Path("no-such-file")
KEYS = {"STREAMWARD_OBJECTS_ACCESS_KEY": "ada", "STREAMWARD_OBJECTS_SECRET_KEY": "hunter2"}


def test_a_bucket_is_read_with_its_keys_and_these_are_not_shown() -> None:
    objects = load({"STREAMWARD_OBJECTS_URL": "s3://events/site", **KEYS}, file=NOWHERE).objects
    assert objects.secret_key is not None
    assert (objects.url, objects.secret_key.get_secret_value()) == ("s3://events/site", "hunter2")
    assert "hunter2" not in repr(objects)


def test_a_folder_needs_no_keys() -> None:
    assert load({"STREAMWARD_OBJECTS_URL": "file:///srv/events"}, file=NOWHERE).objects.access_key is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"STREAMWARD_OBJECTS_URL": "/srv/events"}, "must begin with file:/// or s3://"),
        ({"STREAMWARD_OBJECTS_URL": "file://host/events"}, "must begin with file:/// or s3://"),
        ({"STREAMWARD_OBJECTS_URL": "s3://events"}, "needs STREAMWARD_OBJECTS_ACCESS_KEY and _SECRET_KEY too"),
    ],
)
def test_what_no_store_can_be_made_of_is_refused(given: dict[str, str], why: str) -> None:
    with pytest.raises(SettingsRefused, match=why):
        load(given, file=NOWHERE)
