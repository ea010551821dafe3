"""How long a lease lasts, how often it is renewed, and how long its owner trusts it.

    ttl ───────────────────────────────────────┐ the store's view, on database time
    sent ── 0.9·ttl − 0.5 s ──┐ the owner's view, on its boot-time clock from *before* it asked
                              └─ margin: ±5 % drift of both clocks and a scheduling pause

Guaranteed: while both clocks run within ±5 % of true time, the owner's trust ends before the store's does.
Not guaranteed: anything for clocks that run further off. The fence (`leases.fence`) does not rest on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from streamward.model.camera import LeasePolicyName
from streamward.model.errors import StreamwardError

TRUSTED_SHARE = 0.9
SCHEDULING_PAUSE = 0.5
RENEW_TIMEOUT = 1.0  # a renewal that takes longer goes again on a fresh connection

SHORTEST_TTL = 2.0
LONGEST_TTL = 600.0


class TimingsContradict(StreamwardError):
    """A ttl too short for its renewals: one lost answer would end the lease."""

    def __init__(self, *, ttl: float, renew_every: float) -> None:
        super().__init__(ttl, renew_every)
        self.ttl = ttl
        self.renew_every = renew_every

    def __str__(self) -> str:
        return (
            f"lease ttl {self.ttl:g} s is trusted for {trusted_for(self.ttl):g} s, "
            f"but renewing every {self.renew_every:g} s needs {_needed(self.renew_every):g} s: "
            "raise the ttl or renew more often"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a grant says, in seconds."""

    ttl: float
    soft_for: float = 0.0  # after expiry: how long only capacity pressure moves the camera


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The timings of one kind of lease, in seconds."""

    name: LeasePolicyName
    ttl: float
    renew_every: float
    soft_until: float = 0.0  # after the last renewal: how long only capacity pressure moves the camera

    def __post_init__(self) -> None:
        check_timings(ttl=self.ttl, renew_every=self.renew_every)

    def terms(self, ttl: float | None = None) -> Terms:
        """The terms of a grant under this policy, with another ttl if its client asks for one."""
        granted = self.ttl if ttl is None else ttl
        return Terms(ttl=granted, soft_for=max(0.0, self.soft_until - granted))


def trusted_for(ttl: float) -> float:
    """How long an owner may act on a lease, counted from before it asked for it."""
    return TRUSTED_SHARE * ttl - SCHEDULING_PAUSE


def check_timings(*, ttl: float, renew_every: float) -> None:
    """Refuses timings under which one lost renewal would cost the lease."""
    if trusted_for(ttl) < _needed(renew_every):
        raise TimingsContradict(ttl=ttl, renew_every=renew_every)


def renewal_interval(trusted: float) -> float:
    """Seconds between renewals of leases that are trusted so long: five sixths of what `check_timings` allows."""
    return (trusted - RENEW_TIMEOUT) / 2 * 5 / 6


def _needed(renew_every: float) -> float:
    return 2 * renew_every + RENEW_TIMEOUT


FAST = Policy(name=LeasePolicyName.FAST, ttl=8.0, renew_every=2.0)
FASTER = Policy(name=LeasePolicyName.FASTER, ttl=3.0, renew_every=0.5)
STICKY = Policy(name=LeasePolicyName.STICKY, ttl=90.0, renew_every=10.0, soft_until=600.0)
TASK = Policy(name=LeasePolicyName.TASK, ttl=15.0, renew_every=5.0)

BY_NAME = {policy.name: policy for policy in (FAST, FASTER, STICKY, TASK)}


Policies = Mapping[LeasePolicyName, Policy]


def applied(*, runner: LeasePolicyName, site: LeasePolicyName | None, policies: Policies = BY_NAME) -> Policy:
    """The policy of a grant: the site's if it has one, else the runner's."""
    return policies[site or runner]
