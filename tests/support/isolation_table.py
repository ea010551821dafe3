"""The table of who is answered how: read, measured and written."""

import asyncio
from pathlib import Path

from tests.support.operations import OPERATIONS
from tests.support.two_tenants import OURS, TwoTenants

TABLE = Path(__file__).parents[1] / "service" / "isolation.txt"
COLUMNS = list(TwoTenants().callers())

_WIDTH = 46
_HEAD = """\
# How everyone is answered who calls an operation on things of tenant t-01; tests/service/test_isolation.py compares.
#
# none, expired, elsewhere: no token, an admin's that has expired, an admin's for another audience.
# viewer, operator, admin, runner: of t-01; with * of the whole installation; with -2 of another tenant.
# A runner speaks for itself; a person who sends a runner's message speaks for t-01's. t-01's runner holds the camera.
# Every edit says `If-Match: *`. 409: may, but not now (the site has cameras, the grant has not expired, it is held).
"""


def row_name(path: str, method: str) -> str:
    return f"{method.upper()} {path}"


def read_table() -> dict[str, list[str]]:
    """The cells of each row by its name."""
    lines = [line for line in TABLE.read_text().splitlines() if line.strip() and not line.startswith("#")]
    rows = [line.rsplit(maxsplit=len(COLUMNS)) for line in lines[1:]]
    return {name.strip(): cells for name, *cells in rows}


async def measured_row(tenants: TwoTenants, path: str, method: str) -> list[str]:
    """The status that each caller gets, nobody seeing what another did."""
    row = []
    for caller in tenants.callers().values():
        row.append(str((await caller.make(path, method, tenants.names[OURS])).status_code))
        await tenants.restore()
    return row


async def _written() -> str:
    tenants = await TwoTenants().settle()
    rows = {row_name(*each): await measured_row(tenants, *each) for each in OPERATIONS}
    return _HEAD + "".join(_line(name, cells) for name, cells in {"": COLUMNS, **rows}.items())


def _line(name: str, cells: list[str]) -> str:
    aligned = [cell.rjust(max(3, len(column))) for cell, column in zip(cells, COLUMNS, strict=True)]
    return f"{name.ljust(_WIDTH)} {' '.join(aligned)}\n"


if __name__ == "__main__":
    TABLE.write_text(asyncio.run(_written()))
