"""How often a login is tried."""

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.logins import (
    FRESH_FOR,
    GLANCED_FOR,
    MOST_REFUSED,
    PARKED_FOR,
    TRIED_FOR,
    Asker,
    LoginId,
    LoginOutcome,
    LoginRecord,
    Permission,
    Refusal,
    ask,
    login_of,
    parked_until,
    retried,
    retry_in,
    settled,
    told,
)
from streamward.model.ids import CameraId, Incarnation
from streamward.model.secret import Secret
from streamward.model.source_url import Credential, SourceKind, SourceUrl

GO, WAIT, PARKED = Permission.GO, Permission.WAIT, Permission.PARKED
ACCEPTED, REFUSED, GAVE_UP = LoginOutcome.ACCEPTED, LoginOutcome.REFUSED, LoginOutcome.GAVE_UP


def asker(camera_id: str = "cam-1", incarnation: str = "inc-1") -> Asker:
    return Asker(CameraId(camera_id), Incarnation(incarnation))


A, B, C = asker("a"), asker("b"), asker("c")
NEW = LoginRecord()


def asked(record: LoginRecord, *who: Asker, at: float) -> list[Permission]:
    """What each is answered who asks, one after the other."""
    answers = []
    for by in who:
        record, permission = ask(record, by, at)
        answers.append(permission)
    return answers


def times(record: LoginRecord) -> list[float]:
    """When refusals were counted."""
    return [each.at for each in record.refused]


def trying(*who: Asker, record: LoginRecord = NEW, at: float = 0.0) -> LoginRecord:
    """The record once these were let go."""
    for by in who:
        record, permission = ask(record, by, at)
        assert permission is GO
    return record


def refused(*instants: float, record: LoginRecord = NEW) -> LoginRecord:
    for at in instants:
        record = told(trying(A, record=record, at=at), A, REFUSED, at)
    return record


def test_an_unknown_login_is_tried_by_one_while_the_others_wait():
    assert asked(NEW, A, B, C, at=0.0) == [GO, WAIT, WAIT]


def test_what_was_accepted_lets_everyone_go():
    record = told(trying(A), A, ACCEPTED, 1.0)
    assert asked(record, A, B, C, at=2.0) == [GO, GO, GO]
    assert trying(B, record=record, at=2.0) == record  # nothing is written down for it


def test_a_try_that_came_to_nothing_lets_the_next_one_go():
    assert told(trying(A), A, GAVE_UP, 1.0) == NEW
    assert told(trying(A), B, GAVE_UP, 1.0) == trying(A)  # who was not trying ends nobody's try


def test_after_a_refusal_one_finds_out_and_the_others_wait():
    assert asked(refused(0.0), B, C, at=1.0) == [GO, WAIT]


def test_two_refusals_park_everyone_until_the_first_is_a_quarter_of_an_hour_old():
    record = refused(0.0, 5.0)
    assert record.is_parked
    assert asked(record, A, B, at=5.0) == [PARKED, PARKED]
    assert retry_in(record, 5.0) == PARKED_FOR - 5
    assert asked(record, A, at=PARKED_FOR - 1) == [PARKED]
    assert asked(record, A, B, at=PARKED_FOR) == [GO, WAIT]
    assert asked(refused(PARKED_FOR, record=record), A, at=PARKED_FOR + 4) == [PARKED]


def test_a_success_wipes_the_record():
    assert told(refused(0.0), A, ACCEPTED, 1.0) == LoginRecord(proven_at=1.0)


def test_a_try_of_which_nothing_was_heard_counts_as_refused():
    record = trying(A)
    assert asked(record, B, at=TRIED_FOR - 0.1) == [WAIT]
    assert times(settled(record, TRIED_FOR)) == [TRIED_FOR]
    record = trying(B, record=record, at=TRIED_FOR)
    assert asked(record, C, at=2 * TRIED_FOR) == [PARKED]


def test_a_camera_that_asks_again_has_ended_its_try_without_a_word():
    record, permission = ask(trying(asker(incarnation="inc-1")), asker(incarnation="inc-2"), 3.0)
    assert (times(record), permission) == ([3.0], GO)
    assert asked(record, asker(incarnation="inc-3"), at=4.0) == [PARKED]


def test_silence_about_a_login_that_was_proven_means_nothing():
    record = LoginRecord(proven_at=0.0)
    for start in range(1, 5):
        record = trying(asker(incarnation=f"inc-{start}"), record=record, at=100.0 * start)
    assert settled(record, 1000.0) == LoginRecord(proven_at=0.0)


def test_what_was_accepted_long_ago_is_tried_by_one_first_but_not_for_long():
    record = trying(A, record=LoginRecord(proven_at=0.0), at=FRESH_FOR)
    assert asked(record, B, at=FRESH_FOR + 1) == [WAIT]
    assert retry_in(record, FRESH_FOR + 0.5) == GLANCED_FOR - 0.5
    record = trying(B, record=record, at=FRESH_FOR + GLANCED_FOR)
    assert asked(record, C, at=FRESH_FOR + 2 * GLANCED_FOR) == [WAIT]  # two are under way
    record = told(record, A, REFUSED, FRESH_FOR + 5)
    assert asked(record, C, at=FRESH_FOR + 5) == [WAIT]
    assert asked(told(record, B, REFUSED, FRESH_FOR + 6), C, at=FRESH_FOR + 6) == [PARKED]


def test_a_refusal_that_follows_an_acceptance_counts():
    record = told(LoginRecord(proven_at=0.0), A, REFUSED, 1.0)
    assert record == LoginRecord(refused=(Refusal(A, 1.0),))


def test_a_refusal_that_is_told_twice_or_late_counts_once():
    once = refused(0.0)
    assert told(once, A, REFUSED, 1.0) == once
    assert times(told(once, B, REFUSED, 1.0)) == [0.0, 1.0]
    silent = settled(trying(A), TRIED_FOR)
    assert told(silent, A, REFUSED, 12.0) == silent
    assert times(told(trying(A, record=once, at=2.0), A, REFUSED, 3.0)) == [0.0, 3.0]


def test_a_clock_that_was_set_back_prolongs_nothing():
    assert times(settled(refused(10_000.0), 100.0)) == [100.0]
    assert asked(trying(A, at=10_000.0), B, at=100.0) == [WAIT]
    assert settled(settled(trying(A, at=10_000.0), 100.0), 100.0 + TRIED_FOR).tries == ()
    assert asked(LoginRecord(proven_at=10_000.0), A, B, at=100.0) == [GO, WAIT]


def test_whoever_need_not_wait_may_come_at_once():
    assert retry_in(NEW, 0.0) == 0.0
    assert retry_in(refused(0.0, 1.0), 2 * PARKED_FOR) == 0.0


def a_login(host: str = "192.0.2.7", port: int | None = 554, user: str = "ada", password: str = "right") -> LoginId:
    credential = Credential(user=Secret(user), password=Secret(password))
    login = login_of(SourceUrl(kind=SourceKind.RTSP, host=host, port=port), credential)
    assert login is not None
    return login


def test_another_password_place_or_user_is_another_login():
    names = {
        a_login(host, port, user, password)
        for host in ("192.0.2.7", "192.0.2.71")
        for port in (554, 5)
        for user in ("ada", "54ada")
        for password in ("right", "wrong")
    }
    assert len(names) == 16
    assert not any("ada" in name or "right" in name for name in names)


def test_the_same_user_and_password_in_one_place_are_one_login():
    assert a_login() == a_login(port=None)


def test_a_source_without_a_credential_or_a_network_has_no_login():
    credential = Credential(user=Secret("ada"), password=Secret("right"))
    assert login_of(SourceUrl(kind=SourceKind.RTSP, host="h"), None) is None
    assert login_of(SourceUrl(kind=SourceKind.FILE, path="/a.mp4"), credential) is None


def test_an_operator_may_allow_one_more_try_of_a_parked_login():
    parked = refused(0.0, 10.0)
    assert parked_until(parked) == PARKED_FOR
    once = retried(parked, 20.0)
    assert times(once) == [10.0]
    assert asked(once, C, at=20.0) == [GO]
    assert asked(told(once, C, REFUSED, 21.0), A, at=22.0) == [PARKED]


def test_what_is_not_parked_stays_as_it_is():
    for record in (NEW, refused(0.0), trying(A), LoginRecord(proven_at=1.0), refused(0.0, 10.0)):
        assert retried(record, 10.0 + PARKED_FOR) == record


@given(st.data())
def test_whatever_dies_no_more_than_two_refusals_fall_into_a_quarter_of_an_hour(data):
    """A recorder that refuses everything; each Worker is killed before it tells, or not."""
    record, now, seen = NEW, 0.0, []
    for start in range(60):
        now += data.draw(st.sampled_from([0.0, 0.5, 3.0, 11.0, 200.0, PARKED_FOR]))
        by = asker(data.draw(st.sampled_from("abc")), f"inc-{start}")
        record, permission = ask(record, by, now)
        if permission is GO:
            now += data.draw(st.sampled_from([0.0, 1.0, TRIED_FOR - 1]))
            seen.append(now)
            if data.draw(st.booleans()):
                record = told(record, by, REFUSED, now)
    for place in count(MOST_REFUSED):
        if place >= len(seen):
            break
        assert seen[place] - seen[place - MOST_REFUSED] >= PARKED_FOR
