"""`streamward cameras import` and `export`: many cameras at once, as a file."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from streamward.cli.options import AsJson


class FileFormat(StrEnum):
    """How a file of cameras is written."""

    CSV = "csv"
    JSONL = "jsonl"


_BY_SUFFIX = {".csv": FileFormat.CSV, ".jsonl": FileFormat.JSONL, ".ndjson": FileFormat.JSONL}

Form = Annotated[FileFormat | None, typer.Option("--format", help="How it is written; else its name's ending tells.")]


def import_cameras(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of CSV or JSON Lines; - is standard input.")],
    *,
    form: Form = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would become of it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Create and change cameras from a file, all of them or none."""
    form = _format(file, form)
    content = _content(file)
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import File, place
    from streamward.cli.refusal import LinesRefused
    from streamward.protocol.transfer import FORMATS, CamerasImported

    sent, lines = File(FORMATS[form.value], content), content.count(b"\n")
    try:
        with output.working(f"{'judging' if dry_run else 'importing'} {lines:,} lines"):
            told = connect().send(place("v1", "cameras", "import"), sent, CamerasImported, {"dry_run": dry_run}).body
    except LinesRefused as refused:
        _print_faults(refused.problem, as_json=as_json)
        raise
    if as_json:
        output.print_json(told)
    elif dry_run:
        print(f"would create {told.created:,}, update {told.updated:,} and leave {told.unchanged:,} as they are")
    else:
        print(f"created {told.created:,}, updated {told.updated:,}, left {told.unchanged:,} as they were")


def export_cameras(
    *,
    form: Form = None,
    to: Annotated[
        Path | None,
        typer.Option("--output", "--out", "-o", metavar="FILE", help="Write it there; else to standard output."),
    ] = None,
    site: Annotated[str | None, typer.Option(help="Of this site only.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Of this tenant only.")] = None,
) -> None:
    """Write cameras as a file that can be imported again, without users and passwords."""
    form = form or (FileFormat.CSV if to is None else _format(to, None))
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place

    asked = {"format": form.value, "site_id": site, "tenant_id": tenant}
    parts = connect().download(place("v1", "cameras", "export"), asked)
    if to is None:
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.flush()
        return
    with output.working(f"exporting to {to}"):
        lines = _write(to, parts)
    print(f"wrote {lines - (form is FileFormat.CSV):,} cameras to {to}")


def _format(file: Path, form: FileFormat | None) -> FileFormat:
    found = form or _BY_SUFFIX.get(file.suffix.lower())
    if found is None:
        raise typer.BadParameter("say how the file is written: csv or jsonl", param_hint="--format")
    return found


def _content(file: Path) -> bytes:
    from streamward.protocol.camera_lines import LARGEST_FILE

    try:
        if str(file) == "-":
            content = sys.stdin.buffer.read(LARGEST_FILE + 1)
        else:
            with file.open("rb") as opened:
                content = opened.read(LARGEST_FILE + 1)
    except OSError as err:
        raise typer.BadParameter(f"{file} cannot be read ({_why(err)})", param_hint="FILE") from None
    if len(content) > LARGEST_FILE:
        raise typer.BadParameter(f"{file} is larger than {LARGEST_FILE >> 20} MiB: import it in parts")
    return content


def _write(to: Path, parts: Any) -> int:
    """Writes a file; it has its name only once it is whole. Returns how many lines it has."""
    unfinished, lines = to.with_name(f"{to.name}.part"), 0
    try:
        with unfinished.open("wb") as opened:
            for part in parts:
                opened.write(part)
                lines += part.count(b"\n")
        unfinished.replace(to)
    except OSError as err:
        raise typer.BadParameter(f"{to} cannot be written ({_why(err)})", param_hint="--output") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return lines


def _why(err: OSError) -> str:
    return (err.strerror or "unknown").lower()


def _print_faults(problem: Any, *, as_json: bool) -> None:
    from streamward.cli import output

    if as_json:
        output.print_json(problem)
        return
    rows = [(fault.line, fault.camera_uuid, fault.detail) for fault in problem.lines]
    output.print_table(("LINE", "CAMERA", "WRONG"), rows)
