"""What is chosen for loops and joins."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """How motions are joined.

    Attributes
    ----------
    blend : float
        Seconds about the seam in which both motions are blended; 0 for as long as they need.
    holds_feet : bool
        Whether planted feet stay where they are.
    """

    blend: float = 0.0
    holds_feet: bool = True


@dataclass(frozen=True)
class LoopOptions(Options):
    """How a motion is closed to a loop.

    Attributes
    ----------
    travels : bool
        Whether each cycle goes on where the last one ended; else the body stays in its place.
    repeats : int
        Cycles that are played.
    """

    travels: bool = True
    repeats: int = 4


DEFAULTS, LOOP_DEFAULTS = Options(), LoopOptions()
