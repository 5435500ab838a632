"""Which chains of bones are to swing, and how."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.animation.curves import iterate_curve_paths, split_bone_path
from ...bridge.rigs.pose_limits import find_driven, find_ik_chains, holds_location, holds_rotation
from ...bridge.rigs.swings import find_lag, find_owners, list_lag_bones, list_other_skins, list_skins
from ...deformers import SkinningError
from ...deformers.swing.chains import Spring
from ...deformers.swing.parts import PARTS, choose_spring, find_chains, find_part, leave_out_bodies
from ...options import SwingOptions
from ..subject.stack import check_not_linked
from ..subject.swung import list_own_actions

OTHERWISE, FLESH = "TAIL", "BELLY"
"""What chosen bones are whose names say nothing, and what a region is."""


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
    is_held : bool
        Whether constraints or drivers move it: its skin swings by bones of its own then.
    """

    part: str
    bones: tuple[str, ...]
    spring: Spring
    angle: float
    is_held: bool


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

    Bones by name that constraints or drivers move are only taken where keys alone move none of the part: a rig has its
    tail several times. Besides, the names of those that are left out.

    Raises
    ------
    SkinningError
        Where there is none, or they can not swing.
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
    named = wanted
    held = find_held(armature)
    if not names:
        free = {parts[name] for name in wanted if name not in held}
        wanted = [
            name for name in wanted
            if name not in held or (parts[name] not in free and armature.data.bones[name].use_deform)
        ]  # fmt: skip
    controls = [name for name in wanted or named if name in held and not armature.data.bones[name].use_deform]
    if controls:
        raise SkinningError(
            f"Constraints or drivers move '{controls[0]}', which deforms nothing: choose bones that deform"
        )
    for skin in list_skins(armature):
        if any(name in held and name in skin.vertex_groups for name in wanted):
            check_skin(armature, skin)
    chosen = []
    for chain in find_chains(parents, {index[name] for name in wanted}):
        members = [bones[number] for number in chain]
        part = options.preset if options.preset != "AUTO" else parts[members[0].name] or OTHERWISE
        is_held = any(bone.name in held for bone in members)
        chosen.append(
            _choose(
                armature,
                options,
                part,
                [bone.name for bone in members],
                sum(bone.bone.length for bone in members),
                is_held,
            )
        )
    return chosen, [name for name in named if name in held and name not in wanted]


def choose_region(
    armature: bpy.types.Object, options: SwingOptions, group: str, bone: str, length: float
) -> ChosenChain:
    """The chain that the bone of a region is to be, which need not be there yet."""
    part = options.preset if options.preset != "AUTO" else find_part(group) or FLESH
    return _choose(armature, options, part, [bone], length, False)


def _choose(
    armature: bpy.types.Object, options: SwingOptions, part: str, names: Sequence[str], length: float, is_held: bool
) -> ChosenChain:
    numbers = options.angle, options.frequency, options.damping, options.gravity
    if not np.isfinite(numbers).all():
        raise SkinningError("The angle, frequency, damping and gravity of a swing must be finite numbers")
    spring = choose_spring(part, length / _find_size(armature))
    spring = Spring(options.frequency or spring.frequency, options.damping or spring.damping)
    return ChosenChain(part, tuple(names), spring, options.angle or PARTS[part].angle, is_held)


def is_linked(skin: bpy.types.Object) -> bool:
    """Whether the vertex groups of an object can not be changed."""
    return skin.library is not None or cast(Any, skin.data).library is not None


def check_skin(armature: bpy.types.Object, skin: bpy.types.Object) -> None:
    """Raise SkinningError where vertex groups of an object can not be changed for this armature alone."""
    if is_linked(skin):
        raise SkinningError(f"'{skin.name}' is linked from another file: make it local")
    if others := list_other_skins(armature, skin):
        raise SkinningError(
            f"'{skin.name}' shares its mesh with '{others[0].name}', which another armature deforms: make it single "
            "user"
        )


def list_taken(
    armature: bpy.types.Object, without: Collection[str], skins: Sequence[bpy.types.Object] = ()
) -> set[str]:
    """Names that no new bone may have: of bones, of vertex groups that would follow it, of bones that actions move.

    Parameters
    ----------
    without : collection of str
        Names of bones made for swings, which are going to be removed.
    skins : sequence of Object
        Beside those that the armature deforms.
    """
    taken = {bone.name for bone in cast(Any, armature.data).bones}
    taken |= {split_bone_path(path)[0] for one in list_own_actions(armature) for path in iterate_curve_paths(one)}
    taken -= set(without)
    for skin in (*list_skins(armature), *skins):
        taken |= {group.name for group in skin.vertex_groups} - find_owners(armature, without, skin).keys()
    return taken


def find_held(armature: bpy.types.Object) -> set[str]:
    """Names of bones that something else than keys rotates or places."""
    held = find_ik_chains(armature) | find_driven(armature, "rotation")
    for bone in cast(Any, armature.pose).bones:
        lag = find_lag(bone)
        others = [one for one in bone.constraints if not lag or getattr(one, "subtarget", "") != lag]
        if any(holds_rotation(one) or holds_location(one) for one in others):
            held.add(bone.name)
    return held


def _find_size(armature: bpy.types.Object) -> float:
    """The largest extent of the bones at rest."""
    bones = cast(Any, armature.data).bones
    ends = np.array([end for bone in bones for end in (bone.head_local, bone.tail_local)], np.float64)
    return float(np.ptp(ends, axis=0).max()) or 1.0
