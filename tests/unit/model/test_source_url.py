"""Camera URLs: one reading, or none."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.secret import Secret
from streamward.model.source_url import (
    LONGEST,
    NETWORK,
    Credential,
    Source,
    SourceKind,
    SourceUrl,
    SourceUrlRefused,
    UrlFault,
    parse,
    split_userinfo,
)

CANARY = "c@n:a/r#y? 100%"

ACCEPTED = {
    "rtsp://192.0.2.7": "rtsp://192.0.2.7",
    "RTSP://Cam-1.Example.COM:554/Live?a=1&b=%20": "rtsp://cam-1.example.com:554/Live?a=1&b=%20",
    "rtsps://[2001:DB8::7]:322/a": "rtsps://[2001:db8::7]:322/a",
    "rtsp://[::1]": "rtsp://[::1]",
    "rtsp://go2rtc_1/a:b;c=d": "rtsp://go2rtc_1/a:b;c=d",
    "rtsp://host?query": "rtsp://host?query",
    "rtsp://user:pass@host/": "rtsp://host/",
    "rtsp://1a.b2/": "rtsp://1a.b2/",
}
REFUSED = {
    UrlFault.TOO_LONG: ["rtsp://host/" + "a" * LONGEST],
    UrlFault.CHARACTER: ["rtsp://ho st/", "rtsp://host/\n", "rtsp://host/\x00", "\trtsp://host", "rtsp://a\\@b/", "rtsp://é/"],
    UrlFault.ESCAPE: ["rtsp://a:%@h", "rtsp://a%zz@h", "rtsp://a:%0d@h", "rtsp://h/%0A", "rtsp://h/%7f", "rtsp://%ff@h"],
    UrlFault.SCHEME: ["", "host", "http://a@b@c", "rtsp:host", "rtsp:/host", "//host/a", "javascript://x", "rtspx://h"],
    UrlFault.KIND: ["file:///a", "device:///dev/video0", "null:///a"],
    UrlFault.USERINFO: ["rtsp://a@b@c", "rtsp://a:p@ss@h", "rtsp://@h", "rtsp://u:1/2@h", "rtsp://h/?a@b", "rtsp://u:1?2@h"],
    UrlFault.HOST: ["rtsp://", "rtsp:///a", "rtsp://u@", "rtsp://:554", "rtsp://h.", "rtsp://-h", "rtsp://a..b", "rtsp://[::1",
                    "rtsp://::1/", "rtsp://%61/", "rtsp://a,b", "rtsp://" + "a" * 64,
                    "rtsp://" + ".".join(["a" * 60] * 5)],
    UrlFault.ADDRESS: ["rtsp://127.1", "rtsp://0177.0.0.1", "rtsp://0x7f.0.0.1", "rtsp://0x7f000001", "rtsp://2130706433",
                       "rtsp://127.0.0.1.", "rtsp://127.0.0.01", "rtsp://256.0.0.1", "rtsp://1.2.3.4.5", "rtsp://a.1",
                       "rtsp://[::ffff:127.0.0.1]", "rtsp://[::ffff:7f00:1]", "rtsp://[0:0:0:0:0:0:0:1]", "rtsp://[::01]",
                       "rtsp://[::127.0.0.1]", "rtsp://[]", "rtsp://[127.0.0.1]", "rtsp://[h]"],
    UrlFault.ZONE: ["rtsp://[fe80::1%eth0]/", "rtsp://[fe80::1%25eth0]/"],
    UrlFault.PORT: ["rtsp://h:", "rtsp://h:0", "rtsp://h:65536", "rtsp://h:99999999999", "rtsp://h:0554", "rtsp://h:+1",
                    "rtsp://h:a", "rtsp://h:1:2", "rtsp://[::1]1", "rtsp://[::1]:"],
    UrlFault.FRAGMENT: ["rtsp://h/#", "rtsp://u:a#b@h", "rtsp://h#a"],
    UrlFault.CREDENTIAL: ["rtsp://" + "a" * 257 + "@h", "rtsp://u:%c2%85@h"],
}  # fmt: skip


def reason(text: str, *, kinds: frozenset[SourceKind] = NETWORK) -> UrlFault | None:
    try:
        parse(text, kinds=kinds)
    except SourceUrlRefused as refused:
        return refused.reason
    return None


@pytest.mark.parametrize(("text", "seen"), ACCEPTED.items())
def test_a_sound_url_is_printed_in_one_spelling_without_credentials(text, seen):
    assert str(parse(text).url) == seen
    assert parse(seen).url == parse(text).url


@pytest.mark.parametrize(("fault", "text"), [(fault, text) for fault, texts in REFUSED.items() for text in texts])
def test_what_could_be_read_in_two_ways_is_refused_with_its_reason(fault, text):
    assert reason(text) is fault


@pytest.mark.parametrize(
    ("text", "user", "password"),
    [
        ("rtsp://ada@h", "ada", ""),
        ("rtsp://:pw@h", "", "pw"),
        ("rtsp://ada:b:c@h", "ada", "b:c"),
        (f"rtsp://{quote(CANARY, safe='')}:{quote(CANARY, safe='')}@h:1/a", CANARY, CANARY),
        ("rtsp://a+b:%C3%A9%2B@h", "a+b", "é+"),
    ],
)
def test_user_and_password_are_unescaped_once(text, user, password):
    assert parse(text).credential == Credential(user=Secret(user), password=Secret(password))


def test_a_url_without_userinfo_has_no_credential():
    assert parse("rtsp://h/a") == Source(url=SourceUrl(kind=SourceKind.RTSP, host="h", path="/a"))


@pytest.mark.parametrize(
    ("text", "address"),
    [("rtsp://192.0.2.7:1/a", "192.0.2.7"), ("rtsp://[::1]", "::1"), ("rtsp://h", "None"), ("rtsp://h1/", "None")],
)
def test_an_address_is_told_from_a_name(text, address):
    assert str(parse(text).url.address) == address


@pytest.mark.parametrize("text", ["file:///clips/a b.mp4".replace(" ", "_"), "device:///dev/video0", "FILE:///a"])
def test_files_and_devices_are_sources_where_they_are_allowed(text):
    source = parse(text, kinds=frozenset(SourceKind))
    assert str(source.url) == text.replace("FILE", "file")
    assert source.url.address is None
    assert reason(text, kinds=frozenset({SourceKind.RTSP})) is UrlFault.KIND


@pytest.mark.parametrize(
    "text",
    ["file://host/a", "file://", "file:///", "file:///a/", "file:///a/../b", "file:///..", "file:///./a", "file:///a//b",
     "file:///a%2f", "file:///a?b", "file:///a@b", "device:///etc/passwd", "device:///dev/", "device:///dev/../a"],
)  # fmt: skip
def test_a_local_path_has_one_spelling(text):
    assert reason(text, kinds=frozenset(SourceKind)) is UrlFault.PATH


def test_a_dot_in_a_local_name_is_no_step():
    assert reason("file:///a/.hidden/..b/c.mp4", kinds=frozenset({SourceKind.FILE})) is None


def test_nothing_that_holds_a_credential_shows_it():
    source = parse(f"rtsp://{quote(CANARY, safe='')}:{quote(CANARY, safe='')}@h/a")
    assert "c@n" not in repr(source) + str(source)
    assert "c%40n" not in repr(source) + str(source.url)


@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=80),
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=80),
)
def test_every_password_can_be_given_in_a_url(user, password):
    found = parse(f"rtsp://{quote(user, safe='')}:{quote(password, safe='')}@host:8554/a").credential
    assert found is not None
    assert (found.user.reveal(), found.password.reveal()) == (user, password)


@given(st.text(st.sampled_from("rtsp:/@[]%#?\\.0127xaf \n"), max_size=40))
def test_whatever_is_accepted_is_printed_as_it_would_be_read_again(text):
    try:
        url = parse(f"rtsp://{text}").url
    except SourceUrlRefused:
        return
    assert parse(str(url)) == Source(url=url)
    assert "@" not in str(url)


@pytest.mark.parametrize("fault", UrlFault)
def test_every_reason_is_told_in_a_sentence_without_the_url(fault):
    assert len(str(SourceUrlRefused(fault))) > 20


@pytest.mark.parametrize(
    ("text", "rest", "user", "password"),
    [
        ("rtsp://admin:p%40ss@192.0.2.7/1", "rtsp://192.0.2.7/1", "admin", "p@ss"),
        ("rtsps://admin:p@ss:w@rd@host:322/a", "rtsps://host:322/a", "admin", "p@ss:w@rd"),
        ("rtsp://admin@host/a@b", "rtsp://host/a@b", "admin", ""),
        ("http://a:100%@b c", "http://b c", "a", "100%"),
    ],
)
def test_a_url_from_before_the_checks_is_split_as_far_as_it_can_be(text, rest, user, password):
    assert split_userinfo(text) == (rest, Credential(user=Secret(user), password=Secret(password)))


@pytest.mark.parametrize("text", ["rtsp://host/a@b", "rtsp://host", "", "a@b"])
def test_a_url_without_userinfo_is_left_as_it_is(text):
    assert split_userinfo(text) == (text, None)
