"""Analysts by their names.

    summary                         built in: counts, and judges by rules
    openai                          asks a language model at an endpoint that speaks OpenAI's chat completions
    <name>                          an entry point of the group `streamward.analysts` in an installed package
    package.module:function         that function: a Case → an Analysis

What is named may be a function, plain or async, something with a method `analyse`, or a class of which one is made
without arguments. A plain function works in a thread of its own. Its answers are looked through before they are kept.
"""

import importlib
import inspect
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from streamward.drivers.analysts.chat import ChatAnalyst, Endpoint
from streamward.insight.analysis import Analysis, Analyst, AnalystFailed, AnalystUnusable, Case, analysis
from streamward.insight.summary import NAME, summarise
from streamward.runtime.aside import aside

BUILT_IN = NAME
CHAT = "openai"
GROUP = "streamward.analysts"


class Counting:
    """The built-in analyst."""

    async def analyse(self, case: Case) -> Analysis:
        return summarise(case)


class FunctionAnalyst:
    """Somebody's function as an analyst."""

    def __init__(self, name: str, analyse: Callable[[Case], Any]) -> None:
        self._name = name
        self._analyse = analyse

    async def analyse(self, case: Case) -> Analysis:
        """What it says; whatever it raises is a failure like any other."""
        try:
            if inspect.iscoroutinefunction(self._analyse):
                said = await self._analyse(case)
            else:
                said = await aside(f"analyse with {self._name}", lambda: self._tried(case))
        except AnalystFailed:
            raise
        except Exception as error:  # somebody else's function may raise anything
            raise AnalystFailed(self._name, type(error).__name__) from error
        return self._checked(case, said)

    def _tried(self, case: Case) -> Any:
        try:
            return self._analyse(case)
        except Exception as error:  # noqa: BLE001 the same, in its thread
            return error

    def _checked(self, case: Case, said: Any) -> Analysis:
        if not isinstance(said, Analysis):
            raise AnalystFailed(self._name, f"a {type(said).__name__} instead of an analysis")
        if not (isinstance(said.summary, str) and isinstance(said.risk, int)):
            raise AnalystFailed(self._name, "its summary is no text or its risk no whole number")
        return analysis(
            case, analyst=self._name, summary=said.summary, risk=said.risk, reasons=[str(each) for each in said.reasons]
        )


def load_analyst(name: str, *, endpoint: Endpoint | None = None) -> Analyst:
    """The analyst of that name; raises AnalystUnusable."""
    if name == BUILT_IN:
        return Counting()
    if name == CHAT:
        if endpoint is None:
            raise AnalystUnusable(name, "it needs the URL of an endpoint and the name of a model")
        return ChatAnalyst(endpoint, name=name)
    try:
        found = _found(name)
        made = found() if isinstance(found, type) else found
    except AnalystUnusable:
        raise
    except Exception as error:  # somebody else's module may do anything
        first_line = str(error).partition("\n")[0]
        raise AnalystUnusable(name, f"{type(error).__name__}: {first_line}") from error
    analyse = getattr(made, "analyse", made)
    if not callable(analyse):
        raise AnalystUnusable(name, "it is neither a function nor has it one named analyse")
    return FunctionAnalyst(name, analyse)


def _found(name: str) -> Any:
    module, _, path = name.partition(":")
    if path:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
        return found
    offered = entry_points(group=GROUP, name=name)
    if not offered:
        raise AnalystUnusable(
            name, f"it is neither {BUILT_IN} nor {CHAT}, no package offers it, and it is no module:function"
        )
    return next(iter(offered)).load()
