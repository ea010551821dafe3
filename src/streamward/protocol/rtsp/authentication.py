"""Basic and Digest (RFC 7617, RFC 7616 and what RFC 2617 left of it), from both ends.

A login answers the strongest challenge that it can: SHA-256 before MD5 before Basic. A server's first challenge
asks for a login and refuses none; a nonce that went stale is answered with the new one. What is refused is a login
that was really looked at: another 401 that does not say `stale`.

Nothing here is random: the caller gives a seed for client nonces and the server its nonces.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum
from hmac import compare_digest

from streamward.model.source_url import Credential

MOST_CHALLENGES = 16
LONGEST_HEADER = 4096
MOST_FORMER = 16  # nonces of the past that a server still knows
MOST_STALE = 1  # stale nonces in a row that are believed: some cameras say so of a wrong password too

_PARAMETER = re.compile(r'\s*([A-Za-z0-9_-]{1,32})\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))\s*(?:,|$)')
_SCHEME = re.compile(r"(?<![^\s,])[\s,]*(Basic|Digest)(?=[\s,]|$)", re.IGNORECASE)
_COUNT = re.compile(r"[0-9a-fA-F]{8}")


class Algorithm(StrEnum):
    """How a Digest is made; the stronger ones last."""

    MD5 = "MD5"
    MD5_SESS = "MD5-sess"
    SHA256 = "SHA-256"
    SHA256_SESS = "SHA-256-sess"


_ORDER = list(Algorithm)


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicChallenge:
    """A server that wants the password itself."""

    realm: str

    def header(self) -> str:
        """The value of WWW-Authenticate."""
        return f"Basic realm={_quoted(self.realm)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestChallenge:
    """A server that wants proof of the password for this nonce."""

    realm: str
    nonce: str
    algorithm: Algorithm = Algorithm.MD5
    opaque: str | None = None
    has_qop: bool = False
    is_stale: bool = False
    names_algorithm: bool = False  # some servers know no `algorithm` in an answer if they did not name one

    def header(self) -> str:
        """The value of WWW-Authenticate."""
        parts = [f"realm={_quoted(self.realm)}", f"nonce={_quoted(self.nonce)}"]
        parts += ['qop="auth"'] * self.has_qop
        parts += [f"opaque={_quoted(self.opaque)}"] if self.opaque is not None else []
        parts += [f"algorithm={self.algorithm}"] * self.names_algorithm
        parts += ["stale=TRUE"] * self.is_stale
        return "Digest " + ", ".join(parts)


Challenge = BasicChallenge | DigestChallenge


def challenges(headers: Iterable[str]) -> list[Challenge]:
    """What the values of WWW-Authenticate ask for, the strongest first; what we cannot answer is left out."""
    found: list[Challenge] = []
    for header in headers:
        for scheme, parameters in _sections(header[:LONGEST_HEADER]):
            if len(found) < MOST_CHALLENGES and (challenge := _challenge(scheme, parameters)):
                found.append(challenge)
    return sorted(found, key=_strength, reverse=True)


class LoginVerdict(Enum):
    """What a 401 means to a login."""

    ANSWER = "answer"  # ask again: a first challenge, or a new nonce
    REFUSED = "refused"  # the login was looked at and is wrong
    UNANSWERABLE = "unanswerable"  # there is no credential, or no challenge that we know


@dataclass(slots=True)
class Login:
    """A client's side: turns challenges into answers."""

    credential: Credential | None
    seed: str  # unguessable, of this session alone
    _challenge: Challenge | None = None
    _count: int = 0  # of requests under the current nonce
    _has_worked: bool = False  # whether an answer under the current nonce was accepted
    _stale_in_a_row: int = 0

    @property
    def is_tried(self) -> bool:
        """Whether the server got to see the credential in some form."""
        return self._challenge is not None

    @property
    def is_open(self) -> bool:
        """Whether the server got to see it, and has not said that it is good."""
        return self.is_tried and not self._has_worked

    def challenged(self, headers: Iterable[str]) -> LoginVerdict:
        """A 401 came, with these values of WWW-Authenticate."""
        offered = challenges(headers)
        if self.credential is None or not offered:
            return LoginVerdict.UNANSWERABLE if self._challenge is None else LoginVerdict.REFUSED
        if self._challenge is not None and not self._is_only_stale(offered[0]):
            return LoginVerdict.REFUSED
        self._challenge, self._count, self._has_worked = offered[0], 0, False
        return LoginVerdict.ANSWER

    def accepted(self) -> None:
        """A request with our answer was not refused for its login."""
        self._has_worked = self._challenge is not None
        self._stale_in_a_row = 0

    def answer(self, method: str, uri: str) -> str | None:
        """The value of Authorization for a request, if one is asked for."""
        if self._challenge is None or self.credential is None:
            return None
        if isinstance(self._challenge, BasicChallenge):
            return _basic(self.credential)
        self._count += 1
        client_nonce = hashlib.sha256(_bytes(f"{self.seed}:{self._challenge.nonce}:{self._count}")).hexdigest()[:16]
        attempt = _Attempt(method=method, uri=uri, count=f"{self._count:08x}", client_nonce=client_nonce)
        return _digest_answer(self._challenge, self.credential, attempt)

    def _is_only_stale(self, new: Challenge) -> bool:
        """Whether the old answer may have been right: the server says so, or it changed a nonce that had worked."""
        if not isinstance(new, DigestChallenge) or not isinstance(self._challenge, DigestChallenge):
            return False
        self._stale_in_a_row += 1
        changed = new.nonce != self._challenge.nonce
        return changed and (new.is_stale or self._has_worked) and self._stale_in_a_row <= MOST_STALE


class Proof(Enum):
    """What a server makes of a request's Authorization."""

    ABSENT = "absent"
    WRONG = "wrong"
    STALE = "stale"  # right, but for a nonce of the past
    RIGHT = "right"


@dataclass(slots=True)
class Guard:
    """A server's side: what it asks for, and whether an answer is right. `nonce` is the caller's to renew."""

    credential: Credential
    nonce: str
    realm: str = "streamward"
    algorithms: tuple[Algorithm, ...] = (Algorithm.MD5,)
    allows_basic: bool = False
    has_qop: bool = False
    opaque: str | None = None
    _former: tuple[str, ...] = ()
    _highest: int = 0  # count under the current nonce

    def renew(self, nonce: str) -> None:
        """Answers to the old nonce are stale from now on."""
        self._former = (*self._former[1 - MOST_FORMER :], self.nonce)
        self.nonce, self._highest = nonce, 0

    def challenge(self, *, is_stale: bool = False) -> list[str]:
        """The values of WWW-Authenticate, the strongest first."""
        digests = [
            DigestChallenge(
                realm=self.realm,
                nonce=self.nonce,
                algorithm=algorithm,
                opaque=self.opaque,
                has_qop=self.has_qop,
                is_stale=is_stale,
                names_algorithm=True,
            ).header()
            for algorithm in sorted(self.algorithms, key=_ORDER.index, reverse=True)
        ]
        return digests + [BasicChallenge(realm=self.realm).header()] * self.allows_basic

    def check(self, method: str, uri: str, authorization: str | None) -> Proof:
        """Whether whoever sent this request knows the credential."""
        section = next(iter(_sections((authorization or "")[:LONGEST_HEADER])), None)
        if section is None:
            return Proof.WRONG if authorization else Proof.ABSENT
        scheme, given = section
        if scheme == "basic":
            return _basic_or_wrong(self, authorization or "")
        return self._check_digest(method, uri, given)

    def _check_digest(self, method: str, uri: str, given: dict[str, str]) -> Proof:
        algorithm = _algorithm(given.get("algorithm"))
        nonce = given.get("nonce", "")
        named = given.get("uri", "")
        if algorithm not in self.algorithms or (given.get("qop") == "auth") != self.has_qop:
            return Proof.WRONG
        if not _is_for(named, uri):
            return Proof.WRONG
        count = given.get("nc", "")
        if self.has_qop and not _COUNT.fullmatch(count):
            return Proof.WRONG
        challenge = DigestChallenge(realm=self.realm, nonce=nonce, algorithm=algorithm, has_qop=self.has_qop)
        attempt = _Attempt(method=method, uri=named, count=count, client_nonce=given.get("cnonce", ""))
        wanted = _response(challenge, self.credential, attempt)
        if not compare_digest(wanted.encode(), _bytes(given.get("response", "").lower())):
            return Proof.WRONG
        return self._freshness(nonce, int(count, 16) if self.has_qop else None)

    def _freshness(self, nonce: str, count: int | None) -> Proof:
        if nonce != self.nonce:
            return Proof.STALE if nonce in self._former else Proof.WRONG
        if count is not None:
            if count <= self._highest:
                return Proof.WRONG  # said before: somebody repeats what they heard
            self._highest = count
        return Proof.RIGHT


def _is_for(named: str, uri: str) -> bool:
    """Whether an answer that names one URI may stand in a request to another.

    Clients of live555 (VLC, many recorders) name the stream's base URL in requests to its tracks, with or without a
    slash at its end.
    """
    base = named.rstrip("/")
    has_path = base.count("/") > 2  # `rtsp://host/path`: a host alone is no stream
    return named == uri or (has_path and (uri.rstrip("/") == base or uri.startswith(f"{base}/")))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attempt:
    """What one answer is made for."""

    method: str
    uri: str
    count: str
    client_nonce: str


def _response(challenge: DigestChallenge, credential: Credential, attempt: _Attempt) -> str:
    """RFC 7616, 3.4.1."""
    digest = _hash(challenge.algorithm)
    secret = digest(f"{credential.user.reveal()}:{challenge.realm}:{credential.password.reveal()}")
    if challenge.algorithm in {Algorithm.MD5_SESS, Algorithm.SHA256_SESS}:
        secret = digest(f"{secret}:{challenge.nonce}:{attempt.client_nonce}")
    asked = digest(f"{attempt.method}:{attempt.uri}")
    if challenge.has_qop:
        return digest(f"{secret}:{challenge.nonce}:{attempt.count}:{attempt.client_nonce}:auth:{asked}")
    return digest(f"{secret}:{challenge.nonce}:{asked}")


def _digest_answer(challenge: DigestChallenge, credential: Credential, attempt: _Attempt) -> str:
    parts = [
        f"username={_quoted(credential.user.reveal())}",
        f"realm={_quoted(challenge.realm)}",
        f"nonce={_quoted(challenge.nonce)}",
        f"uri={_quoted(attempt.uri)}",
        f'response="{_response(challenge, credential, attempt)}"',
    ]
    parts += [f"algorithm={challenge.algorithm}"] * challenge.names_algorithm
    parts += [f"opaque={_quoted(challenge.opaque)}"] if challenge.opaque is not None else []
    if challenge.has_qop:
        parts += ["qop=auth", f"nc={attempt.count}"]
    if challenge.has_qop or challenge.algorithm in {Algorithm.MD5_SESS, Algorithm.SHA256_SESS}:
        parts.append(f'cnonce="{attempt.client_nonce}"')
    return "Digest " + ", ".join(parts)


def _hash(algorithm: Algorithm) -> Callable[[str], str]:
    if algorithm in {Algorithm.MD5, Algorithm.MD5_SESS}:
        return lambda text: hashlib.md5(_bytes(text), usedforsecurity=False).hexdigest()
    return lambda text: hashlib.sha256(_bytes(text)).hexdigest()


def _bytes(text: str) -> bytes:
    """As it came: a realm need not be UTF-8."""
    return text.encode(errors="surrogateescape")


def _basic(credential: Credential) -> str:
    pair = f"{credential.user.reveal()}:{credential.password.reveal()}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def _basic_or_wrong(guard: Guard, authorization: str) -> Proof:
    """Compares what is inside, for the same bytes have several spellings in base64."""
    scheme, _, given = authorization.strip().partition(" ")
    if not guard.allows_basic or scheme.lower() != "basic":
        return Proof.WRONG
    try:
        pair = base64.b64decode(given.strip(), validate=True)
    except (binascii.Error, ValueError):
        return Proof.WRONG
    right = f"{guard.credential.user.reveal()}:{guard.credential.password.reveal()}"
    return Proof.RIGHT if compare_digest(pair, right.encode()) else Proof.WRONG


def _sections(header: str) -> Iterable[tuple[str, dict[str, str]]]:
    """The schemes of one header with their parameters; several may stand in one."""
    position = 0
    while scheme := _SCHEME.search(header, position):
        position = scheme.end()
        parameters: dict[str, str] = {}
        while not _SCHEME.match(header, position) and (found := _PARAMETER.match(header, position)):
            quoted = found[2]
            value = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else found[3]
            parameters.setdefault(found[1].lower(), value)
            position = found.end()
        yield scheme[1].lower(), parameters


def _challenge(scheme: str, parameters: dict[str, str]) -> Challenge | None:
    realm = parameters.get("realm", "")
    if scheme == "basic":
        return BasicChallenge(realm=realm)
    algorithm = _algorithm(parameters.get("algorithm"))
    qops = {each.strip().lower() for each in parameters.get("qop", "").split(",")} - {""}
    if algorithm is None or "nonce" not in parameters or (qops and "auth" not in qops):
        return None
    return DigestChallenge(
        realm=realm,
        nonce=parameters["nonce"],
        algorithm=algorithm,
        opaque=parameters.get("opaque"),
        has_qop=bool(qops),
        is_stale=parameters.get("stale", "").lower() == "true",
        names_algorithm="algorithm" in parameters,
    )


def _algorithm(name: str | None) -> Algorithm | None:
    if not name:
        return Algorithm.MD5
    return next((each for each in Algorithm if each.lower() == name.lower()), None)


def _strength(challenge: Challenge) -> int:
    return _ORDER.index(challenge.algorithm) if isinstance(challenge, DigestChallenge) else -1


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
