"""`streamward doctor`: looks at everything that can be wrong on this host, and says how to mend it."""

from collections.abc import Callable
from typing import Any

import typer

from streamward.cli.failure import ExitCode
from streamward.cli.options import AsJson


def run(*, as_json: AsJson = False) -> None:
    """Check settings, folders, keys, database, clocks, servers, port and devices, and say how to mend each.

    Exits with 1 if something failed; warnings do not count.
    """
    from streamward.cli import output

    found = examine()
    if as_json:
        output.print_lines(found)
    else:
        print(told(found))
    if any(each.verdict == "failed" for each in found):
        raise typer.Exit(ExitCode.REFUSED)


def examine() -> list[Any]:
    """Every finding; settings that cannot be read leave nothing else to look at."""
    from streamward.cli.checks import database, files, hardware, network, runner
    from streamward.cli.checks.finding import failed, ok
    from streamward.settings import SettingsRefused, find
    from streamward.settings.sources import DEFAULT

    try:
        settings = find()
    except SettingsRefused as err:
        return [failed("settings", each, "see docs/settings.md and `streamward settings`") for each in err.sentences]
    changed = sum(origin != DEFAULT for origin in settings.origins.values())
    found = [ok("settings", f"{changed} of {len(settings.origins)} are set")]
    checks: list[Callable[[Any], Any]] = [
        files.data_folder,
        files.signing_key,
        files.master_key,
        files.server_certificate,
        files.client_certificate,
        database.database,
        network.broker,
        network.redis,
        network.port,
        runner.identity,
        runner.bus,
        network.control,
        hardware.decoding,
    ]
    for check in checks:
        found += _survived(check, settings.settings)
    return found


def told(found: list[Any]) -> str:
    """The report for people: one line for each check, and below it what to do."""
    broad = max(len(each.check) for each in found)
    lines = []
    for each in found:
        lines.append(f"{each.verdict:<7}  {each.check:<{broad}}  {each.detail}")
        if each.remedy is not None:
            lines.append(f"{'':7}  {'':{broad}}  → {each.remedy}")
    failures, warnings = (sum(each.verdict == word for each in found) for word in ("failed", "warning"))
    return "\n".join([*lines, "", f"{len(found)} checks: {failures} failed, {warnings} to know about"])


def _survived(check: Callable[[Any], Any], settings: Any) -> list[Any]:
    """What a check found; one that fails in a way nobody thought of is a finding too, and the others go on."""
    from streamward.cli.checks.finding import failed

    try:
        found = check(settings)
    except Exception as err:  # noqa: BLE001 see above
        name = check.__name__.replace("_", " ")
        return [
            failed(name, f"could not be checked ({type(err).__name__})", "report this: it is a mistake of the doctor's")
        ]
    if found is None:
        return []
    return found if isinstance(found, list) else [found]
