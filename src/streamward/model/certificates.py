"""What the register says of cameras' TLS certificates: a fingerprint of one, and the CAs that issue them."""

import ssl

LARGEST_PEM = 16 << 10  # characters; a Worker gets one for each of its cameras


def fingerprint(text: str) -> str:
    """A SHA-256 fingerprint in one spelling, 64 hexadecimal digits in lower case, from openssl's or any other."""
    return text.replace(":", "").lower()


def check_authorities(pem: str) -> None:
    """Raises ValueError unless a text has certificates in PEM, and no private key."""
    if "PRIVATE KEY" in pem:
        raise ValueError("tls_ca must have certificates only: there is a private key in it")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem)
    except (ssl.SSLError, TypeError, ValueError):  # the second: it is not ASCII
        raise ValueError("tls_ca must be one or more certificates in PEM (-----BEGIN CERTIFICATE-----)") from None
