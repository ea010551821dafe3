"""How often a login may be refused: recorders lock accounts, and then nobody gets in.

A login is known by where it is used and by its user and password, so that cameras with one password share a record
and a password that was mistyped for one camera says nothing of the others. What is known of one is a record:

    ask ──GO──→ a try is open ──accepted──→ proven: nothing else counts any more
         │                    ──gave up───→ as if it had not been
         │                    ──refused───→ counts for a quarter of an hour
         │                    ──silence───→ over after `TRIED_FOR`; counts as refused unless the login was proven
         ├──WAIT──→ somebody else is finding out
         └──PARKED→ two count, until the older is a quarter of an hour old or an operator allows one more try

Guaranteed: refused tries and open ones are never more than two in any quarter of an hour, whoever asks, as long as
every try ends within `TRIED_FOR` of the ask. What was accepted a moment ago goes without a try; what was accepted long
ago is tried by one first, for passwords are changed at recorders too, but holds the others only for a moment.
Not guaranteed: the bound for logins that go within `FRESH_FOR` of an acceptance, nor for a process that stands still in
the middle of a login. A clock that is set back prolongs nothing; one that is set ahead ends what was parked.

Instants are seconds of any one clock.
"""

import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NewType

from streamward.model.ids import CameraId, Incarnation
from streamward.model.source_url import NETWORK, Credential, SourceKind, SourceUrl

MOST_REFUSED = 2  # logins in PARKED_FOR
PARKED_FOR = 900.0  # seconds
ANSWER_WITHIN = 4.5  # seconds for the answer to an ask; one that comes later is not acted on
TRIED_FOR = 15.0  # seconds after which a try is over, whatever became of it: longer than an answer and a dial
GLANCED_FOR = 2.0  # seconds for which a try of a proven login holds the others back
FRESH_FOR = 10.0  # seconds in which an acceptance stands for all

_PORTS = {SourceKind.RTSP: 554, SourceKind.RTSPS: 322}

# A digest of where, of the user and of the password. Without a key it can be tested against guessed passwords, so it
# stays where the password is: in runners, and between them and the control plane. The control plane stores another
# digest of it, under a key that is not in the database.
LoginId = NewType("LoginId", str)


def login_of(url: SourceUrl, credential: Credential | None) -> LoginId | None:
    """The login of a source; None: it has no credential, or is not reached over a network."""
    if credential is None or url.kind not in NETWORK:
        return None
    parts = (url.host, str(url.port or _PORTS[url.kind]), credential.user.reveal(), credential.password.reveal())
    named = b"".join(len(each).to_bytes(8) + each for each in (part.encode() for part in parts))
    return LoginId(hashlib.sha256(named).hexdigest())


class Permission(StrEnum):
    """Whether a login may be tried."""

    GO = "go"
    WAIT = "wait"  # somebody else is finding out
    PARKED = "parked"


class LoginOutcome(StrEnum):
    """How a try ended."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    GAVE_UP = "gave-up"  # the camera was not even asked, or said nothing of the login


@dataclass(frozen=True, slots=True)
class Asker:
    """Who tries: one start of a runner, for one camera."""

    camera_id: CameraId
    incarnation: Incarnation


@dataclass(frozen=True, slots=True)
class Try:
    """A login that was let go, and of which nothing was heard yet."""

    by: Asker
    since: float


@dataclass(frozen=True, slots=True)
class Refusal:
    """A login that was refused, or of which nothing was ever heard."""

    by: Asker
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRecord:
    """What is known of a login."""

    refused: tuple[Refusal, ...] = ()  # the newest, in order
    tries: tuple[Try, ...] = ()
    proven_at: float | None = None  # accepted then, and not refused since

    @property
    def is_parked(self) -> bool:
        """Whether as many count as may; ask `settled` for a record of now."""
        return len(self.refused) >= MOST_REFUSED


def settled(record: LoginRecord, now: float) -> LoginRecord:
    """The same record at `now`: tries that are over have ended, and what is long past is forgotten."""
    tries = [replace(each, since=min(each.since, now)) for each in record.tries]
    ended = [each for each in tries if now - each.since >= TRIED_FOR]
    return _ended(replace(record, tries=tuple(tries)), ended, now)


def ask(record: LoginRecord, by: Asker, now: float) -> tuple[LoginRecord, Permission]:
    """Whether to log in now, and the record after that.

    A camera has one connection at a time: one that asks again has ended its last try without a word.
    """
    seen = settled(record, now)
    seen = _ended(seen, [each for each in seen.tries if each.by.camera_id == by.camera_id], now)
    if any(now - each.since < _held_for(seen) for each in seen.tries):
        return seen, Permission.WAIT
    if len(seen.refused) + len(seen.tries) >= MOST_REFUSED:
        return seen, Permission.WAIT if seen.tries else Permission.PARKED
    if seen.proven_at is not None and 0 <= now - seen.proven_at < FRESH_FOR:
        return seen, Permission.GO
    return replace(seen, tries=(*seen.tries, Try(by, now))), Permission.GO


def told(record: LoginRecord, by: Asker, outcome: LoginOutcome, now: float) -> LoginRecord:
    """The record once it is known how a try ended; one refusal makes a proven login doubtful.

    A refusal that is told again, or so late that it was counted already, is the same one.
    """
    others = tuple(each for each in record.tries if each.by != by)
    match outcome:
        case LoginOutcome.ACCEPTED:
            return LoginRecord(proven_at=now)
        case LoginOutcome.GAVE_UP:
            return replace(record, tries=others)
        case LoginOutcome.REFUSED if record.proven_at is None and others == record.tries and _is_counted(record, by):
            return record
        case LoginOutcome.REFUSED:
            return LoginRecord(refused=_counted((*record.refused, Refusal(by, now)), now), tries=others)


def retried(record: LoginRecord, now: float) -> LoginRecord:
    """The record once an operator has allowed one more try of a parked login; any other record stays as it is."""
    seen = settled(record, now)
    return replace(seen, refused=seen.refused[1 - MOST_REFUSED :]) if seen.is_parked else record


def parked_until(record: LoginRecord) -> float:
    """The instant from which a parked login may be tried again."""
    return record.refused[-MOST_REFUSED].at + PARKED_FOR


def retry_in(record: LoginRecord, now: float) -> float:
    """Seconds until another answer can be hoped for, if nobody tells anything before."""
    if record.is_parked and not record.tries:
        return max(0.0, parked_until(record) - now)
    return max((_held_for(record) - (now - each.since) for each in record.tries), default=0.0)


def _held_for(record: LoginRecord) -> float:
    return TRIED_FOR if record.proven_at is None else GLANCED_FOR


def _ended(record: LoginRecord, silent: list[Try], now: float) -> LoginRecord:
    """Without the tries that ended in silence: of a proven login they mean nothing, else they were refused."""
    is_proven = record.proven_at is not None
    counts = [] if is_proven else [Refusal(each.by, min(now, each.since + TRIED_FOR)) for each in silent]
    return replace(
        record,
        refused=_counted((*record.refused, *counts), now),
        tries=tuple(each for each in record.tries if each not in silent),
    )


def _is_counted(record: LoginRecord, by: Asker) -> bool:
    return any(each.by == by for each in record.refused)


def _counted(refused: tuple[Refusal, ...], now: float) -> tuple[Refusal, ...]:
    recent = [replace(each, at=min(each.at, now)) for each in refused if now - each.at < PARKED_FOR]
    return tuple(sorted(recent, key=lambda each: each.at)[-MOST_REFUSED:])
