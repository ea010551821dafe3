"""How one camera is looked at: how much of it is decoded, what of that is shown to which detector, and what counts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from streamward.model.video import DecodeMode
from streamward.protocol.shards import ShardConfig, Source, zones_of
from streamward.vision.decoding import Chooser, Comparer, chooser
from streamward.vision.detector import Detector, for_camera
from streamward.vision.sampling import Sampler
from streamward.vision.zones import EVERYWHERE, Zones

Compare = Callable[[Zones], Comparer | None]


def nothing_differs(_zones: Zones) -> Comparer | None:
    """Nobody compares pictures: each may show something new."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """Only what is seen in its zones counts, and what moves there."""

    sampler: Sampler
    detector: Detector
    kind: Detector | None = None  # whose thread it shares, if it is that camera's own
    zones: Zones = EVERYWHERE
    thresholds: Mapping[str, float] = field(default_factory=dict)  # how sure a detector must be, by label
    mode: DecodeMode = DecodeMode.ALL
    compare: Compare = nothing_differs  # by which the adaptive mode sees movement

    def begun(self) -> tuple[Chooser, Comparer | None]:
        """What a connection begins with."""
        is_compared = self.mode is DecodeMode.ADAPTIVE
        return chooser(self.mode, self.sampler), self.compare(self.zones) if is_compared else None


def looking_at(source: Source, config: ShardConfig, detector: Detector, compare: Compare) -> Looking:
    """As it is configured for that camera, or for its shard."""
    return Looking(
        sampler=Sampler(max_fps=source.max_fps or config.max_fps, every_n=source.detect_every_n_frames),
        detector=for_camera(detector),
        kind=detector,
        zones=zones_of(source),
        thresholds=source.thresholds,
        mode=source.decode or config.decode,
        compare=compare,
    )
