"""Bends and twists of each joint, which characters are checked in and copies are fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from math import radians

from ..deformers.option import TaskOptions, option


@dataclass(frozen=True)
class RangeOfMotion(TaskOptions):
    """Whether, and how far, each joint is bent and twisted to each side, radians."""

    use_bends: bool = option(True, "Range of Motion", "Bend and twist each joint of the rest pose, too")
    angle: float = option(
        radians(60.0),
        "Bend",
        "How far each joint is bent and twisted, to each side",
        unit="ANGLE",
        highest=radians(150.0),
    )

    @property
    def bend(self) -> float:
        """How far, radians; 0 for no range of motion."""
        return self.angle if self.use_bends else 0.0
