"""How often a login is tried."""

from dataclasses import replace

from streamward.vision.logins import HELD_FOR, PARKED_FOR, LoginGuard, LoginKey, Permission

KEY = LoginKey("192.0.2.7", 554, "ada", 1)


def test_an_unknown_credential_is_tried_by_one_until_it_was_accepted():
    guard = LoginGuard()
    assert [guard.ask(KEY, 0.0) for _ in range(3)] == [Permission.GO, Permission.WAIT, Permission.WAIT]
    assert guard.parked_until(KEY) is None
    guard.accepted(KEY)
    assert [guard.ask(KEY, 1.0) for _ in range(3)] == [Permission.GO] * 3


def test_a_try_that_came_to_nothing_lets_the_next_one_go():
    guard = LoginGuard()
    guard.gave_up(KEY)
    assert guard.ask(KEY, 0.0) is Permission.GO
    guard.gave_up(KEY)
    assert guard.ask(KEY, 0.1) is Permission.GO


def test_after_a_refusal_one_camera_finds_out_and_the_others_wait():
    guard = LoginGuard()
    guard.refused(KEY, 0.0)
    assert [guard.ask(KEY, 1.0), guard.ask(KEY, 1.0)] == [Permission.GO, Permission.WAIT]
    assert guard.ask(KEY, 1.0 + HELD_FOR) is Permission.GO  # whoever tried was never heard of again


def test_two_refusals_park_everyone_for_a_quarter_of_an_hour():
    guard = LoginGuard()
    guard.refused(KEY, 0.0)
    guard.refused(KEY, 5.0)
    assert guard.ask(KEY, 5.0) is Permission.PARKED
    assert guard.parked_until(KEY) == PARKED_FOR
    assert guard.ask(KEY, PARKED_FOR - 1) is Permission.PARKED
    assert guard.ask(KEY, PARKED_FOR) is Permission.GO
    assert guard.ask(KEY, 2 * PARKED_FOR) is Permission.GO


def test_a_success_wipes_the_record():
    guard = LoginGuard()
    guard.refused(KEY, 0.0)
    guard.accepted(KEY)
    assert [guard.ask(KEY, 1.0), guard.ask(KEY, 1.0)] == [Permission.GO, Permission.GO]


def test_another_version_place_or_user_is_another_credential():
    guard = LoginGuard()
    guard.refused(KEY, 0.0)
    guard.refused(KEY, 1.0)
    for other in (replace(KEY, version=2), replace(KEY, host="192.0.2.8"), replace(KEY, user="bob")):
        assert guard.ask(other, 2.0) is Permission.GO
    assert guard.parked_until(replace(KEY, port=555)) is None
