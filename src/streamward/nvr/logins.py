"""What a recorder makes of logins: faults that refuse right ones, and lockouts after too many wrong ones."""

from collections import Counter
from dataclasses import dataclass, field

from streamward.nvr.faults import Board, Lockout, LoginRefused, LoginRefusedUntil
from streamward.protocol.rtsp.authentication import Proof


@dataclass(slots=True)
class Logins:
    """Judges logins by what came before them; `now` is any clock in seconds."""

    board: Board
    _tries: Counter[tuple[str, str]] = field(default_factory=Counter)  # by camera and address
    _wrong: Counter[str] = field(default_factory=Counter)  # in a row, by address
    _locked_until: dict[str, float] = field(default_factory=dict)

    def judge(self, proof: Proof, *, camera: str, address: str, now: float) -> Proof:
        """What is said to a login that proves this much."""
        if proof is Proof.ABSENT:
            return proof
        lockout = self.board.find(Lockout, camera)
        if lockout is not None and self._locked_until.get(address, now) > now:
            return Proof.WRONG
        if self._is_refused(camera, address):
            proof = Proof.WRONG
        if proof is not Proof.WRONG:
            self._wrong.pop(address, None)
            return proof
        self._wrong[address] += 1
        if lockout is not None and self._wrong[address] >= lockout.after:
            self._locked_until[address] = now + lockout.lasts
            self._wrong.pop(address)
        return proof

    def forget(self) -> None:
        """Begins anew, when a fault that it judges by came or went."""
        self._tries.clear()
        self._wrong.clear()
        self._locked_until.clear()

    def _is_refused(self, camera: str, address: str) -> bool:
        if self.board.find(LoginRefused, camera) is not None:
            return True
        until = self.board.find(LoginRefusedUntil, camera)
        if until is None or self._tries[camera, address] + 1 >= until.tries:
            return False
        self._tries[camera, address] += 1
        return True
