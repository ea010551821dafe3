"""Whether this host lets us make network namespaces."""

import pytest

from streamward.drills.network.namespace import NoNamespace
from streamward.drills.network.plant import network


def need_namespaces() -> None:
    """Skips the test where it does not."""
    try:
        with network(["try"]):
            pass
    except NoNamespace as err:
        pytest.skip(str(err))
