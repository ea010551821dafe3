"""What sizes tell, and when they tell nothing."""

from streamward.vision.packets import FEWEST, LEAST_RISE, REMEMBERED, TICK, TICKS, TOLERANCE, Sizes, Ticks


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


def test_a_clock_takes_only_so_much():
    known = learnt(*[12] * FEWEST)
    assert known.is_tick(12 + TICK)
    assert not known.is_tick(13 + TICK)


def ticking(*moments: float) -> Ticks:
    ticks = Ticks()
    for moment in moments:
        ticks.learn(moment)
    return ticks


def test_a_clock_is_believed_once_it_was_seen_often_enough():
    ticks = ticking(*(7.98 + second for second in range(TICKS - 1)))
    assert not ticks.expect(20.98)
    ticks.learn(20.02)  # a little late: across the second
    assert ticks.expect(21.98)
    assert not ticks.expect(22.5)


def test_what_stands_out_at_all_times_is_no_clock():
    assert not any(ticking(1.0, 2.3, 3.6, 4.9).expect(at / 10) for at in range(100))


def test_a_clock_whose_time_is_not_ours_is_followed():
    ticks = ticking(1.0, 2.0, 3.0)
    drifting = [second * 1.001 for second in range(4, 1004)]  # a second later in the end
    assert all(map(ticks.expect, drifting))
    assert not ticks.expect(2010.0 + 5 * TOLERANCE)
