"""Moves that balance a fleet."""

from streamward.control.api.routing import Access, Routes
from streamward.control.rebalancing import RebalanceService
from streamward.model.identity import Author
from streamward.protocol.rebalancing import FleetRebalanced, RebalanceFleet


def add_rebalancing(routes: Routes, service: RebalanceService) -> None:
    """Adds the route."""

    @routes.post("/v1/fleet/rebalance", access=Access.OPERATOR)
    async def rebalance_fleet(author: Author, message: RebalanceFleet) -> FleetRebalanced:
        """Starts moves of cameras from runners that hold more to those that hold less; of one tenant its own only."""
        return await service.rebalance(author, dry_run=message.dry_run)
