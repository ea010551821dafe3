"""Drills: faults on purpose, and what they measured."""
