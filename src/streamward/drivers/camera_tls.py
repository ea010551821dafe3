"""TLS to a camera (RTSPS): which certificate is accepted, and which check refused one.

    fingerprint   CA           checked
    –             –            issuer by the system's CAs, validity period, name
    –             given        issuer by the given CAs and no others, validity period, name
    given         –            the SHA-256 fingerprint of the certificate, and nothing else
    given         given        all of these

A fingerprint is compared during the handshake: nothing is sent to a camera with another certificate.
"""

import functools
import hashlib
import ssl
from dataclasses import dataclass
from pathlib import Path

from streamward.drivers.rtsp import DialFailed
from streamward.model.stream_error import StreamErrorCode, StreamFailure

_CA_UNREADABLE = StreamFailure(
    code=StreamErrorCode.TLS_FAILED, detail="the certificates to trust, or their file, cannot be read"
)
_EXPIRED = StreamFailure(code=StreamErrorCode.TLS_CERT_EXPIRED, detail="the camera's certificate has expired")
_NOT_YET_VALID = StreamFailure(
    code=StreamErrorCode.TLS_CERT_EXPIRED,
    detail="the camera's certificate is not valid yet: compare the clocks of this host and of the camera",
)
_OTHER_NAME = StreamFailure(
    code=StreamErrorCode.TLS_CERT_NAME_MISMATCH, detail="the camera's certificate is not for the host in its URL"
)
_SELF_SIGNED = StreamFailure(
    code=StreamErrorCode.TLS_CERT_UNTRUSTED, detail="the camera's certificate is self-signed and not trusted"
)
_UNTRUSTED = StreamFailure(
    code=StreamErrorCode.TLS_CERT_UNTRUSTED, detail="the issuer of the camera's certificate is not trusted"
)
_BY_VERIFY_CODE = {  # X509_V_ERR_* of OpenSSL
    2: _UNTRUSTED,  # UNABLE_TO_GET_ISSUER_CERT
    9: _NOT_YET_VALID,
    10: _EXPIRED,
    18: _SELF_SIGNED,  # DEPTH_ZERO_SELF_SIGNED_CERT
    19: _UNTRUSTED,  # SELF_SIGNED_CERT_IN_CHAIN
    20: _UNTRUSTED,  # UNABLE_TO_GET_ISSUER_CERT_LOCALLY
    21: _UNTRUSTED,  # UNABLE_TO_VERIFY_LEAF_SIGNATURE
    62: _OTHER_NAME,  # HOSTNAME_MISMATCH
    64: _OTHER_NAME,  # IP_ADDRESS_MISMATCH
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What a camera's certificate is checked by."""

    fingerprint: str | None = None  # SHA-256, 64 hexadecimal digits in lower case
    ca: str | None = None  # PEM
    ca_file: str | None = None  # of this host

    def context(self) -> ssl.SSLContext:
        """The client's side of a handshake; a file is read again when it was replaced. Raises DialFailed."""
        try:
            return _context(self, Path(self.ca_file).stat().st_mtime_ns if self.ca_file else 0)
        except OSError:
            raise DialFailed(_CA_UNREADABLE) from None


ANY_KNOWN_CA = Trust()  # of this host


class FingerprintDiffers(ssl.SSLCertVerificationError):
    """A camera whose certificate is not the pinned one."""

    def __init__(self, found: str) -> None:
        super().__init__(1, "the fingerprint of the certificate differs")
        self.found = found


def failure_of(error: OSError) -> StreamFailure:
    """Why a handshake failed."""
    if isinstance(error, FingerprintDiffers):
        detail = f"the camera's certificate is not the pinned one: its SHA-256 fingerprint is {error.found}"
        return StreamFailure(code=StreamErrorCode.TLS_CERT_PIN_MISMATCH, detail=detail)
    if isinstance(error, ssl.SSLCertVerificationError):
        other = f"the camera's certificate is not accepted ({error.verify_message})"
        return _BY_VERIFY_CODE.get(
            error.verify_code, StreamFailure(code=StreamErrorCode.TLS_CERT_UNTRUSTED, detail=other)
        )
    if isinstance(error, ssl.SSLError):
        detail = f"the TLS handshake with the camera failed ({error.reason or 'no reason given'})"
    elif isinstance(error, TimeoutError):
        detail = "the camera did not complete the TLS handshake in time"
    else:
        detail = "the camera hung up during the TLS handshake"
    return StreamFailure(code=StreamErrorCode.TLS_FAILED, detail=detail)


@functools.lru_cache(maxsize=256)
def _context(trust: Trust, _changed_at: int) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=trust.ca_file, cadata=trust.ca)
    if trust.fingerprint is not None:
        context.sslobject_class = _pinned_class(trust.fingerprint)
        if trust.ca is None and trust.ca_file is None:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def _pinned_class(fingerprint: str) -> type[ssl.SSLObject]:
    class PinnedObject(ssl.SSLObject):
        """The handshake ends only with the pinned certificate."""

        def do_handshake(self) -> None:
            super().do_handshake()
            found = hashlib.sha256(self.getpeercert(binary_form=True) or b"").hexdigest()
            if found != fingerprint:
                raise FingerprintDiffers(found)

    return PinnedObject
