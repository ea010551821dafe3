"""Who runs, and what operators want of them."""

from dataclasses import replace
from typing import TypeVar

from msgspec import UnsetType

from streamward.control.api.routing import Access, Routes, Tagged
from streamward.control.clerk import Clerk
from streamward.control.leasing import LeaseService, owner_of, runner_flags
from streamward.control.tags import check_tag, tag_of
from streamward.control.tokens import TokenMint
from streamward.leases.store import RunnerStore
from streamward.model.identity import Author, Caller, Role
from streamward.model.ids import RunnerId
from streamward.model.runner import Runner
from streamward.model.secret import Secret
from streamward.protocol import leases as wire
from streamward.protocol.fields import ClearText
from streamward.protocol.problem import Problem
from streamward.protocol.runners import ChangeRunner, RunnerList
from streamward.protocol.ticket import AskReleaseToken, ReleaseTokenGiven

UNKNOWN = Problem(title="Not Found", status=404, detail="there is no such runner", reason="runner-unknown")
NOT_YOURS = Problem(title="Forbidden", status=403, detail="the token is not this runner's", reason="wrong-runner")

T = TypeVar("T")

_ENDED = "The incarnation has ended: start anew and register"
_NO_SUCH = "There is no such runner"


def add_runners(routes: Routes, store: RunnerStore, *, service: LeaseService, clerk: Clerk, mint: TokenMint) -> None:
    """Adds the routes about runners."""
    _add_own(routes, service)
    _add_end(routes, service, mint=mint)

    @routes.get("/v1/runners", access=Access.VIEWER)
    async def list_runners(caller: Caller) -> RunnerList:
        """Lists every runner that the operator may see."""
        known = await store.runners()
        return RunnerList(items=[runner_flags(runner) for runner in known if _is_visible(caller, runner)])

    @routes.get("/v1/runners/{runner_id}", refuses={403: "A runner sees only itself", 404: _NO_SUCH})
    async def get_runner(caller: Caller, runner_id: str) -> Tagged[wire.RunnerFlags] | Problem:
        """Tells a runner's flags."""
        if caller.role is Role.RUNNER and caller.subject != runner_id:
            return NOT_YOURS
        runner = await store.find_runner(RunnerId(runner_id))
        return UNKNOWN if runner is None or not _is_visible(caller, runner) else _tagged(runner)

    @routes.patch("/v1/runners/{runner_id}", access=Access.OPERATOR, refuses={404: _NO_SUCH})
    async def change_runner(
        caller: Caller, author: Author, runner_id: str, message: ChangeRunner, if_match: str
    ) -> Tagged[wire.RunnerFlags] | Problem:
        """Cordons or drains a runner, replaces its Workers, or sets what it may hold, in the state that was read."""
        runner = await store.find_runner(RunnerId(runner_id))
        if runner is None or not _is_visible(caller, runner):
            return UNKNOWN
        check_tag(if_match, runner)
        changed = await clerk.change(runner, _changed(runner, message), author=author)
        return changed if isinstance(changed, Problem) else _tagged(changed)


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


def _add_end(routes: Routes, service: LeaseService, *, mint: TokenMint) -> None:
    """How a runner's incarnation ends, also when the runner cannot say so itself."""

    @routes.post("/v1/runners/release-token", access=Access.RUNNER)
    async def give_release_token(caller: Caller, message: AskReleaseToken) -> ReleaseTokenGiven | Problem:
        """Gives a token that is good for release-all of this incarnation and nothing else."""
        owner = owner_of(caller, message.runner_id, message.incarnation)
        if isinstance(owner, Problem):
            return owner
        token, expires_at = mint.release(caller)
        return ReleaseTokenGiven(token=ClearText(Secret(token)), expires_at=expires_at)

    @routes.post("/v1/runners/release-all", access=Access.RUNNER, releases=True)
    async def release_all(caller: Caller, message: wire.ReleaseAll) -> wire.CamerasReleased | Problem:
        """Gives everything back and ends the incarnation."""
        return await service.release_all(caller, message)


def _is_visible(caller: Caller, runner: Runner) -> bool:
    """An operator of one tenant has no say over runners that serve others too."""
    return caller.tenant_id in (None, runner.tenant_id)


def _changed(runner: Runner, message: ChangeRunner) -> Runner:
    rolled_out = runner if isinstance(message.detector, UnsetType) else runner.rolled_out(message.detector)
    return replace(
        rolled_out,
        cordoned=_or(message.cordoned, runner.cordoned),
        drain=_or(message.drain_mode, runner.drain),
        capacity=_or(message.capacity_streams, runner.capacity),
    )


def _or(given: T | UnsetType, known: T) -> T:
    return known if isinstance(given, UnsetType) else given


def _tagged(runner: Runner) -> Tagged[wire.RunnerFlags]:
    return Tagged(runner_flags(runner), tag_of(runner))
