"""Which hosts are away, and when one is tried again: one probe per host and second stands for all its cameras.

    a dial could not even connect ─lost→ away ─due→ probed ─answered→ back: its cameras dial at once
                                          ↑___________│ nothing

A probe may take longer than a second; the next one is not kept waiting for it.
"""

from dataclasses import dataclass, field

from streamward.model.stream_error import StreamErrorCode, StreamFailure

PROBE_EVERY = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class HostKey:
    """Where cameras are: they come and go together."""

    host: str
    port: int


@dataclass(slots=True)
class _Away:
    failure: StreamFailure
    probe_at: float


@dataclass(slots=True)
class AwayHosts:
    """The hosts of one Worker's cameras that do not answer; instants are boot-time."""

    _away: dict[HostKey, _Away] = field(default_factory=dict)

    def lost(self, host: HostKey, failure: StreamFailure, now: float) -> None:
        """A camera could not connect. One who was silent was asked seconds ago, and may have come back since."""
        is_old = failure.code is StreamErrorCode.TCP_TIMEOUT
        self._away.setdefault(host, _Away(failure, now if is_old else now + PROBE_EVERY))

    def why(self, host: HostKey) -> StreamFailure | None:
        """Why a host is away; None: it is not."""
        away = self._away.get(host)
        return None if away is None else away.failure

    def rest(self, host: HostKey, now: float) -> float:
        """Seconds until its next probe."""
        return max(0.0, self._away[host].probe_at - now)

    def probing(self, host: HostKey, now: float) -> None:
        """A probe is sent now."""
        self._away[host].probe_at = now + PROBE_EVERY

    def answered(self, host: HostKey) -> None:
        """It is back, or nobody waits for it any more."""
        self._away.pop(host, None)
