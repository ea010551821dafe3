"""`streamward worker`: one shard of cameras, from a config or for a runner."""

import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import typer

from streamward.cli import readiness
from streamward.cli.failure import CommandFailed, ExitCode
from streamward.model.errors import StreamwardError

ENDED_WITHIN = 2.0  # seconds for what a detector started to die of SIGKILL


class ConfigRefused(CommandFailed):
    """A config that a Worker does not take."""

    exit_code = ExitCode.USAGE


def run(
    *,
    config: Annotated[Path | None, typer.Option(help="File with the shard's config; 0600 if it holds secrets.")] = None,
    config_json: Annotated[str | None, typer.Option(help="The config itself; refused if it holds secrets.")] = None,
    with_core_dumps: Annotated[
        bool, typer.Option("--core-dumps", help="Allow core dumps and debuggers; both show camera passwords.")
    ] = False,
    channel_fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    ready_fd: readiness.ReadyFd = None,
) -> None:
    """Watch a shard of cameras, detect, and publish what is seen.

    Takes the leases of its cameras from the control plane that its config names (`cp`). A runner starts its Workers
    itself: this is for trying things out, and for hosts without a runner.
    """
    import socket

    from streamward.runtime import core_dumps, process_tree

    if not with_core_dumps:
        core_dumps.forbid()
    if channel_fd is None and (config is None) == (config_json is None):
        raise ConfigRefused("name a config: --config FILE, or --config-json TEXT if it holds no secrets")

    from streamward.protocol.readiness import WorkerReady
    from streamward.protocol.shards import ShardConfig
    from streamward.runner.worker_app import run_alone, run_managed

    if channel_fd is not None:
        sys.exit(_run(run_managed(socket.socket(fileno=channel_fd))))
    shard = _from_file(config) if config is not None else _from_text(config_json or "")

    def announce(config: ShardConfig, ready: WorkerReady) -> None:
        lines = [
            f"Worker {config.shard_id} of runner {config.runner_id} watches {len(config.sources)} cameras",
            "",
            f"  state    {ready.url}/ready",
            f"  metrics  {ready.url}/metrics",
            f"  secret   in {ready.secret_file}, for POST /drain and /terminate",
            "",
            "Ctrl-C drains it.",
        ]
        print("\n".join(lines), flush=True)
        readiness.report(ready_fd, ready)

    # A detector may start processes of its own. Those of a managed Worker are ended by its Manager.
    with process_tree.ending_what_starts(within=ENDED_WITHIN):
        code = _run(run_alone(shard, announce=announce))
    sys.exit(code)


def _run(worker: Coroutine[Any, Any, int]) -> int:
    import asyncio

    from streamward.runner.worker_app import exit_code

    try:
        return asyncio.run(worker)
    except StreamwardError as error:
        print(f"streamward: {error}", file=sys.stderr)
        return exit_code(error)


def _from_file(path: Path) -> Any:
    try:
        content, mode = path.read_bytes(), path.stat().st_mode
    except OSError as error:
        raise ConfigRefused(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from error
    shard = _shard(content, str(path))
    if shard.secrets and mode & 0o077:
        raise ConfigRefused(f"{path} holds secrets and others can read it: make it 0600 (chmod 600 {path})")
    return shard


def _from_text(text: str) -> Any:
    shard = _shard(text.encode(errors="surrogateescape"), "the config")
    if shard.secrets:
        raise ConfigRefused(
            "the config holds secrets, and a command line can be read by everybody on this host: "
            "put it into a file of mode 0600 and name that with --config"
        )
    return shard


def _shard(content: bytes, name: str) -> Any:
    from streamward.protocol import codec
    from streamward.protocol.shards import ShardConfig

    try:
        return codec.decode(content, ShardConfig)
    except codec.MalformedMessage as error:
        raise ConfigRefused(f"{name} is no shard's config: {error}") from error
