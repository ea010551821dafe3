"""What runners tell and ask about logins."""

from dataclasses import replace

from streamward.leases.lease import Owner
from streamward.leases.login_talk import CameraLogin, LoginPlace, LoginTalk, LoginTold, judge, keys
from streamward.leases.logins import LoginId, LoginOutcome, LoginRecord, Permission
from streamward.model.ids import CameraId, Incarnation, RunnerId, TenantId

LOGIN, OTHER = LoginId("a" * 64), LoginId("b" * 64)
ONE, TWO, THREE = CameraId("cam-1"), CameraId("cam-2"), CameraId("cam-3")
OURS, THEIRS = TenantId("t-01"), TenantId("t-02")
PLACES = {
    ONE: LoginPlace(tenant_id=OURS, is_held=True),
    TWO: LoginPlace(tenant_id=THEIRS, is_held=True),
    THREE: LoginPlace(tenant_id=OURS, is_held=False),
}
OWNER = Owner(RunnerId("r1"), Incarnation("inc-1"))


def talk(*asks: CameraId, told: LoginOutcome | None = None, by: CameraId = ONE) -> LoginTalk:
    outcomes = () if told is None else (LoginTold(camera_id=by, login=LOGIN, outcome=told),)
    return LoginTalk(owner=OWNER, told=outcomes, asks=tuple(CameraLogin(camera_id=each, login=LOGIN) for each in asks))


def test_the_records_of_a_talk_are_those_of_the_cameras_that_there_are():
    asked = talk(TWO, ONE, CameraId("absent"), told=LoginOutcome.REFUSED)
    assert keys(asked, PLACES) == [(OURS, LOGIN), (THEIRS, LOGIN)]
    assert asked.camera_ids == ["absent", "cam-1", "cam-2"]


def test_the_same_login_of_two_tenants_is_two():
    after, judged = judge(talk(ONE, TWO), PLACES, {}, now=0.0)
    assert [each.permission for each in judged.answers] == [Permission.GO, Permission.GO]
    assert sorted(after) == [(OURS, LOGIN), (THEIRS, LOGIN)]


def test_what_is_told_counts_before_what_is_asked():
    after, _ = judge(talk(ONE), PLACES, {}, now=0.0)
    _, judged = judge(talk(ONE, told=LoginOutcome.GAVE_UP), PLACES, after, now=1.0)
    assert [each.permission for each in judged.answers] == [Permission.GO]


def test_the_second_refusal_parks_and_is_noted_once():
    after, first = judge(talk(ONE, told=LoginOutcome.REFUSED), PLACES, {}, now=0.0)
    after, second = judge(talk(ONE, told=LoginOutcome.REFUSED), PLACES, after, now=5.0)
    _, third = judge(talk(told=LoginOutcome.REFUSED), PLACES, after, now=6.0)
    assert (first.parked, second.parked, third.parked) == ((), (ONE,), ())
    [answer] = second.answers
    assert (answer.permission, answer.retry_in) == (Permission.PARKED, 895.0)


def test_cameras_that_are_absent_or_not_held_are_left_out():
    asked = talk(THREE, CameraId("absent"), told=LoginOutcome.REFUSED, by=THREE)
    asked = replace(asked, told=(*asked.told, replace(asked.told[0], camera_id=CameraId("absent"))))
    assert judge(asked, PLACES, {}, now=0.0)[1].answers == ()
    assert judge(asked, PLACES, {}, now=0.0)[0] == {}


def test_who_lost_a_camera_may_still_tell_how_its_own_try_ended():
    after, _ = judge(talk(ONE), PLACES, {}, now=0.0)
    lost = PLACES | {ONE: LoginPlace(tenant_id=OURS, is_held=False)}
    told, _ = judge(talk(told=LoginOutcome.ACCEPTED), lost, after, now=1.0)
    assert told[OURS, LOGIN] == LoginRecord(proven_at=1.0)
    again, _ = judge(talk(told=LoginOutcome.REFUSED), lost, told, now=2.0)
    assert again == told  # it has no try any more


def test_a_record_is_found_under_the_name_that_its_login_had_before():
    after, _ = judge(talk(told=LoginOutcome.REFUSED), PLACES, {}, now=0.0)
    renamed = LoginTalk(
        owner=OWNER, asks=(CameraLogin(camera_id=ONE, login=OTHER),), formerly={OTHER: (LOGIN, LoginId("c" * 64))}
    )
    assert keys(renamed, PLACES) == [(OURS, LOGIN), (OURS, OTHER), (OURS, "c" * 64)]
    after, _ = judge(renamed, PLACES, after, now=1.0)
    assert after[OURS, LOGIN] == LoginRecord()
    assert [each.at for each in after[OURS, OTHER].refused] == [0.0]
    again, _ = judge(renamed, PLACES, after, now=1.0)
    assert again[OURS, LOGIN] == LoginRecord()
