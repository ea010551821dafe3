"""`leases.lease` as SQL: the same conditions, over a lease row `l` at the moment `t.now`.

`:steady_for`, `:earliest`, `:latest` and `:floor` are the control plane's view of the database's clock; without one
(NULL) nothing is judged expired. The differential test in `tests/conformance` holds this module to the Python rule.
"""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.statement import LEASE, Statement, statement
from streamward.leases.clock_guard import TOLERANCE

MINE = "l.runner_id = :runner_id AND l.incarnation = :incarnation"
TAKES_SLOT = "l.state IN ('ACTIVE', 'PAUSED')"


class LeaseRule:
    """The conditions and values of `Lease`, spelled for one database."""

    def __init__(self, dialect: SqlDialect) -> None:
        d = dialect
        self.dialect = d
        self.ahead = self._leads(by=TOLERANCE)
        self.expired = (
            "(l.runner_id IS NOT NULL AND l.ttl <= :steady_for AND t.now BETWEEN :earliest AND :latest"
            f" AND (l.expires_at <= t.now OR {self.ahead}))"
        )
        past_soft_window = f"{d.later('l.expires_at', 'l.soft_for')} <= t.now"
        self.is_open = (
            "(l.state <> 'TERMINATED' AND"
            f" (l.runner_id IS NULL OR {self.expired}"
            f" AND (l.ended_at IS NOT NULL OR {self.ahead} OR {past_soft_window})))"
        )
        led = f"CASE WHEN {self._leads(by=0.0)} THEN l.expires_at ELSE l.granted_at END"
        self.stamped = f"{d.greatest}(l.not_before, l.granted_at, {led})"
        self.not_before = f"{d.greatest}({self.stamped}, :floor, coalesce(l.ended_at, {d.never}))"

    def _leads(self, *, by: float) -> str:
        return f"(l.runner_id IS NOT NULL AND l.expires_at > {self.dialect.later('t.now', f'l.ttl + {by}')})"

    def echo_fits(self, echo: str) -> str:
        """`lease.echo_fits`."""
        oldest, furthest = self.dialect.later("t.now", "-l.ttl"), self.dialect.later("t.now", str(TOLERANCE))
        return f"({echo} IS NULL OR {echo} BETWEEN {oldest} AND {furthest})"

    def extended(self, asked: str, *, is_kept: str = "true", not_before: str | None = None) -> str:
        """Sets what `Lease._extended` sets; what is not kept, but granted anew, is not paused, and has its own ttl."""
        ttl = f"CASE WHEN {is_kept} THEN {self.dialect.greatest}({asked}, l.ttl) ELSE {asked} END"
        return (
            f"state = CASE WHEN l.state = 'PAUSED' AND {is_kept} THEN 'PAUSED' ELSE 'ACTIVE' END,"
            f" ttl = {ttl}, expires_at = {self.dialect.later('t.now', ttl)},"
            f" not_before = {not_before or self.stamped}, updated_at = t.now"
        )

    def freed(self) -> str:
        """Sets what `Lease.freed` sets."""
        return (
            "runner_id = NULL, incarnation = NULL, reason = NULL,"
            " state = CASE l.state WHEN 'TERMINATED' THEN 'TERMINATED' ELSE 'PENDING' END,"
            f" not_before = {self.dialect.greatest}({self.stamped}, :floor),"
            " free_since = t.now, updated_at = t.now"
        )

    def released(self, made_until: str) -> str:
        """Sets what `Lease.release` sets; `made_until` may be NULL."""
        latest = f"{self.dialect.greatest}(t.now, l.expires_at)"
        ended = self._ended(f"{self.dialect.least}(coalesce({made_until}, t.now), {latest})")
        return f"{ended}, {self.freed()}"

    def released_with_all(self) -> str:
        """Sets what `Lease.released_with_all` sets."""
        return f"{self._ended('l.expires_at')}, {self.freed()}"

    def _ended(self, made_until: str) -> str:
        return (
            f"ended_at = coalesce(l.ended_at, {self.dialect.greatest}(t.now, l.granted_at)),"
            f" made_until = CASE WHEN l.ended_at IS NULL THEN {made_until} ELSE l.made_until END"
        )

    def grant(self, rows: str, *, assign: str, where: str) -> Statement:
        """A change that may be a grant: no detection may be accepted that is dated after it and stored before it."""
        return self.change(self.dialect.undisturbed(rows), assign=assign, where=where)

    def change(self, rows: str, *, assign: str, where: str = "true") -> Statement:
        """One conditional change of the leases in `rows`, a query of their ids and of what goes with each."""
        return statement(
            f"WITH k AS MATERIALIZED ({rows}), t AS MATERIALIZED ({self.dialect.now_after_locks})"
            f" UPDATE stream_leases AS l SET {assign}"
            f" FROM k, t WHERE l.camera_uuid = k.camera_uuid AND ({where})"
            f" {self.dialect.returning('l', *LEASE.names)}",
            LEASE,
        )

    def listed(self, *columns: str, skip: bool = False) -> str:
        """The leases in a list that goes with the statement, locked."""
        d = self.dialect
        return (
            f"SELECT n.* FROM {d.listed('camera_uuid', *columns)}"
            " JOIN stream_leases AS x ON x.camera_uuid = n.camera_uuid"
            f" ORDER BY n.camera_uuid {d.locking('x', skip=skip)}"
        )

    def found(self, where: str, *, skip: bool = False) -> str:
        """The leases `l` that fit a condition, locked."""
        return (
            f"SELECT l.camera_uuid FROM stream_leases AS l WHERE {where}"
            f" ORDER BY l.camera_uuid {self.dialect.locking('l', skip=skip)}"
        )
