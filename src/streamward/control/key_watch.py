"""The signing keys of a running control plane, which follow their file.

Guaranteed: a key that was added counts within a second; one that was taken away counts for a second at most. A file
that cannot be used changes nothing, and is told once. A token that names an unknown key makes it look at once, but only
once a second, so that made-up names cost nothing. Not guaranteed, therefore: that the first token of a new key counts
at once while somebody sends such names; a key that was staged before has no such moment.
"""

import logging
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from streamward.control.file_stamp import stamp
from streamward.control.keys import SigningKey, load_keyring
from streamward.runtime.clock import Clock
from streamward.runtime.private_file import KeyFileUnusable

LOOK_EVERY = 1.0  # seconds

_log = logging.getLogger("streamward.control.keys")


class WatchedKeys:
    """The ring in a file, as it is now."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._stamp = stamp(path)  # taken before the file is read: one that is replaced meanwhile is read again
        self._ring = load_keyring(path)
        self._looked_at = clock.boot()
        self._missed_at = self._looked_at - LOOK_EVERY
        self._fault: str | None = None  # why the file cannot be used, as it was told

    @property
    def signing(self) -> SigningKey:
        self._look_in_time()
        return self._ring.signing

    def find(self, kid: object) -> Ed25519PublicKey | None:
        self._look_in_time()
        found = self._ring.find(kid)
        if found is None and self._clock.boot() - self._missed_at >= LOOK_EVERY:
            self._missed_at = self._clock.boot()
            self._look()
            found = self._ring.find(kid)
        return found

    def derive(self, purpose: str) -> list[bytes]:
        self._look_in_time()
        return self._ring.derive(purpose)

    def _look_in_time(self) -> None:
        if self._clock.boot() - self._looked_at >= LOOK_EVERY:
            self._look()

    def _look(self) -> None:
        self._looked_at = self._clock.boot()
        seen = stamp(self._path)
        if seen == self._stamp:
            return
        self._stamp = seen
        try:
            self._ring = load_keyring(self._path)
        except (KeyFileUnusable, OSError) as err:
            self._tell(str(err))
            return
        self._fault = None
        _log.info("signing keys were read again", extra={"kid": self._ring.signing.kid, "keys": len(self._ring.keys)})

    def _tell(self, fault: str) -> None:
        if fault != self._fault:
            _log.error("signing keys cannot be read, the old ones stay", extra={"error": fault})
        self._fault = fault
