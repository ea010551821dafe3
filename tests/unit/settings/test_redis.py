"""The URL of Redis: which is read, and what is said of one that is not."""

from pathlib import Path

import pytest

from streamward.settings import SettingsRefused, load

NOWHERE = Path("no-such-file")


def test_a_url_is_read_and_not_shown():
    redis = load({"STREAMWARD_REDIS_URL": "rediss://:hunter2@cache/1?cafile=/etc/ca.pem"}, file=NOWHERE).redis
    assert redis.url is not None
    assert redis.url.get_secret_value() == "rediss://:hunter2@cache/1?cafile=/etc/ca.pem"
    assert "hunter2" not in repr(redis)


def test_without_one_there_is_none():
    assert load({}, file=NOWHERE).redis.url is None


@pytest.mark.parametrize("url", ["cache:6379", "redis://:12/hunter2@cache", "rediss://:hunter2@cache/?verify=no"])
def test_one_that_could_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        load({"STREAMWARD_REDIS_URL": url}, file=NOWHERE)
    assert str(refused.value).startswith("STREAMWARD_REDIS_URL: must be redis://")
    assert "hunter2" not in str(refused.value)
