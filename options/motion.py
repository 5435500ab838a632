"""How motions are joined, or closed to loops."""

from __future__ import annotations

from dataclasses import dataclass

from ..deformers.option import TaskOptions, option
from .reading import read_seconds


@dataclass(frozen=True)
class MotionOptions(TaskOptions):
    """How motions are joined, or closed to loops."""

    blend: float = option(
        0.0,
        "Blend",
        "Seconds about the seam in which both motions are blended; 0 for as long as they need",
        highest=10.0,
        slider=(None, 2.0),
        fine=(2, 5),
        help="how long both motions are blended; as long as they need if not given",
        metavar="SECONDS",
        read=read_seconds,
    )
    holds_feet: bool = option(
        True,
        "Hold Feet",
        "Keep feet that are planted at the seam where they are",
        help="do not hold feet that are planted at the seam",
        flag="--no-hold",
    )
