"""Basic and Digest, from both ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.secret import Secret
from streamward.model.source_url import Credential
from streamward.protocol.rtsp.authentication import (
    MOST_STALE,
    Algorithm,
    BasicChallenge,
    DigestChallenge,
    Guard,
    Login,
    LoginVerdict,
    Proof,
    challenges,
)

USER = Credential(user=Secret("admin"), password=Secret('p:"ä\\'))
OTHER = Credential(user=Secret("admin"), password=Secret("guess"))
URI = "rtsp://h/live"


def a_login(credential: Credential | None = USER) -> Login:
    return Login(credential, "seed")


@pytest.mark.parametrize("algorithm", list(Algorithm))
@pytest.mark.parametrize("has_qop", [True, False])
def test_an_answer_is_right_for_its_request_alone(algorithm, has_qop):
    guard = Guard(USER, "n1", algorithms=(algorithm,), has_qop=has_qop, opaque="o", realm='r"1')
    login = a_login()
    assert login.challenged(guard.challenge()) is LoginVerdict.ANSWER
    answer = login.answer("PLAY", URI)
    assert answer is not None
    assert 'opaque="o"' in answer
    assert guard.check("PLAY", URI, answer) is Proof.RIGHT
    assert guard.check("SETUP", URI, answer) is Proof.WRONG
    assert guard.check("PLAY", URI + "x", answer) is Proof.WRONG
    assert Guard(OTHER, "n1", algorithms=(algorithm,), has_qop=has_qop).check("PLAY", URI, answer) is Proof.WRONG


def test_the_known_example_of_rfc_2617():
    login = Login(Credential(user=Secret("Mufasa"), password=Secret("Circle Of Life")), "seed")
    login.challenged(['Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"'])
    answer = login.answer("GET", "/dir/index.html")
    assert answer is not None
    assert 'response="670fd8c2df070c60b045671b8b24ff02"' in answer
    assert "algorithm" not in answer


def test_basic_sends_the_password_itself():
    guard = Guard(USER, "n", algorithms=(), allows_basic=True)
    login = a_login()
    assert login.answer("PLAY", URI) is None
    assert login.challenged(guard.challenge()) is LoginVerdict.ANSWER
    answer = login.answer("PLAY", URI)
    assert guard.check("PLAY", URI, answer) is Proof.RIGHT
    assert Guard(OTHER, "n", allows_basic=True).check("PLAY", URI, answer) is Proof.WRONG
    assert Guard(USER, "n").check("PLAY", URI, answer) is Proof.WRONG
    assert guard.check("PLAY", URI, "Basic ???") is Proof.WRONG


def test_the_strongest_challenge_is_answered():
    guard = Guard(USER, "n", algorithms=tuple(Algorithm), allows_basic=True)
    shuffled = sorted(guard.challenge())
    found = challenges([", ".join(shuffled)])
    assert [each.algorithm for each in found if isinstance(each, DigestChallenge)] == list(Algorithm)[::-1]
    assert found[-1] == BasicChallenge(realm="streamward")
    login = a_login()
    login.challenged(shuffled)
    assert "algorithm=SHA-256-sess" in str(login.answer("PLAY", URI))


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Negotiate",
        "Digest",
        'Digest realm="x"',
        'Digest nonce="x", algorithm=SHA-3',
        'Digest nonce="x", qop="auth-int"',
    ],
)
def test_what_we_cannot_answer_is_left_out(header):
    assert challenges([header]) == []
    assert a_login().challenged([header]) is LoginVerdict.UNANSWERABLE


def test_unknown_schemes_do_not_hide_known_ones():
    assert challenges(['Negotiate, Digest realm="a", nonce="b", qop="auth-int,auth"']) == [
        DigestChallenge(realm="a", nonce="b", has_qop=True)
    ]


def test_without_a_credential_nothing_is_refused():
    assert a_login(None).challenged(['Basic realm="x"']) is LoginVerdict.UNANSWERABLE
    assert not a_login(None).is_tried


def test_a_second_challenge_is_a_refusal():
    login = a_login()
    login.challenged(['Digest realm="x", nonce="1"'])
    assert login.is_tried
    assert login.is_open
    assert login.challenged(['Digest realm="x", nonce="2"']) is LoginVerdict.REFUSED
    assert login.challenged(['Basic realm="x"']) is LoginVerdict.REFUSED
    assert login.challenged([]) is LoginVerdict.REFUSED


def test_a_stale_nonce_is_answered_anew_but_not_for_ever():
    login = a_login()
    login.challenged(['Digest realm="x", nonce="0"'])
    for number in range(1, MOST_STALE + 1):
        assert login.challenged([f'Digest realm="x", nonce="{number}", stale=true']) is LoginVerdict.ANSWER
    assert login.challenged(['Digest realm="x", nonce="z", stale=true']) is LoginVerdict.REFUSED


def test_a_nonce_that_had_worked_may_change_without_a_word():
    login = a_login()
    login.challenged(['Digest realm="x", nonce="1"'])
    login.accepted()
    assert login.challenged(['Digest realm="x", nonce="2"']) is LoginVerdict.ANSWER
    assert login.challenged(['Digest realm="x", nonce="3"']) is LoginVerdict.REFUSED


def test_the_same_nonce_again_is_a_refusal():
    login = a_login()
    login.challenged(['Digest realm="x", nonce="1"'])
    login.accepted()
    assert login.challenged(['Digest realm="x", nonce="1", stale=true']) is LoginVerdict.REFUSED


def test_a_server_tells_stale_from_wrong():
    guard, login = Guard(USER, "old"), a_login()
    login.challenged(guard.challenge())
    answer = login.answer("PLAY", URI)
    guard.renew("new")
    assert guard.check("PLAY", URI, answer) is Proof.STALE
    assert "stale=TRUE" in guard.challenge(is_stale=True)[0]
    assert Guard(USER, "never").check("PLAY", URI, answer) is Proof.WRONG


def test_an_answer_that_was_heard_cannot_be_repeated():
    guard, login = Guard(USER, "n", has_qop=True), a_login()
    login.challenged(guard.challenge())
    first, second = login.answer("PLAY", URI), login.answer("PLAY", URI)
    assert "nc=00000002" in str(second)
    assert guard.check("PLAY", URI, second) is Proof.RIGHT
    assert guard.check("PLAY", URI, second) is Proof.WRONG
    assert guard.check("PLAY", URI, first) is Proof.WRONG
    assert guard.check("PLAY", URI, str(second).replace("nc=00000002", "nc=x")) is Proof.WRONG


def test_an_absent_answer_is_no_wrong_one():
    guard = Guard(USER, "n")
    assert guard.check("PLAY", URI, None) is Proof.ABSENT
    assert guard.check("PLAY", URI, "") is Proof.ABSENT
    assert guard.check("PLAY", URI, "Bearer x") is Proof.WRONG
    assert guard.check("PLAY", URI, f'Digest uri="{URI}", algorithm=SHA-256') is Proof.WRONG


def test_nothing_prints_the_password():
    login, guard = a_login(), Guard(OTHER, "n")
    assert "ä" not in repr(login)
    assert "guess" not in repr(guard) + repr(login)


@given(st.text(max_size=200), st.text(max_size=200))
def test_no_header_raises(challenge, authorization):
    login = a_login()
    for header in (challenge, "Digest " + challenge, f'Digest nonce="{challenge}", realm="{challenge}"'):
        login.challenged([header])
    assert Guard(USER, "n", allows_basic=True).check("PLAY", URI, "Digest " + authorization) is not Proof.RIGHT
    assert Guard(USER, "n", allows_basic=True).check("PLAY", URI, "Basic " + authorization) is not Proof.RIGHT


@pytest.mark.parametrize("named", ["rtsp://h/live", "rtsp://h/live/"])
@pytest.mark.parametrize("asked", ["rtsp://h/live/trackID=1", "rtsp://h/live/", "rtsp://h/live"])
def test_an_answer_may_name_the_base_url_of_what_is_asked_for(named, asked):
    guard, login = Guard(USER, "n1"), a_login()
    login.challenged(guard.challenge())
    assert guard.check("SETUP", asked, login.answer("SETUP", named)) is Proof.RIGHT


@pytest.mark.parametrize(
    "named", ["rtsp://h", "rtsp://h/", "rtsp://h/liv", "rtsp://h/other", "rtsp://h/live/trackID=2", ""]
)
def test_an_answer_for_something_else_is_wrong(named):
    guard, login = Guard(USER, "n1"), a_login()
    login.challenged(guard.challenge())
    assert guard.check("SETUP", "rtsp://h/live/trackID=1", login.answer("SETUP", named)) is Proof.WRONG
