"""What a recorder decides about one connection's requests: who is let in, what is there, how it misbehaves."""

import secrets
from collections.abc import Callable

from streamward.model.secret import Secret
from streamward.model.source_url import Credential
from streamward.nvr.faults import FullStatus, LoginRefused, LoginRefusedUntil, Missing, NonceStale, Redirect
from streamward.nvr.recorder import Recorder
from streamward.nvr.tally import Deed
from streamward.protocol.rtsp.authentication import Guard, Proof
from streamward.protocol.rtsp.message import Headers, Reply, Request, Status
from streamward.protocol.rtsp.sdp import Description

_NOBODY = Credential(user=Secret("nobody"), password=Secret("nothing"))


class Desk:
    """One connection's policy; remembers which camera it came for."""

    def __init__(self, recorder: Recorder, *, address: str, now: Callable[[], float]) -> None:
        self.camera: str | None = None
        self.refusal: FullStatus | None = None  # why the latest session was refused
        self._recorder = recorder
        self._address = address
        self._now = now
        self._doorman = Doorman(recorder, address=address, now=now)

    def intervene(self, request: Request) -> Reply | None:
        """A reply in place of the true one: redirects."""
        camera = self._recorder.find(request.uri)
        if camera is not None and camera.name != self.camera:
            self.camera = self._doorman.camera = camera.name
            self._recorder.count(Deed.DIALED, camera=camera.name, address=self._address)
        redirect = self._recorder.board.find(Redirect, self.camera)
        if redirect is None or request.method.lower() != redirect.at:
            return None
        return Reply(status=Status.FOUND, reason="Found", headers=Headers((("Location", redirect.to),)))

    def guard(self, uri: str) -> Guard | None:
        """Whoever asks for a camera is asked who they are, if there is a credential or a fault that wants one."""
        find = self._recorder.board.find
        is_wanted = any(find(kind, self.camera) for kind in (LoginRefused, LoginRefusedUntil))
        has_camera = self._recorder.find(uri) is not None
        return self._doorman if has_camera and (is_wanted or self._recorder.spec.access.credential) else None

    def describe(self, uri: str) -> Description | None:
        """What the camera shows now."""
        camera = self._recorder.find(uri)
        if camera is None or self._recorder.board.find(Missing, camera.name):
            return None
        return camera.manner.reel.description

    def admit(self, uri: str) -> bool:
        """Whether one more session fits."""
        camera = self._recorder.find(uri)
        self.refusal = self._recorder.refusal(camera.name, self._now()) if camera else None
        if camera and self.refusal:
            self._recorder.count(Deed.SESSION_REFUSED, camera=camera.name, address=self._address)
        return self.refusal is None


class Doorman(Guard):
    """A guard that counts logins, and whose nonces go stale on command."""

    def __init__(self, recorder: Recorder, *, address: str, now: Callable[[], float]) -> None:
        access = recorder.spec.access
        super().__init__(
            credential=access.credential or _NOBODY,
            nonce=secrets.token_hex(16),
            algorithms=access.algorithms,
            allows_basic=access.allows_basic,
            has_qop=access.has_qop,
        )
        self.camera = ""
        self._recorder = recorder
        self._address = address
        self._now = now
        self._times_stale = 0
        self._is_let_in = False

    def check(self, method: str, uri: str, authorization: str | None) -> Proof:
        """Whether whoever sent this request knows the credential, as far as faults let it count."""
        proof = super().check(method, uri, authorization)
        stale = self._recorder.board.find(NonceStale, self.camera)
        if proof is Proof.RIGHT and stale is not None and self._times_stale < stale.times:
            self._times_stale += 1
            self.renew(secrets.token_hex(16))
            return Proof.STALE
        proof = self._recorder.logins.judge(proof, camera=self.camera, address=self._address, now=self._now())
        if proof is Proof.WRONG:
            self._recorder.count(Deed.LOGIN_BAD, camera=self.camera, address=self._address)
        elif proof is Proof.RIGHT and not self._is_let_in:
            self._is_let_in = True
            self._recorder.count(Deed.LOGIN_GOOD, camera=self.camera, address=self._address)
        return proof
