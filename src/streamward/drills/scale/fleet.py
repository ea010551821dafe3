"""The processes of a scale drill: a control plane and many runners, each with its Manager, fork server and Workers."""

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from streamward.drills.roles import Role, call, minted
from streamward.drills.scale.layout import Layout
from streamward.drills.takeover.desk import Desk
from streamward.drills.takeover.runner import Runner, ended, send
from streamward.drivers.key_pair import KeyPair, StoredIdentity
from streamward.model.identity import Role as IdentityRole
from streamward.model.secret import Secret
from streamward.protocol import codec
from streamward.protocol.fields import ClearText
from streamward.protocol.identities import RedeemCode
from streamward.protocol.readiness import ControlReady, RunnerReady
from streamward.settings import handed_on

PER_WORKER = 40  # cameras; with the usual 12 there would be as many processes more, each with its own heartbeat
SERVES = "runner.serves"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleSpec:
    """What is to be done."""

    layout: Layout = field(default_factory=Layout)
    seconds: float = 600.0  # of steadiness
    ttl: float = 8.0
    renew_every: float = 2.0
    max_fps: float = 0.1  # pictures of a camera that are looked at a second: one in five
    per_worker: int = PER_WORKER
    seed: int | None = None
    database: str | None = None  # None: SQLite
    amqp: str | None = None  # None: the embedded bus
    data: Path | None = None


class Fleet:
    """All of them, serving; tenants and sites are known to the control plane, cameras not yet."""

    def __init__(self, spec: ScaleSpec, folder: Path, started: contextlib.ExitStack) -> None:
        self.spec = spec
        self.data = folder / "data"
        self.runners: dict[str, Runner] = {}
        self._folder = folder
        self._started = started
        self.control = Role(
            "control", ready=ControlReady, folder=folder, environment=self._environment(), within=_preferred()
        )
        started.callback(ended, self.control)
        url = self.control.wait_ready().url
        token = minted("token", "--admin", "drill", "--ttl", "24h", folder=folder, environment=self._environment())
        self.desk = Desk(self.control, url=url, token=token)
        for tenant in spec.layout.tenants:
            self.desk.add("/v1/tenants", {"tenant_id": tenant})
        for site in spec.layout.all_sites():
            self.desk.add("/v1/sites", site)
        for runner_id in (*spec.layout.runner_ids, *spec.layout.standbys):
            self.desk.insist(partial(self._enrol, runner_id))

    def start_runner(self, runner_id: str) -> Runner:
        """A runner from its parent down, by our first thread."""
        environment = self._environment(
            IDENTITY=str(self._identity(runner_id)),
            CONTROL_URL=self.desk.url,
            PROM_MANAGER_PORT="0",
            PROM_WORKER_PORT="0",
            CAPACITY_STREAMS=str(self.spec.layout.capacity),
            TARGET_STREAMS_PER_SHARD=str(self.spec.per_worker),
            RUNNER_DETECTOR="null",
            RUNNER_MAX_FPS=f"{self.spec.max_fps:g}",
        )
        role = Role("runner", ready=RunnerReady, folder=self._folder, environment=environment, called=runner_id)
        self._started.callback(ended, role)
        self.runners[runner_id] = runner = Runner(runner_id, role, [role])
        return runner

    def _identity(self, runner_id: str) -> Path:
        return self._folder / f"{runner_id}.json"

    def _enrol(self, runner_id: str) -> None:
        """Makes a runner known; not by the command line, of which each start takes a second."""
        invited = self.desk.add("/v1/invitations", {"subject": runner_id, "role": "runner", "ttl_s": 3600})
        stored = StoredIdentity(url=self.desk.url, pair=KeyPair.new(), role=IdentityRole.RUNNER)
        code = ClearText(Secret(invited["code"]))
        redeemed = codec.encode(RedeemCode(code=code, public_key=stored.pair.public_key))
        call("POST", f"{self.desk.url}/v1/identities", body=redeemed)
        stored.save(self._identity(runner_id))

    def _environment(self, **more: str) -> dict[str, str]:
        spec = self.spec
        ours = {
            "DATA": str(self.data),
            "HOST": "127.0.0.1",
            "PORT": "0",
            "CORE_DUMPS": "true",  # so that a drill of any user can read /proc of what it starts
            "LEASE_TTL_S": f"{spec.ttl:g}",
            "LEASE_RENEW_INTERVAL_S": f"{spec.renew_every:g}",
            **({"DATABASE_URL": spec.database} if spec.database else {}),
            **({"AMQP_URL": spec.amqp} if spec.amqp else {}),
        }
        return handed_on(ours | more)


@contextlib.contextmanager
def fleet(spec: ScaleSpec, folder: Path) -> Iterator[Fleet]:
    """The processes; whatever happens they are ended, the last one first."""
    with contextlib.ExitStack() as started:
        serving = Fleet(spec, folder, started)
        try:
            yield serving
        finally:  # all at once: one after the other they would take minutes
            send(signal.SIGTERM, [each.role.process.pid for each in serving.runners.values() if each.is_there])


def _preferred() -> tuple[str, ...]:
    """What the control plane's command begins with, to wait for no runner: in life it has a host of its own."""
    found = shutil.which("nice")
    return () if found is None or os.geteuid() != 0 else (found, "-n", "-10")
