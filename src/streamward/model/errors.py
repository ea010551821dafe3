"""The root of every error that Streamward raises on purpose.

An error is named as the fact it states and carries values; its sentence is built in `__str__`.
An expected *no* is a return value, not one of these.
"""


class StreamwardError(Exception):
    """Something stated a fact that keeps the caller from going on."""
