"""Whether a login that failed can have reached the control plane."""

import errno
import socket
import ssl

import pytest

from streamward.cli.login import _was_not_sent


@pytest.mark.parametrize(
    ("cause", "is_unsent"),
    [
        (ConnectionRefusedError(), True),
        (socket.gaierror(), True),
        (ssl.SSLCertVerificationError(), True),
        (OSError(errno.EHOSTUNREACH, ""), True),
        (OSError(errno.ENETUNREACH, ""), True),
        (ConnectionResetError(errno.ECONNRESET, ""), False),
        (TimeoutError(), False),
        (None, False),
    ],
)
def test_only_what_was_never_sent_leaves_no_key_behind(cause: BaseException | None, is_unsent: bool):
    failed = Exception()
    failed.__cause__ = cause
    assert _was_not_sent(failed) is is_unsent
