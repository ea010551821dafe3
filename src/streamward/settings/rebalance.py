"""Settings of automatic rebalancing."""

from typing import Annotated

from pydantic import Field

from streamward.leases.rebalance import MOST_AT_ONCE
from streamward.settings.part import Part


class RebalanceSettings(Part):
    """Whether and how fast the control plane moves cameras so that runners hold equally many."""

    every_s: Annotated[
        float,
        Field(
            ge=0,
            le=86_400,
            description="Seconds between two rounds in which the control plane moves cameras to runners that hold "
            "fewer; 0: only `streamward fleet rebalance` does",
        ),
    ] = 0.0
    cameras: Annotated[int, Field(ge=1, le=MOST_AT_ONCE, description="Cameras that such a round moves at most")] = 2
