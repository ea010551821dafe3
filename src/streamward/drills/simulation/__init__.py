"""The seeded simulation: the real holder, messages, lease service and in-memory store among simulated faults.

`world` wires one run, `script` draws its faults from the seed, `invariants` watches, `bugs` plants known mistakes that
the watcher must catch. Nothing here reads a clock or waits: a run of ten minutes takes a fraction of a second, and the
same seed gives the same trace, byte for byte.
"""
