"""Listings of what there is ever more of: the newest first, and no more than is wanted."""

import itertools
from collections.abc import Iterator
from typing import Annotated, Any

import typer

Camera = Annotated[str | None, typer.Option(help="Of this camera only, by its id or name.")]
Most = Annotated[int, typer.Option("--limit", min=1, help="At most so many.")]


def newest(noun: str, kind: type[Any], *, camera: str | None, most: int) -> Iterator[Any]:
    """The items of pages of that kind."""
    from streamward.cli.camera_names import camera_id
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.fields import LARGEST_PAGE

    link = connect()
    found = None if camera is None else camera_id(link, camera)
    query = {"camera_uuid": found, "limit": min(most, LARGEST_PAGE)}
    pages = link.pages(place("v1", noun), kind, query)
    return itertools.islice((each for page in pages for each in page.items), most)
