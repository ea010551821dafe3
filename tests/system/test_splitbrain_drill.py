"""`streamward drill splitbrain`, small, on both buses: whatever old owners try, nothing stale counts as live."""

import json
from pathlib import Path
from typing import Any

from tests.support.processes import run
from tests.support.rabbitmq import RabbitServer

SMALL = ("--rounds", "2", "--cameras", "3", "--ttl", "5", "--renew-every", "1", "--seed", "1", "--json")


def drilled(tmp_path: Path, *args: str, **settings: str) -> dict[str, Any]:
    ended = run("drill", "splitbrain", *SMALL, *args, data=tmp_path / "data", **settings)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    told: dict[str, Any] = json.loads(ended.stdout)
    assert [each["split"] for each in told["rounds"]] == ["renewals", "sleep"]
    assert [told["fenced"][each] for each in ("stale", "shared")] == [0, 0]
    return told


def test_a_runner_that_goes_on_without_its_leases_is_refused_at_every_attempt(tmp_path: Path) -> None:
    cut, asleep = drilled(tmp_path)["rounds"]
    assert cut["refused"] > 0
    assert asleep["late"] > 0


def test_what_waited_for_rabbitmq_while_its_owner_slept_is_late(tmp_path: Path, rabbitmq: RabbitServer) -> None:
    stopping = ("--amqp", "setting", "--on-control-loss", "stop")
    _, asleep = drilled(tmp_path, *stopping, AMQP_URL=rabbitmq.url())["rounds"]
    assert asleep["late"] > 0
