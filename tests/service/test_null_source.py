"""A source of empty pictures: heard like a camera, looked at like one, and never taken for one that is frozen."""

import zlib
from typing import Any

from streamward.drivers.addresses import CameraAddress
from streamward.drivers.decoder import decoder_for
from streamward.model.address_policy import AddressPolicy
from streamward.model.source_url import NETWORK, SourceKind, parse
from streamward.model.stream_error import StreamErrorCode
from streamward.vision.detector import Size
from tests.support.cameras import dial, watched

ALLOWED = AddressPolicy(kinds=NETWORK | {SourceKind.NULL})


def at(addresses: AddressPolicy = ALLOWED) -> CameraAddress:
    url = parse("null:///site-1/camera-1", kinds=set(SourceKind)).url
    return CameraAddress(url=url, credential=None, addresses=addresses)


async def test_empty_pictures_come_without_anything_to_decode():
    ear = await watched(at(), 2)
    assert ear.codecs == [None]
    decoder = decoder_for(None)
    images: list[Any] = [
        frame.fitted(Size(4, 2))
        for unit in ear.units
        for frame in decoder.decode(unit.content, is_keyframe=unit.is_keyframe)
    ]
    assert [image.shape for image in images] == [(2, 4, 3), (2, 4, 3)]
    assert len({zlib.crc32(image) for image in images}) == 2  # the same picture twice would be a frozen camera


async def test_a_site_that_does_not_allow_it_has_none():
    assert (await dial(at(AddressPolicy()))).code is StreamErrorCode.URL_FORBIDDEN
