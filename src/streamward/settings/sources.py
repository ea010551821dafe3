"""Where settings come from: the only reader of the environment.

    environment  >  .env in the working folder  >  TOML file  >  default

A variable is `STREAMWARD_` and the field's place: `lease.ttl_s` is `STREAMWARD_LEASE_TTL_S`. In the TOML file it is the
key `ttl_s` below `[lease]`. Settings that contradict each other are refused at start, never adjusted.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource
from pydantic_settings.exceptions import SettingsError

from streamward.model.errors import StreamwardError
from streamward.settings.part import PREFIX
from streamward.settings.parts import Settings
from streamward.settings.variables import variables

DEFAULT = "default"
ENVIRONMENT = "environment"
CONFIG = Path("streamward.toml")

_LIKE = 0.85  # how near an unknown variable must be to a known one to count as its misspelling
_MEANT = 0.6  # the same for keys of a file: all in there are meant for us

Nested = Mapping[str, Any]


class SettingsRefused(StreamwardError):
    """The environment holds settings that cannot be meant."""

    def __init__(self, sentences: list[str]) -> None:
        super().__init__(*sentences)
        self.sentences = sentences

    def __str__(self) -> str:
        return "; ".join(self.sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Settings, and where each comes from: `default`, `environment`, or a file's name."""

    settings: Settings
    origins: Mapping[tuple[str, ...], str]


def handed_on(settings: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a process of ours that is to have these settings, by their variables, and no others."""
    others = {name: value for name, value in environment.items() if not name.startswith(PREFIX)}
    return others | {f"{PREFIX}{name}": value for name, value in settings.items()}


def added_to(settings: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a process of ours that is to have these settings, by their variables, and ours besides."""
    return {**environment, **{f"{PREFIX}{name}": value for name, value in settings.items()}}


def load(environment: Mapping[str, str] = os.environ, *, file: Path = Path(".env"), config: Path = CONFIG) -> Settings:
    """The settings of this process, or the sentence that says what is wrong with them."""
    return find(environment, file=file, config=config).settings


def find(environment: Mapping[str, str] = os.environ, *, file: Path = Path(".env"), config: Path = CONFIG) -> Found:
    """The same, with their origins."""
    dotenv = DotEnvSettingsSource(Settings, env_file=file)
    given, written = _read(_Environment(Settings, environment)), _read(dotenv)
    named = given.get("config") or written.get("config")
    path = config if named is None else Path(named)
    configured = _configured(path, must_exist=named is not None)
    sources = {ENVIRONMENT: given, str(file): written, str(path): configured}
    origins = {each.path: _origin(each.path, sources) for each in variables()}
    wrong = [*_misspelled([*dotenv.env_vars, *environment]), *_unknown(configured, path)]
    try:
        settings = Settings(**_merged(_merged(configured, written), given))
    except ValidationError as err:
        raise SettingsRefused([*wrong, *(_sentence(each, origins) for each in err.errors())]) from None
    if wrong:
        raise SettingsRefused(wrong)
    return Found(settings=settings, origins=origins)


class _Environment(EnvSettingsSource):
    """Reads the environment that it is given, not the process's."""

    def __init__(self, settings: type[BaseSettings], environment: Mapping[str, str]) -> None:
        self._environment = environment
        super().__init__(settings)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name.lower(): value for name, value in self._environment.items() if value}


def _read(source: EnvSettingsSource) -> dict[str, Any]:
    """What a source holds; a variable that names a whole part is JSON."""
    try:
        return source()
    except (SettingsError, RecursionError) as err:
        found = re.search(r'field "(\w+)"', str(err))
        named = f"{PREFIX}{found[1].upper()}" if found else f"a variable of {PREFIX}*"
        raise SettingsRefused([
            f"{named} is not JSON that can be read: set the variables of its part one by one"
        ]) from None


def _configured(path: Path, *, must_exist: bool) -> dict[str, Any]:
    """What the TOML file holds."""
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        if must_exist:
            raise SettingsRefused([f"{PREFIX}CONFIG names {path}, which is not there"]) from None
        return {}
    except OSError as err:
        raise SettingsRefused([f"{path} cannot be read ({str(err.strerror).lower()})"]) from None
    except (ValueError, RecursionError) as err:  # ValueError: a number of thousands of digits, too
        raise SettingsRefused([f"{path} is not TOML that can be read: {err}"]) from None


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Both, the upper one's word counting."""
    return below | {
        name: {**_part(below, name), **value} if isinstance(value, dict) else value for name, value in above.items()
    }


def _part(nested: Nested, name: str) -> Nested:
    found = nested.get(name)
    return found if isinstance(found, Mapping) else {}


def _origin(path: tuple[str, ...], sources: Mapping[str, Nested]) -> str:
    return next((name for name, source in sources.items() if _has(source, path)), DEFAULT)


def _has(source: Nested, path: tuple[str, ...]) -> bool:
    inner: Any = source
    for part in path:
        if not isinstance(inner, Mapping) or part not in inner:
            return False
        inner = inner[part]
    return True


def _unknown(configured: Nested, path: Path) -> Iterator[str]:
    """Keys of the TOML file that are no settings: nobody else has a say in it, so each is a mistake."""
    known = [each.key for each in variables() if each.key != "config"]
    for key in _keys(configured):
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=_MEANT)
            yield f"{path}: {key} is not a setting" + (f": {near[0]} is" if near else "")


def _keys(nested: Nested) -> Iterator[str]:
    for name, value in nested.items():
        if isinstance(value, Mapping) and value:
            yield from (f"{name}.{inner}" for inner in _keys(value))
        else:
            yield name


def _misspelled(names: Iterable[str]) -> Iterator[str]:
    """Names that are nearly settings; others with our prefix may be a container platform's own."""
    known = [each.name.removeprefix(PREFIX) for each in variables()]
    for name in sorted(names):
        ours = name.upper().removeprefix(PREFIX)
        if not name.upper().startswith(PREFIX) or ours in known:
            continue
        if near := difflib.get_close_matches(ours, known, n=1, cutoff=_LIKE):
            yield f"{name} is not a setting: {PREFIX}{near[0]} is"


def _sentence(error: Any, origins: Mapping[tuple[str, ...], str]) -> str:
    """One refusal of pydantic's, without the value: it may be a password."""
    message = str(error["msg"]).removeprefix("Value error, ")
    if message.startswith(PREFIX):
        return message
    place = tuple(map(str, error["loc"]))
    origin = origins.get(place, ENVIRONMENT)
    if origin.endswith(".toml"):
        return f"{origin}: {'.'.join(place)}: {message}"
    return f"{PREFIX}{'_'.join(place).upper()}: {message}"
