"""How a process says that it lives."""

from datetime import datetime
from typing import Literal

from streamward.protocol.fields import Message


class Alive(Message, frozen=True):
    """The process lives."""

    status: Literal["alive"]
    version: str


class Ready(Message, frozen=True):
    """The process can do its work; `database_time` is what the database just said."""

    status: Literal["ready"]
    database_time: datetime
