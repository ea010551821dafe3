"""Cameras in bulk: in as a file, all of it or nothing, and out as one."""

from collections.abc import AsyncIterator
from dataclasses import replace

from streamward.control.api.routing import Access, Routes, Streamed, Upload
from streamward.control.importing import Importer
from streamward.leases.store import CameraFilter, CameraStore
from streamward.model.camera import Camera
from streamward.model.identity import Author, Caller
from streamward.model.ids import SiteId, TenantId
from streamward.protocol.camera_lines import LARGEST_FILE, read, write
from streamward.protocol.problem import Problem
from streamward.protocol.transfer import FORMATS, CamerasImported, ExportQuery, ImportQuery, exported

PAGE = 500  # cameras that an export holds at a time

_MEDIA_TYPES = tuple(FORMATS.values())


def add_transfer(routes: Routes, store: CameraStore, *, importer: Importer) -> None:
    """Adds the routes that import and export cameras."""

    @routes.post(
        "/v1/cameras/import",
        access=Access.OPERATOR,
        takes=_MEDIA_TYPES,
        largest=LARGEST_FILE,
        refuses={409: "Somebody else is changing these cameras", 422: "Nothing was imported: `lines` tells why"},
    )
    async def import_cameras(author: Author, query: ImportQuery, upload: Upload) -> CamerasImported | Problem:
        """Creates and changes cameras from a file, one a line, all of them or none."""
        return await importer.take(author, read(upload.content, upload.media_type), dry_run=query.dry_run)

    @routes.get("/v1/cameras/export", access=Access.VIEWER, streams=_MEDIA_TYPES)
    async def export_cameras(caller: Caller, query: ExportQuery) -> Streamed:
        """Tells all cameras as a file that can be imported again, without users and passwords."""
        wanted = CameraFilter(
            scope=caller.tenant_id,
            tenant_id=None if query.tenant_id is None else TenantId(query.tenant_id),
            site_id=None if query.site_id is None else SiteId(query.site_id),
            limit=PAGE,
        )
        media_type = FORMATS[query.format]
        # The first page before the answer begins: a store that is away is a refusal, not a file cut short.
        return Streamed(media_type, _parts(store, wanted, first=await store.page(wanted), media_type=media_type))


async def _parts(
    store: CameraStore, wanted: CameraFilter, *, first: list[Camera], media_type: str
) -> AsyncIterator[bytes]:
    """The file, a page at a time; a camera that is changed meanwhile is told as before or after, but once."""
    page, is_first = first, True
    while page or is_first:
        yield write(map(exported, page), media_type, is_first=is_first)
        is_first = False
        if len(page) < wanted.limit:
            return
        page = await store.page(replace(wanted, after=page[-1].camera_id))
