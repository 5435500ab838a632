"""What a copy of a character for game engines is made by."""

from __future__ import annotations

from dataclasses import dataclass

from ..deformers.engine_copy.model import AS_MANY_AS_IT_TAKES
from ..deformers.option import option
from .range_of_motion import RangeOfMotion
from .reading import read_length


@dataclass(frozen=True)
class CopyOptions(RangeOfMotion):
    """What a copy is made by.

    Attributes
    ----------
    tolerance : float
        Meters.
    actions : tuple of str, or None
        Names of those to be copied; all that move the armature's bones if None.
    """

    target: str = option(
        "gltf",
        "Target",
        "What the copy is for",
        items=(
            ("gltf", "glTF", "For Godot, Unity, three.js and whatever else reads glTF"),
            ("fbx", "FBX", "For Unreal, Unity and other programs that read FBX"),
            ("vrm", "VRM", "For VRM 1.0 avatars, by the VRM add-on"),
            ("usd", "USD", "For programs that read USD"),
        ),
        help="what it is for; gltf if not given",
    )
    tolerance: float = option(
        0.003,
        "Tolerance",
        "How far the skin of the copy may be from the character: keys are added where it is farther",
        unit="DISTANCE",
        slider=(0.0005, 0.02),
        fine=(4, 0.1),
        help="as 3mm or 0.3cm; 3mm if not given",
        metavar="LENGTH",
        read=read_length,
    )
    influences: int = option(
        4,
        "Influences",
        "Most bones that a vertex may follow",
        items=(
            (4, "4", "Four bones per vertex: every engine takes them"),
            (8, "8", "Eight bones per vertex: closer, for engines that take them"),
        ),
        lowest=1,
        highest=8,
        help="bones per vertex, 4 or 8; 4 if not given",
        metavar="N",
    )
    helpers: int = option(
        AS_MANY_AS_IT_TAKES,
        "Helpers",
        "Most bones that are added to a joint; -1 for as many as the tolerance needs",
        lowest=AS_MANY_AS_IT_TAKES,
        highest=8,
        help="most bones added to a joint; -1 as needed",
        metavar="N",
    )
    keys: int = option(
        AS_MANY_AS_IT_TAKES,
        "Keys",
        "Most corrective shape keys; -1 for as many as the tolerance needs",
        lowest=AS_MANY_AS_IT_TAKES,
        highest=256,
        slider=(None, 64),
        help="most corrective keys; -1 as needed",
        metavar="N",
    )
    actions: tuple[str, ...] | None = None
