"""One client that watches: its packets, its sender reports, and the damage that it is dealt."""

import random
from dataclasses import dataclass

from streamward.nvr.camera import Shot
from streamward.nvr.recorder import Conduct
from streamward.protocol.rtp.writer import RtpSender
from streamward.protocol.rtsp.framing import interleave

REPORT_EVERY = 5.0  # seconds


@dataclass(slots=True, kw_only=True)
class Viewer:
    """Turns a camera's pictures into the bytes for one client; `now` is any clock in seconds."""

    sender: RtpSender
    rtcp_channel: int
    camera: str
    dice: random.Random
    _report_at: float = float("-inf")

    def frames(self, shot: Shot, conduct: Conduct, now: float) -> list[bytes]:
        """What is sent for a picture, with a report in front when one is due."""
        sender = self.sender
        sender.payload_type = shot.payload_type
        if conduct.rtcp_only is not None:
            return self._report(shot, conduct, now, every=conduct.rtcp_only.every)
        report = self._report(shot, conduct, now, every=REPORT_EVERY) if now >= self._report_at else []
        written = sender.frames(shot.packets, shot.ticks)
        if conduct.loss is not None:
            written = self._thinned(written, conduct.loss.share)
        if conduct.corrupt is not None:
            written = self._spoilt(written, conduct.corrupt.share, target=conduct.corrupt.target)
        return report + written if report else written

    def _report(self, shot: Shot, conduct: Conduct, now: float, *, every: float) -> list[bytes]:
        self._report_at = min(self._report_at, now + every)  # a slower pace than before ends at once
        if now < self._report_at:
            return []
        self._report_at = now + every
        report = self.sender.report(shot.sent_at + conduct.clock_off, shot.ticks)
        return [interleave(self.rtcp_channel, report.encode(cname=self.camera))]

    def _thinned(self, written: list[bytes], share: float) -> list[bytes]:
        """Headers and payloads alternate; some pairs are left out."""
        kept = (written[place : place + 2] for place in range(0, len(written), 2) if self.dice.random() >= share)
        return [piece for pair in kept for piece in pair]

    def _spoilt(self, written: list[bytes], share: float, *, target: str) -> list[bytes]:
        spoilt = list(written)
        for place in range(0, len(written), 2):
            if self.dice.random() < share:
                if target == "length":
                    spoilt[place] = _flipped(written[place], 3, self.dice)
                else:
                    payload = written[place + 1]
                    spoilt[place + 1] = _flipped(payload, self.dice.randrange(len(payload)), self.dice)
        return spoilt


def _flipped(content: bytes, place: int, dice: random.Random) -> bytes:
    """With another byte in one place."""
    byte = content[place] ^ dice.randrange(1, 256)
    return content[:place] + bytes((byte,)) + content[place + 1 :]
