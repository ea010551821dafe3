"""How a routing key reads, and what is said of a broker that is away."""

import pytest

from streamward.model.broker import BrokerAway, Topic


@pytest.mark.parametrize(
    ("routing_key", "kind"),
    [
        ("camera.created.t-01.site-A.cam-2", "camera.created"),
        ("detections.t-01.site-A.cam-2", "detections"),
        ("stream.status.t-01.site-A.cam-2", "stream.status"),
    ],
)
def test_a_routing_key_names_a_kind_and_a_camera(routing_key, kind):
    topic = Topic.read(routing_key)
    assert topic == Topic(kind=kind, tenant="t-01", site="site-A", camera="cam-2")
    assert topic.subject == "t-01/site-A/cam-2"


def test_a_broker_that_is_away_is_one_sentence():
    away = BrokerAway("mq:5672", "connection refused", retry_in=2.0)
    assert str(away) == "the broker mq:5672 cannot be used: connection refused"
    assert away.retry_in == 2.0
