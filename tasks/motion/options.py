"""What is chosen for loops and joins."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """How motions are joined, or closed to loops.

    Attributes
    ----------
    blend : float
        Seconds about the seam in which both motions are blended; 0 for as long as they need.
    holds_feet : bool
        Whether planted feet stay where they are.
    """

    blend: float = 0.0
    holds_feet: bool = True


DEFAULTS = Options()
