"""`streamward migrate`: brings the database to the newest schema, for control planes without rights to change it."""

from streamward.cli.failure import CommandFailed


def run() -> None:
    """Bring the database of the settings to the newest schema.

    A control plane does this at its start if its user may change the schema. If not, run this before each upgrade with
    a STREAMWARD_DATABASE_URL of the owner of the tables, and then roles.sql for tables that are new.
    """
    import asyncio

    from streamward.control.app import data_folder, migrate_schema
    from streamward.model.camera import without_credentials
    from streamward.settings import load

    settings = load()
    if settings.database_url.startswith("memory:"):
        raise CommandFailed("a database in memory has no schema: set STREAMWARD_DATABASE_URL to one that is kept")
    with data_folder(settings.data):
        before, newest = asyncio.run(migrate_schema(settings))
    shown = without_credentials(settings.database_url).partition("?")[0]
    if before == newest:
        print(f"{shown} has schema {before} already, the newest")
    else:
        print(f"{shown} was brought from {'no schema' if before is None else f'schema {before}'} to {newest}")
