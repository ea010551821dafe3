"""Why a model's file is not loaded."""

from streamward.model.errors import StreamwardError


class ModelRefused(StreamwardError):
    """A file that is no model, or none that may be used here."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"the model cannot be used: {self.why}"


def first_line(error: Exception) -> str:
    """Of what a library says, as much as fits into a reason."""
    return str(error).partition("\n")[0][:300]
