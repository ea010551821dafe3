"""Tokens that our own key signed, as if a forger had found something that signs, and that say what ours never say."""

import itertools
from typing import Any

from tests.support.forging import CANARY, CLAIMS, EXPIRED, HEAD, NOT_YET, NOW, TOO_LONG, Forgery, ours, text

_DAY = 86_400


def for_others() -> dict[str, str]:
    issuers: list[Any] = [CANARY, "streamward/", "Streamward", "", ["streamward"], {"iss": "streamward"}, 1, None]
    audiences: list[Any] = [
        CANARY,
        "streamward",
        "",
        ["streamward-control"],
        ["streamward-control", CANARY],
        [],
        1,
        None,
    ]
    return {
        **{f"iss {issuer!r}": saying(iss=issuer) for issuer in issuers},
        **{f"aud {audience!r}": saying(aud=audience) for audience in audiences},
        "no iss": _silent("iss"),
        "no aud": _silent("aud"),
    }


def with_wrong_claims() -> dict[str, str]:
    wrong: dict[str, list[Any]] = {
        "sub": [1, None, [CANARY], {}, "", "a.b", f"{CANARY}\n", "x" * 65, f"../{CANARY}", "é"],
        "role": ["root", "RUNNER", "runner ", ["runner"], 0, True, None],
        "inc": [1, "", [], "a b"],
        "tenant": [1, "", "*", ["t-01"], "t-01,t-02"],
    }
    unknown = ["scope", "is_root", "Role", "__proto__", "sub\x00"]
    return {
        **{f"{name} {value!r}": saying(**{name: value}) for name, values in wrong.items() for value in values},
        **{f"{name!r}, which is no claim": saying(**{name: CANARY}) for name in unknown},
        **{f"no {name}": _silent(name) for name in ("sub", "role", "iat", "exp", "inc")},
    }


def with_wrong_instants() -> dict[str, str]:
    """Instants that are not whole numbers, or that no clock shows."""
    spelled = {
        "text": f'"{NOW}"',
        "a float": f"{NOW}.5",
        "a whole float": f"{NOW}.0",
        "an exponent": "1767268800e0",
        "NaN": "NaN",
        "Infinity": "Infinity",
        "minus Infinity": "-Infinity",
        "beyond floats": "1e999",
        "true": "true",
        "a list": f"[{NOW}]",
        "hexadecimal": "0x6956",
        "with zeros before": f"00{NOW}",
        "with a plus": f"+{NOW}",
        "in parts": "1_767_268_800",
    }
    return {
        f"{name} is {how}": ours(HEAD, _written(name, text))
        for name, (how, text) in itertools.product(("exp", "iat", "nbf"), spelled.items())
    } | {f"{name} is null": ours(HEAD, _written(name, "null")) for name in ("exp", "iat")}


def untimely() -> dict[str, Forgery]:
    return {
        "expired": (saying(iat=NOW - 900, exp=NOW), EXPIRED),
        "exp of zero": (saying(iat=0, exp=0), EXPIRED),
        "exp before 1970": (saying(iat=-100, exp=-1), EXPIRED),
        "exp before iat": (saying(iat=NOW, exp=NOW - 10**9), EXPIRED),
        "made in the future": (saying(iat=NOW + 60, exp=NOW + 600), NOT_YET),
        "made in the far future": (saying(iat=10**15, exp=10**15 + 600), NOT_YET),
        "not yet valid": (saying(nbf=NOW + 60), NOT_YET),
        "never valid": (saying(nbf=10**40), NOT_YET),
        "lives for more than a day": (saying(exp=NOW + _DAY + 1), TOO_LONG),
        "lives for ever": (saying(exp=253402300799), TOO_LONG),
        "lives beyond all numbers": (saying(exp=10**300), TOO_LONG),
        "lives since before 1970": (saying(iat=-(10**18)), TOO_LONG),
    }


def saying(**changed: Any) -> str:
    return ours(HEAD, CLAIMS | changed)


def _silent(name: str) -> str:
    return ours(HEAD, {key: value for key, value in CLAIMS.items() if key != name})


def _written(name: str, instant: str) -> str:
    """The claims with an instant written like that."""
    return text({key: value for key, value in CLAIMS.items() if key != name})[:-1] + f',"{name}":{instant}' + "}"
