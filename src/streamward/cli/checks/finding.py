"""What a check found, and how to mend it."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How it stands."""

    OK = "ok"
    WARNING = "warning"  # works, or will once something is started; somebody should know
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the doctor's report."""

    check: str
    verdict: Verdict
    detail: str
    remedy: str | None = None  # always there unless the verdict is `ok`


def ok(check: str, detail: str) -> Finding:
    """Nothing to mend."""
    return Finding(check=check, verdict=Verdict.OK, detail=detail)


def warning(check: str, detail: str, remedy: str) -> Finding:
    """Something to know."""
    return Finding(check=check, verdict=Verdict.WARNING, detail=detail, remedy=remedy)


def failed(check: str, detail: str, remedy: str) -> Finding:
    """Something to mend."""
    return Finding(check=check, verdict=Verdict.FAILED, detail=detail, remedy=remedy)
