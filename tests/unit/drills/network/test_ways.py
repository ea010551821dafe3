"""Where a runner finds something over a wire."""

from streamward.drills.network.ways import moved


def test_only_the_place_in_a_url_changes():
    assert moved("amqp://me:p%40ss@broker:5672/hall?x=1", "127.0.0.1:9") == "amqp://me:p%40ss@127.0.0.1:9/hall?x=1"
    assert moved("http://127.0.0.1:80", "198.18.0.1:81") == "http://198.18.0.1:81"
