"""`streamward settings`: every setting, its value, and where that comes from."""

from typing import Any

from streamward.cli.options import AsJson


def show(*, as_json: AsJson = False) -> None:
    """Show every setting and where it comes from; secrets are not shown."""
    from streamward.cli import output
    from streamward.settings import find, variables

    found = find()
    rows = [
        {
            "name": each.name,
            "key": each.key,
            "value": _told(found.settings, each.path),
            "origin": found.origins[each.path],
        }
        for each in variables()
    ]
    if as_json:
        output.print_lines(rows)
    else:
        output.print_table(("SETTING", "VALUE", "ORIGIN"), [(row["name"], row["value"], row["origin"]) for row in rows])


def _told(settings: Any, path: tuple[str, ...]) -> Any:
    """A value that may be seen: of a secret that it is there, of a URL all but user, password and query."""
    from pathlib import Path

    from pydantic import SecretStr

    from streamward.model.camera import without_credentials
    from streamward.model.secret import MASK

    value = settings
    for part in path:
        value = getattr(value, part)
    if isinstance(value, SecretStr):
        url, _, query = value.get_secret_value().partition("?")
        return without_credentials(url) + (f"?{MASK}" if query else "") if "://" in url else MASK
    return str(value) if isinstance(value, Path) else value
