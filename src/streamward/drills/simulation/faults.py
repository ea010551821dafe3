"""What each fault does to a world."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from streamward.drills.simulation.control import drive
from streamward.drills.simulation.network import Weather
from streamward.drills.simulation.script import Event, Fault
from streamward.drills.simulation.world import TENANTS, World
from streamward.leases.clock_guard import TOLERANCE
from streamward.model.identity import SYSTEM
from streamward.model.ids import RunnerId
from streamward.model.register import Edit
from streamward.model.runner import DrainMode


def apply(world: World, event: Event) -> None:
    """Lets one fault happen, and end by itself after its time."""
    _APPLY[event.fault](world, event)


def _slot_of(world: World, event: Event) -> int:
    return event.target % len(world.slots)


def _pause(world: World, event: Event) -> None:
    world.slots[_slot_of(world, event)].newest.pause(event.lasts)


def _suspend(world: World, event: Event) -> None:
    world.slots[_slot_of(world, event)].newest.suspend(event.lasts)


def _cut(*, up: bool, down: bool) -> Callable[[World, Event], None]:
    def apply(world: World, event: Event) -> None:
        link = world.slots[_slot_of(world, event)].link
        link.up_cut, link.down_cut = link.up_cut or up, link.down_cut or down
        world.queue.after(event.lasts, link.mend)

    return apply


def _slow(*, both_ways: bool) -> Callable[[World, Event], None]:
    """Every answer of one runner takes 0 to 2 ttl longer; both ways: the half of that there and back."""

    def apply(world: World, event: Event) -> None:
        link = world.slots[_slot_of(world, event)].link
        delay = 2 * world.policy.ttl * (event.target / 1000)
        link.up_delay, link.down_delay = (delay / 2, delay / 2) if both_ways else (0.0, delay)
        world.queue.after(2 * event.lasts, link.mend)

    return apply


def _weather(change: Callable[[Weather, float], Weather]) -> Callable[[World, Event], None]:
    def apply(world: World, event: Event) -> None:
        world.network.weather = change(world.network.weather, abs(event.amount) / 3600)

        def clear() -> None:
            world.network.weather = Weather()

        world.queue.after(event.lasts, clear)

    return apply


def _kill(world: World, event: Event) -> None:
    slot = world.slots[_slot_of(world, event)]
    slot.newest.kill()

    def restart() -> None:
        if not slot.newest.is_alive:
            world.add_process(slot)

    world.queue.after(min(event.lasts, 20.0), restart)


def _twin(world: World, event: Event) -> None:
    world.add_process(world.slots[_slot_of(world, event)])


def _leave(world: World, event: Event) -> None:
    world.slots[_slot_of(world, event)].newest.leave()


def _control_restart(world: World, event: Event) -> None:
    control = world.controls[event.target % len(world.controls)]
    control.stop()

    def start() -> None:
        if not control.is_up:
            control.start()

    world.queue.after(min(event.lasts, 20.0), start)


def _control_freeze(world: World, event: Event) -> None:
    world.controls[event.target % len(world.controls)].freeze(min(event.lasts, 20.0))


def _database_step(world: World, event: Event) -> None:
    """A small step back meets a release: the next grant must still be dated after what was accepted before the step."""
    world.database_clock.step(event.amount)
    if -TOLERANCE < event.amount < 0:
        _plain_release(world, event)


def _runner_step(world: World, event: Event) -> None:
    world.slots[_slot_of(world, event)].newest.clock.wall_shift += event.amount


def _flag(*, cordoned: bool = False, drain: DrainMode = DrainMode.NONE) -> Callable[[World, Event], None]:
    def apply(world: World, event: Event) -> None:
        runner_id = world.slots[_slot_of(world, event)].runner_id
        change = partial(_set_flags, world, runner_id)
        change(cordoned=cordoned or None, drain=None if drain is DrainMode.NONE else drain)
        world.queue.after(event.lasts, lambda: change(cordoned=False, drain=DrainMode.NONE))

    return apply


def _set_flags(world: World, runner_id: RunnerId, *, cordoned: bool | None, drain: DrainMode | None) -> None:
    """What is None stays as it is."""
    runner = world.database.runners.get(runner_id)
    if runner is not None:
        flags: dict[str, Any] = {"cordoned": cordoned, "drain": drain}
        after = replace(runner, **{name: flag for name, flag in flags.items() if flag is not None})
        drive(world.operator.edit([Edit(before=runner, after=after)], author=SYSTEM))


def _camera_off(world: World, event: Event) -> None:
    camera = world.camera(event.target)
    world.save(replace(camera, enabled=False))
    world.queue.after(min(event.lasts, world.script.heals_at - world.queue.now), world.save, camera)


def _camera_deleted(world: World, event: Event) -> None:
    camera = world.camera(event.target)
    world.delete(camera.camera_id)
    world.queue.after(min(event.lasts, world.script.heals_at - world.queue.now), world.save, camera)


def _camera_recreated(world: World, event: Event) -> None:
    tenant_id = TENANTS[int(event.lasts * 1000) % len(TENANTS)]
    camera = world.camera(event.target, tenant_id=tenant_id)
    world.delete(camera.camera_id)
    world.save(camera)


def _plain_release(world: World, event: Event) -> None:
    world.slots[_slot_of(world, event)].newest.release_plainly(event.target, thaws_after=min(event.lasts, 10.0))


def _rebalance(world: World, event: Event) -> None:  # noqa: ARG001 - every fault has this signature
    world.rebalance()


_APPLY: dict[Fault, Callable[[World, Event], None]] = {
    Fault.PAUSE: _pause,
    Fault.SUSPEND: _suspend,
    Fault.CUT_UP: _cut(up=True, down=False),
    Fault.CUT_DOWN: _cut(up=False, down=True),
    Fault.CUT_BOTH: _cut(up=True, down=True),
    Fault.LOSS: _weather(lambda weather, share: replace(weather, loss=0.05 + 0.5 * share)),
    Fault.DELAY: _weather(lambda weather, share: replace(weather, slow=0.4, slowest=0.3 + 1.5 * share)),
    Fault.REPEATS: _weather(lambda weather, share: replace(weather, repeats=0.1 + 0.4 * share)),
    Fault.KILL: _kill,
    Fault.TWIN: _twin,
    Fault.LEAVE: _leave,
    Fault.CONTROL_RESTART: _control_restart,
    Fault.CONTROL_FREEZE: _control_freeze,
    Fault.DATABASE_STEP: _database_step,
    Fault.RUNNER_STEP: _runner_step,
    Fault.CORDON: _flag(cordoned=True),
    Fault.DRAIN_SOFT: _flag(drain=DrainMode.SOFT),
    Fault.DRAIN_HARD: _flag(drain=DrainMode.HARD),
    Fault.CAMERA_OFF: _camera_off,
    Fault.CAMERA_DELETED: _camera_deleted,
    Fault.CAMERA_RECREATED: _camera_recreated,
    Fault.PLAIN_RELEASE: _plain_release,
    Fault.SLOW_ANSWERS: _slow(both_ways=False),
    Fault.SLOW_LINK: _slow(both_ways=True),
    Fault.REBALANCE: _rebalance,
}
