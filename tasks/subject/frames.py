"""The frames that a scene of Blender can have, and lists of them as they are written: `1-50,60,100-200:2`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ...deformers import SkinningError

# Blender goes to no frame beyond, or before its negative: it stays at the last one and says nothing
LAST_FRAME = 1048574

RANGE = re.compile(r"(-?\d{1,18})(?:-(-?\d{1,18}))?(?::(\d{1,18}))?", re.ASCII)


def check_frames(start: int, end: int) -> None:
    """Raise SkinningError for frames that Blender cannot go to."""
    if start < -LAST_FRAME or end > LAST_FRAME:
        raise SkinningError(
            f"Frames {start} to {end} are outside Blender's range: choose from -{LAST_FRAME:,} to {LAST_FRAME:,}"
        )


def frame_range(start: int, end: int, step: int) -> range:
    """The frames to bake, both ends included; raises SkinningError if there are none."""
    if step < 1:
        raise SkinningError(f"Frame step is {step}: choose 1 or more")
    if end < start:
        raise SkinningError(f"Frame range {start} to {end} runs backwards: choose an end that is not before the start")
    check_frames(start, end)
    if step > LAST_FRAME:
        raise SkinningError(f"Frame step is {step}: choose {LAST_FRAME:,} or less")
    return range(start, end + 1, step)


def parse_frames(text: str) -> tuple[range, ...]:
    """Read a list of frames, such as `1-50,60,100-200:2` or `-20--11`.

    Raises SkinningError if it is not a list of frames, or has frames outside Blender's range or a frame twice.

    Returns
    -------
    tuple of range
        In the order of their first frames. Ranges of one step that follow on each other are one; none is empty.
    """
    joined: list[range] = []
    end = -LAST_FRAME - 1
    for frames in sorted(map(_parse_range, re.split(", *", text)), key=lambda frames: (frames[0], frames[-1])):
        for earlier in joined if frames[0] <= end else ():
            for twice in (frame for frame in frames if frame in earlier):
                raise SkinningError(f"Frame {twice} is listed twice: list it once")
        last, end = joined[-1] if joined else frames, max(end, frames[-1])
        if last.step == frames.step and last[-1] + last.step == frames[0]:
            joined[-1] = range(last[0], frames[-1] + 1, last.step)
        else:
            joined.append(frames)
    return tuple(joined)


def _parse_range(text: str) -> range:
    match = RANGE.fullmatch(text)
    if match is None:
        raise SkinningError(
            f"'{text}' is not a frame range: write 1-250 or 1-250:2, and separate ranges with commas as in "
            "1-50,60,100-200:2"
        )
    start, end, step = match.groups()
    return frame_range(int(start), int(end or start), int(step or 1))


Frames = int | str | Iterable[int] | None


def read_frames(frames: Frames, scene: Any) -> Sequence[int]:
    """Frames as a script writes them: a number, text as of `parse_frames`, numbers, or None for those of the scene."""
    if frames is None:
        return frame_range(scene.frame_start, scene.frame_end, 1)
    if isinstance(frames, str):
        ranges = parse_frames(frames)
        return ranges[0] if len(ranges) == 1 else all_frames(ranges)
    if isinstance(frames, int):
        return frame_range(frames, frames, 1)
    return frames if isinstance(frames, range) else list(frames)


def as_range(frames: Sequence[int]) -> range:
    """Frames with one step as a range; SkinningError if they have several."""
    step = frames[1] - frames[0] if len(frames) > 1 else 1
    found = frame_range(frames[0], frames[-1], step)
    if list(found) != list(frames):
        raise SkinningError("A PC2 file holds frames with one step: bake each range of frames by itself")
    return found


def describe_frames(ranges: Iterable[range]) -> str:
    """A list of frames as `parse_frames` reads it: `1-50,60,100-200:2`."""
    return ",".join(map(_describe_range, ranges))


def _describe_range(frames: range) -> str:
    if len(frames) == 1 and frames.step == 1:
        return f"{frames[0]}"
    return f"{frames[0]}-{frames[-1]}" + f":{frames.step}" * (frames.step != 1)


def all_frames(ranges: Iterable[range]) -> list[int]:
    """All frames, in their order."""
    return sorted(frame for frames in ranges for frame in frames)


def cut_frames(ranges: Iterable[range], size: int) -> list[range]:
    """Cut ranges into chunks of at most so many frames, in their order; a chunk keeps the step of its range.

    Raises SkinningError if the size is below 1, or above the limit of engines.
    """
    if not 1 <= size <= LAST_FRAME:
        raise SkinningError(f"Chunks of {size} frames are not possible: choose 1 to {LAST_FRAME:,}")
    return [frames[start : start + size] for frames in ranges for start in range(0, len(frames), size)]
