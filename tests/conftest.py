"""What holds for every test: its directory is its category, and it leaves nothing running behind.

`STREAMWARD_REQUIRE_ALL=1` turns every skipped test into a failure: on that machine nothing may be missing.
"""

import asyncio
import contextlib
import functools
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

CATEGORIES = {
    "unit": "the core: values in, values out",
    "conformance": "one suite per port, on every driver",
    "service": "keepers, links and the API on memory drivers and virtual time",
    "simulation": "seeded faults against the real holder, service and store",
    "system": "real processes and real servers",
    "structure": "the shape of the repository itself",
}
TESTS = Path(__file__).parent

hypothesis.settings.register_profile(
    "streamward",
    deadline=None,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # machines are shared; time is judged by benchmarks
)
hypothesis.settings.load_profile("streamward")


def pytest_configure(config: pytest.Config) -> None:
    for name, meaning in CATEGORIES.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        category = item.path.relative_to(TESTS).parts[0]
        if category not in CATEGORIES:
            raise pytest.UsageError(f"{item.path} is in no category: move it into one of {', '.join(CATEGORIES)}")
        item.add_marker(category)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("STREAMWARD_REQUIRE_ALL") == "1":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but STREAMWARD_REQUIRE_ALL is set: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
        item.obj = _leaving_no_task(item.obj)
    return (yield)


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fails a test that leaves a thread or a child process running."""
    threads, children = set(threading.enumerate()), _children()
    yield
    started = set(threading.enumerate()) - threads
    for thread in started:
        thread.join(timeout=30)  # a driver may answer a moment before its thread ends
    left = [thread for thread in started if thread.is_alive()]
    assert not left, f"threads left behind: {left}"
    assert not _children() - children, f"child processes left behind: {_children() - children}"


def _leaving_no_task(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def checked(*args: Any, **kwargs: Any) -> None:
        before = asyncio.all_tasks()
        await test(*args, **kwargs)
        left = {task for task in asyncio.all_tasks() - before if not task.done()}
        assert not left, f"tasks left behind: {left}"

    return checked


def _children() -> set[str]:
    found: set[str] = set()
    for listing in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread may end while we look
            found.update(listing.read_text().split())
    return found
