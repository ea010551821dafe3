"""`streamward nvr`: a recorder with simulated cameras, whose truth is known and which misbehaves on command."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from streamward.cli import readiness
from streamward.cli.password import read_password
from streamward.model.secret import Secret
from streamward.model.source_url import Credential

_LOOP = 5.0  # seconds of a scene, about


class Coded(StrEnum):
    """How pictures are compressed."""

    H264 = "h264"
    H265 = "h265"


def run(
    *,
    cameras: Annotated[
        int | None, typer.Option(min=0, max=1000, help="Cameras with scenes: cam-1, …  [default: 12; 0 with --clip]")
    ] = None,
    clip: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A file to show over and over, as clip-1; again: clip-2, …"),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="RTSP port; 0: any that is free.")] = 8554,
    control_port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the control API on loopback.")] = 8550,
    codec: Annotated[Coded, typer.Option(help="How pictures are compressed.")] = Coded.H264,
    user: Annotated[str | None, typer.Option(help="User that the cameras ask for.")] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="File that holds the password; - is standard input.")
    ] = None,
    tls_certificate: Annotated[Path | None, typer.Option(help="Certificate in PEM form: serve rtsps://.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, if it is in a file of its own.")] = None,
    max_sessions: Annotated[int | None, typer.Option(min=0, help="Sessions that fit, of all cameras.")] = None,
    scenes: Annotated[int, typer.Option(min=1, max=255, help="Different scenes that cameras take turns with.")] = 4,
    width: Annotated[int, typer.Option(min=320, max=3840, help="Pixels.")] = 1280,
    height: Annotated[int, typer.Option(min=180, max=2160, help="Pixels.")] = 720,
    fps: Annotated[int, typer.Option(min=1, max=60, help="Pictures a second.")] = 25,
    key_every: Annotated[int, typer.Option(min=1, max=60, help="Seconds from one keyframe to the next.")] = 1,
    still: Annotated[
        int, typer.Option(min=0, max=600, help="Seconds in which nothing is there, before things come.")
    ] = 0,
    prompt: Annotated[bool, typer.Option(help="Send new clients everything since the latest keyframe.")] = True,
    ready_fd: readiness.ReadyFd = None,
) -> None:
    """Serve simulated cameras over RTSP, with moving objects whose true boxes are known."""
    import asyncio

    from streamward.model.video import VideoCodec
    from streamward.nvr.app import load_tls, serve
    from streamward.nvr.scene import Picture
    from streamward.nvr.spec import Access, NvrSpec, clip_cameras, number_cameras
    from streamward.protocol.readiness import NvrReady
    from streamward.settings import load

    count = (0 if clip else 12) if cameras is None else cameras
    if not count and not clip:
        raise typer.BadParameter("no camera is left; --clip shows a file instead", param_hint="--cameras")
    password = read_password(user, password_file)
    credential = Credential(user=Secret(user), password=password) if user and password else None
    picture = Picture(
        width=width // 2 * 2,
        height=height // 2 * 2,
        fps=fps,
        loop=max(1, round((_LOOP + still) / key_every)) * key_every * fps,  # whole: a keyframe begins it
        key_every=key_every,
        still_for=still * fps,
    )
    spec = NvrSpec(
        cameras=(
            *number_cameras(count, scenes=scenes, codec=VideoCodec(codec), picture=picture),
            *clip_cameras(clip or ()),
        ),
        clips=load().data / "clips",
        host=host,
        port=port,
        tls=load_tls(tls_certificate, tls_key) if tls_certificate else None,
        access=Access(credential=credential, max_sessions=max_sessions),
        is_prompt=prompt,
    )

    def announce(ready: NvrReady) -> None:
        print("Simulated cameras:", "", *(f"  {url}" for url in ready.camera_urls), sep="\n")
        print("", f"  control API  {ready.control_url}", "", "Ctrl-C stops it.", sep="\n", flush=True)
        readiness.report(ready_fd, ready)

    asyncio.run(serve(spec, control_port=control_port, announce=announce, progress=_progress))


def _progress(what: str) -> None:
    print(f"encoding {what} (kept for the next time)", file=sys.stderr, flush=True)
