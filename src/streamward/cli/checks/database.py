"""Checks of the database: that it answers, has the newest schema, and has our time."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from streamward.cli.checks.finding import Finding, failed, ok, warning
from streamward.control.app import DatabaseSilent, examine, foreign_keys
from streamward.model.camera import without_credentials
from streamward.model.identity import CLOCKS_APART
from streamward.model.tenant import CLOCKS_APART as TOKENS_AHEAD
from streamward.settings import Settings
from streamward.settings.batch import MIB, BatchSettings

APART = 1.0  # seconds between two clocks that are worth a word

NEARLY = 0.95  # of the limit: while old detections are removed, the size stays just below it

_SQLITE = "sqlite:///"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What another clock showed, between two looks at ours; it may leave out what is below its grain."""

    theirs: datetime
    asked: datetime
    answered: datetime
    grain: timedelta = timedelta(0)

    @property
    def apart(self) -> float:
        """Seconds by which the clocks differ for certain; positive: theirs is ahead."""
        ahead = (self.theirs - self.answered).total_seconds()
        behind = (self.asked - self.theirs - self.grain).total_seconds()
        return max(0.0, ahead) - max(0.0, behind)


def database(settings: Settings) -> list[Finding]:
    """The database, its schema and its clock."""
    check, url = "database", settings.database_url
    shown = without_credentials(url).partition("?")[0]
    if url.startswith("memory:"):
        return [warning(check, "in memory: a restart forgets everything", "set STREAMWARD_DATABASE_URL")]
    if url.startswith(_SQLITE) and not Path(url.removeprefix(_SQLITE)).exists():
        return [warning(check, f"{shown} is not there yet", "`streamward control` makes it at its first start")]
    asked = datetime.now(UTC)
    try:
        seen = asyncio.run(examine(settings))
    except DatabaseSilent as err:
        return [
            failed(check, f"{shown} does not answer ({err.why})", "see that it runs; STREAMWARD_DATABASE_URL names it")
        ]
    answered = datetime.now(UTC)
    found = [ok(check, f"{shown} answers"), schema(seen.schema, newest=seen.newest, is_known=seen.is_known)]
    has_keys = settings.key_file.exists() and (settings.master_key is not None or settings.master_key_file.exists())
    if has_keys and seen.schema == seen.newest and (foreign := asyncio.run(foreign_keys(settings))) is not None:
        detail, _, remedy = str(foreign).partition(": ")
        found.append(failed("keys", detail, remedy))
    if seen.at is not None:
        found.append(clock("database clock", Reading(theirs=seen.at, asked=asked, answered=answered)))
    if seen.size is not None:
        found.append(size(seen.size, settings.batch))
    return found


def size(used: int, batch: BatchSettings) -> Finding:
    """How much of an embedded database's limit is in use."""
    check, limit = "database size", batch.kept_mb
    told = f"{used / MIB:,.0f} of {limit:,} MiB are in use"
    if used > NEARLY * limit * MIB:
        return warning(
            check,
            f"{told}: the oldest detections are removed before {batch.kept_days:g} days",
            "raise STREAMWARD_BATCH_KEPT_MB, or use PostgreSQL (docs/batches.md)",
        )
    return ok(check, f"{told}; detections are stored for {batch.kept_days:g} days at most")


def schema(found: str | None, *, newest: str, is_known: bool) -> Finding:
    """Whether this program and the database are of one schema."""
    check = "schema"
    if found is None:
        return warning(
            check, "the database is empty", "`streamward control` fills it at its next start, or `streamward migrate`"
        )
    if not is_known:
        return failed(check, f"the schema {found} is newer than this program ({newest})", "install the newer version")
    if found != newest:
        return warning(
            check,
            f"the schema {found} is behind ({newest})",
            "`streamward control` upgrades it at its start, or `streamward migrate`",
        )
    return ok(check, f"{found} is the newest")


def clock(check: str, reading: Reading) -> Finding:
    """Whether two clocks agree well enough."""
    apart = reading.apart
    told = f"it is at least {abs(apart):.1f} s {'ahead of' if apart > 0 else 'behind'} this host's"
    if abs(apart) > CLOCKS_APART:
        refused = f"hosts whose clocks differ by more than {CLOCKS_APART:.0f} s get no token"
        return failed(check, told, f"set both clocks by NTP: {refused}")
    if abs(apart) > TOKENS_AHEAD:
        refused = f"a token of `streamward token` from a host that is more than {TOKENS_AHEAD:.0f} s ahead is refused"
        return warning(check, told, f"set both clocks by NTP: {refused}")
    if abs(apart) > APART:
        return warning(check, told, "set both clocks by NTP")
    return ok(check, "agrees with this host's")
