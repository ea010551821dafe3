"""A namespace and a link for each runner of a drill, and one address at which this host is found from all of them."""

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network

from streamward.drills.network.link import Link
from streamward.drills.network.namespace import entering, namespace, sweep

RANGE = IPv4Network("198.18.0.0/15")  # set aside for measurements: nobody's network has it
_BLOCK = 256  # addresses of one drill


class Network:
    """Where runners live, and how each is tied to this host."""

    def __init__(self, names: Sequence[str], started: contextlib.ExitStack) -> None:
        blocks = RANGE.num_addresses // _BLOCK
        first = RANGE[secrets.randbelow(blocks) * _BLOCK]
        self.host = f"{first + 1}"
        self._links: dict[str, Link] = {}
        self._namespaces: dict[str, str] = {}
        for number, name in enumerate(names):
            self._add(name, first + 1 + 2 * number, started)

    def link(self, name: str) -> Link:
        """A runner's way to everything."""
        return self._links[name]

    def entering(self, name: str) -> tuple[str, ...]:
        """What the command begins with that starts it."""
        return entering(self._namespaces[name])

    def _add(self, name: str, outer: IPv4Address, started: contextlib.ExitStack) -> None:
        made = started.enter_context(namespace(name))
        link = Link(made, outer=outer, inner=outer + 1, seed=len(self._links))
        started.callback(link.close)
        self._links[name], self._namespaces[name] = link, made


@contextlib.contextmanager
def network(names: Sequence[str]) -> Iterator[Network]:
    """One for these runners; what dead drills left behind is removed first."""
    sweep()
    with contextlib.ExitStack() as started:
        yield Network(names, started)
