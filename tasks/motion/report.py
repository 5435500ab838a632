"""The result of a loop or a join, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...deformers.motion.seams import Smoothness

# Millimeters at a height of 1.8 m up to which frames are somewhat alike
ALIKE = 250.0


@dataclass(frozen=True)
class Report:
    """A new action, and the quality of its seam.

    Attributes
    ----------
    armature, action : str
        Names.
    frames : (int, int)
        First and last frame of the new action.
    first, second : str
        Names of the actions that are joined; the same for a loop.
    pair : (int, int)
        Frame of each at the seam.
    blended : (int, int)
        First and last frame of the new action that are blended; of a loop, those at its first seam.
    difference : float
        Difference of the frames at the seam, millimeters at a height of 1.8 m.
    slide, slide_before : float
        Largest slide of a planted foot at the seam, with and without holding it, millimeters at a height of 1.8 m.
    planted : int
        How many feet are planted at the seam.
    free : tuple of str
        Feet that cannot be held.
    step : float
        Travel of a cycle, meters at a height of 1.8 m; 0 for a join, and for a cycle that ends at its start.
    """

    armature: str
    action: str
    frames: tuple[int, int]
    first: str
    second: str
    pair: tuple[int, int]
    blended: tuple[int, int]
    difference: float
    smoothness: Smoothness
    slide: float
    slide_before: float
    planted: int
    free: tuple[str, ...]
    step: float = 0.0

    def describe(self) -> list[str]:
        """Sentences without a full stop."""
        smooth = self.smoothness
        what = (
            f"'{self.action}', frames {self.frames[0]} to {self.frames[1]}: frame {self.pair[0]} of '{self.first}' "
            f"continues with frame {self.pair[1]} of '{self.second}', {self.difference:.0f} mm apart"
        )
        how = (
            f"At the seam, speed is at most {smooth.speed:.2f} and acceleration at most {smooth.acceleration:.2f} "
            "times that of the motions"
        )
        lines = [what, how]
        if self.step:
            lines.append(f"Each cycle moves {self.step:.2f} m forward")
        if self.difference > ALIKE:
            lines.append("These frames are not very similar: a better seam may need other actions")
        if self.planted:
            lines.append(f"Planted feet slide by {self.slide:.1f} mm ({self.slide_before:.1f} mm if they are not held)")
        else:
            lines.append("No foot is planted at the seam")
        if self.free:
            lines.append(f"Not held, because constraints move them: {', '.join(self.free)}")
        return lines

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "armature": self.armature,
            "action": self.action,
            "frames": list(self.frames),
            "actions": [self.first, self.second],
            "seam": list(self.pair),
            "blended": list(self.blended),
            "difference_mm": round(self.difference, 2),
            "speed": round(self.smoothness.speed, 3),
            "acceleration": round(self.smoothness.acceleration, 3),
            "inside": round(self.smoothness.inside, 4),
            "planted_feet": self.planted,
            "slide_mm": round(self.slide, 2),
            "slide_before_mm": round(self.slide_before, 2),
            "not_held": list(self.free),
            "step_m": round(self.step, 3),
        }
