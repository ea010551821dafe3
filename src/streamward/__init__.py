"""Streamward keeps exactly one processor on every live camera."""

__version__ = "0.1.0"
