"""Which chains of bones are to swing, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.rigs.pose_limits import find_driven, find_ik_chains, holds_location, holds_rotation
from ...bridge.rigs.swings import find_lag, list_lag_bones
from ...deformers import SkinningError
from ...deformers.swing.chains import Spring
from ...deformers.swing.parts import PARTS, choose_spring, find_chains, find_part, leave_out_bodies
from ...options import SwingOptions
from ..subject.stack import check_not_linked

OTHERWISE = "TAIL"
"""What chosen bones are whose names say nothing."""


@dataclass(frozen=True)
class ChosenChain:
    """A chain that is to swing.

    Attributes
    ----------
    part : str
        Key of `PARTS`.
    bones : tuple of str
        Names, from the root on.
    angle : float
        That it is to swing by, radians.
    """

    part: str
    bones: tuple[str, ...]
    spring: Spring
    angle: float


def check_armature(armature: bpy.types.Object) -> None:
    """Raise SkinningError where bones of an armature can not be changed."""
    check_not_linked(armature)
    if armature.pose is None or not armature.pose.bones:
        raise SkinningError(f"'{armature.name}' has no bones: choose another armature")
    if armature.data.library is not None:
        raise SkinningError(
            f"The bones of '{armature.name}' are linked from another file: add the swing there, or make them local"
        )
    if armature.mode == "EDIT":
        raise SkinningError(f"'{armature.name}' is in Edit Mode: leave it first")


def check_plays(armature: bpy.types.Object) -> None:
    """Raise SkinningError where bones can not be changed, or do not move as actions have them."""
    check_armature(armature)
    if armature.data.pose_position == "REST":
        raise SkinningError(f"'{armature.name}' is shown at rest: choose Pose Position in its properties")
    data = armature.animation_data
    if data is not None and data.use_tweak_mode:
        raise SkinningError(f"A strip of '{armature.name}' is being tweaked: leave Tweak Mode first")


def choose_chains(
    armature: bpy.types.Object, options: SwingOptions, names: Sequence[str]
) -> tuple[list[ChosenChain], list[str]]:
    """The chains of some bones; of all that are a part by their names, where none is given.

    Besides, the names of bones with such a name that constraints or drivers move.

    Raises
    ------
    SkinningError
        Where there is none, or constraints or drivers move them.
    """
    lags = list_lag_bones(armature)
    bones = [bone for bone in cast(Any, armature.pose).bones if bone.name not in lags]
    index = {bone.name: number for number, bone in enumerate(bones)}
    parents = [index[bone.parent.name] if bone.parent is not None else -1 for bone in bones]
    parts = dict(zip(index, leave_out_bodies(parents, [find_part(name) for name in index]), strict=True))
    if unknown := [name for name in names if name not in parts]:
        raise SkinningError(f"'{armature.name}' has no bone '{unknown[0]}': check the name")
    wanted = names or [name for name, part in parts.items() if part and options.preset in ("AUTO", part)]
    if not wanted:
        what = "part that swings" if options.preset == "AUTO" else PARTS[options.preset].label.lower()
        raise SkinningError(f"No bone of '{armature.name}' has the name of a {what}: select its bones in Pose Mode")
    held = find_held(armature)
    free = [name for name in wanted if name not in held]
    if not free or (names and len(free) < len(wanted)):
        name = next(name for name in wanted if name in held)
        raise SkinningError(f"Constraints or drivers rotate '{name}': choose bones that only their keys move")
    size = _find_size(bones)
    chosen = []
    for chain in find_chains(parents, {index[name] for name in free}):
        members = [bones[number] for number in chain]
        part = options.preset if options.preset != "AUTO" else parts[members[0].name] or OTHERWISE
        spring = choose_spring(part, sum(bone.bone.length for bone in members) / size)
        spring = Spring(options.frequency or spring.frequency, options.damping or spring.damping)
        angle = options.angle or PARTS[part].angle
        chosen.append(ChosenChain(part, tuple(bone.name for bone in members), spring, angle))
    return chosen, [name for name in wanted if name in held]


def find_held(armature: bpy.types.Object) -> set[str]:
    """Names of bones that something else than keys rotates or places."""
    held = find_ik_chains(armature) | find_driven(armature, "rotation")
    for bone in cast(Any, armature.pose).bones:
        lag = find_lag(bone)
        others = [one for one in bone.constraints if not lag or getattr(one, "subtarget", "") != lag]
        if any(holds_rotation(one) or holds_location(one) for one in others):
            held.add(bone.name)
    return held


def _find_size(bones: Sequence[Any]) -> float:
    """The largest extent of the bones at rest."""
    ends = np.array([end for bone in bones for end in (bone.bone.head_local, bone.bone.tail_local)], np.float64)
    return float(np.ptp(ends, axis=0).max()) or 1.0
