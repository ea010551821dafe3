"""Who is calling, as proven by a token."""

from dataclasses import dataclass
from enum import StrEnum

from streamward.model.ids import Incarnation, TenantId


class Role(StrEnum):
    """What a caller is."""

    RUNNER = "runner"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The bearer of a valid token."""

    subject: str
    role: Role
    tenant_id: TenantId | None = None  # None: every tenant
    incarnation: Incarnation | None = None  # runners only
