"""Settings of the index of open batches."""

from typing import Annotated

from pydantic import Field, SecretStr, field_validator

from streamward.model import redis_url
from streamward.settings.part import Part


class RedisSettings(Part):
    """Where batches are that are open."""

    url: Annotated[
        SecretStr | None,
        Field(
            description="`redis://:password@host:port/database` or `rediss://:password@host/?cafile=path` of the Redis "
            "in which batchers share what is open; without it the one batcher keeps that in memory"
        ),
    ] = None

    @field_validator("url")
    @classmethod
    def _is_known(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not redis_url.is_redis(url.get_secret_value()):
            raise ValueError(redis_url.RULE)
        return url
