"""`streamward runners`: who runs, and what operators want of them."""

from typing import Annotated, Any

import typer

from streamward.cli.options import AsJson, CodeTtl, Yes, confirm, group
from streamward.model.runner import DrainMode

app = group("Lists, invites and revokes runners, cordons, drains and kills them, and sets how much they may hold.")

RunnerName = Annotated[str, typer.Argument(metavar="RUNNER", help="The runner's id.")]


@app.command("list")
def list_runners(*, as_json: AsJson = False) -> None:
    """List runners in the order of their ids."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.runners import RunnerList

    answer = connect().get(place("v1", "runners"), RunnerList)
    if as_json:
        output.print_lines(answer.body.items)
        return
    rows = [
        (
            each.runner_id,
            each.site_id or "any",
            each.policy,
            each.capacity_streams,
            each.cordoned,
            each.drain_mode,
            output.ago(each.last_seen_at, answer.at),
        )
        for each in answer.body.items
    ]
    if rows:
        output.print_table(("RUNNER", "SITE", "POLICY", "CAPACITY", "CORDONED", "DRAIN", "SEEN"), rows)
    else:
        output.say("no runners yet: one appears here when it registers")


@app.command()
def show(runner: RunnerName, *, as_json: AsJson = False) -> None:
    """Show a runner."""
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.leases import RunnerFlags

    _print(connect().get(place("v1", "runners", runner), RunnerFlags), as_json=as_json)


@app.command()
def cordon(runner: RunnerName, *, as_json: AsJson = False) -> None:
    """Let a runner keep what it holds, and give it nothing more."""
    _change(runner, as_json=as_json, cordoned=True)


@app.command()
def uncordon(runner: RunnerName, *, as_json: AsJson = False) -> None:
    """Let a cordoned runner have cameras again."""
    _change(runner, as_json=as_json, cordoned=False)


@app.command()
def drain(
    runner: RunnerName,
    mode: Annotated[
        DrainMode, typer.Argument(help="soft: a few cameras at a time; hard: all at once; none: no longer.")
    ] = DrainMode.SOFT,
    *,
    as_json: AsJson = False,
) -> None:
    """Make a runner give its cameras back."""
    _change(runner, as_json=as_json, drain_mode=mode)


@app.command()
def kill(
    runner: RunnerName,
    *,
    whole: Annotated[
        bool, typer.Option("--whole", help="Every process of it at once, as when a host dies: its leases run out.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Kill a runner of this host (SIGKILL), and tell when and where each of its cameras streams again.

    Only its Manager dies by the signal: what is left of it ends the rest, and gives the cameras back at once.
    """
    from streamward.cli.runner_kill import kill as end_by_force

    end_by_force(runner, is_whole=whole, as_json=as_json)


@app.command("set")
def change(
    runner: RunnerName,
    *,
    capacity: Annotated[int, typer.Option(min=0, max=10_000, help="How many cameras it may hold.")],
    as_json: AsJson = False,
) -> None:
    """Set how many cameras a runner may hold."""
    _change(runner, as_json=as_json, capacity_streams=capacity)


@app.command()
def rollout(
    runners: Annotated[list[str] | None, typer.Argument(metavar="[RUNNER]...", help="Which; else all.")] = None,
    *,
    model: Annotated[str | None, typer.Option(help="The detector that all their Workers get.")] = None,
    status: Annotated[bool, typer.Option("--status", help="Only show how far it has come.")] = False,
    abort: Annotated[bool, typer.Option("--abort", help="Go back to the detector before.")] = False,
    within: Annotated[float, typer.Option(min=1, max=3600, help="Seconds for each runner.")] = 180.0,
    as_json: AsJson = False,
) -> None:
    """Replace the Workers of runners by those with another detector, without a gap, one runner after the other.

    New Workers watch the cameras silently until they see them, and only then take each over. A runner whose new Worker
    fails goes back by itself, and the runners after it are left as they are.
    """
    if (model is not None) + status + abort != 1:
        raise typer.BadParameter("name one of --model, --status and --abort")
    from streamward.cli import output
    from streamward.cli import rollout as rolling
    from streamward.cli.connect import connect

    link = connect()
    some = rolling.chosen(link, runners or [])
    if not status:
        way = rolling.Rollout(link=link, within=within, say=output.say)
        way.abort(some) if abort else way.roll_out(some, model)
        some = rolling.chosen(link, [each.runner_id for each in some])
    if as_json:
        output.print_lines(some)
    else:
        rolling.print_status(some)


@app.command()
def invite(
    runner: RunnerName,
    *,
    tenant: Annotated[str | None, typer.Option(help="Whose cameras it serves; without it yours, or all.")] = None,
    ttl: CodeTtl = "24h",
    as_json: AsJson = False,
) -> None:
    """Make a one-time code with which a runner's host becomes known; it is shown this once."""
    from streamward.cli.invitation import invite as make

    make(runner, role="runner", tenant=tenant, ttl=ttl, as_json=as_json)


@app.command()
def revoke(runner: RunnerName, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Trust a runner's keys, tokens and unused codes no more; its leases run out."""
    confirm(f"trust runner {runner} no more?", is_sure=yes)
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.identities import RunnerRevoked

    revoked = connect().post(place("v1", "runners", runner, "revoke"), None, RunnerRevoked).body
    if as_json:
        output.print_json(revoked)
    else:
        print(f"revoked {revoked.runner_id}: a new code from `streamward runners invite` brings it back")


def _change(runner: str, *, as_json: bool, **given: Any) -> None:
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.leases import RunnerFlags
    from streamward.protocol.runners import ChangeRunner

    link, path = connect(), place("v1", "runners", runner)
    etag = link.get(path, RunnerFlags).etag
    _print(link.patch(path, ChangeRunner(**given), RunnerFlags, etag=etag), as_json=as_json)


def _print(answer: Any, *, as_json: bool) -> None:
    from streamward.cli import output

    runner = answer.body
    if as_json:
        output.print_json(runner)
        return
    output.print_facts([
        ("runner", runner.runner_id),
        ("site", runner.site_id or "any"),
        ("policy", runner.policy),
        ("capacity", runner.capacity_streams),
        ("cordoned", runner.cordoned),
        ("drain", runner.drain_mode),
        ("detector", runner.detector or "own setting"),
        ("incarnation", runner.incarnation or "ended"),
        ("seen", f"{output.cell(runner.last_seen_at)} ({output.ago(runner.last_seen_at, answer.at)})"),
    ])
