"""What a character is checked in, and by what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..deformers import COMPARED
from ..deformers.option import option
from .range_of_motion import RangeOfMotion


@dataclass(frozen=True)
class CheckOptions(RangeOfMotion):
    """What a character is checked in, and by what.

    Attributes
    ----------
    methods : tuple of str
        Keys of `METHODS`; that in use by each mesh is measured, too.
    frames : sequence of int, or None
        Of the scene, as played, instead of actions.
    """

    use_actions: bool = option(True, "Actions", "Check the most different frames of all actions of the armature")
    methods: tuple[str, ...] = COMPARED
    frames: Sequence[int] | None = None
