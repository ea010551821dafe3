"""Settings that limit sources: of the whole installation, and of one runner.

Both are closed by default: no loopback, link-local or metadata address, no file, no device.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from streamward.model.address_policy import DEFAULT_LIMITS, AddressPolicy, NetworkRefused, parse_network
from streamward.model.source_url import SourceKind
from streamward.settings.part import Part

OPENABLE = (SourceKind.DEVICE, SourceKind.FILE)  # the other kinds need no permission


class SourceSettings(Part):
    """What sources any site of this installation may have; read by the control plane."""

    allow: Annotated[
        str,
        Field(
            description="The only networks that sites may allow, with commas between; loopback, link-local and "
            "metadata addresses need a network of their own here; without any every network but those"
        ),
    ] = ""
    deny: Annotated[str, Field(description="Networks that no site's cameras may be in, with commas between")] = ""
    kinds: Annotated[
        str, Field(description="Kinds of sources of runners' hosts that sites may allow: `file`, `device`, or both")
    ] = ""

    @field_validator("allow", "deny")
    @classmethod
    def _are_networks(cls, text: str) -> str:
        return checked_networks(text)

    @field_validator("kinds")
    @classmethod
    def _are_kinds(cls, text: str) -> str:
        return checked_kinds(text)

    @property
    def limits(self) -> AddressPolicy:
        """As sites and cameras are judged by."""
        return AddressPolicy(
            allow=tuple(map(parse_network, listed(self.allow))),
            deny=tuple(map(parse_network, listed(self.deny))),
            kinds=DEFAULT_LIMITS.kinds | {SourceKind(kind) for kind in listed(self.kinds)},
        )


def with_loopback(allow: str) -> str:
    """An allow list and loopback, for processes that read simulated cameras on their own host."""
    return ",".join([*(listed(allow) or ("0.0.0.0/0", "::/0")), "127.0.0.0/8"])


def listed(text: str) -> list[str]:
    """What stands between commas."""
    return [each.strip() for each in text.split(",") if each.strip()]


def checked_networks(text: str) -> str:
    """The same text, if each part of it is a network."""
    for each in listed(text):
        try:
            parse_network(each)
        except NetworkRefused as error:
            raise ValueError(str(error)) from None
    return text


def checked_kinds(text: str) -> str:
    """The same text, if each part of it is a kind that can be opened."""
    if unknown := [each for each in listed(text) if each not in OPENABLE]:
        raise ValueError(f"{unknown[0]!r} is not one of {', '.join(OPENABLE)}")
    return text


def checked_folders(text: str) -> str:
    """The same text, if each part of it is an absolute path."""
    if relative := [each for each in listed(text) if not Path(each).is_absolute()]:
        raise ValueError(f"{relative[0]!r} is not an absolute path")
    return text
