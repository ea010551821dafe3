"""The HTTP API: one file per noun; `application` puts them together."""
