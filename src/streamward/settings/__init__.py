"""Settings: every one there is, where each comes from, and the pages about them."""

from streamward.settings.analyst import AnalystSettings
from streamward.settings.pages import render_example, render_page
from streamward.settings.parts import AmqpSettings, LeaseSettings, LogSettings, ObjectSettings, Settings, TlsSettings
from streamward.settings.redis import RedisSettings
from streamward.settings.source_limits import with_loopback
from streamward.settings.sources import SettingsRefused, added_to, find, handed_on, load
from streamward.settings.variables import variables

__all__ = [
    "AmqpSettings",
    "AnalystSettings",
    "LeaseSettings",
    "LogSettings",
    "ObjectSettings",
    "RedisSettings",
    "Settings",
    "SettingsRefused",
    "TlsSettings",
    "added_to",
    "find",
    "handed_on",
    "load",
    "render_example",
    "render_page",
    "variables",
    "with_loopback",
]
