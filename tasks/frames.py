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
