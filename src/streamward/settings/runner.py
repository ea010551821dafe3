"""Settings of a runner and its Workers."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from streamward.model.video import DecodeMode, HardwareDecoding, SkipLoopFilter
from streamward.protocol.sites import LOCAL_KINDS, LocalKind, SourceLimits
from streamward.settings.part import PREFIX, Part
from streamward.settings.source_limits import checked_folders, checked_kinds, checked_networks, listed


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
    source_allow: Annotated[
        str,
        Field(
            description="The only networks that this runner connects to, with commas between; loopback, link-local and "
            "metadata addresses need a network of their own here; without any every network but those"
        ),
    ] = ""
    source_deny: Annotated[
        str, Field(description="Networks that this runner never connects to, with commas between")
    ] = ""
    source_kinds: Annotated[
        str, Field(description="Kinds of sources of its own host that it opens: `file`, `device`, or both")
    ] = ""
    source_folders: Annotated[
        str,
        Field(description="Folders below which files are opened, with commas between; symbolic links are resolved"),
    ] = ""

    @field_validator("source_allow", "source_deny")
    @classmethod
    def _are_networks(cls, text: str) -> str:
        return checked_networks(text)

    @field_validator("source_kinds")
    @classmethod
    def _are_kinds(cls, text: str) -> str:
        return checked_kinds(text)

    @field_validator("source_folders")
    @classmethod
    def _are_folders(cls, text: str) -> str:
        return checked_folders(text)

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        if "file" in listed(self.source_kinds) and not listed(self.source_folders):
            raise ValueError(f"{PREFIX}RUNNER_SOURCE_KINDS with file needs {PREFIX}RUNNER_SOURCE_FOLDERS too")
        return self

    @property
    def source_limits(self) -> SourceLimits:
        """As its Workers are told them."""
        kinds: list[LocalKind] = [kind for kind in LOCAL_KINDS if kind in listed(self.source_kinds)]
        return SourceLimits(
            allow=listed(self.source_allow),
            deny=listed(self.source_deny),
            kinds=kinds,
            folders=listed(self.source_folders),
        )
