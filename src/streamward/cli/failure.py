"""How a command ends when it could not do what it was asked: one sentence with the remedy, and an exit code."""

from enum import IntEnum
from typing import ClassVar

from streamward.model.errors import StreamwardError


class ExitCode(IntEnum):
    """What scripts may act on; `docs/cli.md` tells them."""

    DONE = 0
    REFUSED = 1  # refused, or failed
    USAGE = 2  # the command was not called as it must be
    NOT_FOUND = 3
    NOT_ALLOWED = 4  # not signed in, or not allowed
    AWAY = 5  # the control plane cannot be reached
    INTERRUPTED = 130


class CommandFailed(StreamwardError):
    """A command cannot go on."""

    exit_code: ClassVar[ExitCode] = ExitCode.REFUSED

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence

    def __str__(self) -> str:
        return self.sentence
