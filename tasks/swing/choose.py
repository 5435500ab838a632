"""Which chains of bones are to swing, and how."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.animation.curves import iterate_curve_paths, split_bone_path
from ...bridge.rigs.swing_weights import is_linked
from ...bridge.rigs.swings import find_held, find_owners, list_lag_bones, list_other_skins, list_skins
from ...deformers import SkinningError
from ...deformers.swing.chains import Spring
from ...deformers.swing.parts import SWING_PARTS, Chain, choose_spring, find_chains, find_part, leave_out_bodies
from ...options import SwingOptions
from .actions import list_own_actions
from .plan import round_as_stored

# Parts of chosen bones, and of regions, whose names say nothing
PART_OF_BONES, PART_OF_REGION = "TAIL", "BELLY"


def choose_chains(
    armature: bpy.types.Object, options: SwingOptions, names: Sequence[str]
) -> tuple[list[Chain], list[str]]:
    """The chains of some bones; of all that are a part by their names, if none is given.

    Bones by name that constraints or drivers move are only taken where keys alone move none of the part: a rig has its
    tail several times. Besides, the names of those that are left out. Raises SkinningError if there is none, or they
    cannot swing.
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
        what = "part that swings" if options.preset == "AUTO" else SWING_PARTS[options.preset].label.lower()
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
        part = parts[members[0].name] or PART_OF_BONES
        length = sum(bone.bone.length for bone in members)
        is_held = any(bone.name in held for bone in members)
        chosen.append(_choose(armature, options, part, [bone.name for bone in members], length, is_held))
    return chosen, [name for name in named if name in held and name not in wanted]


def choose_region(armature: bpy.types.Object, options: SwingOptions, group: str, bone: str, length: float) -> Chain:
    """The chain of a region's bone, which need not be there yet."""
    return _choose(armature, options, find_part(group) or PART_OF_REGION, [bone], length)


def _choose(
    armature: bpy.types.Object,
    options: SwingOptions,
    part: str,
    names: Sequence[str],
    length: float,
    is_held: bool = False,
) -> Chain:
    if not np.isfinite((options.angle, options.frequency, options.damping, options.gravity)).all():
        raise SkinningError("The angle, frequency, damping and gravity of a swing must be finite numbers")
    part = part if options.preset == "AUTO" else options.preset
    spring = choose_spring(part, length / _find_size(armature))
    return Chain(
        part, tuple(names), is_held=is_held,
        spring=Spring(
            round_as_stored(options.frequency or spring.frequency), round_as_stored(options.damping or spring.damping)
        ),
        angle=options.angle or SWING_PARTS[part].angle, gravity=round_as_stored(options.gravity),
        is_everywhere=options.actions == "ALL", fades=options.fade,
    )  # fmt: skip


def check_skin(armature: bpy.types.Object, skin: bpy.types.Object) -> None:
    """Raise SkinningError if vertex groups of an object cannot be changed for this armature alone."""
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


def _find_size(armature: bpy.types.Object) -> float:
    """The largest extent of the bones at rest."""
    bones = cast(Any, armature.data).bones
    ends = np.array([end for bone in bones for end in (bone.head_local, bone.tail_local)], np.float64)
    return float(np.ptp(ends, axis=0).max()) or 1.0
