"""Signed models, as tests need them: sound ones, and such as no host should take."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from streamward.drivers.detectors.bundle import packed
from streamward.drivers.detectors.model_file import digest_of
from streamward.protocol.bundles import ModelBundle
from streamward.protocol.tokens import unpadded
from tests.support.onnx_files import a_model

KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes([1] * 32))
PUBLIC = unpadded(KEY.public_key().public_bytes_raw())


def finds(label: str, **more: Any) -> bytes:
    """A model that finds one thing of that name in every picture."""
    head = np.array([[[10.0], [6.0], [8.0], [4.0], [0.75], [0.1]]], np.float32).repeat(9, axis=2)
    return a_model({"output0": head}, names=f"{{0: '{label}', 1: 'other'}}", **more)


def a_bundle(
    model: bytes,
    *,
    version: int = 1,
    name: str = "yard",
    key: Ed25519PrivateKey = KEY,
    picture: bytes | None = None,
    **changes: Any,
) -> bytes:
    """A bundle; `changes` are made to what is signed of it."""
    about = ModelBundle(
        name=name,
        version=version,
        suffix="onnx",
        model=digest_of(model),
        made_at=datetime(2026, 11, 16, tzinfo=UTC),
        picture=None if picture is None else digest_of(picture),
    )
    return packed(msgspec.structs.replace(about, **changes), model, picture, key=key)
