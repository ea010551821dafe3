"""`streamward tenants batching`: when a tenant's batches close, and what cannot wait for them."""

from typing import Annotated, Any

import typer

from streamward.cli.options import AsJson, IfMatch

_TRIGGER = "as CONFIDENCE:TYPE,TYPE like 0.9:person,car; `off`: nothing"
_OWN = "`default`: as the installation has it"


def change(
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's id.")],
    *,
    window: Annotated[str | None, typer.Option(help=f"Seconds from a batch's first detection; {_OWN}.")] = None,
    idle: Annotated[str | None, typer.Option(help=f"Seconds from its last one; {_OWN}.")] = None,
    most: Annotated[str | None, typer.Option("--max-detections", help=f"With which it is full; {_OWN}.")] = None,
    fast_path: Annotated[str | None, typer.Option(help=f"What is analysed at once, {_TRIGGER}; {_OWN}.")] = None,
    alert: Annotated[str | None, typer.Option(help=f"What is told as an alert, {_TRIGGER}; {_OWN}.")] = None,
    kept_days: Annotated[str | None, typer.Option(help=f"Days for which all of it is kept; {_OWN}.")] = None,
    if_match: IfMatch = None,
    as_json: AsJson = False,
) -> None:
    """Show what holds for a tenant's batches, or change it; what is not named stays."""
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.batching import BatchingDetails, ChangeBatching
    from streamward.protocol.codec import convert

    given = {
        "window_s": _number("--window", window),
        "idle_timeout_s": _number("--idle", idle),
        "max_detections": _number("--max-detections", most),
        "fast_path": _trigger("--fast-path", fast_path),
        "alert": _trigger("--alert", alert),
        "kept_days": _number("--kept-days", kept_days),
    }
    wanted = {name: value for name, (is_given, value) in given.items() if is_given}
    link, path = connect(), place("v1", "tenants", tenant, "batching")
    answer = link.get(path, BatchingDetails)
    if wanted:
        message = convert(wanted, ChangeBatching)
        answer = link.patch(path, message, BatchingDetails, etag=if_match or answer.etag)
    _print(answer, as_json=as_json)


def _number(option: str, text: str | None) -> tuple[bool, float | int | None]:
    if text is None or text == "default":
        return text is not None, None
    try:
        return True, int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no number", param_hint=option) from None


def _trigger(option: str, text: str | None) -> tuple[bool, dict[str, Any] | None]:
    if text is None or text == "default":
        return text is not None, None
    if text == "off":
        return True, {"confidence": 1.0, "object_types": []}
    confidence, _, types = text.partition(":")
    try:
        return True, {"confidence": float(confidence), "object_types": [each for each in types.split(",") if each]}
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not like 0.9:person,car", param_hint=option) from None


def _print(answer: Any, *, as_json: bool) -> None:
    from streamward.cli import output

    if as_json:
        output.print_tagged(answer.body, answer.etag)
        return
    rules = answer.body
    output.print_facts([
        ("tenant", rules.tenant_id),
        ("window", f"{rules.window_s:g} s"),
        ("idle", f"{rules.idle_timeout_s:g} s"),
        ("max detections", rules.max_detections),
        ("fast path", _told(rules.fast_path)),
        ("alert", _told(rules.alert)),
        ("kept", f"{rules.kept_days:g} days"),
        ("own", rules.own),
        ("etag", answer.etag),
    ])


def _told(trigger: Any) -> str:
    if trigger is None or not trigger.object_types:
        return "off"
    return f"{', '.join(trigger.object_types)} from {trigger.confidence:g}"
