"""`streamward models new-key`, `sign`, `verify` and `install`: models that go signed from their makers to hosts."""

from pathlib import Path
from typing import Annotated, Any

import typer

from streamward.cli.failure import CommandFailed
from streamward.cli.options import AsJson

Bundle = Annotated[Path, typer.Argument(metavar="BUNDLE", help="What `models sign` made.")]
PublicKey = Annotated[
    Path | None, typer.Option("--key", metavar="FILE", help="Public key in PEM; else that of STREAMWARD_MODELS_KEY.")
]


def new_key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The private key; FILE.pub is the other one.")],
) -> None:
    """Make a pair of Ed25519 keys: one that signs models, and one that hosts check them with."""
    from streamward.drivers.detectors.bundle import new_key

    print(new_key(file))


def sign(
    model: Annotated[Path, typer.Argument(metavar="FILE", help="An ONNX or LiteRT file.")],
    *,
    key: Annotated[Path, typer.Option(metavar="FILE", help="The private key in PEM.")],
    name: Annotated[str, typer.Option(help="As cameras name the detector.")],
    version: Annotated[int, typer.Option(min=1, help="Hosts take a higher one in place of a lower one.")],
    image: Annotated[Path | None, typer.Option(metavar="FILE", help="A picture that hosts try it on.")] = None,
    expect: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="What it has to find there; again: more.")
    ] = None,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Else NAME.bundle.")] = None,
) -> None:
    """Sign a model, under a name and a version, after it was tried as hosts will try it."""
    from datetime import UTC, datetime

    from streamward.drivers.detectors.bundle import SUFFIX, packed, private_key_in
    from streamward.drivers.detectors.model_file import digest_of, read
    from streamward.protocol import codec
    from streamward.protocol.bundles import ModelBundle

    if expect and image is None:
        raise typer.BadParameter("what has to be found needs a picture: --image", param_hint="--expect")
    content, picture = read(model), None if image is None else _content(image)
    about = ModelBundle(
        name=name,
        version=version,
        suffix=model.suffix[1:],
        model=digest_of(content),
        made_at=datetime.now(UTC),
        picture=None if picture is None else digest_of(picture),
        labels=expect or [],
    )
    try:
        codec.decode(codec.encode(about), ModelBundle)
    except codec.MalformedMessage as error:
        raise CommandFailed(f"nothing was signed: {error}") from error
    signed = packed(about, content, picture, key=private_key_in(key))
    _check(signed, "nothing was signed")
    place = output or Path(f"{name}{SUFFIX}")
    try:
        place.write_bytes(signed)
    except OSError as error:
        raise CommandFailed(f"cannot write {place}: {(error.strerror or str(error)).lower()}") from error
    print(place)


def verify(file: Bundle, *, key: PublicKey = None, as_json: AsJson = False) -> None:
    """Show what a bundle holds, if it was signed with the key that hosts check."""
    from streamward.cli import output

    about, _ = _opened(file, key)
    if as_json:
        output.print_json(about)
    else:
        facts = [("name", about.name), ("version", about.version), ("made at", about.made_at)]
        output.print_facts([*facts, ("has to find", about.labels)])


def install(
    file: Bundle,
    *,
    key: PublicKey = None,
    older: Annotated[bool, typer.Option("--older", help="Though this host has used a later version.")] = False,
) -> None:
    """Put a signed model into the folder of models; Workers that use it take it up within seconds.

    An older one is taken by Workers that start from then on.
    """
    from streamward.drivers.detectors import used
    from streamward.drivers.detectors.bundle import SUFFIX
    from streamward.drivers.detectors.refusal import ModelRefused
    from streamward.drivers.detectors.shelf import Shelf
    from streamward.settings import load

    about, content = _opened(file, key)
    _check(content, "it was not installed")
    settings = load()
    if older:
        used.forget(settings.data / used.FOLDER, about.name, above=about.version)
    try:
        used.check(settings.data / used.FOLDER, about.name, about.version)
    except ModelRefused as error:
        raise CommandFailed(f"it was not installed: {error.why}") from error
    print(Shelf(settings.models_folder).put(f"{about.name}{SUFFIX}", content))


def _opened(file: Path, key: Path | None) -> tuple[Any, bytes]:
    from streamward.drivers.detectors import bundle
    from streamward.settings import load

    path = key or load().models_key
    if path is None:
        raise CommandFailed("nobody said whose signature counts: name a public key with --key or STREAMWARD_MODELS_KEY")
    content = _content(file)
    return bundle.opened(content, key=bundle.public_key_in(path)).about, content


def _check(bundle: bytes, otherwise: str) -> None:
    """That the model in it is of use, as hosts will find out too."""
    from streamward.drivers.detectors.bundle import SUFFIX
    from streamward.drivers.detectors.loading import problem_of
    from streamward.drivers.detectors.model_file import unpacked

    if (problem := problem_of(unpacked(Path(f"any{SUFFIX}"), bundle, key=None))) is not None:
        raise CommandFailed(f"{otherwise}: {problem}")


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise CommandFailed(f"cannot read {file}: {(error.strerror or str(error)).lower()}") from error
