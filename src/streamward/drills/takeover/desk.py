"""The control plane as a drill sees it: an operator's calls, with a token of its own."""

import time
from collections.abc import Callable
from typing import Any

import msgspec

from streamward.drills.roles import ENDED_WITHIN, ProcessFailed, Role, call
from streamward.protocol import codec
from streamward.protocol.fields import LARGEST_PAGE
from streamward.protocol.lease_listing import LeaseDetails, LeasePage
from streamward.protocol.readiness import ControlReady
from streamward.protocol.runners import RunnerList
from streamward.protocol.sites import SiteBudget


class Desk:
    """Calls to one control plane."""

    def __init__(self, control: Role[ControlReady], *, url: str, token: str) -> None:
        self.url = url
        self.token = token
        self.control = control

    def leases(self) -> LeasePage:
        """Who has which camera."""
        page: LeasePage = self._read(f"/v1/leases?limit={LARGEST_PAGE}", LeasePage)
        return page

    def lease(self, camera: str) -> LeaseDetails:
        """Who has one, and who had it."""
        details: LeaseDetails = self._read(f"/v1/leases/{camera}", LeaseDetails)
        return details

    def runners(self) -> RunnerList:
        """How it sees the runners."""
        found: RunnerList = self._read("/v1/runners", RunnerList)
        return found

    def budget(self, site: str) -> SiteBudget:
        """What a site may be dialed."""
        found: SiteBudget = self._read(f"/v1/sites/{site}/budget", SiteBudget)
        return found

    def add(self, path: str, message: dict[str, Any]) -> Any:
        """Something new."""
        return call("POST", f"{self.url}{path}", body=msgspec.json.encode(message), token=self.token)

    def bring(self, cameras: list[dict[str, Any]]) -> None:
        """Many cameras, all at once; told twice they are the same."""
        lines = b"".join(msgspec.json.encode(each) + b"\n" for each in cameras)
        place = f"{self.url}/v1/cameras/import"
        self.insist(lambda: call("POST", place, body=lines, kind="application/x-ndjson", token=self.token))

    def change(self, path: str, message: dict[str, Any]) -> None:
        """Something that is there, whatever its state."""
        call("PATCH", f"{self.url}{path}", body=msgspec.json.encode(message), token=self.token, is_forced=True)

    def remove(self, path: str) -> None:
        """The like."""
        call("DELETE", f"{self.url}{path}", token=self.token, is_forced=True)

    def _read(self, path: str, kind: type[Any]) -> Any:
        told = self.insist(lambda: call("GET", f"{self.url}{path}", token=self.token))
        return codec.decode(msgspec.json.encode(told), kind)

    def insist(self, asked: Callable[[], Any]) -> Any:
        """Asks again for a while: a database that is busy just now is no failure of the drill."""
        last = time.monotonic() + ENDED_WITHIN
        while True:
            try:
                return asked()
            except ProcessFailed:
                if time.monotonic() > last or self.control.process.poll() is not None:
                    raise
                time.sleep(0.1)
