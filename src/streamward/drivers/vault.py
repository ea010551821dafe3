"""AES-256-GCM over credentials, with the tenant and the camera bound into each seal.

    v1.<key id>.<base64url of nonce and ciphertext>

The first key seals, every key opens, so that keys can be changed while control planes run. The keys are read again
before each seal, and whenever a seal names a key that is not known yet: a new key need not wait for a restart.
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from streamward.model.ids import CameraId, TenantId
from streamward.model.secret import Secret
from streamward.model.source_url import Credential
from streamward.model.vault import CredentialUnreadable, Sealed

KEY_BYTES = 32
NONCE_BYTES = 12  # random: safe for four billion seals under one key

_FORM = "v1"


class AesVault:
    """A `CredentialVault` on keys that it is given, the one that seals first."""

    def __init__(self, read_keys: Callable[[], Sequence[bytes]]) -> None:
        self._read_keys = read_keys
        self._newest = ""
        self._by_id: dict[str, AESGCM] = {}
        self._read()

    @property
    def key_ids(self) -> list[str]:
        """The ids of the keys, the one that seals first."""
        self._read()
        return list(self._by_id)

    def seal(self, credential: Credential, *, tenant_id: TenantId, camera_id: CameraId) -> Sealed:
        self._read()
        nonce = secrets.token_bytes(NONCE_BYTES)
        plain = json.dumps([credential.user.reveal(), credential.password.reveal()]).encode()
        hidden = self._by_id[self._newest].encrypt(nonce, plain, _bound(tenant_id, camera_id))
        return Sealed(f"{_FORM}.{self._newest}.{base64.urlsafe_b64encode(nonce + hidden).decode()}")

    def open(self, sealed: Sealed, *, tenant_id: TenantId, camera_id: CameraId) -> Credential:
        form, _, rest = sealed.partition(".")
        key_id, _, body = rest.partition(".")
        key = self._find(key_id)
        if form != _FORM or key is None:
            raise CredentialUnreadable(camera_id, key_id)
        try:
            hidden = base64.b64decode(body, altchars=b"-_", validate=True)
            plain = key.decrypt(hidden[:NONCE_BYTES], hidden[NONCE_BYTES:], _bound(tenant_id, camera_id))
        except (InvalidTag, ValueError):
            raise CredentialUnreadable(camera_id, key_id) from None
        user, password = json.loads(plain)
        return Credential(user=Secret(user), password=Secret(password))

    def is_newest(self, sealed: Sealed) -> bool:
        self._read()
        return sealed.startswith(f"{_FORM}.{self._newest}.")

    def _find(self, key_id: str) -> AESGCM | None:
        if key_id not in self._by_id:
            self._read()
        return self._by_id.get(key_id)

    def _read(self) -> None:
        keys = self._read_keys()
        self._by_id = {_name(key): AESGCM(key) for key in keys}
        self._newest = _name(keys[0])


def _name(key: bytes) -> str:
    """A key's id, from which the key cannot be told."""
    return hashlib.sha256(b"streamward master key" + key).hexdigest()[:12]


def _bound(tenant_id: TenantId, camera_id: CameraId) -> bytes:
    return f"streamward credential\0{tenant_id}\0{camera_id}".encode()
