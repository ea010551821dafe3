"""Forged tokens of RFC 8725's classes, each with the reason for which it is refused.

Some bear the signature of our own key: a forger may have found something that signs. All name `CANARY`, which no answer
may repeat.
"""

import functools
import hmac
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.forged_claims import for_others, saying, untimely, with_wrong_claims, with_wrong_instants
from tests.support.forging import CANARY, CLAIMS, GOOD, HEAD, INVALID, NOW, OTHERS, OURS, Forgery, others, ours, text
from tests.support.tokens import claims, joined, resigned, segment

__all__ = ["CANARY", "GOOD", "forgeries"]

LARGEST = 4096  # characters
_PUBLIC = OURS.private.public_key()
_ORDER = 2**252 + 27742317777372353535851937790883648493  # of the group that Ed25519 signs in
_JWK = {"kty": "OKP", "crv": "Ed25519", "x": segment(OTHERS.private.public_key().public_bytes_raw())}
_LOW_ORDER = {"kty": "OKP", "crv": "Ed25519", "x": segment(b"\x01" + bytes(31))}  # verifies anything with R = A, S = 0
_PLACE = f"https://{CANARY}.example/keys.json"


def forgeries() -> Iterator[tuple[str, Forgery]]:
    """Every forged token by name."""
    found: list[dict[str, Forgery]] = [
        {name: (token, INVALID) for name, token in group().items()}
        for group in (
            _unsigned,
            _under_public_key,
            _under_other_algorithms,
            _with_keys_of_their_own,
            _with_extensions,
            _with_key_names,
            _with_other_signatures,
            for_others,
            with_wrong_claims,
            with_wrong_instants,
            _of_other_forms,
            _of_other_json,
            _of_other_texts,
        )
    ]
    return itertools.chain.from_iterable(group.items() for group in [*found, untimely()])


def _unsigned() -> dict[str, str]:
    spellings = ("none", "None", "NONE", "nOnE", "none ", "")
    return {
        **{f"alg {alg!r}, nothing signed": joined(HEAD | {"alg": alg}, CLAIMS, sign=_nothing) for alg in spellings},
        "alg none, with a good signature": ours(HEAD | {"alg": "none"}),
        "alg none, with 64 zeros": joined(HEAD | {"alg": "none"}, CLAIMS, sign=lambda _: bytes(64)),
        "alg none, in two parts": f"{segment(HEAD | {'alg': 'none'})}.{segment(CLAIMS)}",
        "alg none and no kid": joined({"alg": "none"}, CLAIMS, sign=_nothing),
    }


def _under_public_key() -> dict[str, str]:
    """The public key as a shared secret, in every form in which a library may hold it."""
    forms = {
        "PEM": _PUBLIC.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "PEM without its last line end": _PUBLIC.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).strip(),
        "DER": _PUBLIC.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        "raw": _PUBLIC.public_bytes_raw(),
        "OpenSSH": _PUBLIC.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH),
        "hex": _PUBLIC.public_bytes_raw().hex().encode(),
        "nothing": b"",
    }
    hashes = {"HS256": "sha256", "HS384": "sha384", "HS512": "sha512"}
    return {
        f"{alg} with the public key as {form}": joined(
            HEAD | {"alg": alg}, CLAIMS, sign=functools.partial(_coded, secret=secret, kind=kind)
        )
        for (form, secret), (alg, kind) in itertools.product(forms.items(), hashes.items())
    }


def _under_other_algorithms() -> dict[str, str]:
    curve, large = ec.generate_private_key(ec.SECP256R1()), rsa.generate_private_key(65537, 2048)
    pss = padding.PSS(padding.MGF1(SHA256()), padding.PSS.DIGEST_LENGTH)
    signers: dict[str, Callable[[bytes], bytes]] = {
        "ES256": lambda text: curve.sign(text, ec.ECDSA(SHA256()))[-64:],
        "RS256": lambda text: large.sign(text, padding.PKCS1v15(), SHA256()),
        "PS256": lambda text: large.sign(text, pss, SHA256()),
    }
    names: list[Any] = ["eddsa", "EDDSA", "Ed25519", "Ed448", "ES256K", "EdDSA\x00", ["EdDSA"], {"a": 1}, 1, True, None]
    return {
        **{alg: joined(HEAD | {"alg": alg}, CLAIMS, sign=sign) for alg, sign in signers.items()},
        **{f"alg {alg!r}, signed by us": ours(HEAD | {"alg": alg}) for alg in names},
        "no alg": ours(_without("alg")),
    }


def _with_keys_of_their_own() -> dict[str, str]:
    places = {"jku": _PLACE, "x5u": _PLACE, "x5c": ["MIIB" + CANARY], "x5t": "c2hh", "x5t#S256": "c2hh"}
    identity = b"\x01" + bytes(63)
    return {
        "the forger's key": others(),
        "jwk": others(HEAD | {"jwk": _JWK}),
        "jwk without kid": others(_without("kid") | {"jwk": _JWK}),
        "jwk of low order": joined(HEAD | {"jwk": _LOW_ORDER}, CLAIMS, sign=lambda _: identity),
        "jwk, signed by us": ours(HEAD | {"jwk": _JWK}),
        "jwk as kid": others(HEAD | {"kid": _JWK}),
        **{name: others(HEAD | {name: value}) for name, value in places.items()},
        **{f"{name}, signed by us": ours(HEAD | {name: value}) for name, value in places.items()},
    }


def _with_extensions() -> dict[str, str]:
    added: dict[str, dict[str, Any]] = {
        "crit of what nobody knows": {"crit": [CANARY], CANARY: True},
        "crit of exp": {"crit": ["exp"], "exp": NOW + 600},
        "crit of nothing": {"crit": []},
        "crit as text": {"crit": "exp"},
        "b64 false": {"b64": False},
        "b64 false and critical": {"b64": False, "crit": ["b64"]},
        "zip": {"zip": "DEF"},
        "cty": {"cty": "JWT"},
        "enc": {"enc": "A256GCM"},
        "claims in the head": {"iss": "streamward", "sub": CANARY},
    }
    kinds: list[Any] = ["at+jwt", "dpop+jwt", "JWE", "JOSE", "secevent+jwt", "jwt", ["JWT"], 1, None]
    return {
        **{f"{name}, signed by us": ours(HEAD | more) for name, more in added.items()},
        **{f"typ {kind!r}, signed by us": ours(HEAD | {"typ": kind}) for kind in kinds},
        "no typ": ours(_without("typ")),
    }


def _with_key_names() -> dict[str, str]:
    kid = OURS.kid
    names: dict[str, Any] = {
        "a path up": "../../../../dev/null",
        "a path": "/dev/null",
        "a place": _PLACE,
        "SQL": f"{kid}' OR '1'='1",
        "SQL that joins": f"x' UNION SELECT '{CANARY}' --",
        "a command": f"{kid}; touch {CANARY}",
        "null": None,
        "a number": 0,
        "true": True,
        "a list": [kid],
        "an object": {"kid": kid},
        "empty": "",
        "the forger's": OTHERS.kid,
        "very long": "a" * 2500,
        "upper case": kid.upper() + "A",
        "a beginning": kid[:8],
        "a space behind": f"{kid} ",
        "a line end behind": f"{kid}\n",
        "a zero behind": f"{kid}\x00",
        "wide digits": kid.translate({ord(digit): ord(digit) + 0xFEE0 for digit in "0123456789"}) + "\uff10",
        "a template": "{{" + CANARY + "}}",
    }
    return {
        **{f"kid is {name}": others(HEAD | {"kid": value}) for name, value in names.items()},
        **{f"kid is {name}, signed by us": ours(HEAD | {"kid": value}) for name, value in names.items()},
        "no kid": ours(_without("kid")),
    }


def _with_other_signatures() -> dict[str, str]:
    text, _, code = GOOD.rpartition(".")
    beyond = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    twin = beyond[beyond.index(code[-1]) + 1]  # differs in the bits that base64 leaves over
    return {
        "no signature": f"{text}.",
        "no signature and no dot": text,
        "a signature of one byte": resigned(GOOD, lambda raw: raw[:1]),
        "a signature cut by a byte": resigned(GOOD, lambda raw: raw[:-1]),
        "a signature cut to its half": resigned(GOOD, lambda raw: raw[:32]),
        "a signature and a byte": resigned(GOOD, lambda raw: raw + b"\x00"),
        "a signature twice": resigned(GOOD, lambda raw: raw * 2),
        "first bit flipped": resigned(GOOD, lambda raw: bytes([raw[0] ^ 1]) + raw[1:]),
        "last bit flipped": resigned(GOOD, lambda raw: raw[:-1] + bytes([raw[-1] ^ 0x80])),
        "S and the order of the group": resigned(GOOD, lambda raw: raw[:32] + _beyond_order(raw[32:])),
        "zeros": resigned(GOOD, lambda _: bytes(64)),
        "a point of low order, and S zero": resigned(GOOD, lambda _: b"\x01" + bytes(63)),
        "R and S exchanged": resigned(GOOD, lambda raw: raw[32:] + raw[:32]),
        "padding": f"{GOOD}==",
        "half the padding": f"{GOOD}=",
        "another spelling": text + "." + code[:-1] + twin,
        "a sign between": text + "." + code[:40] + "!" + code[40:],
        "a line end between": text + "." + code[:40] + "\x0b" + code[40:],
        "a space between": text + "." + code[:40] + " " + code[40:],
        "the signature of another token": text + "." + ours(HEAD, claims(NOW, sub="r2")).rpartition(".")[2],
        "another payload": f"{segment(HEAD)}.{segment(CLAIMS | {'role': 'operator'})}.{code}",
        "another head": f"{segment(HEAD | {'typ': 'jwt'})}.{segment(CLAIMS)}.{code}",
    }


def _of_other_forms() -> dict[str, str]:
    head, payload, code = GOOD.split(".")
    return {
        "nested": ours(HEAD | {"cty": "JWT"}, GOOD),
        "nested, with our head": ours(HEAD, GOOD),
        "detached": f"{head}..{code}",
        "encrypted": f"{segment(HEAD | {'alg': 'dir', 'enc': 'A256GCM'})}..{code[:16]}.{payload}.{code[:22]}",
        "five parts": f"{GOOD}.{payload}.{code}",
        "four parts": f"{GOOD}.{code}",
        "a dot behind": f"{GOOD}.",
        "a dot before": f".{GOOD}",
        "one part": head,
        "dots": "..",
        "JSON": text({"payload": payload, "protected": head, "signature": code}),
        "JSON for several": text({"payload": payload, "signatures": [{"protected": head, "signature": code}]}),
        "twice": f"{GOOD},{GOOD}",
        "too long": ours(HEAD, _padded(LARGEST)),
        "much too long": ours(HEAD, _padded(10 * LARGEST)),
    }


def _of_other_json() -> dict[str, str]:
    head, payload = text(HEAD), text(CLAIMS)
    heads: dict[str, object] = {
        "alg twice": '{"alg":"none",' + head[1:],
        "alg twice, once in other letters": '{"\\u0061lg":"none",' + head[1:],
        "kid twice": '{"kid":"' + OTHERS.kid + '",' + head[1:],
        "a list": [HEAD],
        "a text": "EdDSA",
        "null": "null",
        "empty": "{}",
        "nothing": " ",
        "nested without end": "[" * 1500,
        "nested in a field": head[:-1] + ',"x":' + "[" * 1400 + "]" * 1400 + "}",
        "a byte order mark": b"\xef\xbb\xbf" + head.encode(),
        "UTF-16": head.encode("utf-16"),
        "not UTF-8": head.replace(OURS.kid, "\xff").encode("latin-1"),
        "something behind": head + head,
        "a comma too many": head[:-1] + ",}",
        "other quotes": head.replace('"', "'"),
    }
    payloads: dict[str, object] = {
        "role twice": '{"role":"operator",' + payload[1:],
        "sub twice, once in other letters": '{"\\u0073ub":"root",' + payload[1:],
        "exp twice": payload[:-1] + f', "exp": {NOW + 900}' + "}",
        "a list": [CLAIMS],
        "a text": CANARY,
        "null": "null",
        "empty": "{}",
        "nested without end": "[" * 1500,
        "UTF-16": payload.encode("utf-16"),
        "not UTF-8": payload.replace(CANARY, "\xff").encode("latin-1"),
        "half a pair": payload.replace(CANARY, "\\ud800"),
        "something behind": payload + payload,
    }
    return {
        **{f"head with {name}, signed by us": ours(head) for name, head in heads.items()},
        **{f"payload with {name}, signed by us": ours(HEAD, payload) for name, payload in payloads.items()},
    }


def _of_other_texts() -> dict[str, str]:
    return {
        "wide dots": GOOD.replace(".", "\uff0e"),
        "a letter that looks alike": GOOD.replace("e", "\u0435", 1),
        "a space of no width": f"{GOOD[:10]}\u200b{GOOD[10:]}",
        "a mark of direction": f"\u202e{GOOD}",
        "a next-line sign behind": f"{GOOD}\x85",
        "a hard space before": f"\xa0{GOOD}",
        "a tab between": f"{GOOD[:10]}\t{GOOD[10:]}",
        "dots as percent signs": GOOD.replace(".", "%2E"),
        "quotes": f'"{GOOD}"',
        "the alphabet of plain base64": _plain_alphabet(),
        "Bearer twice": f"Bearer {GOOD}",
    }


def _coded(signed: bytes, *, secret: bytes, kind: str) -> bytes:
    return hmac.digest(secret, signed, kind)


def _nothing(_text: bytes) -> bytes:
    return b""


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in HEAD.items() if key != name}


def _padded(size: int) -> str:
    """Good claims, only long."""
    return text(CLAIMS)[:-1] + " " * size + "}"


def _beyond_order(raw: bytes) -> bytes:
    return (int.from_bytes(raw, "little") + _ORDER).to_bytes(32, "little")


def _plain_alphabet() -> str:
    """A good token whose signature is written with `+` or `/`."""
    tokens = (saying(inc=f"inc-{number}") for number in itertools.count())
    token = next(token for token in tokens if {"-", "_"} & set(token.rpartition(".")[2]))
    return token.replace("-", "+").replace("_", "/")
