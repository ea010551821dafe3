"""Why a model's file is not loaded."""

from streamward.model.errors import StreamwardError


class ModelRefused(StreamwardError):
    """A file that is no model, or none that may be used here."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"the model cannot be used: {self.why}"
