"""Who may do what, and that nobody of one tenant learns anything of another: made from the OpenAPI document itself.

`isolation.txt` is the table of every operation and every caller, each calling it on things of tenant `t-01`. A new
operation fails here until somebody has looked at its row. To write the table as it is now, and then read the
difference: `python -m tests.support.isolation_table`.
"""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from streamward.drivers.sql import SqlStore
from streamward.drivers.sql.insight import SqlInsight
from streamward.insight.rules import Rules
from streamward.model.ids import PATTERN
from streamward.runtime.bell import Bell
from tests.support.clocks import ManualClock
from tests.support.isolation_table import COLUMNS, TABLE, measured_row, read_table, row_name
from tests.support.operations import (
    DOCUMENT,
    OPERATIONS,
    Names,
    bodies,
    body_kind,
    call_of,
    files,
    ids_in_body,
    takes_file,
)
from tests.support.tally import Tally
from tests.support.two_tenants import OURS, THEIRS, TwoTenants, Visitor

TALLY = Tally()
BODY_KINDS = sorted({kind for each in OPERATIONS if (kind := body_kind(*each)) is not None})


@pytest.fixture(scope="module")
def settled() -> TwoTenants:
    return asyncio.run(TwoTenants(store=TALLY.around).settle())


@pytest.fixture
async def tenants(settled: TwoTenants) -> TwoTenants:
    await settled.restore()
    return settled


def test_the_table_has_a_row_for_every_operation_and_no_other():
    assert list(read_table()) == [row_name(*each) for each in OPERATIONS], f"bring {TABLE.name} up to date"


def test_the_table_has_a_column_for_every_caller():
    assert {len(cells) for cells in read_table().values()} == {len(COLUMNS)}


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
async def test_everyone_is_answered_as_the_table_says(tenants: TwoTenants, path: str, method: str) -> None:
    assert await measured_row(tenants, path, method) == read_table()[row_name(path, method)]


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
async def test_strangers_learn_and_change_nothing(tenants: TwoTenants, path: str, method: str) -> None:
    ours, before = tenants.names[OURS], tenants.rows_of(OURS)
    for name, stranger in tenants.strangers().items():
        answer = await stranger.make(path, method, ours)
        said = without_echo(answer, ours) + str(answer.headers)
        assert not [mark for mark in tenants.marks(OURS) if mark in said], f"{name} reads {answer.text}"
    assert tenants.rows_of(OURS) == before


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
async def test_what_is_foreign_answers_exactly_like_what_is_absent_after_the_same_calls_of_the_store(
    tenants: TwoTenants, path: str, method: str
) -> None:
    for stranger in tenants.strangers().values():
        for foreign, absent in pairs(tenants, path, method):
            told = await answered(stranger, path, method, foreign)
            await tenants.restore()
            assert told == await answered(stranger, path, method, absent)
            await tenants.restore()


async def test_what_is_foreign_takes_the_same_statements_as_what_is_absent(sqlite: SqlStore) -> None:
    insight = SqlInsight(sqlite.database, rules=Rules())
    tenants = await TwoTenants(store=lambda _: TALLY.watch(sqlite), insight=lambda _: insight).settle()
    strangers = tenants.strangers().values()
    for stranger, (path, method) in itertools.product(strangers, OPERATIONS):
        if takes_file(path, method):  # what it changes of the stranger's own it changes once
            await stranger.make(path, method, tenants.names[THEIRS])
        for foreign, absent in pairs(tenants, path, method):
            with TALLY.of_one() as statements:
                first = await stranger.make(path, method, foreign)
            with TALLY.of_one() as same:
                second = await stranger.make(path, method, absent)
            assert (first.status_code, statements) == (second.status_code, same)


def test_calls_name_all_that_they_can():
    known = bodies(Names())
    assert sorted(known) == BODY_KINDS
    for kind in BODY_KINDS:
        not_theirs = {"camera_uuid"} if kind == "CreateCamera" else set()  # `test_http_camera_edits` tries it
        assert ids_in_body(kind) - not_theirs <= named(known[kind]), f"too little is named in {kind}"
    assert sorted(files(Names())) == sorted(each for each in OPERATIONS if takes_file(*each))
    queried = {each["name"] for path, method in OPERATIONS for each in parameters(path, method) if is_id(each)}
    assert queried <= set(Names.__slots__)


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[SqlStore]:
    store = SqlStore(f"sqlite:///{tmp_path}/two.db", clock=ManualClock(), bell=Bell())
    await store.open()
    yield store
    await store.close()


def pairs(tenants: TwoTenants, path: str, method: str) -> Iterator[tuple[Names, Names]]:
    """Whatever an operation names of the stranger's own, but for one thing: another tenant's, or nobody's."""
    ours, own = tenants.names[OURS], tenants.names[THEIRS]
    absent = {"tenant_id": "t-09", "site_id": "t-01-sitx", "camera_uuid": "t-01-cax", "runner_id": "t-01-runnex"}
    absent |= {"invitation_id": "0" * 16, "identity_id": "0" * 32, "subject": "t-01-adx", "object_id": "t-01-cax"}
    absent |= {"batch_id": "batch-t-0x", "name": "t-01-doox"}
    changes = [({name: getattr(ours, name)}, {name: nobody}) for name, nobody in absent.items()]
    taken = (ours.site_id, ours.camera_uuid, ours.runner_id, ours.name)
    changes += [({"new_id": each}, {"new_id": f"t-01-nix{place}"}) for place, each in enumerate(taken)]
    changes.append(({"new_tenant": OURS}, {"new_tenant": "t-09"}))
    for foreign, nobody in changes:
        pair = replace(own, **foreign), replace(own, **nobody)
        if call_of(path, method, pair[0]) != call_of(path, method, pair[1]):
            yield pair


async def answered(stranger: Visitor, path: str, method: str, names: Names) -> tuple[object, ...]:
    """How a stranger is answered, but for what is new with every call, and which calls of the store that took."""
    with TALLY.of_one() as calls:
        answer = await stranger.make(path, method, names)
    headers = sorted(each for each in answer.headers.items() if each[0] not in {"x-request-id", "content-length"})
    return answer.status_code, without_echo(answer, names), headers, calls


def without_echo(answer: httpx.Response, names: Names) -> str:
    """What is said, but for the names that the caller gave."""
    said = answer.text
    for name in Names.__slots__:
        said = said.replace(f'"{getattr(names, name)}"', '"?"')
    return re.sub(r'"camera_uuid":"[0-9a-f]{8}-[0-9a-f-]{27}"', '"camera_uuid":"?"', said)  # one that was generated


def named(body: object) -> set[str]:
    if isinstance(body, list):
        return {name for each in body for name in named(each)}
    if not isinstance(body, dict):
        return set()
    return set(body) | {name for each in body.values() for name in named(each)}


def parameters(path: str, method: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = DOCUMENT["paths"][path][method].get("parameters", [])
    return found


def is_id(parameter: dict[str, object]) -> bool:
    schema = parameter["schema"]
    return parameter["in"] in {"path", "query"} and isinstance(schema, dict) and schema.get("pattern") == PATTERN
