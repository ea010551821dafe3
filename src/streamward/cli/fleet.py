"""`streamward fleet`: who shows which camera, live; and how cameras are moved so that runners hold equally many."""

import shutil
import sys
import time
from enum import StrEnum
from typing import Annotated, Any

import typer

from streamward.cli.failure import CommandFailed
from streamward.cli.options import AsJson

_EVERY = 1.0  # seconds between two looks
_KEPT = 200  # changes that are remembered
_ENTER, _LEAVE = "\033[?1049h\033[?25l", "\033[?25h\033[?1049l"  # a screen of our own without a cursor, and back
_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\033[H", "\033[K", "\033[J"


app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


class By(StrEnum):
    """What cameras are grouped by."""

    RUNNER = "runner"
    SITE = "site"


@app.callback()
def show(
    context: typer.Context,
    *,
    by: Annotated[By, typer.Option(help="What cameras are grouped by.")] = By.RUNNER,
    once: Annotated[bool, typer.Option("--once", help="Print it once, whole.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show who has which camera and how it streams, and each change of hands with its gap, until Ctrl-C.

    Into a pipe, with --once and with --json it is printed once.
    """
    if context.invoked_subcommand is not None:
        return
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.fleet_view import listing

    link = connect(token_for=30.0)
    if not once and not as_json and sys.stdout.isatty():
        _live(link, by)
        return
    rows, now = read(link)
    if as_json:
        output.print_lines(rows)
    elif rows:
        print("\n".join(listing(rows, by=by, now=now, width=output.screen_width())), flush=True)
    else:
        output.say("no cameras yet")


@app.command()
def rebalance(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print the moves.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Until all moves are done or given up, in as many rounds as it takes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Move cameras from runners that hold more to those that hold fewer, as few as possible, without a gap.

    The new runner connects first; the old one releases a camera when the new one has its frames. Where that does not
    happen within 25 seconds the camera stays.
    """
    from streamward.cli.fleet_rebalance import rebalance as move

    move(dry_run=dry_run, wait=wait, as_json=as_json)


def _live(link: Any, by: By) -> None:
    """Looks and draws until it is interrupted; then says what changed hands, since that screen is gone."""
    from streamward.cli.fleet_view import listing, screen, told
    from streamward.protocol.ownership import Change, Ownership

    ownership, changes, body = Ownership(), list[Change](), list[str]()
    print(_ENTER, end="", flush=True)
    try:
        while True:
            began = time.monotonic()
            size = shutil.get_terminal_size((80, 24))
            head = f"{link.url}, Ctrl-C leaves"
            try:
                rows, now = read(link)
                changes = [*changes, *ownership.observe(rows)][-_KEPT:]
                body = listing(rows, by=by, now=now, width=size.columns) if rows else ["no cameras yet"]
            except CommandFailed as err:
                head = f"not up to date: {err}"
            _draw(screen(head, body, changes, size=(size.columns, size.lines)))
            time.sleep(max(0.0, _EVERY - (time.monotonic() - began)))
    except KeyboardInterrupt:
        pass
    finally:
        print(_LEAVE, end="", flush=True)
    print("\n".join(map(told, changes)) or "nothing changed hands", flush=True)


def _draw(lines: list[str]) -> None:
    """Over what stood there, without a flicker; no line break after the last line, which would scroll."""
    text = "\n".join(f"{line}{_REST_OF_LINE}" for line in lines)
    print(f"{_HOME}{text}{_REST_OF_SCREEN}", end="", flush=True)


def read(link: Any) -> tuple[list[Any], Any]:
    """Every camera's lease and stream, and the control plane's time."""
    from streamward.cli.link import place
    from streamward.protocol.fields import LARGEST_PAGE
    from streamward.protocol.lease_listing import LeasePage

    pages = list(link.pages(place("v1", "leases"), LeasePage, {"limit": LARGEST_PAGE}))
    return [row for page in pages for row in page.items], pages[-1].server_time
