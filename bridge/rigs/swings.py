"""Lag bones: they have the keys of a swing, and the bones that swing copy their rotation. All of it is Blender's own.

A lag bone does not deform. Its parent is that of the chain's first bone, so that nothing it copies comes back to it.
Where constraints or drivers move a chain, nothing can be copied: there, each lag bone is a child of the bone itself,
and deforms in its place, by the vertex groups of its name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Vector
from mathutils.geometry import intersect_point_line

from ...deformers.swing.chains import Spring
from ...deformers.swing.parts import Chain
from .carriers import is_hidden_object
from .copies import editing_bones, put_aside, remove_put_aside
from .pose_limits import find_driven, find_ik_chains, holds_location, holds_rotation

# Bone collection of lag bones, and group of their curves
COLLECTION = "Swing"

# Name of the constraint that copies their rotation
CONSTRAINT = "Swing"


def add_lag_bones(armature: bpy.types.Object, chains: Sequence[Chain]) -> None:
    """Add the lag bones of chains, hidden in a bone collection of their own; the first of each stores how it swings."""
    with editing_bones(armature) as edit_bones:
        for chain in chains:
            carrier = edit_bones[chain.bones[0]].parent
            for name, lag in zip(chain.bones, chain.lags, strict=True):
                source, bone = edit_bones[name], edit_bones.new(lag)
                bone.head, bone.tail, bone.roll = source.head, source.tail, source.roll
                bone.parent, bone.use_deform = (source, True) if chain.is_held else (carrier, False)
    put_aside(armature, [lag for chain in chains for lag in chain.lags], COLLECTION)
    for chain in chains:
        for name, lag in zip(chain.bones, chain.lags, strict=True):
            _note_made(armature, lag, name, True, chain.is_held)
            cast(Any, armature.data).bones[name].supple.has_lag = True
            cast(Any, armature.pose).bones[lag].rotation_mode = "QUATERNION"
        stored = cast(Any, armature.data).bones[chain.lags[0]].supple.swing
        stored.part, stored.amount, stored.gravity = chain.part, chain.amount, chain.gravity
        stored.frequency, stored.damping = chain.spring.frequency, chain.spring.damping
        stored.is_everywhere, stored.fades = chain.is_everywhere, chain.fades


def _note_made(armature: bpy.types.Object, name: str, owner: str, is_lag: bool, has_weights: bool) -> None:
    data = cast(Any, armature.data)
    noted, bone = data.supple.made.add(), data.bones[name].supple
    noted.name, noted.owner, noted.is_lag, noted.has_weights = name, owner, is_lag, has_weights
    bone.is_lag, bone.is_flesh = is_lag, not is_lag


def list_skins(armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Objects with vertex groups, meshes and lattices, that the bones of an armature deform."""
    return [obj for obj in bpy.data.objects if armature.data in _list_deforming(obj) and not is_hidden_object(obj)]


def list_other_skins(armature: bpy.types.Object, skin: bpy.types.Object) -> list[bpy.types.Object]:
    """Objects with the same vertex groups as a skin, as they share its data, that other armatures deform."""
    others = [obj for obj in bpy.data.objects if obj.data == skin.data and not is_hidden_object(obj)]
    return [obj for obj in others if _list_deforming(obj) - {armature.data}]


def _list_deforming(obj: bpy.types.Object) -> set[Any]:
    """The data of the armatures that deform an object."""
    armatures: list[Any] = [each.object for each in cast(Any, obj.modifiers) if each.type == "ARMATURE"]
    armatures += [obj.parent] if obj.parent_type == "ARMATURE" else []
    found = (each for each in armatures if each is not None and each.type == "ARMATURE")
    return {each.data for each in found if not is_hidden_object(each)}


def copy_rotation(armature: bpy.types.Object, name: str, lag: str) -> str:
    """Have a bone copy the rotation of its lag bone, by a constraint, whose name is returned."""
    constraint = cast(Any, armature.pose.bones[name].constraints.new("COPY_ROTATION"))
    constraint.name, constraint.target, constraint.subtarget = CONSTRAINT, armature, lag
    constraint.owner_space = constraint.target_space = "LOCAL"
    constraint.mix_mode = "AFTER"
    return constraint.name


def add_flesh_bone(armature: bpy.types.Object, name: str, carrier: str, head: np.ndarray, tail: np.ndarray) -> None:
    """Add a deforming bone for a region of flesh.

    Parameters
    ----------
    name : str
        Free.
    carrier : str
        Its parent.
    head, tail : float arrays, shape (3,)
        Armature space.
    """
    with editing_bones(armature) as edit_bones:
        bone = edit_bones.new(name)
        bone.head, bone.tail, bone.parent = head.tolist(), tail.tolist(), edit_bones[carrier]
    _note_made(armature, name, carrier, False, True)


def find_lag(bone: Any) -> str:
    """The lag bone that a pose bone copies, by name; "" for none."""
    constraint = _find_constraint(bone)
    return constraint.subtarget if constraint is not None else ""


def _find_constraint(bone: Any) -> Any:
    data = bone.id_data.data
    for constraint in bone.constraints:
        lag = data.bones.get(constraint.subtarget) if constraint.type == "COPY_ROTATION" else None
        if lag is not None and lag.supple.is_lag:
            return constraint
    return None


def list_swinging(armature: bpy.types.Object) -> list[Chain]:
    """The chains of an armature that swing, by the lag bones that their bones copy, even if bones were renamed."""
    bones, chains = cast(Any, armature.data).bones, []
    held = {bone.parent.name: bone.name for bone in bones if _is_child(armature, bone)}
    lags = held | {bone.name: lag for bone in cast(Any, armature.pose).bones if (lag := find_lag(bone))}
    for name, lag in lags.items():
        stored = bones[lag].supple.swing
        if not stored.part:
            continue
        chain = [name]
        while True:
            below = [child.name for child in bones[chain[-1]].children if child.name in lags]
            onward = next((child for child in below if not bones[lags[child]].supple.swing.part), "")
            if not onward:
                break
            chain.append(onward)
        chains.append(Chain(
            stored.part, tuple(chain), Spring(stored.frequency, stored.damping), tuple(lags[each] for each in chain),
            name in held, stored.amount, stored.gravity, is_everywhere=stored.is_everywhere, fades=stored.fades,
        ))  # fmt: skip
    return chains


def _is_child(armature: bpy.types.Object, bone: Any) -> bool:
    """Whether a bone is a lag bone that deforms in its parent's place; if that was deleted, it has another one."""
    if not (bone.supple.is_lag and bone.use_deform and bone.parent is not None):
        return False
    noted = cast(Any, armature.data).supple.made.get(bone.name)
    return noted is None or noted.owner == bone.parent.name or _is_renamed(armature, bone.parent)


def _is_renamed(armature: bpy.types.Object, bone: Any) -> bool:
    """Whether a lag bone was made for a bone when that had another name."""
    owners = [noted.owner for noted in cast(Any, armature.data).supple.made]
    return bone.supple.has_lag and bone.name not in owners


def list_lag_bones(armature: bpy.types.Object) -> set[str]:
    """Names of all lag bones of an armature, with those that were deleted."""
    data = cast(Any, armature.data)
    deleted = {noted.name for noted in data.supple.made if noted.is_lag and noted.name not in data.bones}
    return {bone.name for bone in data.bones if bone.supple.is_lag} | deleted


def find_held(armature: bpy.types.Object) -> set[str]:
    """Names of the bones that constraints or drivers rotate or move, lag bones aside."""
    held = find_ik_chains(armature) | find_driven(armature, "rotation")
    for bone in cast(Any, armature.pose).bones:
        lag = find_lag(bone)
        others = [one for one in bone.constraints if not lag or getattr(one, "subtarget", "") != lag]
        if any(holds_rotation(one) or holds_location(one) for one in others):
            held.add(bone.name)
    return held


def list_idle(armature: bpy.types.Object) -> set[str]:
    """Names of the bones that were made for swings that are none any more, as something of them was deleted."""
    data, swinging = cast(Any, armature.data), list_swinging(armature)
    made = {bone.name for bone in data.bones if bone.supple.is_flesh} | {noted.name for noted in data.supple.made}
    return (made | list_lag_bones(armature)) - {name for chain in swinging for name in (*chain.bones, *chain.lags)}


def find_owners(armature: bpy.types.Object, names: Collection[str], skin: bpy.types.Object) -> dict[str, str]:
    """The bones, by name, that weights of a skin were taken from for bones that were made for swings, by theirs."""
    made, found = cast(Any, armature.data).supple.made, {}
    for name in names:
        bone = cast(Any, armature.data).bones.get(name)
        has_weights = made[name].has_weights if name in made else bone is not None and bone.use_deform
        if has_weights and name in skin.vertex_groups:
            found[name] = _find_owner(armature, made.get(name), bone, skin)
    return found


def _find_owner(armature: bpy.types.Object, noted: Any, bone: Any, skin: bpy.types.Object) -> str:
    """If it was renamed, it is the parent; if it was deleted, the name of its vertex group, which Blender leaves."""
    bones, owner = cast(Any, armature.data).bones, noted.owner if noted is not None else ""
    if owner in bones or owner in skin.vertex_groups or bone is None:
        return owner
    if bone.parent is not None and (noted is None or not noted.is_lag or _is_renamed(armature, bone.parent)):
        return bone.parent.name
    if bone.supple.is_lag:
        return owner
    others = [each for each in bones if each.use_deform and not (each.supple.is_flesh or each.supple.is_lag)]
    return min(others, key=lambda each: _measure_distance(bone.head_local, each)).name if others else owner


def _measure_distance(point: Vector, bone: Any) -> float:
    nearest, share = intersect_point_line(point, bone.head_local, bone.tail_local)
    nearest = bone.head_local if share < 0.0 else bone.tail_local if share > 1.0 else nearest
    return (point - nearest).length


def list_constraints(armature: bpy.types.Object, lags: Collection[str]) -> list[tuple[str, str]]:
    """Names of bones, and of their constraints that copy lag bones; one that was deleted Blender may take out of them.

    By name: Edit Mode makes pose bones anew.
    """
    found = []
    for bone in cast(Any, armature.pose).bones:
        for constraint in bone.constraints:
            if constraint.type != "COPY_ROTATION" or constraint.target != armature:
                continue
            is_cut = not constraint.subtarget and bone.bone.supple.has_lag and constraint.name.startswith(CONSTRAINT)
            if constraint.subtarget in lags or is_cut:
                found.append((bone.name, constraint.name))
    return found


def aim_constraint(armature: bpy.types.Object, bone: str, constraint: str, lag: str) -> str:
    """Have a constraint, made anew if it is gone, copy another lag bone, or none for ""; returns the former one."""
    constraints = cast(Any, armature.pose).bones[bone].constraints
    found = constraints.get(constraint) or constraints[copy_rotation(armature, bone, lag)]
    former, found.subtarget = found.subtarget, lag
    return former


def remove_constraint(armature: bpy.types.Object, bone: str, constraint: str) -> None:
    """Remove a constraint by names."""
    constraints = cast(Any, armature.pose).bones[bone].constraints
    constraints.remove(constraints[constraint])


def remove_made_bones(armature: bpy.types.Object, names: Collection[str]) -> None:
    """Remove bones made for swings with their notes, and their bone collection if it becomes empty."""
    data = cast(Any, armature.data)
    remove_put_aside(armature, names)
    for number in reversed(range(len(data.supple.made))):
        if data.supple.made[number].name in names:
            data.supple.made.remove(number)
    swinging = {name for chain in list_swinging(armature) for name in chain.bones}
    for bone in data.bones:
        if bone.supple.has_lag and bone.name not in swinging:
            bone.supple.property_unset("has_lag")


@contextmanager
def without_swing(armature: bpy.types.Object) -> Iterator[None]:
    """Have all bones as the action alone moves them meanwhile."""
    found = [constraint for bone in cast(Any, armature.pose).bones if (constraint := _find_constraint(bone))]
    muted = [constraint for constraint in found if not constraint.mute]
    for constraint in muted:
        constraint.mute = True
    try:
        yield
    finally:
        for constraint in muted:
            constraint.mute = False
