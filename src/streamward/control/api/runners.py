"""Who runs, and what operators want of them."""

from typing import TypeVar

from msgspec import UnsetType

from streamward.control.api.routing import Access, Routes
from streamward.control.leasing import LeaseService, runner_flags
from streamward.leases.store import RunnerChange, RunnerStore
from streamward.model.identity import Caller, Role
from streamward.model.ids import RunnerId
from streamward.model.runner import Runner
from streamward.protocol import leases as wire
from streamward.protocol.problem import Problem
from streamward.protocol.runners import ChangeRunner, RunnerList

UNKNOWN = Problem(title="Not Found", status=404, detail="there is no such runner", reason="runner-unknown")
NOT_YOURS = Problem(title="Forbidden", status=403, detail="the token is not this runner's", reason="wrong-runner")

T = TypeVar("T")

_ENDED = "The incarnation has ended: start anew and register"
_NO_SUCH = "There is no such runner"


def add_runners(routes: Routes, store: RunnerStore, *, service: LeaseService) -> None:
    """Adds the routes about runners."""
    _add_own(routes, service)

    @routes.get("/v1/runners", access=Access.OPERATOR)
    async def list_runners(caller: Caller) -> RunnerList:
        """Lists every runner that the operator may see."""
        known = await store.runners()
        return RunnerList(items=[runner_flags(runner) for runner in known if _is_visible(caller, runner)])

    @routes.get("/v1/runners/{runner_id}", refuses={403: "A runner sees only itself", 404: _NO_SUCH})
    async def get_runner(caller: Caller, runner_id: str) -> wire.RunnerFlags | Problem:
        """Tells a runner's flags."""
        if caller.role is Role.RUNNER and caller.subject != runner_id:
            return NOT_YOURS
        runner = await store.find_runner(RunnerId(runner_id))
        return UNKNOWN if runner is None or not _is_visible(caller, runner) else runner_flags(runner)

    @routes.patch("/v1/runners/{runner_id}", access=Access.OPERATOR, refuses={404: _NO_SUCH})
    async def change_runner(caller: Caller, runner_id: str, message: ChangeRunner) -> wire.RunnerFlags | Problem:
        """Cordons or drains a runner, or sets how many cameras it may hold."""
        runner = await store.find_runner(RunnerId(runner_id))
        if runner is None or not _is_visible(caller, runner):
            return UNKNOWN
        changed = await store.change_runner(runner.runner_id, _change(message))
        return UNKNOWN if changed is None else runner_flags(changed)


def _add_own(routes: Routes, service: LeaseService) -> None:
    """What a runner says of itself."""

    @routes.post("/v1/runners/register", access=Access.RUNNER, refuses={409: _ENDED})
    async def register_runner(caller: Caller, message: wire.RegisterRunner) -> wire.RunnerFlags | Problem:
        """Starts a new incarnation, which ends every earlier one."""
        return await service.register(caller, message)

    @routes.post("/v1/runners/heartbeat", access=Access.RUNNER, refuses={409: _ENDED})
    async def beat(caller: Caller, message: wire.Heartbeat) -> wire.RunnerFlags | Problem:
        """Says that a runner lives, and tells it its flags."""
        return await service.heartbeat(caller, message)

    @routes.post("/v1/runners/release-all", access=Access.RUNNER)
    async def release_all(caller: Caller, message: wire.ReleaseAll) -> wire.CamerasReleased | Problem:
        """Gives everything back and ends the incarnation."""
        return await service.release_all(caller, message)


def _is_visible(caller: Caller, runner: Runner) -> bool:
    """An operator of one tenant has no say over runners that serve others too."""
    return caller.tenant_id in (None, runner.tenant_id)


def _change(message: ChangeRunner) -> RunnerChange:
    return RunnerChange(
        cordoned=_given(message.cordoned),
        drain=_given(message.drain_mode),
        capacity=_given(message.capacity_streams),
    )


def _given(value: T | UnsetType) -> T | None:
    return None if isinstance(value, UnsetType) else value
