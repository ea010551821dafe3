"""Why a camera shows nothing: the codes of S0-049's `stream.error`, the same in events, logs and metrics."""

from dataclasses import dataclass
from enum import StrEnum


class StreamErrorCode(StrEnum):
    """One word for each thing that an operator would mend in another way."""

    DNS_FAILED = "DNS_FAILED"
    TCP_REFUSED = "TCP_REFUSED"
    TCP_TIMEOUT = "TCP_TIMEOUT"  # no connection, or no answer to a request, in time
    TLS_FAILED = "TLS_FAILED"  # no handshake: no TLS there, no common version, or no answer
    TLS_CERT_EXPIRED = "TLS_CERT_EXPIRED"  # or not valid yet
    TLS_CERT_NAME_MISMATCH = "TLS_CERT_NAME_MISMATCH"  # the certificate is for another host
    TLS_CERT_UNTRUSTED = "TLS_CERT_UNTRUSTED"  # its issuer is unknown
    TLS_CERT_PIN_MISMATCH = "TLS_CERT_PIN_MISMATCH"  # not the certificate whose fingerprint is in the register
    RTSP_AUTH_FAILED = "RTSP_AUTH_FAILED"
    RTSP_NOT_FOUND = "RTSP_NOT_FOUND"
    RTSP_REFUSED = "RTSP_REFUSED"  # an answer of the camera that none of the others names
    CAMERA_FULL = "CAMERA_FULL"
    CODEC_UNSUPPORTED = "CODEC_UNSUPPORTED"
    TRANSPORT_UNSUPPORTED = "TRANSPORT_UNSUPPORTED"  # the camera sends over UDP only
    NO_KEYFRAME = "NO_KEYFRAME"
    FRAME_STALL = "FRAME_STALL"
    CORRUPT_STREAM = "CORRUPT_STREAM"
    TIMESTAMP_JUMP = "TIMESTAMP_JUMP"
    URL_FORBIDDEN = "URL_FORBIDDEN"  # by its site or by the installation
    SOURCE_NOT_PERMITTED = "SOURCE_NOT_PERMITTED"  # by the runner's own settings
    HOST_RESOURCES = "HOST_RESOURCES"  # the Worker's host has no descriptor, port or memory left for a connection
    DETECTOR_FAILED = "DETECTOR_FAILED"  # the stream runs, but what looks at it cannot be loaded, raises or blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFailure:
    """Why a stream ended or did not begin, or what is wrong with it."""

    code: StreamErrorCode
    detail: str  # for people; never a URL, user or password
    is_login_refused: bool = False
    is_login_open: bool = False  # a login was sent, and the camera never said what it makes of it
    is_unreachable: bool = False  # nothing of its host answers, so that no other camera there would
    is_change: bool = False  # the camera shows something else now: a new dial would find it well
