"""How signing keys are changed, so that every good token counts all the time.

    rotate            A B   →  C A         B's tokens are refused from now on
    stage, activate   A B   →  A C' B  →  C A

Control planes that share one file rotate. Control planes on several hosts stage first and copy the file: a token of the
new key must meet no control plane that does not know it.
"""

from dataclasses import replace

from streamward.control.keys import Keyring, SigningKey
from streamward.model.errors import StreamwardError


class KeyStaged(StreamwardError):
    """A new key was asked for while another waits."""

    def __str__(self) -> str:
        return "a key is staged already: `streamward keys rotate-signing --activate` lets it sign"


class NoKeyStaged(StreamwardError):
    """There is none to activate."""

    def __str__(self) -> str:
        return "no key is staged: `streamward keys rotate-signing --stage` adds one"


def rotate(ring: Keyring, fresh: SigningKey) -> Keyring:
    """The fresh key signs; the one before is still accepted, older ones are not."""
    if ring.staged is not None:
        raise KeyStaged
    return Keyring(fresh, ring.signing)


def stage(ring: Keyring, fresh: SigningKey) -> Keyring:
    """The fresh key is accepted; nothing else changes."""
    if ring.staged is not None:
        raise KeyStaged
    return Keyring(ring.signing, replace(fresh, is_staged=True), *ring.keys[1:])


def activate(ring: Keyring) -> Keyring:
    """The staged key signs; the one before is still accepted, older ones are not."""
    if ring.staged is None:
        raise NoKeyStaged
    return Keyring(replace(ring.staged, is_staged=False), ring.signing)
