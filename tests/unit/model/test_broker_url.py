"""URLs of brokers: one way to read them, or none."""

import pytest

from streamward.model.broker_url import is_broker


@pytest.mark.parametrize(
    "url", ["amqp://mq", "amqp://u:p%40ss@mq:5672/", "amqp://u:p@[::1]/vhost", "amqps://u:p@mq/%2F?cafile=/etc/ca.pem"]
)
def test_what_names_a_broker_is_taken(url):
    assert is_broker(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://mq/",
        "amqp:///vhost",
        "amqp://u:p@mq:http/",
        "amqp://u:p@mq:0/",
        "amqp://u:p/x@mq/",
        "amqp://u:p#x@mq/",
        "amqp://u:p?x@mq/",
        "amqp://u:p@mq/a/b",
        "amqp://u:p@mq/?cafile=/etc/ca.pem",
        "amqps://u:p@mq/?verify=no",
        "amqps://u:p@mq/?cafile",
    ],
)
def test_what_could_be_read_in_two_ways_is_not(url):
    assert not is_broker(url)
