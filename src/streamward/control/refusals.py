"""Refusals that somebody should hear of: counted, logged and audited, and attempts to get in limited.

    wrong code or assertion ─→ a token of the address and one of all ─┬─ there is one ─→ 401 or 403
                                                                      └─ there is none → 429 with Retry-After
    each of `WATCHED` ─→ counter `refusals_total`, a log line, a row of the audit

Every code and every assertion is checked, whatever was refused before: who has the right one is always let in. The
limit bounds what strangers learn in a second and what they write into logs. That guessing is hopeless rests on the
codes (160 random bits, one use, an expiry) and the keys (Ed25519), not on it.

Guaranteed: lines and rows are bounded by `LINES` and `ROWS`, whatever comes; what is left out is counted in the next,
which follows within a minute if that bound permits, even if no further call is refused.
"""

import ipaddress
from dataclasses import dataclass, field

from streamward.model.identity import Author
from streamward.model.rate_limit import Digest, KeyedLimit, Rate
from streamward.model.register import Note, Register
from streamward.protocol.problem import Problem
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal

OF_ADDRESS = Rate(burst=20, per_second=10 / 60)
OF_ALL = Rate(burst=100, per_second=5.0)
WRITE_EVERY = 1.0  # seconds
ONCE_A_MINUTE = Rate(burst=1, per_second=1 / 60)  # for each reason and address or subject
LINES = Rate(burst=30, per_second=0.5)
ROWS = Rate(burst=60, per_second=1 / 60)  # rows are kept for ever
WATCHED = frozenset({
    "assertion-refused",
    "clock-skew",
    "code-refused",
    "id-outside-tenant",
    "tenant-differs",
    "tenant-needed",
    "too-many-attempts",
    "wrong-role",
    "wrong-runner",
})
ANONYMOUS = "anonymous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """How many wrong codes and assertions are answered as such."""

    of_address: Rate = OF_ADDRESS
    of_all: Rate = OF_ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRefused:
    """One call was refused for a reason that is watched."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsRefused:
    """Calls of one origin were refused, so many times since this was last said."""

    is_warning = True

    reason: str
    route: str
    subject: str
    address: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """The key of a report: a reason and a client; beside it the latest refused call."""

    reason: str
    client: str
    route: str = field(compare=False)
    status: int = field(compare=False)
    author: Author = field(compare=False)

    def row(self, times: int) -> Note:
        """The audit row for so many refusals."""
        return Note(
            author=self.author,
            action=f"refused.{self.reason}",
            tenant_id=self.author.tenant_id,
            object_id=self.author.subject,
            after={"route": self.route, "status": self.status, "times": times},
        )


class Refusals:
    """One control plane's; a service runs its ticks, which write the audit.

    A call that is refused writes nothing itself: how long it takes must not depend on what was refused before.
    """

    def __init__(self, register: Register, *, journal: Journal, clock: Clock, attempts: Attempts) -> None:
        self._register = register
        self._journal = journal
        self._clock = clock
        self._unwritten: list[Note] = []
        self._attempts = KeyedLimit[str](each=attempts.of_address, total=attempts.of_all)
        self._lines = Digest[_Origin](each=ONCE_A_MINUTE, total=LINES)
        self._rows = Digest[_Origin](each=ONCE_A_MINUTE, total=ROWS)

    def limited(self, refusal: Problem, *, address: str) -> Problem:
        """The answer to a wrong code or assertion: that it is wrong, or that there were too many."""
        wait = self._attempts.spend(_network(address), self._clock.boot())
        if not wait:
            return refusal
        return Problem(
            title="Too Many Requests",
            status=429,
            detail="too many wrong codes or assertions came from here or from anywhere; the right one is always taken",
            reason="too-many-attempts",
            retry_in_ms=round(wait * 1000),
        )

    async def tick(self) -> float:
        """Reports what is due and writes its rows; raises StoreUnavailable, and writes the remaining rows later."""
        now = self._clock.boot()
        for origin, times in self._lines.due(now):
            self._log(origin, times)
        for origin, times in self._rows.due(now):
            self._unwritten.append(origin.row(times))
        while self._unwritten:
            await self._register.write_note(self._unwritten[0])
            self._unwritten.pop(0)
        return WRITE_EVERY

    def note(self, problem: Problem, *, route: str, author: Author) -> None:
        """Takes in an answer that refuses."""
        if problem.reason not in WATCHED:
            return
        self._journal.record(CallRefused(reason=problem.reason))
        client = _network(author.address) if author.subject == ANONYMOUS else author.subject
        origin = _Origin(reason=problem.reason, client=client, route=route, status=problem.status, author=author)
        now = self._clock.boot()
        if times := self._lines.count(origin, now):
            self._log(origin, times)
        if times := self._rows.count(origin, now):
            self._unwritten.append(origin.row(times))

    def _log(self, origin: _Origin, times: int) -> None:
        author = origin.author
        self._journal.record(
            CallsRefused(
                reason=origin.reason, route=origin.route, subject=author.subject, address=author.address, times=times
            )
        )


def _network(address: str) -> str:
    """What counts as one address: of IPv6 the network of one host, which may have all addresses in it."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(parsed) if parsed.version == 4 else str(ipaddress.ip_network((parsed, 64), strict=False))
