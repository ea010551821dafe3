"""Cameras as operators create and change them: URLs checked, credentials sealed, nobody's change lost.

A credential can be replaced, but not read, and not sent elsewhere: it stays with the place (scheme, host, port) that it
was given for. Each of these is one conditional change in the store.
"""

import uuid
from dataclasses import replace
from operator import itemgetter
from typing import TypeVar

from msgspec import UnsetType, structs

from streamward.control.clerk import Clerk
from streamward.model.address_policy import DEFAULT_LIMITS, AddressPolicy
from streamward.model.camera import UNDATED, Camera, Site
from streamward.model.certificates import fingerprint
from streamward.model.identity import Author
from streamward.model.ids import CameraId, SiteId
from streamward.model.register import Register
from streamward.model.secret import MASK, Secret
from streamward.model.source_url import Credential, Source, SourceUrl, SourceUrlRefused, UrlFault, parse
from streamward.model.vault import CredentialUnreadable, CredentialVault, Sealed
from streamward.protocol import seeing
from streamward.protocol.cameras import ChangeCamera, CreateCamera
from streamward.protocol.fields import ClearText
from streamward.protocol.problem import Problem

SITE_UNKNOWN = Problem(title="Unprocessable Content", status=422, detail="there is no such site", reason="site-unknown")
CREDENTIAL_TWICE = Problem(
    title="Unprocessable Content",
    status=422,
    detail="give user and password in the URL or in fields, not in both; a password needs a user",
    reason="credential-ambiguous",
)
CREDENTIAL_NEEDED = Problem(
    title="Unprocessable Content",
    status=422,
    detail="give user and password again: they are kept for the same scheme, host and port only",
    reason="credential-needed",
)
ID_GENERATED = Problem(
    title="Unprocessable Content",
    status=422,
    detail="a camera_uuid is generated, unless somebody of the whole installation gives it: leave it out, and give the "
    "camera a name, by which your tenant finds it",
    reason="camera-uuid-generated",
)
ID_RESERVED = Problem(
    title="Unprocessable Content",
    status=422,
    detail="`import`, `export` and `changes` are words of the API, and cannot be ids",
    reason="id-reserved",
)
NOT_ALLOWED = Problem(
    title="Unprocessable Content",
    status=422,
    detail="the site's address policy does not allow this address",
    reason=UrlFault.KIND,
)
_RESERVED = {"import", "export", "changes"}  # what stands in a path where an id would
_MASKED = Credential(user=Secret(MASK), password=Secret(""))

T = TypeVar("T")


class Registrar:
    """Writes cameras into the register."""

    def __init__(
        self, register: Register, vault: CredentialVault, *, clerk: Clerk, limits: AddressPolicy = DEFAULT_LIMITS
    ) -> None:
        self._register = register
        self._limits = limits  # of the installation
        self._vault = vault
        self._clerk = clerk

    async def create(self, author: Author, message: CreateCamera, once_key: str | None) -> Camera | Problem:
        """Adds a camera; repeated under the same name it answers as it did the first time."""
        site = await self._register.find_site(SiteId(message.site_id), scope=author.tenant_id)
        if site is None:
            return SITE_UNKNOWN
        camera = self.described(author, site, message)
        if isinstance(camera, Problem):
            return camera
        return await self._clerk.create(camera, author=author, message=message, once_key=once_key)

    async def change(self, author: Author, camera: Camera, message: ChangeCamera) -> Camera | Problem:
        """Changes a camera as it was read."""
        site_id = SiteId(_or(message.site_id, camera.site_id))
        site = await self._register.find_site(site_id, scope=author.tenant_id)
        if site is None or site.tenant_id != camera.tenant_id:
            return SITE_UNKNOWN
        changed = self.changed(camera, site, message)
        return changed if isinstance(changed, Problem) else await self._clerk.change(camera, changed, author=author)

    def described(self, author: Author, site: Site, message: CreateCamera) -> Camera | Problem:
        """The camera that a message describes, at its site."""
        chosen = message.camera_uuid
        if chosen is not None and author.tenant_id is not None:  # whether another tenant has it must not be told
            return ID_GENERATED
        if chosen in _RESERVED:
            return ID_RESERVED
        camera_id = CameraId(str(uuid.uuid4()) if chosen is None else chosen)
        source = self._source(
            site, message.rtsp_url.secret.reveal(), username=_clear(message.username), password=_clear(message.password)
        )
        if isinstance(source, Source) and source.credential == _MASKED:
            return CREDENTIAL_NEEDED
        return source if isinstance(source, Problem) else self._new(site, camera_id, source=source, message=message)

    def changed(self, camera: Camera, site: Site, message: ChangeCamera) -> Camera | Problem:
        """The camera as a message wants it, at the site where it shall stand."""
        moved = self._with_source(camera, site, message)
        if isinstance(moved, Problem):
            return moved
        return replace(
            moved,
            site_id=site.site_id,
            name=_or(message.name, camera.name),
            enabled=_or(message.enabled, camera.enabled),
            do_not_process=_or(message.do_not_process, camera.do_not_process),
            detector=_or(message.detector, camera.detector),
            max_fps=_or(message.max_fps, camera.max_fps),
            decode=_or(message.decode, camera.decode),
            detect_every_n_frames=_or(message.detect_every_n_frames, camera.detect_every_n_frames),
            tls_fingerprint=_fingerprint(_or(message.tls_fingerprint, camera.tls_fingerprint)),
            zones=camera.zones if isinstance(message.zones, UnsetType) else seeing.read(message.zones),
            thresholds=camera.thresholds if isinstance(message.thresholds, UnsetType) else _sorted(message.thresholds),
            labels=camera.labels if isinstance(message.labels, UnsetType) else _sorted(message.labels),
        )

    def _new(self, site: Site, camera_id: CameraId, *, source: Source, message: CreateCamera) -> Camera:
        camera = Camera(
            camera_id=camera_id,
            tenant_id=site.tenant_id,
            site_id=site.site_id,
            name=message.name,
            rtsp_url=str(source.url),
            enabled=message.enabled,
            do_not_process=message.do_not_process,
            detector=message.detector,
            max_fps=message.max_fps,
            decode=message.decode,
            detect_every_n_frames=message.detect_every_n_frames,
            tls_fingerprint=_fingerprint(message.tls_fingerprint),
            zones=seeing.read(message.zones),
            thresholds=_sorted(message.thresholds),
            labels=_sorted(message.labels),
            updated_at=UNDATED,
        )
        if source.credential is None:
            return camera
        return replace(camera, sealed=self._seal(camera, source.credential), credential_version=1)

    def _with_source(self, camera: Camera, site: Site, message: ChangeCamera) -> Camera | Problem:
        """The camera with the URL and credential that it shall have, judged by the site where it shall stand."""
        if site.site_id == camera.site_id and _leaves_source(message):
            return camera  # also if the site would not allow it any more: it must be possible to disable it
        text = camera.rtsp_url if isinstance(message.rtsp_url, UnsetType) else message.rtsp_url.secret.reveal()
        source = self._source(site, text, username=_clear(message.username), password=_clear(message.password))
        if isinstance(source, Problem):
            return source
        is_masked = source.credential == _MASKED
        names_none = isinstance(message.rtsp_url, UnsetType) and source.credential is None
        if is_masked and (camera.sealed is None or _place(camera) != _place_of(source.url)):
            return CREDENTIAL_NEEDED
        moved = replace(camera, rtsp_url=str(source.url))
        return moved if is_masked or names_none else self._replaced(moved, source.credential)

    def _source(self, site: Site, text: str, *, username: Secret | None, password: Secret | None) -> Source | Problem:
        """The source that a URL and the fields beside it name, if the site and the installation allow it."""
        source = parse(text, kinds=site.addresses.kinds)
        if source.url.kind not in self._limits.kinds:
            return structs.replace(NOT_ALLOWED, detail="this installation does not allow sources of this kind")
        if fault := site.addresses.judge_url(source.url):
            return structs.replace(NOT_ALLOWED, reason=fault)
        if fault := self._limits.judge_url(source.url):
            return structs.replace(NOT_ALLOWED, detail="this installation does not allow this address", reason=fault)
        if username is None and password is None:
            return source
        if username is None or source.credential is not None:
            return CREDENTIAL_TWICE
        return replace(source, credential=Credential(user=username, password=password or Secret("")))

    def _replaced(self, camera: Camera, credential: Credential | None) -> Camera:
        """With another credential; the same one given again is no change."""
        if self._is_known(camera, credential):
            return camera
        sealed = None if credential is None else self._seal(camera, credential)
        return replace(camera, sealed=sealed, credential_version=camera.credential_version + 1)

    def _is_known(self, camera: Camera, credential: Credential | None) -> bool:
        if camera.sealed is None or credential is None:
            return camera.sealed is None and credential is None
        try:
            return credential == self._vault.open(camera.sealed, tenant_id=camera.tenant_id, camera_id=camera.camera_id)
        except CredentialUnreadable:
            return False  # its key is lost: giving it again is the remedy

    def _seal(self, camera: Camera, credential: Credential) -> Sealed:
        return self._vault.seal(credential, tenant_id=camera.tenant_id, camera_id=camera.camera_id)


def _leaves_source(message: ChangeCamera) -> bool:
    return all(isinstance(each, UnsetType) for each in (message.rtsp_url, message.username, message.password))


def _place(camera: Camera) -> tuple[object, ...] | None:
    """Where a credential is good for; None: the URL is from before URLs were checked."""
    try:
        return _place_of(parse(camera.rtsp_url).url)
    except SourceUrlRefused:
        return None


def _place_of(url: SourceUrl) -> tuple[object, ...]:
    return url.kind, url.host, url.port


def _clear(given: ClearText | UnsetType | None) -> Secret | None:
    return given.secret if isinstance(given, ClearText) else None


def _fingerprint(given: str | None) -> str | None:
    return None if given is None else fingerprint(given)


def _or(given: T | UnsetType, known: T) -> T:
    return known if isinstance(given, UnsetType) else given


def _sorted(by_name: dict[str, T]) -> tuple[tuple[str, T], ...]:
    return tuple(sorted(by_name.items(), key=itemgetter(0)))
