"""Which addresses a site's cameras may have."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.address_policy import (
    DEFAULT_LIMITS,
    AddressFault,
    AddressPolicy,
    NetworkRefused,
    PolicyTooWide,
    parse_network,
)
from streamward.model.source_url import NETWORK, SourceKind, parse


def a_policy(*, allow: str = "", deny: str = "") -> AddressPolicy:
    return AddressPolicy(
        allow=tuple(map(parse_network, allow.split())), deny=tuple(map(parse_network, deny.split())), kinds=NETWORK
    )


SPECIAL = {
    "127.0.0.1": AddressFault.LOOPBACK,
    "127.255.255.255": AddressFault.LOOPBACK,
    "::1": AddressFault.LOOPBACK,
    "169.254.1.1": AddressFault.LINK_LOCAL,
    "fe80::1": AddressFault.LINK_LOCAL,
    "169.254.169.254": AddressFault.METADATA,
    "fd00:ec2::254": AddressFault.METADATA,
    "fd20:ce::254": AddressFault.METADATA,
    "100.100.100.200": AddressFault.METADATA,
    "0.0.0.0": AddressFault.UNSPECIFIED,
    "::": AddressFault.UNSPECIFIED,
    "239.1.2.3": AddressFault.MULTICAST,
    "ff02::1": AddressFault.MULTICAST,
    "255.255.255.255": AddressFault.RESERVED,
}
DISGUISED = {
    "::ffff:127.0.0.1": AddressFault.LOOPBACK,  # mapped
    "::127.0.0.1": AddressFault.LOOPBACK,  # compatible
    "64:ff9b::169.254.169.254": AddressFault.METADATA,  # translated
    "64:ff9b:1::169.254.169.254": AddressFault.METADATA,  # translated within a site, by a prefix of 96 bits
    "64:ff9b:1:a9fe:a9:fe00::": AddressFault.METADATA,  # of 48 bits
    "64:ff9b:1:a9:fe:a9fe::": AddressFault.METADATA,  # of 56 bits
    "64:ff9b:1:7:a9:fea9:fe00:0": AddressFault.METADATA,  # of 64 bits
    "::ffff:0:127.0.0.1": AddressFault.LOOPBACK,  # translated without a prefix of its own
    "2002:7f00:1::": AddressFault.LOOPBACK,  # 6to4
    "2001:0:4136:e378:8000:63bf:80ff:fffe": AddressFault.LOOPBACK,  # Teredo: its client's address is inverted
}


@pytest.mark.parametrize(
    "address",
    ["192.168.1.64", "10.0.0.7", "8.8.8.8", "2001:db8::7", "fd00::7", "64:ff9b::8.8.8.8", "64:ff9b:1::8.8.8.8"],
)
def test_without_a_word_from_the_site_an_ordinary_address_is_allowed(address):
    assert AddressPolicy().judge(ip_address(address)) is None


@pytest.mark.parametrize(("address", "fault"), [*SPECIAL.items(), *DISGUISED.items()])
@pytest.mark.parametrize("allow", ["", "0.0.0.0/0 ::/0"])
def test_a_special_address_is_refused_unless_it_is_meant(address, fault, allow):
    assert a_policy(allow=allow).judge(ip_address(address)) is fault


@pytest.mark.parametrize("address", SPECIAL)
def test_a_special_address_is_allowed_by_a_network_inside_its_own(address):
    assert a_policy(allow=address).judge(ip_address(address)) is AddressPolicy().judge(ip_address("10.0.0.1"))


def test_link_local_networks_do_not_open_the_metadata_service():
    policy = a_policy(allow="169.254.0.0/16")
    assert policy.judge(IPv4Address("169.254.7.7")) is None
    assert policy.judge(IPv4Address("169.254.169.254")) is AddressFault.METADATA


def test_an_allow_list_allows_nothing_else():
    policy = a_policy(allow="10.20.0.0/16 2001:db8::/32")
    assert policy.judge(IPv4Address("10.20.0.1")) is None
    assert policy.judge(IPv6Address("2001:db8::1")) is None
    assert policy.judge(IPv4Address("10.21.0.1")) is AddressFault.NOT_ALLOWED
    assert policy.judge(IPv6Address("::ffff:10.20.0.1")) is None
    assert policy.judge(IPv6Address("64:ff9b::10.20.0.1")) is AddressFault.NOT_ALLOWED


def test_what_is_denied_is_denied_whatever_is_allowed():
    policy = a_policy(allow="10.0.0.0/8 127.0.0.1", deny="10.1.0.0/16 127.0.0.0/8")
    assert policy.judge(IPv4Address("10.2.0.1")) is None
    assert policy.judge(IPv4Address("10.1.0.1")) is AddressFault.DENIED
    assert policy.judge(IPv4Address("127.0.0.1")) is AddressFault.DENIED
    assert a_policy(deny="10.0.0.0/8").judge(IPv6Address("2002:a00:1::")) is AddressFault.DENIED


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("rtsp://127.0.0.1/a", AddressFault.LOOPBACK),
        ("rtsp://[fe80::1]/a", AddressFault.LINK_LOCAL),
        ("rtsp://192.0.2.7/a", None),
        ("rtsp://localhost/a", None),
    ],
)
def test_a_url_is_judged_by_its_address_and_a_name_when_it_is_resolved(url, fault):
    assert AddressPolicy().judge_url(parse(url).url) is fault


@pytest.mark.parametrize(
    "text", ["", "10.0.0.1/8", "10.0.0.0/33", "host", "127.1", "::1/64", "fe80::1%eth0", "fe80::1%\0", "x" * 500]
)
def test_what_is_no_network_is_refused(text):
    with pytest.raises(NetworkRefused) as refused:
        parse_network(text)
    assert "is not a network like" in str(refused.value)
    assert len(str(refused.value)) < 200


@given(st.ip_addresses(), st.ip_addresses())
def test_an_address_that_is_denied_is_never_reached(address, allowed):
    policy = a_policy(allow=f"{address} {allowed} 0.0.0.0/0 ::/0", deny=str(address))
    assert policy.judge(address) is AddressFault.DENIED


@given(st.ip_addresses(v=4), st.sampled_from(["", "10.0.0.0/8", "127.0.0.0/8"]))
def test_a_mapped_address_is_judged_as_the_address_it_hides(address, allow):
    policy = a_policy(allow=allow)
    assert policy.judge(IPv6Address(f"::ffff:{address}")) is policy.judge(address)


@given(st.ip_addresses(v=4), st.ip_addresses(v=4))
def test_an_allow_list_of_one_lets_no_other_through(address, other):
    assert (a_policy(allow=str(other)).judge(address) is None) <= (address == other)


def test_a_policy_is_described_by_what_it_says():
    policy = AddressPolicy(deny=(parse_network("10.1.2.3"),), kinds=frozenset(SourceKind))
    assert policy.described() == {"deny": ["10.1.2.3/32"], "kinds": ["device", "file", "null"]}
    assert AddressPolicy().described() == {}


@pytest.mark.parametrize(
    ("limits", "allow"),
    [
        ("", ""),
        ("", "10.0.0.0/8 0.0.0.0/0"),
        ("127.0.0.0/8", ""),
        ("127.0.0.0/8", "127.0.0.1"),
        ("0.0.0.0/0 127.0.0.0/8", "10.0.0.0/8 127.0.0.0/9"),
        ("169.254.0.0/16 169.254.169.254", "169.254.169.254"),
    ],
)
def test_limits_include_a_policy_that_allows_no_more(limits, allow):
    a_policy(allow=limits).check_includes(a_policy(allow=allow))


@pytest.mark.parametrize(
    ("limits", "deny", "allow", "value"),
    [
        ("", "", "127.0.0.0/8", "127.0.0.0/8"),
        ("", "", "10.0.0.0/8 ::1", "::1/128"),
        ("", "", "fd00:ec2::254", "fd00:ec2::254/128"),
        ("0.0.0.0/0", "", "127.0.0.1", "127.0.0.1/32"),
        ("127.0.0.1", "", "127.0.0.0/8", "127.0.0.0/8"),
        ("169.254.0.0/16", "", "169.254.169.254", "169.254.169.254/32"),
        ("10.0.0.0/8", "", "192.168.0.0/16", "192.168.0.0/16"),
        ("10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.0/24"),
        ("", "10.1.0.0/16", "10.1.0.0/16", "10.1.0.0/16"),
    ],
)
def test_a_policy_that_allows_more_than_the_limits_is_refused_by_its_network(limits, deny, allow, value):
    with pytest.raises(PolicyTooWide) as refused:
        a_policy(allow=limits, deny=deny).check_includes(a_policy(allow=allow))
    assert (refused.value.field, refused.value.value) == ("allow", value)
    assert all(each in str(refused.value) for each in (*limits.split(), *deny.split(), "STREAMWARD_SOURCES_ALLOW"))


def test_a_kind_beyond_the_limits_is_refused_by_its_name():
    DEFAULT_LIMITS.check_includes(AddressPolicy(kinds=NETWORK | {SourceKind.NULL}))
    with pytest.raises(PolicyTooWide, match=r"names file, .*null, rtsp, rtsps.*STREAMWARD_SOURCES_KINDS"):
        DEFAULT_LIMITS.check_includes(AddressPolicy(kinds=NETWORK | {SourceKind.FILE}))


@given(st.ip_addresses(), st.ip_addresses(), st.sampled_from(["", "127.0.0.0/8", "0.0.0.0/0 ::/0", "10.0.0.0/8"]))
def test_a_special_address_that_a_policy_within_the_limits_opens_passes_the_limits(address, other, allow):
    limits, policy = a_policy(allow=allow), a_policy(allow=f"{address} {other}")
    try:
        limits.check_includes(policy)
    except PolicyTooWide:
        return
    assert policy.judge(address) is not None or limits.judge(address) is None
