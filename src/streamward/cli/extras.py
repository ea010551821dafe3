"""Which extra of this package brings which module: the remedy when a command needs one that is not installed."""

MODULES = {
    "control": (
        "aio_pika",
        "aiosqlite",
        "alembic",
        "asyncpg",
        "fastapi",
        "httptools",
        "jwt",
        "prometheus_client",
        "pydantic_settings",
        "redis",
        "sqlalchemy",
        "uvicorn",
        "uvloop",
        "websockets",
    ),
    "vision": ("av", "numpy"),
    "litert": ("ai_edge_litert",),
    "onnx": ("onnxruntime",),
}
_EITHER = ("control", "vision")  # bring what only others need


def remedy(module: str) -> str:
    """What to install."""
    package = module.partition(".")[0]
    extras = [extra for extra, modules in MODULES.items() if package in modules] or _EITHER
    return f"install streamward[{','.join(extras)}]"
