"""Hosts that are away."""

from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.vision.hosts import PROBE_EVERY, AwayHosts, HostKey

HERE, THERE = HostKey("192.0.2.7", 554), HostKey("192.0.2.7", 8554)
SILENT = StreamFailure(code=StreamErrorCode.TCP_TIMEOUT, detail="nothing answers there", is_unreachable=True)
REFUSED = StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="the connection was refused", is_unreachable=True)


def test_a_host_is_away_from_the_first_failure_until_it_answers():
    hosts = AwayHosts()
    assert hosts.why(HERE) is None
    hosts.lost(HERE, SILENT, 10.0)
    hosts.lost(HERE, REFUSED, 10.5)
    assert hosts.why(HERE) is SILENT
    assert hosts.why(THERE) is None
    hosts.answered(HERE)
    hosts.answered(HERE)
    assert hosts.why(HERE) is None


def test_it_is_probed_once_a_second():
    hosts = AwayHosts()
    hosts.lost(HERE, REFUSED, 10.0)
    assert hosts.rest(HERE, 10.25) == PROBE_EVERY - 0.25
    assert hosts.rest(HERE, 12.0) == 0.0
    hosts.probing(HERE, 12.0)
    assert hosts.rest(HERE, 12.0) == PROBE_EVERY


def test_one_that_was_silent_is_probed_at_once():
    hosts = AwayHosts()
    hosts.lost(HERE, SILENT, 10.0)
    assert hosts.rest(HERE, 10.0) == 0.0
