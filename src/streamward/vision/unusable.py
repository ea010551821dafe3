"""What is wrong with a detector. Whoever only hears of it loads no arrays."""

from streamward.model.errors import StreamwardError


class DetectorUnusable(StreamwardError):
    """A name that stands for no detector that could be had here."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name = name
        self.why = why

    def __str__(self) -> str:
        return f"the detector {self.name} cannot be used: {self.why}"


class AnswerUnusable(StreamwardError):
    """A detector gave something back that is no detection."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"the detector's answer cannot be used: {self.why}"
