"""What forged tokens are made of: a good token's parts, our key, and the forger's."""

import json
from typing import Any

from streamward.control.keys import new_keyring
from tests.support.app import KEYRING
from tests.support.clocks import START
from tests.support.tokens import claims, joined

CANARY = "m4ll0ry"
INVALID, EXPIRED = "token-invalid", "token-expired"
NOT_YET, TOO_LONG = "token-not-yet-valid", "token-lives-too-long"

Forgery = tuple[str, str]  # the token, and why it is refused

NOW = int(START.timestamp())
OURS, OTHERS = KEYRING.signing, new_keyring().signing
HEAD = {"alg": "EdDSA", "typ": "JWT", "kid": OURS.kid}
CLAIMS = claims(NOW, sub=CANARY)


def ours(head: object = HEAD, payload: object = CLAIMS) -> str:
    """Under our own key."""
    return joined(head, payload, sign=OURS.private.sign)


def others(head: object = HEAD, payload: object = CLAIMS) -> str:
    """Under the forger's key."""
    return joined(head, payload, sign=OTHERS.private.sign)


GOOD = ours()


def text(part: dict[str, Any]) -> str:
    """A part in JSON, to be written over."""
    return json.dumps(part, separators=(",", ":"))
