"""Settings of a runner and its Workers."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from streamward.model.video import DecodeMode, HardwareDecoding, SkipLoopFilter
from streamward.settings.part import Part


class RunnerSettings(Part):
    """What a runner is and does."""

    id: Annotated[
        str | None,
        Field(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="The runner's id; without it that of its identity"),
    ] = None
    site: Annotated[
        str | None, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="The only site that it serves; without it all")
    ] = None
    detector: Annotated[
        str, Field(min_length=1, description="What looks at cameras that name no detector of their own")
    ] = "colour"
    max_fps: Annotated[
        float, Field(gt=0, le=240, description="Frames a second that are looked at, of cameras that name no number")
    ] = 6.0
    decode: Annotated[
        DecodeMode,
        Field(
            description="How much is decoded of cameras that say nothing else: everything, what is looked at and what "
            "that refers to, keyframes, or keyframes while nothing moves"
        ),
    ] = DecodeMode.SAMPLED
    skip_loop_filter: Annotated[
        SkipLoopFilter,
        Field(
            description="Which pictures are decoded without smoothing their blocks, which is cheaper and less exact: "
            "none, those that no other refers to, or all"
        ),
    ] = SkipLoopFilter.NONE
    hardware: Annotated[
        HardwareDecoding,
        Field(
            description="What decodes in the processor's place, which takes over where that cannot: nothing, the first "
            "device that can be opened, or one by FFmpeg's name"
        ),
    ] = HardwareDecoding.NONE
    clip_s: Annotated[
        float, Field(ge=0, le=60, description="Seconds of each camera that are kept, compressed, for clips; 0: none")
    ] = 30.0
    clip_mb: Annotated[int, Field(ge=0, le=1024, description="MiB of each camera that are kept at most")] = 4
    clip_folder: Annotated[
        Path | None,
        Field(description="Folder of this user alone in which these are kept, on a disk; without it in memory"),
    ] = None
    grace_s: Annotated[float, Field(gt=0, le=600, description="Seconds that Workers have to end in good order")] = 10.0
    mode: Annotated[
        Literal["direct", "go2rtc"],
        Field(description="Whether Workers read cameras themselves, or through a go2rtc that the runner starts"),
    ] = "direct"
    go2rtc: Annotated[
        Path | None, Field(description="The program for the mode `go2rtc`; without it that on the path")
    ] = None
