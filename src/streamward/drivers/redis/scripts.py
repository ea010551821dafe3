"""The scripts that run inside Redis: one for each verb, each with what all of them share before it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Self


@dataclass(frozen=True, slots=True)
class Script:
    """A program in Lua, and the name by which Redis knows it once it was loaded."""

    text: str
    digest: str

    @classmethod
    def read(cls, name: str) -> Self:
        text = "".join(resources.files(__package__).joinpath(each).read_text() for each in ("common.lua", name))
        return cls(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One run of a script."""

    script: Script
    key: str
    values: Sequence[str | int]

    @property
    def command(self) -> tuple[str | int, ...]:
        return ("EVALSHA", self.script.digest, 1, self.key, *self.values)


ADD = Script.read("add.lua")
URGENT = Script.read("urgent.lua")
SEAL_DUE = Script.read("seal_due.lua")
FORGET = Script.read("forget.lua")
EVERY = (ADD, URGENT, SEAL_DUE, FORGET)
