"""Object stores: a folder of this host, or whatever speaks S3."""

import ssl
from pathlib import Path
from urllib.parse import unquote, urlsplit

from streamward.drivers.objects.folder import FolderObjects
from streamward.drivers.objects.s3 import Bucket, S3Objects
from streamward.model.objects import ObjectStore, StoreUnusable
from streamward.protocol.shards import ObjectsAt

ANSWER_WITHIN = 5.0  # seconds for each step of a request to S3


def open_store(at: ObjectsAt, *, answer_within: float = ANSWER_WITHIN) -> ObjectStore:
    """The store that is described; nothing is connected to yet. Raises StoreUnusable."""
    try:
        parts = urlsplit(at.url)
        endpoint = urlsplit(at.endpoint or f"https://s3.{at.region}.amazonaws.com")
        port = endpoint.port
    except ValueError as error:
        raise StoreUnusable("its URL or its endpoint is no URL") from error
    if parts.scheme == "file" and not parts.netloc and parts.path:
        return FolderObjects(Path(unquote(parts.path)))
    if parts.scheme != "s3" or not parts.netloc:
        raise StoreUnusable("its URL must be file:///folder or s3://bucket/prefix")
    if endpoint.scheme not in {"http", "https"} or not endpoint.hostname or endpoint.path.strip("/"):
        raise StoreUnusable("its endpoint must be like https://s3.example:9000, without a path")
    if at.access_key is None or at.secret_key is None:
        raise StoreUnusable("S3 needs an access key and a secret key")
    bucket = Bucket(
        name=parts.netloc,
        prefix=parts.path.strip("/"),
        host=endpoint.hostname,
        port=port,
        region=at.region,
        access_key=at.access_key.secret,
        secret_key=at.secret_key.secret,
        trust=_trust(at) if endpoint.scheme == "https" else None,
        answer_within=answer_within,
    )
    return S3Objects(bucket)


def _trust(at: ObjectsAt) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=at.ca_file)
    except OSError as error:
        raise StoreUnusable(f"the certificates in {at.ca_file} cannot be read") from error


__all__ = ["ANSWER_WITHIN", "open_store"]
