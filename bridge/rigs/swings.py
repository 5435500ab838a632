"""Lag bones: they have the keys of a swing, and the bones that swing copy their rotation. All of it is Blender's own.

A lag bone does not deform. Its parent is that of the chain's first bone, so that nothing it copies comes back to it.
Where constraints or drivers move a chain, nothing can be copied: there, each lag bone is a child of the bone itself,
and deforms in its place, by the vertex groups of its name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from .copies import editing_bones, put_aside, remove_put_aside

COLLECTION = "Swing"
"""Bone collection of lag bones, and group of their curves."""

CONSTRAINT = "Swing"
"""Name of the constraint that copies their rotation."""


@dataclass(frozen=True)
class SwingingChain:
    """A chain of bones that swings.

    Attributes
    ----------
    bones, lags : tuple of str, length K
        Names, from the root on; of the bone that each copies, or that deforms in its place.
    is_held : bool
        Whether these deform in their place, because constraints or drivers move the chain.
    """

    bones: tuple[str, ...]
    lags: tuple[str, ...]
    is_held: bool = False


def add_lag_bones(armature: bpy.types.Object, chains: Sequence[tuple[Sequence[str], bool]]) -> list[SwingingChain]:
    """Add a lag bone for each bone of chains, hidden, in a bone collection of their own, and have it copied.

    Parameters
    ----------
    chains : sequence of (sequence of str, bool)
        Names of bones, from the root on, and whether lag bones deform in their place.
    """
    made = []
    with editing_bones(armature) as edit_bones:
        for chain, is_held in chains:
            carrier = edit_bones[chain[0]].parent
            names = []
            for name in chain:
                source, bone = edit_bones[name], edit_bones.new(f"{name}.swing")
                bone.head, bone.tail, bone.roll = source.head, source.tail, source.roll
                bone.parent, bone.use_deform = (source, True) if is_held else (carrier, False)
                names.append(bone.name)
            made.append(SwingingChain(tuple(chain), tuple(names), is_held))
    put_aside(armature, [lag for chain in made for lag in chain.lags], COLLECTION)
    for chain in made:
        for name, lag in zip(chain.bones, chain.lags, strict=True):
            cast(Any, armature.data).bones[lag].supple.is_lag = True
            cast(Any, armature.pose).bones[lag].rotation_mode = "QUATERNION"
            if chain.is_held:
                _rename_groups(armature, name, lag)
            else:
                _copy_rotation(armature, name, lag)
    return made


def list_grouped(armature: bpy.types.Object, names: Collection[str]) -> list[bpy.types.Object]:
    """Meshes that an armature deforms, with vertex groups of bones."""
    return [
        obj
        for obj in bpy.data.objects
        if obj.type == "MESH"
        and any(modifier.type == "ARMATURE" and modifier.object == armature for modifier in obj.modifiers)
        and any(name in obj.vertex_groups for name in names)
    ]


def _rename_groups(armature: bpy.types.Object, before: str, after: str) -> None:
    for mesh in list_grouped(armature, [before]):
        mesh.vertex_groups[before].name = after


def _copy_rotation(armature: bpy.types.Object, name: str, lag: str) -> None:
    constraint = cast(Any, armature.pose.bones[name].constraints.new("COPY_ROTATION"))
    constraint.name, constraint.target, constraint.subtarget = CONSTRAINT, armature, lag
    constraint.owner_space = constraint.target_space = "LOCAL"
    constraint.mix_mode = "AFTER"


def add_flesh_bone(armature: bpy.types.Object, name: str, carrier: str, head: np.ndarray, tail: np.ndarray) -> str:
    """Add a deforming bone for a region of flesh; returns its name.

    Parameters
    ----------
    carrier : str
        Its parent.
    head, tail : float arrays, shape (3,)
        Armature space.
    """
    with editing_bones(armature) as edit_bones:
        bone = edit_bones.new(name)
        bone.head, bone.tail, bone.parent = head.tolist(), tail.tolist(), edit_bones[carrier]
        name = bone.name
    cast(Any, armature.data).bones[name].supple.is_flesh = True
    return name


def remove_flesh_bone(armature: bpy.types.Object, name: str) -> None:
    """Remove the bone of a region of flesh."""
    with editing_bones(armature) as edit_bones:
        edit_bones.remove(edit_bones[name])


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


def list_swinging(armature: bpy.types.Object) -> list[SwingingChain]:
    """The chains of an armature that swing, by what their bones copy, however bones were renamed since."""
    bones, chains = cast(Any, armature.data).bones, []
    held = {bone.parent.name: bone.name for bone in bones if _is_child(bone)}
    lags = held | {bone.name: lag for bone in cast(Any, armature.pose).bones if (lag := find_lag(bone))}
    for name, lag in lags.items():
        if not bones[lag].supple.swing.part:
            continue
        chain = [name]
        while True:
            below = [child.name for child in bones[chain[-1]].children if child.name in lags]
            onward = next((child for child in below if not bones[lags[child]].supple.swing.part), "")
            if not onward:
                break
            chain.append(onward)
        chains.append(SwingingChain(tuple(chain), tuple(lags[each] for each in chain), name in held))
    return chains


def _is_child(bone: Any) -> bool:
    """Whether a bone is a lag bone that deforms in its parent's place."""
    return bone.supple.is_lag and bone.use_deform and bone.parent is not None


def list_lag_bones(armature: bpy.types.Object) -> set[str]:
    """Names of all lag bones of an armature."""
    return {bone.name for bone in cast(Any, armature.data).bones if bone.supple.is_lag}


def remove_lag_bones(armature: bpy.types.Object, names: set[str]) -> None:
    """Remove lag bones, with what copies them, and their bone collection if it is empty then."""
    for bone in cast(Any, armature.pose).bones:
        constraint = _find_constraint(bone)
        if constraint is not None and constraint.subtarget in names:
            bone.constraints.remove(constraint)
    for bone in [bone for bone in cast(Any, armature.data).bones if bone.name in names and _is_child(bone)]:
        _rename_groups(armature, bone.name, bone.parent.name)
    remove_put_aside(armature, names, COLLECTION)


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
