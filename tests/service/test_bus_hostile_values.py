"""Numbers without end, NaN, NUL and endless nesting, in every field of what a batcher takes from the bus."""

import json
from dataclasses import replace

import pytest

from streamward.batcher.facts import MessageUnusable
from streamward.batcher.reading import Told, read
from streamward.protocol import codec
from tests.support import hostile
from tests.support.batch_desk import an_event, told
from tests.support.builders import START

GOOD = told(an_event(START))
FIELDS = sorted(json.loads(GOOD.body))


@pytest.mark.parametrize("name", [*FIELDS, "unknown"])
def test_an_event_with_a_strange_value_is_read_or_unusable(name: str) -> None:
    for value in hostile.VALUES:
        said = json.loads(GOOD.body) | {name: "the value"}
        body = json.dumps(said).replace('"the value"', value).encode()
        try:
            assert isinstance(read(replace(GOOD, body=body)), Told)
        except MessageUnusable:
            continue


def test_what_is_no_event_at_all_is_unusable() -> None:
    for body in hostile.BODIES:
        with pytest.raises(MessageUnusable):
            read(replace(GOOD, body=body.encode("utf-8", errors="surrogatepass")))


def test_a_thing_with_nul_in_a_zone_is_unusable() -> None:
    body = codec.encode(an_event(START)).replace(b'"zones":[', b'"zones":["a\\u0000b"')
    with pytest.raises(MessageUnusable, match="without NUL"):
        read(replace(GOOD, body=body))
