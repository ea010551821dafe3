"""Settings: the only reader of the environment.

A variable is `STREAMWARD_` and the field's place: `lease.ttl_s` is `STREAMWARD_LEASE_TTL_S`. A file `.env` in the
working folder is read too; the environment wins. Settings that contradict each other are refused at start, never
adjusted. `docs/settings.md` and `.env.example` are rendered from this module.
"""

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    DotEnvSettingsSource,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from streamward.leases.policy import FAST, LONGEST_TTL, SHORTEST_TTL, TimingsContradict, check_timings
from streamward.model.errors import StreamwardError

PREFIX = "STREAMWARD_"

_SCHEMES = ("sqlite:///", "postgresql://", "postgres://", "memory://")
_PLAIN_URL = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?(/[^@?#\s]*)?")
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound: these are found on loopback
_SECRETS = {"master_key", "token"}
_LIKE = 0.85  # how near an unknown name must be to a known one to count as its misspelling


class SettingsRefused(StreamwardError):
    """The environment holds settings that cannot be meant."""

    def __init__(self, sentences: list[str]) -> None:
        super().__init__(*sentences)
        self.sentences = sentences

    def __str__(self) -> str:
        return "; ".join(self.sentences)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class DatabaseSettings(_Part):
    """Where ownership is kept."""

    url: Annotated[
        SecretStr | None,
        Field(
            description="`postgresql://user@host/name` for any number of control planes, `sqlite:///path` for one; "
            "without it a SQLite file in the data folder"
        ),
    ] = None

    @field_validator("url")
    @classmethod
    def _is_known(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not url.get_secret_value().startswith(_SCHEMES):
            raise ValueError(f"must begin with one of {', '.join(_SCHEMES)}")
        if url is not None and ":memory:" in url.get_secret_value():
            raise ValueError("SQLite in memory is not kept from one connection to the next: use memory://")
        return url


class LeaseSettings(_Part):
    """How long leases of the policy `fast` last; the other policies are fixed."""

    ttl_s: Annotated[
        float,
        Field(ge=SHORTEST_TTL, le=LONGEST_TTL, description="Seconds after which a lease that is not renewed runs out"),
    ] = FAST.ttl
    renew_interval_s: Annotated[
        float, Field(gt=0, description="Seconds between a runner's renewals; the ttl must outlast two of them and more")
    ] = FAST.renew_every

    @model_validator(mode="after")
    def _fit_each_other(self) -> Self:
        try:
            check_timings(ttl=self.ttl_s, renew_every=self.renew_interval_s)
        except TimingsContradict as err:
            raise ValueError(
                f"{PREFIX}LEASE_TTL_S and {PREFIX}LEASE_RENEW_INTERVAL_S contradict each other: {err}"
            ) from None
        return self


class TlsSettings(_Part):
    """What the control plane speaks TLS with; without a certificate it speaks plain HTTP."""

    certificate: Annotated[
        Path | None, Field(description="File with the certificate to serve TLS with, and those up to its root, as PEM")
    ] = None
    key: Annotated[Path | None, Field(description="File with the certificate's key, as PEM without a password")] = None
    client_ca: Annotated[
        Path | None,
        Field(description="File with the CA whose certificates clients must show; without it they need none"),
    ] = None

    @model_validator(mode="after")
    def _fit_each_other(self) -> Self:
        if (self.certificate is None) != (self.key is None):
            raise ValueError(f"{PREFIX}TLS_CERTIFICATE and {PREFIX}TLS_KEY must be set together")
        if self.client_ca is not None and self.certificate is None:
            raise ValueError(f"{PREFIX}TLS_CLIENT_CA needs {PREFIX}TLS_CERTIFICATE and {PREFIX}TLS_KEY too")
        return self


class ControlSettings(_Part):
    """Where commands find the control plane, and by what they and it know each other."""

    url: Annotated[
        str | None,
        Field(
            description="Where commands find the control plane, like `https://control.example`; without it this host"
        ),
    ] = None
    ca: Annotated[
        Path | None, Field(description="Certificates in PEM that commands trust; without it the system's")
    ] = None
    client_certificate: Annotated[
        Path | None, Field(description="Certificate in PEM that commands show to the control plane, if it asks for one")
    ] = None
    client_key: Annotated[Path | None, Field(description="The key of that certificate")] = None

    @field_validator("url")
    @classmethod
    def _is_plain(cls, url: str | None) -> str | None:
        found = None if url is None else _PLAIN_URL.fullmatch(url)
        if url is not None and (found is None or int(found["port"] or 1) not in range(1, 65536)):
            raise ValueError("must be like https://control.example:8443, without a user, a query or a fragment")
        return url

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if (self.client_certificate is None) != (self.client_key is None):
            raise ValueError(f"{PREFIX}CONTROL_CLIENT_CERTIFICATE and {PREFIX}CONTROL_CLIENT_KEY go together")
        return self


class LogSettings(_Part):
    """What this process writes to its standard error."""

    format: Annotated[
        Literal["auto", "json", "text"], Field(description="`auto` is text on a terminal and JSON elsewhere")
    ] = "auto"
    level: Annotated[
        Literal["debug", "info", "warning", "error"], Field(description="The least important line that is written")
    ] = "info"


class Settings(BaseSettings):
    """All settings of a process."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="_",
        env_nested_max_split=1,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library's signature
        init_settings: PydanticBaseSettingsSource,
        *_args: Any,
        **_others: Any,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Only what `load` read: a bare `Settings()` is the defaults, whatever the environment holds."""
        return (init_settings,)

    data: Annotated[Path, Field(description="Folder for the SQLite database and the keys")] = Path("data")
    host: Annotated[str, Field(min_length=1, description="Address to listen on")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="Port to listen on; 0 takes a free one")] = 8080
    master_key: Annotated[
        SecretStr | None,
        Field(
            description="Keys of 32 bytes in base64 that seal camera credentials, with commas between: the first "
            "seals, every one opens; without it a file in the data folder"
        ),
    ] = None
    token: Annotated[
        SecretStr | None, Field(description="Bearer token of commands; without it they mint one where the key file is")
    ] = None
    control: ControlSettings = ControlSettings()
    database: DatabaseSettings = DatabaseSettings()
    tls: TlsSettings = TlsSettings()
    lease: LeaseSettings = LeaseSettings()
    log: LogSettings = LogSettings()
    failpoints: Annotated[
        str,
        Field(description="For fault drills only: `name=exit`, `name=raise` or `name=pause:5`, with commas between"),
    ] = ""

    @property
    def database_url(self) -> str:
        """The database's URL, password and all."""
        if self.database.url is None:
            return f"sqlite:///{self.data / 'streamward.db'}"
        return self.database.url.get_secret_value()

    @property
    def control_url(self) -> str:
        """Where commands find the control plane."""
        if self.control.url is not None:
            return self.control.url.rstrip("/")
        host = _EVERYWHERE.get(self.host, self.host)
        scheme = "http" if self.tls.certificate is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port or Settings().port}"

    @property
    def key_file(self) -> Path:
        """Where the key that signs tokens lies."""
        return self.data / "keys" / "signing.pem"

    @property
    def master_key_file(self) -> Path:
        """Where the keys that seal camera credentials lie, if they are not in the environment."""
        return self.data / "keys" / "master.key"


def load(environment: Mapping[str, str] = os.environ, *, file: Path = Path(".env")) -> Settings:
    """The settings of this process, or the sentence that says what is wrong with them."""
    written = DotEnvSettingsSource(Settings, env_file=file)
    given = _Environment(Settings, environment)
    misspelled = list(_misspelled([*written.env_vars, *environment]))
    try:
        settings = Settings(**_merged(written(), given()))
    except ValidationError as err:
        raise SettingsRefused([*misspelled, *map(_sentence, err.errors())]) from None
    if misspelled:
        raise SettingsRefused(misspelled)
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One setting as people set it."""

    name: str
    kind: str
    default: str
    meaning: str
    part: str


def variables() -> list[Variable]:
    """Every setting there is."""
    return [variable for name, field in Settings.model_fields.items() for variable in _variables(name, field)]


def render_page() -> str:
    """`docs/settings.md`."""
    rows = [f"| `{each.name}` | {each.kind} | {each.default} | {each.meaning} |" for each in variables()]
    return "\n".join([
        "# Settings",
        "",
        "Rendered from `src/streamward/settings.py`. Set them in the environment or in a file `.env` in the working",
        "folder; the environment wins. Settings that contradict each other are refused at start.",
        "",
        "| variable | type | default | meaning |",
        "|---|---|---|---|",
        *rows,
        "",
    ])


def render_example() -> str:
    """`.env.example`."""
    lines = ["# Every setting with its default; copy to .env and uncomment what you change."]
    for each in variables():
        value = "" if each.default == "–" else each.default.strip("`")
        lines += ["", f"# {each.meaning}", f"# {each.name}={value}"]
    return "\n".join([*lines, ""])


class _Environment(EnvSettingsSource):
    """Reads the environment that it is given, not the process's."""

    def __init__(self, settings: type[BaseSettings], environment: Mapping[str, str]) -> None:
        self._environment = environment
        super().__init__(settings)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        return {name.lower(): value for name, value in self._environment.items() if value}


def _merged(written: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    return written | {
        name: written.get(name, {}) | value if isinstance(value, dict) else value for name, value in given.items()
    }


def _variables(name: str, field: Any, *, part: str = "") -> Iterator[Variable]:
    kind = field.annotation
    if isinstance(kind, type) and issubclass(kind, _Part):
        for inner, inner_field in kind.model_fields.items():
            yield from _variables(f"{name}_{inner}", inner_field, part=name)
        return
    yield Variable(
        name=f"{PREFIX}{name.upper()}",
        kind="secret" if name in _SECRETS else _kind(kind),
        default=f"`{field.default:g}`" if isinstance(field.default, float) else _shown(field.default),
        meaning=field.description,
        part=part,
    )


def _kind(annotation: Any) -> str:
    choices = getattr(annotation, "__args__", ())
    if choices and all(isinstance(choice, str) for choice in choices):
        return ", ".join(f"`{choice}`" for choice in choices)
    if SecretStr in choices:
        return "URL"
    plain = next(iter(choices), annotation)
    return {"str": "text", "int": "whole number", "float": "seconds", "Path": "path"}[plain.__name__]


def _shown(default: object) -> str:
    return "–" if default in (None, "") else f"`{default}`"


def _misspelled(names: Iterable[str]) -> Iterator[str]:
    """Names that are nearly settings; others with our prefix may be a container platform's own."""
    known = [each.name.removeprefix(PREFIX) for each in variables()]
    for name in sorted(names):
        ours = name.upper().removeprefix(PREFIX)
        if not name.upper().startswith(PREFIX) or ours in known:
            continue
        if near := difflib.get_close_matches(ours, known, n=1, cutoff=_LIKE):
            yield f"{name} is not a setting: {PREFIX}{near[0]} is"


def _sentence(error: Any) -> str:
    """One refusal of pydantic's, without the value: it may be a password."""
    message = str(error["msg"]).removeprefix("Value error, ")
    if message.startswith(PREFIX):
        return message
    return f"{PREFIX}{'_'.join(map(str, error['loc'])).upper()}: {message}"
