"""Benchmarks: ratios within one run, on a private PostgreSQL and the real control plane."""
