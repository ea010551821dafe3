"""Settings of who says something of closed batches."""

import ipaddress
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, model_validator

from streamward.settings.part import PREFIX, Part


class AnalystSettings(Part):
    """Who says something of closed batches."""

    name: Annotated[
        str,
        Field(
            min_length=1,
            description="`summary` counts, `openai` asks a language model, `none` leaves the analysis queue to others; "
            "any other is what an installed package offers, or `module:function`",
        ),
    ] = "summary"
    url: Annotated[
        str | None,
        Field(description="Endpoint that speaks OpenAI's chat completions, like `https://llm.example/v1`"),
    ] = None
    model: Annotated[str | None, Field(min_length=1, description="The model that is asked there")] = None
    key: Annotated[SecretStr | None, Field(description="By what we are known there; without it no key is sent")] = None
    ca: Annotated[
        Path | None, Field(description="Certificates in PEM that the endpoint shows; without it the system's")
    ] = None
    allow_http: Annotated[
        bool, Field(description="Whether the endpoint may be asked without TLS though it is not on this host")
    ] = False
    timeout_s: Annotated[float, Field(gt=0, le=600, description="Seconds that an analysis may take")] = 60.0
    attempts: Annotated[
        int, Field(ge=1, le=20, description="Times that a batch is shown to an analyst that fails, in all")
    ] = 4
    at_once: Annotated[int, Field(ge=1, le=100, description="Batches that are analysed at the same time")] = 4

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if self.name == "openai" and (self.url is None or self.model is None):
            raise ValueError(f"{PREFIX}ANALYST_NAME=openai needs {PREFIX}ANALYST_URL and {PREFIX}ANALYST_MODEL too")
        if self.url is not None:
            self._check(self.url)
        return self

    def _check(self, url: str) -> None:
        try:
            place = urlsplit(url)
            is_plain = not (place.username or place.password or place.query or place.fragment) and place.port != 0
        except ValueError:
            is_plain = False
        if not (is_plain and place.scheme in {"https", "http"} and place.hostname):
            raise ValueError(
                f"{PREFIX}ANALYST_URL must be like https://llm.example/v1, without a user, a query or a fragment"
            )
        if place.scheme == "http" and not (self.allow_http or _is_loopback(place.hostname)):
            raise ValueError(
                f"{PREFIX}ANALYST_URL is plain HTTP to another host: use https, or set {PREFIX}ANALYST_ALLOW_HTTP"
            )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
