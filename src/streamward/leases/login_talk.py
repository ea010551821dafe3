"""What runners and the store say to each other about logins: outcomes first, then asks, all in one step.

A login belongs to the tenant of the camera that it was asked for, so that nobody can park another tenant's. Whoever
holds a camera may ask for it and tell of it; whoever lost it may still tell how the try ended that it was let go for.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from streamward.leases.lease import Owner
from streamward.leases.logins import Asker, LoginId, LoginOutcome, LoginRecord, Permission, ask, retry_in, settled, told
from streamward.model.ids import CameraId, TenantId

LoginKey = tuple[TenantId, LoginId]


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraLogin:
    """The login that a runner uses at a camera."""

    camera_id: CameraId
    login: LoginId


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginTold(CameraLogin):
    """How a try of it ended."""

    outcome: LoginOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginTalk:
    """What one runner tells and asks, in this order."""

    owner: Owner
    told: tuple[LoginTold, ...] = ()
    asks: tuple[CameraLogin, ...] = ()
    formerly: Mapping[LoginId, tuple[LoginId, ...]] = field(default_factory=dict)  # what the same logins were called

    @property
    def named(self) -> set[CameraLogin]:
        """What it is about."""
        return {CameraLogin(camera_id=each.camera_id, login=each.login) for each in [*self.asks, *self.told]}

    @property
    def camera_ids(self) -> list[CameraId]:
        """The cameras that it names, in order."""
        return sorted({each.camera_id for each in self.named})


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginPlace:
    """A camera that a runner names: whose it is, and whether the runner holds it."""

    tenant_id: TenantId
    is_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginAnswer(CameraLogin):
    """What became of one ask."""

    permission: Permission
    retry_in: float  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginsJudged:
    """The answers, and whom this talk has parked; cameras that the runner does not hold are left out."""

    answers: tuple[LoginAnswer, ...] = ()
    parked: tuple[CameraId, ...] = ()


Places = Mapping[CameraId, LoginPlace]
Records = Mapping[LoginKey, LoginRecord]


def keys(talk: LoginTalk, places: Places) -> list[LoginKey]:
    """The records that a talk is about, in order."""
    return sorted(key for called in _keys(talk, places) for key in called)


def judge(
    talk: LoginTalk, places: Places, records: Records, *, now: float
) -> tuple[dict[LoginKey, LoginRecord], LoginsJudged]:
    """The records after a talk, and what is answered; a login is its tenant's, whoever names the same one."""
    after = dict(records)
    for key, *former in _keys(talk, places):
        for each in former:
            _rename(after, each, key)
    parked = tuple(_hear(talk, places, after, now))
    return after, LoginsJudged(answers=tuple(_answers(talk, places, after, now)), parked=parked)


def _keys(talk: LoginTalk, places: Places) -> set[tuple[LoginKey, ...]]:
    """Each record's key, and then those under which it may still be."""
    return {
        tuple((places[each.camera_id].tenant_id, login) for login in (each.login, *talk.formerly.get(each.login, ())))
        for each in talk.named
        if each.camera_id in places
    }


def _rename(after: dict[LoginKey, LoginRecord], old: LoginKey, new: LoginKey) -> None:
    unknown = LoginRecord()
    if after.get(new, unknown) == unknown and after.get(old, unknown) != unknown:
        after[new], after[old] = after[old], unknown


def _hear(talk: LoginTalk, places: Places, after: dict[LoginKey, LoginRecord], now: float) -> Iterator[CameraId]:
    """Takes in what is told by those who hold the camera, or held it when they were let go."""
    for each in talk.told:
        place = places.get(each.camera_id)
        if place is None:
            continue
        key, by = (place.tenant_id, each.login), Asker(each.camera_id, talk.owner.incarnation)
        record = settled(after.get(key, LoginRecord()), now)
        if place.is_held or any(one.by == by for one in record.tries):
            after[key] = told(record, by, each.outcome, now)
            if after[key].is_parked and not record.is_parked:
                yield each.camera_id


def _answers(talk: LoginTalk, places: Places, after: dict[LoginKey, LoginRecord], now: float) -> Iterator[LoginAnswer]:
    for each in talk.asks:
        place = places.get(each.camera_id)
        if place is None or not place.is_held:
            continue
        key, by = (place.tenant_id, each.login), Asker(each.camera_id, talk.owner.incarnation)
        after[key], permission = ask(after.get(key, LoginRecord()), by, now)
        wait = 0.0 if permission is Permission.GO else retry_in(after[key], now)
        yield LoginAnswer(camera_id=each.camera_id, login=each.login, permission=permission, retry_in=wait)
