"""Checks of the database: that it answers, has the newest schema, and has our time."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from streamward.cli.checks.finding import Finding, failed, ok, warning
from streamward.control.app import DatabaseSilent, examine
from streamward.model.camera import without_credentials
from streamward.settings import Settings

APART = 1.0  # seconds between two clocks that are worth a word
TOO_FAR = 5.0  # seconds at which tokens begin to be refused

_SQLITE = "sqlite:///"


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
        found.append(clock("database clock", seen.at, asked + (answered - asked) / 2))
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


def clock(check: str, theirs: datetime, ours: datetime) -> Finding:
    """Whether two clocks agree well enough."""
    apart = (theirs - ours).total_seconds()
    told = f"it is {abs(apart):.1f} s {'ahead of' if apart > 0 else 'behind'} this host's"
    if abs(apart) > TOO_FAR:
        return failed(check, told, "set both clocks by NTP: tokens are refused when clocks differ by more than 5 s")
    if abs(apart) > APART:
        return warning(check, told, "set both clocks by NTP")
    return ok(check, "agrees with this host's")
