"""A real server of S3: what it refuses, and TLS."""

from datetime import date

import msgspec
import pytest

from streamward.drivers.objects import open_store
from streamward.model.ids import CameraId, TenantId
from streamward.model.objects import ObjectKey, StoreAway
from tests.support.seaweed import PATIENCE, SECRET_KEY, SeaweedServer

KEY = ObjectKey(tenant_id=TenantId("t-01"), camera_id=CameraId("cam-1"), day=date(2026, 11, 16), name="event")


async def test_a_wrong_secret_is_refused_and_not_told(seaweed: SeaweedServer) -> None:
    store = open_store(seaweed.place("refused", secret_key="wr0ng-canary"), answer_within=PATIENCE)
    for asked in (store.put(KEY, b"x"), store.get(KEY)):
        with pytest.raises(StoreAway) as away:
            await asked
        assert str(away.value) == (
            f"the object store s3://events at 127.0.0.1:{seaweed.port} cannot be used: "
            "it answered 403 SignatureDoesNotMatch"
        )
        assert SECRET_KEY not in repr(away.value)
        assert "canary" not in repr(away.value)


async def test_a_bucket_that_is_not_there_is_told(seaweed: SeaweedServer) -> None:
    store = open_store(seaweed.place(bucket="no-such-bucket"), answer_within=PATIENCE)
    for asked in (store.put(KEY, b"x"), store.get(KEY)):
        with pytest.raises(StoreAway, match="404 NoSuchBucket"):
            await asked


async def test_over_tls_the_servers_certificate_is_checked(seaweed: SeaweedServer) -> None:
    place = msgspec.structs.replace(seaweed.place("tls"), endpoint=f"https://127.0.0.1:{seaweed.tls_port}")
    with pytest.raises(StoreAway, match="certificate verify failed"):
        await open_store(place, answer_within=PATIENCE).put(KEY, b"x")
    trusting = open_store(msgspec.structs.replace(place, ca_file=str(seaweed.authority)), answer_within=PATIENCE)
    await trusting.put(KEY, b"over TLS")
    assert await trusting.get(KEY) == b"over TLS"
