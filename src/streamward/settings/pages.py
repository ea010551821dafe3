"""`docs/settings.md` and `.env.example`, rendered from the settings themselves."""

from streamward.settings.variables import variables


def render_page() -> str:
    """`docs/settings.md`."""
    rows = [f"| `{each.name}` | `{each.key}` | {each.kind} | {each.default} | {each.meaning} |" for each in variables()]
    return "\n".join([
        "# Settings",
        "",
        "Rendered from `src/streamward/settings/`. Set them in the environment, in a file `.env` in the working",
        "folder, or in a TOML file: `streamward.toml` in the working folder, or the one that `STREAMWARD_CONFIG`",
        "names. The environment wins over `.env`, and that over the TOML file; `streamward settings` shows every value",
        "and where it comes from. Keys of the TOML file that are no settings, and settings that contradict each other,",
        "are refused.",
        "",
        "```toml",
        "port = 8081",
        "",
        "[lease]",
        "ttl_s = 10",
        "```",
        "",
        "| variable | key in TOML | type | default | meaning |",
        "|---|---|---|---|---|",
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
