"""Checks of the database: that it answers, has the newest schema, and has our time."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from streamward.cli.checks.finding import Finding, failed, ok, warning
from streamward.control.app import DatabaseSilent, examine
from streamward.model.camera import without_credentials
from streamward.settings import Settings

APART = 1.0  # seconds between two clocks that are worth a word
TOO_FAR = 5.0  # seconds at which tokens begin to be refused

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
    if seen.at is not None:
        found.append(clock("database clock", Reading(theirs=seen.at, asked=asked, answered=answered)))
    return found


def schema(found: str | None, *, newest: str, is_known: bool) -> Finding:
    """Whether this program and the database are of one schema."""
    check = "schema"
    if found is None:
        return warning(check, "the database is empty", "`streamward control` fills it at its next start")
    if not is_known:
        return failed(check, f"the schema {found} is newer than this program ({newest})", "install the newer version")
    if found != newest:
        return warning(
            check, f"the schema {found} is behind ({newest})", "`streamward control` upgrades it at its start"
        )
    return ok(check, f"{found} is the newest")


def clock(check: str, reading: Reading) -> Finding:
    """Whether two clocks agree well enough."""
    apart = reading.apart
    told = f"it is at least {abs(apart):.1f} s {'ahead of' if apart > 0 else 'behind'} this host's"
    if abs(apart) > TOO_FAR:
        return failed(check, told, "set both clocks by NTP: tokens are refused when clocks differ by more than 5 s")
    if abs(apart) > APART:
        return warning(check, told, "set both clocks by NTP")
    return ok(check, "agrees with this host's")
