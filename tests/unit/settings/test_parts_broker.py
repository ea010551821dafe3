"""The broker's URL: which are read, and which are refused since they could be read in two ways."""

from pathlib import Path

import pytest

from streamward.settings import SettingsRefused, load

NOWHERE = Path("no-such-file")


@pytest.mark.parametrize(
    "url",
    [
        "amqp://mq",
        "amqp://u:p%40ss%2Fword@mq:5672/",
        "amqp://u:p@[::1]:5672/vhost",
        "amqps://u:p@mq/%2F?cafile=/etc/ca.pem",
    ],
)
def test_a_brokers_url_is_read(url: str) -> None:
    broker = load({"STREAMWARD_AMQP_URL": url}, file=NOWHERE).amqp
    assert broker.url is not None
    assert broker.url.get_secret_value() == url
    assert "p@" not in repr(broker)


@pytest.mark.parametrize(
    "url",
    [
        "mq:5672",
        "http://mq/",
        "amqp://",
        "amqp:///vhost",
        "amqp://u:hunter2@mq:http/",
        "amqp://u:hunter2@mq:0/",
        "amqp://u:hunter2/x@mq/",
        "amqp://u:12/hunter2@mq/",
        "amqp://u:12#hunter2@mq/",
        "amqp://u:12?hunter2@mq/",
        "amqp://u:hunter2@mq/a/b",
        "amqp://u:hunter2@mq/?cafile=x",
        "amqps://u:hunter2@mq/?no_verify_ssl=1",
        "amqps://u:hunter2@[mq/",
    ],
)
def test_a_brokers_url_that_could_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(SettingsRefused) as refused:
        load({"STREAMWARD_AMQP_URL": url}, file=NOWHERE)
    assert str(refused.value).startswith("STREAMWARD_AMQP_URL: must be amqp://")
    assert "hunter2" not in str(refused.value)
