"""Which addresses a site's cameras may have: one rule for an address in a URL and for one that a name resolved to.

    denied by the site  →  refused
    special             →  refused, unless the site allows a network that lies inside that special one
    the site has an allow list and the address is not in it  →  refused

Special are the addresses that a camera hardly has, and through which a control plane's or runner's own host could be
reached: loopback, link-local, cloud metadata, unspecified, multicast, reserved. A wide allowed network such as
`0.0.0.0/0` does not open them: they must be meant. An IPv6 address that leads to an IPv4 one (mapped, translated,
tunnelled) is refused as well if that one is denied or special.

The installation and each runner have limits of the same form, which a source must pass as well. They are closed by
default (`DEFAULT_LIMITS`): no special address, no file, no device. A site's policy that is wider than the
installation's limits is refused when it is written.

A name is accepted at entry, since what it means may change: whoever connects resolves it once, judges that address, and
connects to no other.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from streamward.model.errors import StreamwardError
from streamward.model.source_url import NETWORK, Address, SourceKind, SourceUrl

Network = IPv4Network | IPv6Network


class AddressFault(StrEnum):
    """Why an address is refused."""

    DENIED = "address-denied"  # by the site's deny list
    NOT_ALLOWED = "address-not-allowed"  # the site has an allow list without it
    METADATA = "address-metadata"
    LOOPBACK = "address-loopback"
    LINK_LOCAL = "address-link-local"
    UNSPECIFIED = "address-unspecified"
    MULTICAST = "address-multicast"
    RESERVED = "address-reserved"


_SPECIAL: tuple[tuple[Network, AddressFault], ...] = tuple(
    (ip_network(network), fault)
    for fault, networks in {
        AddressFault.METADATA: (
            "169.254.169.254/32",
            "169.254.170.2/32",
            "169.254.170.23/32",
            "100.100.100.200/32",
            "168.63.129.16/32",
            "192.0.0.192/32",
            "fd00:ec2::254/128",
            "fd00:ec2::23/128",
            "fd20:ce::254/128",
            "fd00:c1::a9fe:a9fe/128",
        ),
        AddressFault.LOOPBACK: ("127.0.0.0/8", "::1/128"),
        AddressFault.LINK_LOCAL: ("169.254.0.0/16", "fe80::/10"),
        AddressFault.UNSPECIFIED: ("0.0.0.0/8", "::/128"),
        AddressFault.MULTICAST: ("224.0.0.0/4", "ff00::/8"),
        AddressFault.RESERVED: ("240.0.0.0/4",),
    }.items()
    for network in networks
)
_TRANSLATED = (IPv6Network("64:ff9b::/96"), IPv6Network("::ffff:0:0:0/96"))  # NAT64, SIIT
_TRANSLATED_LOCALLY = IPv6Network("64:ff9b:1::/48")  # NAT64 of one network (RFC 8215)
_COMPATIBLE = IPv6Network("::/96")
_UNUSED = IPv4Network("0.0.0.0/8")


class NetworkRefused(StreamwardError):
    """A text that is no network."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text[:64]

    def __str__(self) -> str:
        return f"{self.text!r} is not a network like 10.20.0.0/16 or 2001:db8::/32, with no bits set behind its prefix"


class PolicyTooWide(StreamwardError):
    """A site's policy that allows more than the installation does."""

    def __init__(self, *, field: str, value: str, limit: str) -> None:
        super().__init__(field, value, limit)
        self.field = field
        self.value = value
        self.limit = limit

    def __str__(self) -> str:
        return (
            f"sources.{self.field} names {self.value}, which the limits of this installation do not include "
            f"({self.limit}); STREAMWARD_SOURCES_{self.field.upper()} of the control plane sets them"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressPolicy:
    """What a site says about its sources; without a word of its own, any address that is not special."""

    allow: tuple[Network, ...] = ()  # not empty: nothing else
    deny: tuple[Network, ...] = ()  # whatever is allowed
    kinds: frozenset[SourceKind] = NETWORK

    def judge(self, address: Address) -> AddressFault | None:
        """Why a connection to that address must not be made; None: it may."""
        for each in (address, *_carried(address)):
            if fault := self._forbids(each):
                return fault
        if self.allow and not _is_in(_unmapped(address), self.allow):
            return AddressFault.NOT_ALLOWED
        return None

    def judge_url(self, url: SourceUrl) -> AddressFault | None:
        """The same for the address in a URL, if there is one."""
        return None if url.address is None else self.judge(url.address)

    def check_includes(self, other: "AddressPolicy") -> None:
        """Raises PolicyTooWide for the first kind or network of another policy that these limits do not include.

        An empty allow list is never too wide: it leaves the choice to the limits.
        """
        if excess := sorted(other.kinds - self.kinds):
            raise PolicyTooWide(field="kinds", value=excess[0], limit=f"kinds: {', '.join(sorted(self.kinds))}")
        for network in other.allow:
            if not self._includes(network):
                allowed = ", ".join(map(str, self.allow)) or "every network that is not special"
                denied = f"; denied: {', '.join(map(str, self.deny))}" if self.deny else ""
                raise PolicyTooWide(field="allow", value=str(network), limit=f"allowed: {allowed}{denied}")

    def described(self) -> dict[str, list[str]]:
        """The policy in words; what is not said is left out."""
        said: dict[str, list[str]] = {
            "allow": [str(network) for network in self.allow],
            "deny": [str(network) for network in self.deny],
            "kinds": sorted(self.kinds - NETWORK),
        }
        return {name: words for name, words in said.items() if words}

    def _includes(self, network: Network) -> bool:
        """Whether another policy may allow that network; one in a special network needs an own entry in there."""
        outer = [each for each in self.allow if _is_inside(network, each)]
        if (self.allow and not outer) or any(_is_inside(network, each) for each in self.deny):
            return False
        opened = [special for special, _ in _SPECIAL if _is_inside(network, special)]
        return all(any(_is_inside(each, special) for each in outer) for special in opened)

    def _forbids(self, address: Address) -> AddressFault | None:
        if _is_in(address, self.deny):
            return AddressFault.DENIED
        for special, fault in _SPECIAL:
            if address in special and not _is_in(address, (each for each in self.allow if _is_inside(each, special))):
                return fault
        return None


EVERYWHERE = AddressPolicy()  # but to what is special
DEFAULT_LIMITS = AddressPolicy(kinds=NETWORK | {SourceKind.NULL})  # of an installation or a runner that sets none


def parse_network(text: str) -> Network:
    """The network that a text names; a bare address is a network of one."""
    if "%" in text:  # the name of an interface: it means something on one host only
        raise NetworkRefused(text)
    try:
        return ip_network(text)
    except ValueError:
        raise NetworkRefused(text) from None


def _unmapped(address: Address) -> Address:
    """IPv4 dressed as IPv6 is IPv4: that is what the kernel connects to."""
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _carried(address: Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 one leads to."""
    if isinstance(address, IPv4Address):
        return
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    if _is_in(address, _TRANSLATED) or (address in _COMPATIBLE and int(address) > 1):
        yield IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _TRANSLATED_LOCALLY:
        yield from _translated_locally(address)
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield address.teredo[1]


def _translated_locally(address: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses behind prefixes of 48, 56, 64 and 96 bits (RFC 6052): which one is used is not known here.

    The octet after 64 bits is not part of any. A reading in 0.0.0.0/8 is a prefix that is not used.
    """
    octets = address.packed[:8] + address.packed[9:]
    readings = (IPv4Address(octets[start : start + 4]) for start in (6, 7, 8, 11))
    return (each for each in readings if each not in _UNUSED)


def _is_in(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)


def _is_inside(network: Network, outer: Network) -> bool:
    """Whether a network lies in another, of the same family or not."""
    is_as_narrow = network.version == outer.version and network.prefixlen >= outer.prefixlen
    return is_as_narrow and network.network_address in outer
