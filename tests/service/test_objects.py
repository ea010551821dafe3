"""Stores as they are described, and what a folder of objects looks like."""

import stat
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from streamward.drivers.objects import open_store
from streamward.drivers.objects.signing import Request, Signer
from streamward.model.ids import CameraId, TenantId
from streamward.model.objects import ObjectKey, StoreUnusable
from streamward.model.secret import Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.shards import ObjectsAt

KEY = ObjectKey(tenant_id=TenantId("t-01"), camera_id=CameraId("cam-1"), day=date(2026, 11, 16), name="event")


def bucket(url: str = "s3://bucket", *, endpoint: str | None = None, ca_file: str | None = None) -> ObjectsAt:
    key, secret = ClearText(Secret("ada")), ClearText(Secret("canary"))
    return ObjectsAt(url=url, endpoint=endpoint, access_key=key, secret_key=secret, ca_file=ca_file)


async def test_a_folder_and_all_in_it_are_their_owners_alone(tmp_path: Path) -> None:
    store = open_store(ObjectsAt(url=(tmp_path / "data" / "my objects").as_uri()))
    await store.put(KEY, b"content")
    path = tmp_path / "data" / "my objects" / str(KEY)
    assert path.read_bytes() == b"content"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in path.relative_to(tmp_path).parents[:-1]:
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["event"]
    assert store.url(KEY) == path.as_uri()


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        (None, "s3://bucket/a/b/t-01/cam-1/2026-11-16/event"),
        ("http://[::1]:9000/", "s3://bucket/a/b/t-01/cam-1/2026-11-16/event"),
    ],
)
def test_a_bucket_is_called_as_the_tools_of_s3_call_it(endpoint: str | None, url: str) -> None:
    assert open_store(bucket("s3://bucket/a/b/", endpoint=endpoint)).url(KEY) == url


@pytest.mark.parametrize(
    ("at", "why"),
    [
        (ObjectsAt(url="/data"), "its URL must be file:///folder or s3://bucket/prefix"),
        (ObjectsAt(url="file://host/data"), "its URL must be"),
        (ObjectsAt(url="s3:///prefix"), "its URL must be"),
        (ObjectsAt(url="s3://bucket"), "S3 needs an access key and a secret key"),
        (bucket(endpoint="s3.example"), "its endpoint must be like https://"),
        (bucket(endpoint="http://h/path"), "its endpoint must be like https://"),
        (bucket(endpoint="http://h:port"), "its URL or its endpoint is no URL"),
        (bucket(ca_file="/nowhere/ca.pem"), "the certificates in /nowhere/ca.pem"),
    ],
)
def test_a_store_that_is_described_wrongly_is_refused_in_one_sentence(at: ObjectsAt, why: str) -> None:
    with pytest.raises(StoreUnusable, match=f"^the object store cannot be opened: {why}"):
        open_store(at)


def test_a_request_is_signed_as_amazon_documents_it() -> None:
    """The second example of its documentation of Signature Version 4, reduced to the headers that we sign."""
    signer = Signer(
        region="us-east-1",
        access_key=Secret("AKIAIOSFODNN7EXAMPLE"),
        secret_key=Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    )
    request = Request(method="GET", host="examplebucket.s3.amazonaws.com", path="/test.txt")
    headers = signer.headers(request, datetime(2013, 5, 24, tzinfo=UTC))
    assert headers["x-amz-date"] == "20130524T000000Z"
    assert headers["authorization"].startswith(
        "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
        "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature="
    )
