"""What sizes tell, and when they tell nothing."""

from streamward.vision.packets import FEWEST, FORGIVEN_FOR, LEAST_RISE, MOST_SPREAD, REMEMBERED, Sizes


def learnt(*sizes: int) -> Sizes:
    known = Sizes()
    for size in sizes:
        known.learn(size)
    return known


def test_a_camera_that_sends_the_same_over_and_over_is_quiet():
    assert learnt(*[300] * FEWEST).is_quiet


def test_nothing_is_said_of_a_camera_that_is_hardly_known():
    assert not learnt(*[300] * (FEWEST - 1)).is_quiet


def test_a_little_more_than_usual_does_not_stand_out():
    known = learnt(*[300] * FEWEST)
    assert not known.stands_out(300 + LEAST_RISE)
    assert known.stands_out(301 + LEAST_RISE)


def test_a_camera_whose_sizes_jump_about_is_loud():
    assert not learnt(*[2000, 6000] * FEWEST).is_quiet


def test_single_large_frames_move_the_usual_by_nothing():
    known = learnt(*([70] * 24 + [80_000]) * 4)
    assert known.is_quiet
    assert known.stands_out(500)


def test_what_was_long_ago_is_forgotten():
    known = learnt(*[2000, 6000] * FEWEST, *[300] * REMEMBERED)
    assert known.is_quiet
    assert known.stands_out(600)


def test_what_stood_out_for_nothing_is_usual_for_a_while():
    known = learnt(*[12] * FEWEST)
    known.forgive(252)
    known.forgive(242)  # less than that teaches nothing
    assert not known.stands_out(12 + 300)
    assert known.stands_out(13 + 300)
    for _ in range(FORGIVEN_FOR + 1):
        known.learn(12)
    assert known.stands_out(252)


def test_what_a_small_thing_would_hide_behind_is_never_usual():
    known = learnt(*[12] * FEWEST)
    known.forgive(13 + MOST_SPREAD * 4 // 5)
    assert known.stands_out(13 + LEAST_RISE)
