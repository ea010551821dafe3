"""What settings of one concern have in common."""

from pydantic import BaseModel, ConfigDict

PREFIX = "STREAMWARD_"


class Part(BaseModel):
    """Settings of one concern."""

    model_config = ConfigDict(frozen=True)
