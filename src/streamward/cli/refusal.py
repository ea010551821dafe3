"""Why a call came to nothing: each one sentence that says what to do about it, with its exit code."""

import os
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

from streamward import __version__
from streamward.cli.failure import CommandFailed, ExitCode
from streamward.protocol.problem import Problem

_URL = "STREAMWARD_CONTROL_URL"
_SHOW = "set STREAMWARD_CONTROL_CLIENT_CERTIFICATE and STREAMWARD_CONTROL_CLIENT_KEY"
_NO_ROUTE = {"not-found", "method-not-allowed"}
SIGN_IN = "sign in with `streamward login` and a one-time code, or set STREAMWARD_TOKEN to a token"
_OTHER_ROLE = (
    "an admin can give you another role (`streamward people set`), and on the control host `streamward token"
    " --admin NAME` makes a token for STREAMWARD_TOKEN"
)
_OLD = {"token-expired": "the token has expired", "token-lives-too-long": "the token lives longer than is allowed"}
_SAID = {"clock-skew", "assertion-refused", "code-refused"}  # whose sentence has its remedy
_LOOK = {
    "camera-unknown": "`streamward cameras list` tells which there are",
    "runner-unknown": "`streamward runners list` tells which there are",
    "site-unknown": "`streamward sites list` tells which there are",
    "identity-unknown": "`streamward people list` tells which there are",
    "invitation-unknown": "`streamward people invitations` tells which there are",
    "tenant-unknown": "`streamward tenants list` tells which there are",
    "batch-unknown": "`streamward batches list` tells which there are",
}
_NOT_YET = "token-not-yet-valid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Who refused, and how it stood."""

    url: str
    version: str | None
    at: datetime | None
    call_id: str


class ControlAway(CommandFailed):
    """Nothing answers."""

    exit_code = ExitCode.AWAY

    def __init__(self, url: str, why: OSError | UnicodeError) -> None:
        super().__init__(
            f"no control plane answers at {url} ({_reason(why)}): start one with `streamward control`, "
            f"or set {_URL} to where it runs"
        )


class NotStreamward(CommandFailed):
    """Something else answers."""

    exit_code = ExitCode.AWAY

    def __init__(self, url: str, seen: str) -> None:
        super().__init__(
            f"what answers at {url} is not a control plane of Streamward ({seen}): "
            f"set {_URL} to where that runs, or look at the proxy in between"
        )


class TlsRefused(CommandFailed):
    """The two ends do not trust, or not even understand, each other."""

    exit_code = ExitCode.AWAY


class CertificateUnusable(CommandFailed):
    """A file of certificates or keys that cannot be used."""

    def __init__(self, *paths: Path | None, why: OSError) -> None:
        named = ", ".join(str(path) for path in paths if path is not None)
        super().__init__(
            f"the certificates of this command cannot be used ({named}: {_reason(why)}): see STREAMWARD_CONTROL_CA, "
            "STREAMWARD_CONTROL_CLIENT_CERTIFICATE and STREAMWARD_CONTROL_CLIENT_KEY"
        )


class OtherVersion(CommandFailed):
    """The control plane says something that this version has not learned."""

    def __init__(self, version: str) -> None:
        super().__init__(
            f"the control plane (version {version}) does not understand this program (version {__version__}), "
            "or is not understood by it: install the same version here"
        )


class NotSignedIn(CommandFailed):
    """There is no token, or none that counts."""

    exit_code = ExitCode.NOT_ALLOWED


class NotAllowed(CommandFailed):
    """A token of somebody who may not do this."""

    exit_code = ExitCode.NOT_ALLOWED


class NotFound(CommandFailed):
    """There is no such thing, or none that the caller may see."""

    exit_code = ExitCode.NOT_FOUND


class CutShort(CommandFailed):
    """An answer without its end."""

    def __init__(self, url: str) -> None:
        super().__init__(f"the answer of the control plane at {url} was cut short: its log says why; try again")


class LinesRefused(CommandFailed):
    """A file with lines that cannot be done."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class ChangedMeanwhile(CommandFailed):
    """Somebody else was quicker."""


def of(problem: Problem, seen: Seen) -> CommandFailed:
    """The refusal that an answer stands for."""
    match problem.status:
        case HTTPStatus.UNAUTHORIZED:
            return NotSignedIn(_unknown_caller(problem, seen))
        case HTTPStatus.FORBIDDEN:
            return NotAllowed(_forbidden(problem))
        case HTTPStatus.NOT_FOUND | HTTPStatus.METHOD_NOT_ALLOWED if problem.reason in _NO_ROUTE:
            return OtherVersion(seen.version or "unknown")
        case _ if problem.reason in _LOOK:  # a site that a camera shall stand at may be missing in a 422 too
            return NotFound(f"{problem.detail}: {_LOOK[problem.reason]}")
        case HTTPStatus.NOT_FOUND:
            return NotFound(problem.detail)
        case HTTPStatus.PRECONDITION_FAILED:
            return ChangedMeanwhile("somebody else changed it meanwhile, and nothing was done: look at it and repeat")
        case status if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return CommandFailed(_failed(problem, seen.call_id))
        case _:
            return CommandFailed(problem.detail) if problem.lines is None else LinesRefused(problem)


def away(url: str, err: OSError | UnicodeError) -> CommandFailed:
    """What a connection that came to nothing means; a server may hang up on who shows no certificate."""
    if isinstance(err, ConnectionResetError) and url.startswith("https:"):
        return TlsRefused(f"the control plane at {url} hung up, as it does on who shows no certificate: {_SHOW}")
    return ControlAway(url, err)


def tls(url: str, err: ssl.SSLError) -> TlsRefused:
    """What a failed handshake means."""
    if isinstance(err, ssl.SSLCertVerificationError):
        return TlsRefused(
            f"the certificate of {url} is not trusted ({err.verify_message}): "
            "set STREAMWARD_CONTROL_CA to the certificate of who signed it"
        )
    if "CERTIFICATE_REQUIRED" in (err.reason or "") or "HANDSHAKE_FAILURE" in (err.reason or ""):
        return TlsRefused(f"the control plane at {url} wants to see a certificate that it knows: {_SHOW}")
    return TlsRefused(
        f"TLS with {url} failed ({_reason(err)}): see that it speaks https there, or set {_URL} to its http:// address"
    )


def _forbidden(problem: Problem) -> str:
    if problem.reason in _SAID:
        return problem.detail
    remedy = _OTHER_ROLE if problem.reason == "wrong-role" else SIGN_IN
    return f"not allowed: {problem.detail}; {remedy}"


def _unknown_caller(problem: Problem, seen: Seen) -> str:
    if problem.reason in _SAID:
        return problem.detail
    if problem.reason in _OLD:
        return f"{_OLD[problem.reason]}: {SIGN_IN}"
    if problem.reason == _NOT_YET:
        return (
            f"the token is not valid yet: the clock of who minted it is ahead of the control plane's{_apart(seen.at)}"
        )
    return f"the control plane at {seen.url} does not accept the token ({problem.detail}): {SIGN_IN}"


def _apart(at: datetime | None) -> str:
    if at is None:
        return ""
    seconds = (datetime.now(UTC) - at).total_seconds()
    return f", and this host's by {seconds:.0f} s: set the clocks"


def _failed(problem: Problem, call_id: str) -> str:
    if problem.retry_in_ms is not None:
        return f"{problem.detail}: try again in {max(1, problem.retry_in_ms // 1000)} s"
    return f"{problem.detail}: its log says more (request {call_id})"


def _reason(err: OSError | UnicodeError) -> str:
    """The operating system's words, without numbers."""
    if isinstance(err, UnicodeError):
        return "no such host"
    if isinstance(err, TimeoutError):
        return "no answer in time"
    if isinstance(err, ssl.SSLError):
        return (err.reason or "unknown").replace("_", " ").lower()
    named = os.strerror(err.errno) if err.errno and err.errno > 0 else err.strerror or str(err)
    return named.lower()
