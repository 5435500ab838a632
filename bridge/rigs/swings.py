"""Lag bones: they have the keys of a swing, and the bones that swing copy their rotation. All of it is Blender's own.

A lag bone does not deform. Its parent is that of the chain's first bone, so that nothing it copies comes back to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
        Names, from the root on; of the bone that each copies.
    """

    bones: tuple[str, ...]
    lags: tuple[str, ...]


def add_lag_bones(armature: bpy.types.Object, chains: Sequence[Sequence[str]]) -> list[SwingingChain]:
    """Add a lag bone for each bone of chains, hidden, in a bone collection of their own, and have it copied.

    Parameters
    ----------
    chains : sequence of sequences of str
        Names of bones, from the root on.
    """
    made = []
    with editing_bones(armature) as edit_bones:
        for chain in chains:
            carrier = edit_bones[chain[0]].parent
            names = []
            for name in chain:
                source, bone = edit_bones[name], edit_bones.new(f"{name}.swing")
                bone.head, bone.tail, bone.roll = source.head, source.tail, source.roll
                bone.parent, bone.use_deform = carrier, False
                names.append(bone.name)
            made.append(SwingingChain(tuple(chain), tuple(names)))
    put_aside(armature, [lag for chain in made for lag in chain.lags], COLLECTION)
    for chain in made:
        for name, lag in zip(chain.bones, chain.lags, strict=True):
            cast(Any, armature.data).bones[lag].supple.is_lag = True
            cast(Any, armature.pose).bones[lag].rotation_mode = "QUATERNION"
            _copy_rotation(armature, name, lag)
    return made


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
    lags = {bone.name: lag for bone in cast(Any, armature.pose).bones if (lag := find_lag(bone))}
    bones, chains = cast(Any, armature.data).bones, []
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
        chains.append(SwingingChain(tuple(chain), tuple(lags[each] for each in chain)))
    return chains


def list_lag_bones(armature: bpy.types.Object) -> set[str]:
    """Names of all lag bones of an armature."""
    return {bone.name for bone in cast(Any, armature.data).bones if bone.supple.is_lag}


def remove_lag_bones(armature: bpy.types.Object, names: set[str]) -> None:
    """Remove lag bones, with what copies them, and their bone collection if it is empty then."""
    for bone in cast(Any, armature.pose).bones:
        constraint = _find_constraint(bone)
        if constraint is not None and constraint.subtarget in names:
            bone.constraints.remove(constraint)
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
