"""Every setting: its place, its meaning, its default, and what it must not contradict."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from streamward.leases.policy import FAST, LONGEST_TTL, SHORTEST_TTL, TimingsContradict, check_timings
from streamward.model import broker_url
from streamward.model.runtime import ModelRuntime
from streamward.model.secret import Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.shards import ObjectsAt
from streamward.settings.analyst import AnalystSettings
from streamward.settings.batch import BatchSettings
from streamward.settings.part import PREFIX, Part
from streamward.settings.rebalance import RebalanceSettings
from streamward.settings.redis import RedisSettings
from streamward.settings.runner import RunnerSettings
from streamward.settings.source_limits import SourceSettings

_SCHEMES = ("sqlite:///", "postgresql://", "postgres://", "memory://")
_PLAIN_URL = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?(/[^@?#\s]*)?")
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound: these are found on loopback


class DatabaseSettings(Part):
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


class AmqpSettings(Part):
    """Where events go."""

    url: Annotated[
        SecretStr | None,
        Field(
            description="`amqp://user:password@host/` or `amqps://user:password@host/?cafile=path` of the RabbitMQ "
            "that carries events; without it a file in the data folder does, for the processes of this host"
        ),
    ] = None

    @field_validator("url")
    @classmethod
    def _is_known(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not broker_url.is_broker(url.get_secret_value()):
            raise ValueError(broker_url.RULE)
        return url


class ObjectSettings(Part):
    """Where events go that are too large for the broker."""

    url: Annotated[
        str | None,
        Field(
            description="`file:///folder` or `s3://bucket/prefix` for events over 256 KB, of which the broker gets a "
            "pointer; without it a folder in the data folder"
        ),
    ] = None
    endpoint: Annotated[
        str | None, Field(description="Where S3 is, like `https://s3.example:9000`; without it Amazon's of the region")
    ] = None
    region: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,64}$", description="The region of the bucket")] = "us-east-1"
    access_key: Annotated[SecretStr | None, Field(description="Who puts objects into the bucket")] = None
    secret_key: Annotated[SecretStr | None, Field(description="The key that signs for it")] = None
    ca: Annotated[Path | None, Field(description="Certificates in PEM that S3 shows; without it the system's")] = None

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.url is not None and not self.url.startswith(("file:///", "s3://")):
            raise ValueError(f"{PREFIX}OBJECTS_URL must begin with file:/// or s3://")
        is_s3 = self.url is not None and self.url.startswith("s3://")
        if is_s3 and (self.access_key is None or self.secret_key is None):
            raise ValueError(f"{PREFIX}OBJECTS_URL with s3:// needs {PREFIX}OBJECTS_ACCESS_KEY and _SECRET_KEY too")
        return self

    @property
    def keys(self) -> tuple[Secret, Secret] | None:
        """Who puts objects there and what signs for it, if that is S3."""
        if self.access_key is None or self.secret_key is None:
            return None
        return Secret(self.access_key.get_secret_value()), Secret(self.secret_key.get_secret_value())

    @property
    def at(self) -> ObjectsAt | None:
        """As processes tell each other; None: a folder in the data folder."""
        if self.url is None:
            return None
        access_key, secret_key = map(ClearText, self.keys) if self.keys else (None, None)
        return ObjectsAt(
            url=self.url,
            endpoint=self.endpoint,
            region=self.region,
            access_key=access_key,
            secret_key=secret_key,
            ca_file=None if self.ca is None else str(self.ca.absolute()),
        )


class LeaseSettings(Part):
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


class TlsSettings(Part):
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


class ControlSettings(Part):
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


class LogSettings(Part):
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
        SecretStr | None,
        Field(
            description="Bearer token of commands; without it they use who is signed in, or mint one where the "
            "signing key lies"
        ),
    ] = None
    identity: Annotated[
        Path | None,
        Field(description="File with the key pair of who is signed in; without it one in the home folder"),
    ] = None
    models: Annotated[
        Path | None, Field(description="Folder of models for detectors; without it `models` in the data folder")
    ] = None
    models_key: Annotated[
        Path | None,
        Field(description="File with the public key in PEM that models must be signed by; without it they need not be"),
    ] = None
    models_runtime: Annotated[
        ModelRuntime, Field(description="What runs ONNX models; OpenVINO needs the extra `openvino`")
    ] = ModelRuntime.ONNXRUNTIME
    control: ControlSettings = ControlSettings()
    database: DatabaseSettings = DatabaseSettings()
    amqp: AmqpSettings = AmqpSettings()
    redis: RedisSettings = RedisSettings()
    objects: ObjectSettings = ObjectSettings()
    tls: TlsSettings = TlsSettings()
    lease: LeaseSettings = LeaseSettings()
    rebalance: RebalanceSettings = RebalanceSettings()
    log: LogSettings = LogSettings()
    sources: SourceSettings = SourceSettings()
    runner: RunnerSettings = RunnerSettings()
    batch: BatchSettings = BatchSettings()
    analyst: AnalystSettings = AnalystSettings()
    capacity_streams: Annotated[
        int | None,
        Field(ge=1, le=10_000, description="Cameras that a runner takes; without it what an operator set, else 40"),
    ] = None
    target_streams_per_shard: Annotated[int, Field(ge=1, le=64, description="Cameras that share a Worker")] = 12
    readiness_quorum_pct: Annotated[
        int, Field(ge=1, le=100, description="Percent of its cameras that must stream for a Worker to be ready")
    ] = 80
    status_summary_interval_s: Annotated[
        float, Field(gt=0, le=3600, description="Seconds between two reports of a stream that has not changed")
    ] = 5.0
    heartbeat_interval_s: Annotated[
        float,
        Field(ge=0.1, le=2, description="Seconds between two heartbeats of a runner; after 5 it counts as silent"),
    ] = 1.0
    on_control_loss: Annotated[
        Literal["stop", "continue-fenced"],
        Field(
            description="What Workers do when the control plane is away for longer than leases last: `stop`, or go on "
            "under the fence, which refuses what another runner's detections replace"
        ),
    ] = "stop"
    prom_manager_port: Annotated[
        int, Field(ge=0, le=65535, description="Loopback port of a runner's own metrics; 0 or taken: one that is free")
    ] = 9107
    prom_worker_port: Annotated[
        int, Field(ge=0, le=65535, description="Loopback port of its Workers' metrics; 0 or taken: one that is free")
    ] = 9108
    core_dumps: Annotated[
        bool,
        Field(
            description="Whether control plane, runner, Workers and batcher may leave core dumps and be attached to by "
            "debuggers, for debugging: both show camera passwords and keys"
        ),
    ] = False
    config: Annotated[
        Path | None,
        Field(
            description="TOML file with settings; without it `streamward.toml` in the working folder, if it is there"
        ),
    ] = None
    failpoints: Annotated[
        str,
        Field(
            description="For fault drills only: `name=exit`, `name=raise` or `name=pause:5`, with commas between; "
            "`name=exit@20`: the twentieth time"
        ),
    ] = ""

    @property
    def database_url(self) -> str:
        """The database's URL, password and all."""
        if self.database.url is None:
            return f"sqlite:///{self.data / 'streamward.db'}"
        return self.database.url.get_secret_value()

    @property
    def retention(self) -> str:
        """For how long detections are stored, as people read it."""
        days = f"{self.batch.kept_days:g} days"
        return f"{days} or {self.batch.kept_mb:,} MiB" if self.database_url.startswith("sqlite:") else days

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
    def models_folder(self) -> Path:
        """Where models lie that detectors are made of."""
        return self.models or self.data / "models"

    @property
    def identity_file(self) -> Path:
        """Where the key pair of the person who is signed in lies."""
        return self.identity or Path.home() / ".config" / "streamward" / "identity.json"

    @property
    def runner_identity_file(self) -> Path:
        """Where the key pair of this host's runner lies."""
        return self.identity or self.data / "keys" / "runner.json"

    @property
    def master_key_file(self) -> Path:
        """Where the keys that seal camera credentials lie, if they are not in the environment."""
        return self.data / "keys" / "master.key"
