"""What a Manager knows of its cameras: told with the grant, read again after a change, dialed anew if it differs."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from streamward.model.ids import CameraId, Generation
from streamward.model.secret import Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.leases import CameraSource
from streamward.protocol.problem import Problem
from streamward.protocol.seeing import ZoneShape
from streamward.protocol.sites import SiteDetails, SourceRules
from streamward.runner.known import KnownCameras
from tests.support.builders import START
from tests.support.granted import ONE, SITE, a_source, granted

FORBIDDEN = Problem(title="Forbidden", status=403, detail="no", reason="wrong-role")
LIMITS = SourceRules(kinds=["null"])
RULES = SourceRules(allow=["10.0.0.0/8"], kinds=["file"])


@dataclass
class FakeControl:
    """Answers with what it has."""

    source: Any = None
    rules: SourceRules = RULES
    limits: SourceRules = LIMITS
    tls_ca: str | UnsetType = UNSET
    asked: list[str] = field(default_factory=list)

    async def get(self, path: str, kind: type[Any], *, within: float) -> Any:
        assert within > 0
        self.asked.append(path)
        if kind is CameraSource:
            return self.source
        return SiteDetails(
            site_id=SITE,
            tenant_id="acme",
            policy=None,
            capacity=10,
            refill_rate=120.0,
            sources=self.rules,
            limits=self.limits,
            updated_at=START,
            tls_ca=self.tls_ca,
        )


async def test_a_camera_can_be_dialed_when_its_site_s_rules_are_known():
    control = FakeControl()
    known = KnownCameras(control)
    known.granted(granted(a_source()))
    assert (known.revision(ONE), known.sites(is_missing=True)) == (None, {SITE})
    await known.reread_site(SITE)
    assert (known.revision(ONE), known.sites(is_missing=True), known.sites()) == (1, set(), {SITE})
    source = known.source(ONE, generation=Generation(3), epoch=4, is_dial_paid=True)
    assert (source.generation, source.epoch, source.max_fps, source.allow) == (3, 4, 3.0, ["10.0.0.0/8"])
    assert source.password == ClearText(Secret("hunter2"))
    owned = known.owned(ONE)
    assert owned is not None
    assert (owned.tenant_id, owned.site_id) == ("acme", SITE)


async def test_only_what_differs_has_another_revision():
    control = FakeControl(source=a_source())
    known = KnownCameras(control)
    known.granted(granted(a_source()))
    await known.reread_site(SITE)
    await known.reread(ONE)
    await known.reread_site(SITE)
    known.granted(granted(a_source()))
    assert known.revision(ONE) == 1
    control.source = a_source("other")
    await known.reread(ONE)
    assert known.revision(ONE) == 2
    control.rules = SourceRules()
    await known.reread_site(SITE)
    assert known.revision(ONE) == 3
    control.limits = SourceRules(deny=["10.1.0.0/16"])
    await known.reread_site(SITE)
    assert known.revision(ONE) == 4
    source = known.source(ONE, generation=Generation(3), epoch=4, is_dial_paid=True)
    assert source.installation == SourceRules(deny=["10.1.0.0/16"])


async def test_where_things_count_reaches_the_worker_as_a_change():
    control = FakeControl()
    known = KnownCameras(control)
    known.granted(granted(a_source()))
    await known.reread_site(SITE)
    before = known.source(ONE, generation=Generation(3), epoch=4, is_dial_paid=True)
    assert (before.detect_every_n_frames, before.zones, before.thresholds) == (1, [], {})
    door = ZoneShape(name="door", points=[(0, 0), (1, 0), (1, 1)], leaves_out=True)
    control.source = msgspec.structs.replace(
        a_source(), zones=[door], thresholds={"person": 0.5}, detect_every_n_frames=3
    )
    await known.reread(ONE)
    after = known.source(ONE, generation=Generation(3), epoch=5, is_dial_paid=True)
    assert (known.revision(ONE), after.detect_every_n_frames) == (2, 3)
    assert (after.zones, after.thresholds) == ([door], {"person": 0.5})


async def test_a_pin_and_a_ca_reach_the_worker_as_changes():
    control = FakeControl()
    known = KnownCameras(control)
    known.granted(granted(a_source()))
    await known.reread_site(SITE)
    control.source = msgspec.structs.replace(a_source(), tls_fingerprint="ab" * 32)
    await known.reread(ONE)
    control.tls_ca = "-----BEGIN CERTIFICATE-----"
    await known.reread_site(SITE)
    told = known.source(ONE, generation=Generation(3), epoch=4, is_dial_paid=True)
    assert (known.revision(ONE), told.tls_fingerprint, told.tls_ca) == (3, "ab" * 32, control.tls_ca)


async def test_a_change_of_a_camera_that_concerns_nobody_here_is_read_and_forgotten():
    control = FakeControl(source=msgspec.structs.replace(a_source(), revision=5))
    known = KnownCameras(control)
    known.granted(granted(msgspec.structs.replace(a_source(), revision=4)))
    await known.reread_site(SITE)
    await known.reread(ONE)
    assert (known.revision(ONE), known.read) == (1, {ONE: 5})


async def test_without_a_credential_that_can_be_opened_nothing_is_dialed():
    known = KnownCameras(FakeControl())
    known.granted(granted(None))
    await known.reread_site(SITE)
    assert known.revision(ONE) is None


async def test_nothing_is_asked_of_cameras_that_were_never_granted():
    control = FakeControl()
    known = KnownCameras(control)
    await known.reread(CameraId("stranger"))
    assert (control.asked, known.owned(CameraId("stranger"))) == ([], None)


async def test_a_control_plane_that_does_not_answer_changes_nothing():
    control = FakeControl(source=None)
    known = KnownCameras(control)
    known.granted(granted(a_source()))
    await known.reread_site(SITE)
    await known.reread(ONE)
    assert known.revision(ONE) == 1


async def test_a_change_that_cannot_be_read_yet_is_said_to_be_unread():
    control = FakeControl()
    known = KnownCameras(control)
    assert await known.reread(ONE)
    known.granted(granted(a_source()))
    away = Problem(title="Unavailable", status=503, detail="later", reason="away")
    gone = Problem(title="Not found", status=404, detail="gone", reason="unknown")
    answers = []
    for control.source in (None, away, gone, FORBIDDEN, a_source()):
        answers.append(await known.reread(ONE))
    assert answers == [False, False, False, True, True], "a lease that lapsed for a moment may come back"


async def test_a_camera_whose_new_credential_nobody_can_open_is_dialed_no_more():
    control = FakeControl(source=Problem(title="Locked", status=409, detail="lost", reason="credential-lost"))
    known = KnownCameras(control)
    known.granted(granted(a_source()))
    await known.reread_site(SITE)
    assert await known.reread(ONE)
    assert known.revision(ONE) is None


async def test_a_camera_that_moved_to_another_site_is_under_that_one_s_rules_from_its_next_grant_on():
    control = FakeControl(source=msgspec.structs.replace(a_source(), site_id="site-2"))
    known = KnownCameras(control)
    known.granted(granted(a_source()))
    await known.reread_site(SITE)
    assert await known.reread(ONE)
    assert (known.sites(), known.revision(ONE)) == ({SITE}, 1)
    known.granted(msgspec.structs.replace(granted(control.source), site_id="site-2"))
    assert (known.sites(), known.sites(is_missing=True), known.revision(ONE)) == ({"site-2"}, {"site-2"}, None)


async def test_what_is_not_kept_is_forgotten_with_its_rules():
    known = KnownCameras(FakeControl())
    known.granted(granted(a_source()))
    await known.reread_site(SITE)
    known.keep({ONE})
    assert known.revision(ONE) == 1
    known.keep(set())
    assert (list(known), known.owned(ONE), known.sites()) == ([], None, set())
    assert await known.reread(ONE)
    known.granted(granted(a_source()))
    assert known.sites(is_missing=True) == {SITE}
