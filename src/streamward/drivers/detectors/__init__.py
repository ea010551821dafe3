"""Detectors: one module for each way to find things."""
