"""The statements of the lease port."""

# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.rule import MINE, TAKES_SLOT, LeaseRule
from streamward.drivers.sql.statement import CAMERA, LEASE, RUNNER, Statement, statement
from streamward.leases.handover import LASTS, MOVED_WITHIN
from streamward.leases.placement import ASKS_WITHIN

TAKEN = ("camera_uuid", "ttl", "soft_for")
LET_GO = ("camera_uuid", "runner_id", "incarnation", "generation", "made_until")

_SLOTS_USED = f"(SELECT count(*) FROM stream_leases AS l WHERE {MINE} AND {TAKES_SLOT})"
_IS_OWN = f"{MINE} AND l.ended_at IS NULL"  # extended, not granted anew
_IS_HEIR = "h.runner_id = :runner_id AND h.incarnation = :incarnation"


def heir(dialect: SqlDialect, *, is_other: bool = False) -> str:
    """Whether a runner is to have the camera of a lease `l`, or another is: `Handover.reserves`, at `t.now`."""
    return (
        "EXISTS (SELECT 1 FROM handovers AS h WHERE h.camera_uuid = l.camera_uuid AND h.generation = l.generation"
        f" AND h.stage <> 'refused' AND {handover_counts(dialect, 't.now')}"
        f" AND {f'NOT ({_IS_HEIR})' if is_other else _IS_HEIR})"
    )


def handover_counts(dialect: SqlDialect, now: str) -> str:
    """Whether the time of a handover `h` is not over, and no longer than it could be: `Handover.counts`."""
    longest = " ".join(
        f"WHEN '{stage}' THEN {dialect.later(now, str(lasts.total_seconds()))}" for stage, lasts in LASTS.items()
    )
    may_move = f"h.deadline > {now} AND h.deadline <= {dialect.later(now, str(MOVED_WITHIN))}"
    return (
        f"h.until > {now} AND h.until <= CASE h.stage {longest} END"
        f" AND (h.deadline IS NULL OR h.stage = 'refused' OR {may_move})"
    )


class LeaseStatements:
    """Each statement once, spelled for one database."""

    def __init__(self, dialect: SqlDialect) -> None:
        rule = LeaseRule(dialect)
        self.lock_runner = lock_runner(dialect)
        self.look_at = _look_at(dialect)
        self.is_known = statement(
            f"WITH t AS MATERIALIZED ({dialect.now})"
            " SELECT t.now, c.camera_uuid FROM t LEFT JOIN cameras AS c ON c.camera_uuid = :camera_uuid",
            returns="now camera_uuid",
        )
        self.look_for_free = _look_for_free(dialect, rule)
        self.rivals = _rivals(dialect)
        self.held = statement(f"SELECT {_SLOTS_USED} AS held", returns="held")
        self.take = _take(rule, skip=False)
        self.take_free = _take(rule, skip=True)
        self.let_go = _let_go(rule, skip=False)
        self.let_go_unlocked = _let_go(rule, skip=True)
        self.orphan = _orphan(rule)
        self.reclaim = rule.change(
            rule.listed("generation"),
            assign=rule.freed(),
            where=f"l.generation = k.generation AND {rule.expired}",
        )


NEXT_EXPIRY = statement(
    f"SELECT min(l.expires_at) AS expires_at FROM stream_leases AS l WHERE {TAKES_SLOT}", returns="expires_at"
)
ORPHANS = statement(
    f"SELECT c.site_id, {LEASE.columns} FROM stream_leases AS l"
    " JOIN cameras AS c ON c.camera_uuid = l.camera_uuid"
    " WHERE l.state = 'ORPHANED' AND l.soft_for > 0 ORDER BY l.camera_uuid",
    LEASE,
    returns="site_id",
)


def lock_runner(dialect: SqlDialect) -> Statement:
    """Reads a runner and keeps others from changing it or acquiring for it."""
    return statement(
        f"SELECT {RUNNER.columns} FROM runners AS r WHERE r.runner_id = :runner_id {dialect.locking('r')}", RUNNER
    )


def _look_at(dialect: SqlDialect) -> Statement:
    """What decides about a runner's claim to one camera; locks the runner, so that it stays true of it."""
    return statement(
        f"WITH t AS MATERIALIZED ({dialect.now}) SELECT t.now, s.policy AS site_policy, {_SLOTS_USED} AS held,"
        f" {RUNNER.columns}, {CAMERA.columns}, {LEASE.columns}"
        " FROM runners AS r CROSS JOIN t LEFT JOIN cameras AS c ON c.camera_uuid = :camera_uuid"
        " LEFT JOIN stream_leases AS l ON l.camera_uuid = c.camera_uuid"
        " LEFT JOIN sites AS s ON s.site_id = c.site_id"
        f" WHERE r.runner_id = :runner_id {dialect.locking('r')}",
        RUNNER,
        CAMERA,
        LEASE,
        returns="now site_policy held",
    )


def _orphan(rule: LeaseRule) -> Statement:
    """Marks what expired; `:seen_at` only finds what to look at, the moment after the locks judges."""
    ahead = rule.dialect.later(":seen_at", "l.ttl")
    return rule.change(
        rule.found(f"{TAKES_SLOT} AND (l.expires_at <= :seen_at OR l.expires_at > {ahead})", skip=True),
        assign="state = 'ORPHANED', free_since = t.now, updated_at = t.now",
        where=f"{TAKES_SLOT} AND {rule.expired}",
    )


def _let_go(rule: LeaseRule, *, skip: bool) -> Statement:
    """Frees what these owners hold."""
    return rule.change(
        rule.listed(*LET_GO[1:], skip=skip),
        assign=rule.released("k.made_until"),
        where=(
            "l.runner_id = k.runner_id AND l.incarnation = k.incarnation"
            " AND (k.generation IS NULL OR k.generation = l.generation)"
        ),
    )


def _take(rule: LeaseRule, *, skip: bool) -> Statement:
    """A new grant, or more time for whoever has it already."""
    new = {
        "generation": "l.generation + 1",
        "soft_for": "k.soft_for",
        "granted_at": f"{rule.dialect.greatest}(t.now, {rule.not_before}) + {rule.dialect.tick}",
        "reason": "NULL",
        "ended_at": "NULL",
        "made_until": "NULL",
    }
    is_mine = f"({_IS_OWN})"
    not_before = f"CASE WHEN {is_mine} THEN {rule.stamped} ELSE {rule.not_before} END"
    kept_or_new = ", ".join(
        f"{name} = CASE WHEN {is_mine} THEN l.{name} ELSE {value} END" for name, value in new.items()
    )
    return rule.grant(
        rule.listed("ttl", "soft_for", skip=skip),
        assign=(
            f"runner_id = :runner_id, incarnation = :incarnation, {kept_or_new},"
            f" {rule.extended('k.ttl', is_kept=is_mine, not_before=not_before)}"
        ),
        where=(
            "l.wanted AND l.tenant_id = coalesce(:tenant_id, l.tenant_id) AND l.site_id = coalesce(:site_id, l.site_id)"
            f" AND CASE WHEN {is_mine} THEN {rule.echo_fits(':echo')}"
            f" ELSE {rule.is_open} AND {_SLOTS_USED} + :asked <= :capacity END"
        ),
    )


def _look_for_free(dialect: SqlDialect, rule: LeaseRule) -> Statement:
    """What a runner could have: the first in the order of `placement.choose`, and how many there are in all."""
    return statement(
        f"WITH t AS MATERIALIZED ({dialect.now}),"
        f" mine AS MATERIALIZED (SELECT c.site_id FROM stream_leases AS l"
        f" JOIN cameras AS c ON c.camera_uuid = l.camera_uuid WHERE {MINE}),"
        " open AS MATERIALIZED (SELECT l.camera_uuid, l.site_id, l.generation, l.free_since,"
        " l.site_id IN (SELECT mine.site_id FROM mine) AS is_served"
        " FROM stream_leases AS l CROSS JOIN t WHERE l.state IN ('PENDING', 'ORPHANED') AND l.wanted"
        " AND l.tenant_id = coalesce(:tenant_id, l.tenant_id) AND l.site_id = coalesce(:site_id, l.site_id)"
        f" AND {rule.is_open} AND (NOT coalesce({_IS_OWN}, false) OR {rule.echo_fits(':echo')})"
        f" AND NOT {heir(dialect, is_other=True)}),"
        " best AS (SELECT * FROM open ORDER BY free_since, is_served DESC, site_id, camera_uuid LIMIT :limit)"
        f" SELECT t.now, {_SLOTS_USED} AS held, (SELECT count(*) FROM open) AS free,"
        f" best.generation, best.free_since, best.is_served, s.policy AS site_policy, {CAMERA.columns}"
        " FROM t LEFT JOIN best ON true LEFT JOIN cameras AS c ON c.camera_uuid = best.camera_uuid"
        " LEFT JOIN sites AS s ON s.site_id = c.site_id",
        CAMERA,
        returns="now held free generation free_since is_served site_policy",
    )


def _rivals(dialect: SqlDialect) -> Statement:
    """How many cameras those have, and may have, who ask for what a runner asks for: `placement.is_rival`."""
    its = "FROM stream_leases AS l WHERE l.runner_id = r.runner_id AND l.incarnation = r.incarnation"
    return statement(
        f"WITH t AS MATERIALIZED ({dialect.now}) SELECT (SELECT count(*) {its}) AS held, r.capacity_streams"
        " FROM runners AS r CROSS JOIN t WHERE r.runner_id <> :runner_id"
        " AND r.incarnation IS NOT NULL AND NOT r.cordoned AND r.drain_mode = 'none'"
        f" AND NOT EXISTS (SELECT 1 {its} AND l.state = 'ORPHANED')"
        f" AND {dialect.later('r.last_seen_at', str(ASKS_WITHIN))} >= t.now"
        " AND coalesce(r.tenant_id = :tenant_id, true) AND coalesce(r.site_id = :site_id, true)",
        returns="held capacity_streams",
    )
