"""URLs of Redis servers: one way to read them, or none."""

import pytest

from streamward.model.redis_url import is_redis


@pytest.mark.parametrize(
    "url",
    [
        "redis://cache",
        "redis://:p%40ss@cache:6379/",
        "redis://u:p@[::1]/2",
        "rediss://u:p@cache/0?cafile=/etc/ca.pem",
    ],
)
def test_what_names_a_server_is_taken(url):
    assert is_redis(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://cache/",
        "cache:6379",
        "redis:///0",
        "redis://:p@cache:http/",
        "redis://:p@cache:0/",
        "redis://:p/x@cache/",
        "redis://:p#x@cache/",
        "redis://:p?x@cache/",
        "redis://:p@cache/a",
        "redis://:p@cache/0/1",
        "redis://:p@cache/?cafile=/etc/ca.pem",
        "rediss://:p@cache/?ssl_cert_reqs=none",
        "rediss://:p@cache/?cafile",
        "rediss://:p@[cache/",
    ],
)
def test_what_could_be_read_in_two_ways_is_not(url):
    assert not is_redis(url)
