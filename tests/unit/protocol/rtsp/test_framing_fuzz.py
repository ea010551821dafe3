"""A short run of the fuzzer, over all that reads from the network."""

import pytest

from scripts.fuzz_protocol import TARGETS, run


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_mutated_conversations_raise_nothing_but_our_own_errors(seed):
    assert run(seed, executions=100 * len(TARGETS)) == 100 * len(TARGETS)
