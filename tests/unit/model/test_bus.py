"""What is said of a bus that is away and of a queue that cannot be had."""

from streamward.model.bus import BusAway, QueueRefused


def test_a_bus_that_is_away_is_one_sentence():
    away = BusAway("mq:5672", "connection refused", retry_in=2.0)
    assert str(away) == "the event bus mq:5672 cannot be used: connection refused"
    assert away.retry_in == 2.0


def test_a_queue_that_cannot_be_had_is_one_sentence():
    assert str(QueueRefused("batcher", "there is none")) == "the queue batcher cannot be had: there is none"
