"""A text that must not be seen: it prints `***` in every form, and `reveal()` is the only way out.

To every reader it *is* the text `***`, so that formatting, logging and JSON cannot leak it even by mistake: the worst
that a careless use can do is to send three stars. It does not hide the text from a debugger, nor its length from
whoever can time a comparison.
"""

from hmac import compare_digest
from typing import NoReturn, Self

MASK = "***"


class Secret(str):
    """A password, or whatever else only its receiver may read."""

    __slots__ = ("_hidden",)

    _hidden: str

    def __new__(cls, text: str) -> Self:
        secret = super().__new__(cls, MASK)
        secret._hidden = text.reveal() if isinstance(text, Secret) else text
        return secret

    def reveal(self) -> str:
        """The text itself, for whoever it is meant for."""
        return self._hidden

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __eq__(self, other: object) -> bool:
        """Takes the same time wherever two texts differ; no plain text is equal to a secret."""
        return isinstance(other, Secret) and compare_digest(_bytes(self), _bytes(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        """The same for all: a hash of the text could be tried out."""
        return hash(MASK)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a secret is not pickled")


def _bytes(secret: Secret) -> bytes:
    return secret.reveal().encode(errors="surrogatepass")
