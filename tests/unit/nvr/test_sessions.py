"""Sessions and the room that they take up."""

from streamward.nvr.sessions import Sessions


def test_sessions_are_counted_by_camera_and_in_all():
    sessions = Sessions()
    sessions.open("1", "a", 0.0)
    sessions.open("2", "b", 0.0)
    assert (sessions.count(0.0), sessions.count(0.0, "a"), sessions.most_at_once) == (2, 1, 2)
    sessions.close("1", 0.0)
    assert (sessions.count(0.0), sessions.most_at_once) == (1, 2)


def test_a_stale_session_takes_up_room_until_its_time():
    sessions = Sessions()
    sessions.open("1", "a", 0.0)
    sessions.close("1", 1.0, stale_for=60.0)
    assert [sessions.count(now) for now in (1.0, 60.9, 61.0)] == [1, 1, 0]


def test_ending_what_is_not_there_changes_nothing():
    sessions = Sessions()
    sessions.close("1", 0.0, stale_for=60.0)
    assert sessions.count(0.0) == 0


def test_it_is_told_whose_sessions_they_are():
    sessions = Sessions()
    sessions.open("1", "a", 0.0, client="127.0.0.1:4000")
    sessions.close("1", 1.0, stale_for=60.0)
    assert [(each.camera, each.client) for each in sessions.list(60.0)] == [("a", "127.0.0.1:4000")]
    assert sessions.list(61.0) == []
