"""Who is asked about batches: what belongs together is refused alone, TLS is the rule, and the key is not shown."""

from pathlib import Path

import pytest

from streamward.settings import SettingsRefused, load, variables

NOWHERE = Path("no-such-file")
ASKED = {"STREAMWARD_ANALYST_NAME": "openai", "STREAMWARD_ANALYST_MODEL": "small"}


def test_an_endpoint_is_read_and_its_key_not_shown() -> None:
    url = {"STREAMWARD_ANALYST_URL": "https://llm.example/v1", "STREAMWARD_ANALYST_KEY": "hunter2"}
    analyst = load({**ASKED, **url}, file=NOWHERE).analyst
    assert analyst.key is not None
    assert (analyst.url, analyst.key.get_secret_value()) == ("https://llm.example/v1", "hunter2")
    assert "hunter2" not in repr(analyst)


def test_a_key_is_told_to_be_a_secret_and_a_choice_to_be_one() -> None:
    kinds = {each.key: (each.kind, each.default) for each in variables()}
    assert kinds["analyst.key"] == ("secret", "–")
    assert kinds["analyst.allow_http"] == ("`true`, `false`", "`false`")


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/v1", "http://[::1]/v1", "http://localhost/v1"])
def test_this_host_can_be_asked_without_tls(url: str) -> None:
    assert load({**ASKED, "STREAMWARD_ANALYST_URL": url}, file=NOWHERE).analyst.url == url


def test_another_host_is_asked_without_tls_if_that_is_allowed() -> None:
    allowed = {"STREAMWARD_ANALYST_URL": "http://gpu.example/v1", "STREAMWARD_ANALYST_ALLOW_HTTP": "true"}
    assert load({**ASKED, **allowed}, file=NOWHERE).analyst.allow_http


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (None, "needs STREAMWARD_ANALYST_URL"),
        ("http://gpu.example/v1", "STREAMWARD_ANALYST_ALLOW_HTTP"),
        ("http://127.0.0.1.example/v1", "STREAMWARD_ANALYST_ALLOW_HTTP"),
        ("https://user:hunter2@llm.example/v1", "without a user"),
        ("https://llm.example/v1?key=hunter2", "without a user"),
        ("ftp://llm.example", "must be like"),
        ("https://", "must be like"),
        ("https://llm.example:port", "must be like"),
    ],
)
def test_what_cannot_be_asked_is_refused(url: str | None, why: str) -> None:
    given = ASKED if url is None else {**ASKED, "STREAMWARD_ANALYST_URL": url}
    with pytest.raises(SettingsRefused, match=why) as refused:
        load(given, file=NOWHERE)
    assert "hunter2" not in str(refused.value)
