"""The frames that a scene of Blender can have."""

from __future__ import annotations

from ..deformers import SkinningError

LAST_FRAME = 1048574
"""Blender goes to no frame beyond, or before its negative: it stays at the last one and says nothing."""


def check_frames(start: int, end: int) -> None:
    """Raise SkinningError for frames that Blender can not go to."""
    if start < -LAST_FRAME or end > LAST_FRAME:
        raise SkinningError(
            f"Frames {start} to {end} are more than Blender has: choose from -{LAST_FRAME:,} to {LAST_FRAME:,}"
        )


def frame_range(start: int, end: int, step: int) -> range:
    """The frames to bake, both ends included; raises SkinningError where there are none."""
    if step < 1:
        raise SkinningError(f"Frame step is {step}: choose 1 or more")
    if end < start:
        raise SkinningError(f"Frame range {start} to {end} runs backwards: choose an end that is not before the start")
    check_frames(start, end)
    if step > LAST_FRAME:
        raise SkinningError(f"Frame step is {step}: choose {LAST_FRAME:,} or less")
    return range(start, end + 1, step)
