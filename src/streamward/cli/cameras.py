"""`streamward cameras`: the register of cameras, and why one does not run."""

import re
import time
from typing import Annotated, Any

import typer

from streamward.cli import footage, transfer
from streamward.cli.options import AsJson, IfMatch, Yes, confirm, group
from streamward.cli.password import PasswordFile, User, check_url, read_password
from streamward.cli.seeing import DetectEvery, Threshold, Zones, check_one_reader, in_words, seeing
from streamward.model.video import DecodeMode

app = group("Lists, adds, changes and removes cameras, and tells why one does not run.")
app.command("import")(transfer.import_cameras)
app.command("export")(transfer.export_cameras)
app.command("clip")(footage.clip)
app.command("snapshot")(footage.snapshot)

CameraUuid = Annotated[str, typer.Argument(metavar="CAMERA", help="The camera's id or name.")]
Processed = Annotated[
    bool | None,
    typer.Option("--process/--do-not-process", help="Whether anybody may process it at all."),
]
Detector = Annotated[str | None, typer.Option(help="Which detector looks at it; none: the default one.")]
MaxFps = Annotated[float | None, typer.Option(min=0, max=240, help="Frames a second at most; 0: no limit.")]
Decode = Annotated[
    str | None, typer.Option(help="What is decoded of it: all, sampled, keyframes or adaptive; none: the default.")
]
Label = Annotated[list[str] | None, typer.Option(help="A label as NAME=VALUE; repeat; replaces all; none: no labels.")]
TlsFingerprint = Annotated[
    str | None,
    typer.Option(
        metavar="SHA256",
        help="The fingerprint of the only certificate that an rtsps camera may have; none: any.",
    ),
]
Enabled = Annotated[bool | None, typer.Option("--enabled/--disabled", help="Whether it should run.")]
_LOADED_WITHIN = 6.0  # seconds for a runner to report that it cannot load a detector
_ASK_EVERY = 0.2  # seconds

_FINGERPRINT = re.compile(r"[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}")


@app.command("list")
def list_cameras(
    *,
    site: Annotated[str | None, typer.Option(help="Of this site only.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Of this tenant only.")] = None,
    name: Annotated[str | None, typer.Option(help="Of this name only.")] = None,
    enabled: Annotated[bool | None, typer.Option("--enabled/--disabled", help="Only those that are so.")] = None,
    as_json: AsJson = False,
) -> None:
    """List cameras in the order of their ids."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.cameras import CameraPage
    from streamward.protocol.fields import LARGEST_PAGE

    asked = {"site_id": site, "tenant_id": tenant, "name": name, "enabled": enabled, "limit": LARGEST_PAGE}
    pages = connect().pages(place("v1", "cameras"), CameraPage, asked)
    found = output.counted((camera for page in pages for camera in page.items), "cameras")
    if as_json:
        output.print_lines(found)
        return
    rows = [
        (each.camera_uuid, each.name or None, each.site_id, each.tenant_id, each.enabled, each.rtsp_url)
        for each in found
    ]
    if rows:
        output.print_table(("CAMERA", "NAME", "SITE", "TENANT", "ENABLED", "SOURCE"), rows)
    elif all(each is None for each in (site, tenant, name, enabled)):
        output.say("no cameras yet: add one with `streamward cameras add SITE URL`")
    else:
        output.say("no camera matches: leave an option out to see more")


@app.command()
def show(camera: CameraUuid, *, as_json: AsJson = False) -> None:
    """Show a camera; its user and password are never shown."""
    from streamward.cli.camera_names import camera_id
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.cameras import CameraDetails

    link = connect()
    _print(link.get(place("v1", "cameras", camera_id(link, camera)), CameraDetails), as_json=as_json)


@app.command()
def add(
    site: Annotated[str, typer.Argument(metavar="SITE", help="The site where it stands.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Its source, without user and password.")],
    *,
    name: Annotated[str | None, typer.Option(help="What its tenant calls it; unique in the tenant.")] = None,
    camera: Annotated[
        str | None, typer.Option("--id", help="Its id, chosen by an admin of the installation; without it a new UUID.")
    ] = None,
    user: User = None,
    password_file: PasswordFile = None,
    tls_fingerprint: TlsFingerprint = None,
    enabled: Enabled = True,
    process: Processed = True,
    detector: Detector = None,
    max_fps: MaxFps = None,
    decode: Decode = None,
    detect_every: DetectEvery = None,
    zones: Zones = None,
    threshold: Threshold = None,
    label: Label = None,
    as_json: AsJson = False,
) -> None:
    """Add a camera to a site."""
    check_url(url)
    check_one_reader(zones, password_file)
    aspects = _aspects(detector, max_fps, decode, label) | seeing(zones, threshold, detect_every)
    aspects |= _pinned(tls_fingerprint)
    password = read_password(user, password_file)
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.model.secret import Secret
    from streamward.protocol.cameras import CameraDetails, CreateCamera
    from streamward.protocol.fields import ClearText

    message = CreateCamera(
        site_id=site,
        rtsp_url=ClearText(Secret(url)),
        camera_uuid=camera,
        name=name,
        username=None if user is None else ClearText(Secret(user)),
        password=None if password is None else ClearText(password),
        enabled=enabled is not False,
        do_not_process=process is False,
        **aspects,
    )
    link = connect()
    added = link.post(place("v1", "cameras"), message, CameraDetails)
    _print(added, as_json=as_json)
    _warn_of_detector(link, place("v1", "cameras", added.body.camera_uuid), message.detector)


@app.command("set")
def change(
    camera: CameraUuid,
    *,
    site: Annotated[str | None, typer.Option(help="Another site of the same tenant.")] = None,
    name: Annotated[str | None, typer.Option(help="Another name; none: no name.")] = None,
    url: Annotated[
        str | None, typer.Option(help="Another source; `***@` before its host keeps user and password.")
    ] = None,
    user: User = None,
    password_file: PasswordFile = None,
    tls_fingerprint: TlsFingerprint = None,
    enabled: Enabled = None,
    process: Processed = None,
    detector: Detector = None,
    max_fps: MaxFps = None,
    decode: Decode = None,
    detect_every: DetectEvery = None,
    zones: Zones = None,
    threshold: Threshold = None,
    label: Label = None,
    if_match: IfMatch = None,
    as_json: AsJson = False,
) -> None:
    """Change a camera, and leave alone what is not named.

    With another detector it waits for some seconds, and warns if the camera's runner cannot load it or no runner
    holds the camera.
    """
    check_url(url, may_keep=True)
    check_one_reader(zones, password_file)
    aspects = _aspects(detector, max_fps, decode, label) | seeing(zones, threshold, detect_every)
    aspects |= _pinned(tls_fingerprint)
    aspects |= {} if name is None else {"name": None if name == "none" else name}
    if not aspects and all(each is None for each in (site, url, user, password_file, enabled, process)):
        raise typer.BadParameter("name what is to change: see `streamward cameras set --help`")
    password = read_password(user, password_file)
    from streamward.cli.camera_names import camera_id
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.model.secret import Secret
    from streamward.protocol.cameras import CameraDetails, ChangeCamera
    from streamward.protocol.fields import ClearText

    given: dict[str, Any] = {
        "site_id": site,
        "rtsp_url": None if url is None else ClearText(Secret(url)),
        "username": None if user is None else ClearText(Secret(user)),
        "password": None if password is None else ClearText(password),
        "enabled": enabled,
        "do_not_process": None if process is None else not process,
    }
    message = ChangeCamera(**{name: value for name, value in given.items() if value is not None}, **aspects)
    link = connect()
    path = place("v1", "cameras", camera_id(link, camera))
    etag = if_match or link.get(path, CameraDetails).etag or "*"
    changed = link.patch(path, message, CameraDetails, etag=etag)
    _print(changed, as_json=as_json)
    _warn_of_detector(link, path, message.detector or None)


@app.command()
def remove(camera: CameraUuid, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a camera and its credential for good."""
    confirm(f"remove camera {camera} and its credential?", is_sure=yes)
    from streamward.cli import output
    from streamward.cli.camera_names import camera_id
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.cameras import CameraDetails, CameraRemoved

    link = connect()
    path = place("v1", "cameras", camera_id(link, camera))
    removed = link.delete(path, CameraRemoved, etag=link.get(path, CameraDetails).etag).body
    if as_json:
        output.print_json(removed)
    else:
        print(f"removed {removed.camera_uuid}; its runner stops it when it renews")


@app.command()
def why(camera: CameraUuid, *, as_json: AsJson = False) -> None:
    """Say why a camera does not run."""
    from streamward.cli import output
    from streamward.cli.camera_names import camera_id
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.why import CameraWhy

    link = connect()
    told = link.get(place("v1", "cameras", camera_id(link, camera), "why"), CameraWhy).body
    if as_json:
        output.print_json(told)
        return
    print(f"{told.camera_uuid} {'runs' if told.running else 'does not run'}")
    for reason in told.reasons:
        print(f"  {output.cell(reason.code)}: {output.cell(reason.detail)}")
    if told.owner_id is not None:
        until = output.cell(told.expires_at)
        print(f"  held by {output.cell(told.owner_id)} in generation {told.version} until {until}")


@app.command()
def retry(camera: CameraUuid, *, as_json: AsJson = False) -> None:
    """Let a camera's login be tried once more that was refused too often."""
    from streamward.cli import output
    from streamward.cli.camera_names import camera_id
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.logins import LoginRetried

    link = connect()
    retried = link.post(place("v1", "cameras", camera_id(link, camera), "retry"), None, LoginRetried).body
    if as_json:
        output.print_json(retried)
    elif retried.was_parked:
        print(f"the login of {retried.camera_uuid} is tried once more within seconds")
    else:
        print(f"the login of {retried.camera_uuid} is not parked: `streamward cameras why` tells why it does not run")


def _warn_of_detector(link: Any, path: str, detector: str | None) -> None:
    from streamward.cli import output

    if detector and (problem := _detector_problem(link, path, detector)) is not None:
        output.warn(problem)


def _detector_problem(link: Any, path: str, detector: str) -> str | None:
    """Why a detector that was just set cannot be loaded or is not known to be; None: nothing speaks against it."""
    from streamward.leases.why import ReasonCode
    from streamward.protocol.why import CameraWhy

    has_stopped, ends_at = False, time.monotonic() + _LOADED_WITHIN
    while time.monotonic() < ends_at:
        told = link.get(f"{path}/why", CameraWhy).body
        for reason in told.reasons:
            if reason.code is ReasonCode.DETECTOR_UNUSABLE and detector in reason.detail:
                return str(reason.detail)
        if told.owner_id is None:
            return (
                f"no runner holds the camera yet, so nobody has tried to load its detector {detector}: "
                "`streamward cameras why` tells when one has"
            )
        if has_stopped and told.running:
            return None
        has_stopped = has_stopped or not told.running
        time.sleep(_ASK_EVERY)
    if not has_stopped:
        return None
    return f"the camera does not run again yet with its detector {detector}: `streamward cameras why` tells why"


def _aspects(
    detector: str | None, max_fps: float | None, decode: str | None, label: list[str] | None
) -> dict[str, Any]:
    """What was named of how a camera is looked at; `none` and 0 take away what was there."""
    aspects: dict[str, Any] = {}
    if detector is not None:
        aspects["detector"] = None if detector == "none" else detector
    if max_fps is not None:
        aspects["max_fps"] = max_fps or None
    if decode is not None:
        aspects["decode"] = _mode(decode)
    if label:
        pairs = [] if label == ["none"] else [each.partition("=") for each in label]
        if not all(equals for _, equals, _ in pairs):
            raise typer.BadParameter("a label is NAME=VALUE", param_hint="--label")
        aspects["labels"] = {name: value for name, _, value in pairs}
    return aspects


def _pinned(fingerprint: str | None) -> dict[str, Any]:
    if fingerprint is None:
        return {}
    if fingerprint != "none" and not _FINGERPRINT.fullmatch(fingerprint):
        detail = "must be none or a SHA-256 fingerprint: 64 hexadecimal digits, with or without colons"
        raise typer.BadParameter(detail, param_hint="--tls-fingerprint")
    return {"tls_fingerprint": None if fingerprint == "none" else fingerprint}


def _mode(word: str) -> DecodeMode | None:
    if word != "none" and word not in set(DecodeMode):
        raise typer.BadParameter(f"must be none or one of {', '.join(DecodeMode)}", param_hint="--decode")
    return None if word == "none" else DecodeMode(word)


def _print(answer: Any, *, as_json: bool) -> None:
    from streamward.cli import output

    if as_json:
        output.print_tagged(answer.body, answer.etag)
        return
    camera = answer.body
    output.print_facts([
        ("camera", camera.camera_uuid),
        ("name", camera.name or None),
        ("site", camera.site_id),
        ("tenant", camera.tenant_id),
        ("source", camera.rtsp_url),
        ("credential", f"version {camera.credential_version}" if camera.credential_version else None),
        ("certificate", camera.tls_fingerprint and f"SHA-256 {camera.tls_fingerprint}"),
        ("enabled", camera.enabled),
        ("do not process", camera.do_not_process),
        ("detector", camera.detector or "the default one"),
        ("frames a second", camera.max_fps or "no limit"),
        ("decoded", camera.decode or "as the runner does"),
        *in_words(camera),
        ("labels", [f"{name}={value}" for name, value in sorted(camera.labels.items())]),
        ("changed", camera.updated_at),
        ("etag", answer.etag),
    ])
