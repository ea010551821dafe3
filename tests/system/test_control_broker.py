"""A control process with a broker: changes of cameras reach a consumer, and a broker that is away stops nothing."""

import asyncio
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import aio_pika
from aio_pika.abc import AbstractIncomingMessage

from tests.support.postgres import PostgresServer
from tests.support.processes import control
from tests.support.rabbitmq import RabbitServer

CAMERA = {"camera_uuid": "told", "site_id": "harbour", "rtsp_url": "rtsp://root:hunter2@127.0.0.1:8554/live"}


async def heard(url: str, *, count: int, afresh: bool = False) -> list[AbstractIncomingMessage]:
    """So many different messages of a queue that gets everything of one camera; it is there from the first call on."""
    got: list[AbstractIncomingMessage] = []
    async with await aio_pika.connect(url) as connection, connection.channel() as channel, asyncio.timeout(60):
        queue = await channel.declare_queue("told", durable=True)
        if afresh:
            await queue.purge()
        await queue.bind(await channel.declare_exchange("control.topic", "topic", durable=True), "camera.*.*.*.told")
        async with queue.iterator() as messages:
            while len({each.message_id for each in got}) < count:
                got.append(await anext(messages))
                await got[-1].ack()
    return got


def test_changes_of_a_camera_are_announced_in_their_order_and_without_its_url(
    tmp_path: Path, rabbitmq: RabbitServer
) -> None:
    asyncio.run(heard(rabbitmq.url(), count=0, afresh=True))
    with (
        control(tmp_path / "data", "--demo", AMQP_URL=rabbitmq.url()) as process,
        process.client("--operator", "ada") as operator,
    ):
        assert operator.post("/v1/cameras", json=CAMERA).status_code == 201
        changed = operator.patch("/v1/cameras/told", json={"enabled": False}, headers={"If-Match": "*"})
        assert changed.status_code == 200
        tenant = changed.json()["tenant_id"]
        assert operator.delete("/v1/cameras/told", headers={"If-Match": "*"}).status_code == 200
        messages = asyncio.run(heard(rabbitmq.url(), count=3))
        assert process.stop()[0] == 0
    verbs = ("created", "updated", "deleted")
    assert [each.routing_key for each in messages] == [f"camera.{verb}.{tenant}.harbour.told" for verb in verbs]
    assert [json.loads(each.body)["enabled"] for each in messages[:2]] == [True, False]
    assert len({each.message_id for each in messages}) == 3
    assert not [each for each in messages if b"8554" in each.body or b"hunter2" in each.body]


def test_two_control_planes_on_one_database_announce_everything(
    tmp_path: Path, rabbitmq: RabbitServer, postgres: PostgresServer
) -> None:
    asyncio.run(heard(rabbitmq.url(), count=0, afresh=True))
    shared: dict[str, Any] = {
        "DATABASE_URL": postgres.url(asyncio.run(postgres.create())),
        "AMQP_URL": rabbitmq.url(),
    }
    with (
        control(tmp_path / "data", "--demo", **shared) as one,
        control(tmp_path / "data", **shared) as two,
        one.client("--operator", "ada") as ada,
        two.client("--operator", "bob") as bob,
    ):
        assert ada.post("/v1/cameras", json=CAMERA).status_code == 201
        for turn in range(10):
            operator = (ada, bob)[turn % 2]
            changed = operator.patch("/v1/cameras/told", json={"enabled": turn % 2 == 1}, headers={"If-Match": "*"})
            assert changed.status_code == 200
        messages = asyncio.run(heard(rabbitmq.url(), count=11))
    by_id = {each.message_id: json.loads(each.body)["revision"] for each in messages}
    assert list(by_id.values()) == sorted(by_id.values())
    assert len(by_id) == 11


def test_a_broker_that_hangs_up_is_told_once_without_its_password_and_stops_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker:
        broker.settimeout(60)
        address = f"127.0.0.1:{broker.getsockname()[1]}"
        with (
            control(tmp_path / "data", "--demo", AMQP_URL=f"amqp://ada:hunter2@{address}/") as process,
            process.client("--operator", "ada") as operator,
        ):
            assert operator.post("/v1/cameras", json=CAMERA).status_code == 201
            for _ in range(3):
                broker.accept()[0].close()  # who dials again has told of the time before
            assert operator.get("/ready").status_code == 200
            assert process.stop()[0] == 0
    (log,) = (path.read_text() for path in tmp_path.glob("*.log"))
    assert log.count(f"the event bus {address} cannot be used") == 1
    assert "hunter2" not in log
    assert "aiormq" not in log


def test_without_a_broker_nothing_of_amqp_is_loaded() -> None:
    loaded = "import sys, streamward.control.app; print([name for name in sys.modules if 'pika' in name])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
