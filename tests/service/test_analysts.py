"""Analysts by their names, and one that asks an endpoint which may answer anything."""

import asyncio
from pathlib import Path

import pytest

from streamward.drivers.analysts import Endpoint, load_analyst
from streamward.drivers.analysts.chat import LARGEST_ANSWER, LONGEST_PAUSE
from streamward.insight.analysis import Analysis, AnalystFailed, AnalystUnusable
from streamward.model.secret import Secret
from tests.support.cases import a_case, seen
from tests.support.endpoints import Reply, answering, said, verdict
from tests.support.ports import free_port

CASE = a_case(seen("person", at=0), seen("person", at=2), seen("car", at=1))
CANARY = "sk-canary"

MODULE = """
from dataclasses import replace
from streamward.insight.analysis import AnalystFailed
from streamward.insight.summary import summarise

def plain(case):
    return replace(summarise(case), summary="plain", risk=7, camera_id="somebody else's")

async def waiting(case):
    return replace(summarise(case), summary="waiting")

class Model:
    def analyse(self, case):
        return replace(summarise(case), summary="model")

class Needy:
    def __init__(self, weights): ...

def nonsense(case):
    return {"summary": "none"}

def wrong(case):
    return replace(summarise(case), risk="high")

def broken(case):
    raise KeyError("a secret of theirs")

async def busy(case):
    raise AnalystFailed("busy", "later", retry_in=5.0)

number = 7
"""


@pytest.fixture
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "anybodys_analysts.py").write_text(MODULE)
    offer = tmp_path / "offering-1.0.dist-info"
    offer.mkdir()
    (offer / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (offer / "entry_points.txt").write_text("[streamward.analysts]\noffered = anybodys_analysts:plain\n")
    monkeypatch.syspath_prepend(str(tmp_path))


async def test_the_built_in_analyst_counts():
    analysis = await load_analyst("summary").analyse(CASE)
    assert analysis.summary == "2 × person, 1 × car on cam-1 within 2 s"


@pytest.mark.usefixtures("_modules")
@pytest.mark.parametrize(
    ("name", "summary"),
    [
        ("offered", "plain"),
        ("anybodys_analysts:plain", "plain"),
        ("anybodys_analysts:waiting", "waiting"),
        ("anybodys_analysts:Model", "model"),
    ],
)
async def test_anybodys_function_can_be_an_analyst_of_our_batches_only(name: str, summary: str):
    analysis = await load_analyst(name).analyse(CASE)
    assert (analysis.summary, analysis.analyst, analysis.camera_id) == (summary, name, "cam-1")


@pytest.mark.usefixtures("_modules")
@pytest.mark.parametrize("function", ["nonsense", "wrong", "broken", "busy"])
async def test_an_analyst_whose_answer_cannot_be_used_has_failed(function: str):
    with pytest.raises(AnalystFailed) as failed:
        await load_analyst(f"anybodys_analysts:{function}").analyse(CASE)
    assert "secret" not in str(failed.value)


@pytest.mark.usefixtures("_modules")
@pytest.mark.parametrize(
    "name",
    ["nobody", "anybodys_analysts:none", "no_such_module:f", "anybodys_analysts:Needy", "anybodys_analysts:number"],
)
def test_a_name_that_stands_for_no_analyst_is_told(name: str):
    with pytest.raises(AnalystUnusable, match=name):
        load_analyst(name)


def test_an_endpoint_is_needed_to_ask_one():
    with pytest.raises(AnalystUnusable, match="URL"):
        load_analyst("openai")


async def ask(url: str, *, answer_within: float = 60.0) -> Analysis:
    endpoint = Endpoint(url=url, model="small", key=Secret(CANARY), answer_within=answer_within)
    return await load_analyst("openai", endpoint=endpoint).analyse(CASE)


async def test_a_model_says_what_it_makes_of_a_batch():
    async with answering((200, verdict())) as endpoint:
        analysis = await ask(endpoint.url)
    assert (analysis.summary, analysis.risk, analysis.reasons) == ("a person came by", 40, ("at night",))
    assert analysis.analyst == "openai:small"
    assert [each.count for each in analysis.presences] == [2, 1]  # counted by us


async def test_a_model_is_told_what_was_seen_and_by_whom_it_is_asked():
    async with answering((200, verdict())) as endpoint:
        await ask(endpoint.url)
    assert endpoint.heads[0].startswith("POST /v1/chat/completions HTTP/1.1\r\n")
    assert f"Authorization: Bearer {CANARY}\r\n" in endpoint.heads[0]
    (asked,) = endpoint.asked
    assert asked["model"] == "small"
    assert '"label":"person","count":2' in asked["messages"][1]["content"]
    assert "tenant-1" not in str(asked)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ((500, b"<html>"), "it answered 500"),
        ((401, b"{}"), "it answered 401"),
        ((302, b"", {"Location": "http://192.0.2.1/"}), "it answered 302"),
        ((200, b"<html>"), "cannot be read"),
        ((200, b'{"choices":[]}'), "cannot be read"),
        ((200, b'{"error":"no"}'), "cannot be read"),
        ((200, said(None)), "not what was asked for"),
        ((200, said("I would say: calm.")), "not what was asked for"),
        ((200, verdict(risk=101)), "not what was asked for"),
        ((200, verdict(risk="high")), "not what was asked for"),
        ((200, verdict(more=1)), "not what was asked for"),
        ((200, verdict(reasons=["x"] * 101)), "not what was asked for"),
        ((200, b"x" * (LARGEST_ANSWER + 1)), "longer than"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_a_failure_that_names_no_key(reply: Reply, why: str):
    async with answering(reply) as endpoint:
        with pytest.raises(AnalystFailed, match=why) as failed:
            await ask(endpoint.url)
    assert CANARY not in repr(failed.value) + str(failed.value)
    assert len(endpoint.asked) == 1  # whoever wants to try again does


@pytest.mark.parametrize(
    ("headers", "pause"),
    [({"Retry-After": "7"}, 7.0), ({"Retry-After": "99999"}, LONGEST_PAUSE), ({"Retry-After": "Mon"}, 0.0), ({}, 0.0)],
)
async def test_an_endpoint_can_ask_to_be_left_alone(headers: dict[str, str], pause: float):
    async with answering((429, b"{}", headers)) as endpoint:
        with pytest.raises(AnalystFailed) as failed:
            await ask(endpoint.url)
    assert failed.value.retry_in == pause


async def test_an_endpoint_that_does_not_answer_is_given_up():
    async with answering(None) as endpoint:
        with pytest.raises(AnalystFailed, match=r"no answer within 0\.2 s"):
            await ask(endpoint.url, answer_within=0.2)


async def test_an_answer_that_is_cut_short_is_a_failure():
    async with answering((200, verdict()), claims=10) as endpoint:
        with pytest.raises(AnalystFailed, match="cut short"):
            await ask(endpoint.url)


async def test_an_endpoint_that_is_not_there_is_a_failure():
    with pytest.raises(AnalystFailed, match="connection refused"):
        await ask(f"http://127.0.0.1:{free_port()}/v1")


async def test_whoever_stops_waiting_leaves_no_thread_behind():
    async with answering(None) as endpoint:
        asking = asyncio.ensure_future(ask(endpoint.url))
        await endpoint.is_asked.wait()
        asking.cancel()
        (outcome,) = await asyncio.gather(asking, return_exceptions=True)
    assert isinstance(outcome, asyncio.CancelledError)
