"""New armatures: bones from arrays, and actions that move them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...deformers import SkinningError
from ...deformers.engine_copy.bone_motion import BoneMotion
from ..animation.curves import Curve
from ..owned import Tag, is_marked, mark

# Of a bone; from 5.0 on, poses have it, which Edit Mode leaves alone
SELECTION = [flag for flag in ("select", "select_head", "select_tail") if flag in bpy.types.Bone.bl_rna.properties]


def new_armature(
    name: str, bones: Sequence[str], rests: np.ndarray, lengths: np.ndarray, parents: np.ndarray
) -> bpy.types.Object:
    """A new armature object in no collection.

    Raises SkinningError if Blender is in a state in which no armature can be edited.

    Parameters
    ----------
    bones : sequence of str
        Names, in any order; each differs from the others.
    rests : float array, shape (N, 4, 4)
        At rest, armature space: rotations and translations.
    lengths : float array, shape (N,)
    parents : int array, shape (N,)
        -1 for none.
    """
    data = bpy.data.armatures.new(name)
    obj = bpy.data.objects.new(name, data)
    try:
        with editing_bones(obj) as edit_bones:
            made = []
            for bone, rest, length in zip(bones, rests.tolist(), lengths.tolist(), strict=True):
                new = edit_bones.new(bone)
                new.tail = 0.0, length, 0.0
                new.matrix = Matrix(rest)
                made.append(new)
            for new, parent in zip(made, parents.tolist(), strict=True):
                new.parent = made[parent] if parent >= 0 else None
        for bone in cast(Any, obj.pose).bones:
            bone.rotation_mode = "QUATERNION"
    except BaseException:
        bpy.data.armatures.remove(data)  # and its object
        raise
    return obj


@contextmanager
def editing_bones(obj: bpy.types.Object) -> Iterator[Any]:
    """The edit bones of an armature; the active object is restored afterward.

    Raises SkinningError if Blender is in a state in which no armature can be edited.

    Parameters
    ----------
    obj : Object
        An armature, hidden or in no collection, too.
    """
    context = bpy.context
    scene, layer = context.scene, context.view_layer
    before = layer.objects.active
    mode = before.mode if before is not None else "OBJECT"
    if mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    selected = list(context.selected_objects)
    flags = [(bone.name, [getattr(bone, flag) for flag in SELECTION]) for bone in cast(Any, obj.data).bones]
    is_guest, hidden = obj not in layer.objects.values(), obj.hide_viewport  # a linked one may have its name
    if is_guest:
        scene.collection.objects.link(obj)
    is_hidden, obj.hide_viewport = obj.hide_get(), False
    obj.hide_set(False)
    try:
        layer.objects.active = obj
        if bpy.ops.object.mode_set(mode="EDIT") != {"FINISHED"}:
            raise SkinningError("No armature can be edited now: go to Object Mode, and try again")
        try:
            yield cast(Any, obj.data).edit_bones
        finally:
            bpy.ops.object.mode_set(mode="OBJECT")
    finally:
        for name, values in flags:  # 4.2 deselects the tail of a bone whose child is removed
            for flag, value in zip(SELECTION, values, strict=True):
                if name in cast(Any, obj.data).bones:
                    setattr(cast(Any, obj.data).bones[name], flag, value)
        obj.hide_set(is_hidden)
        obj.hide_viewport = hidden
        if is_guest:
            scene.collection.objects.unlink(obj)
        layer.objects.active = before
        for other in selected:
            other.select_set(True)
        if mode != "OBJECT":
            bpy.ops.object.mode_set(mode=mode)


def put_aside(armature: bpy.types.Object, names: Iterable[str], collection_name: str) -> None:
    """Have bones in a hidden bone collection of Supple's, and in no other."""
    data = cast(Any, armature.data)
    found = (each for each in data.collections_all if each.name.startswith(collection_name) and _is_aside(each))
    collection = next(found, None)
    if collection is None:
        active = data.collections.active_index
        collection = data.collections.new(collection_name)
        mark(collection, Tag.ASIDE)
        collection.is_visible, data.collections.active_index = False, active
    for name in names:
        bone = data.bones[name]
        for other in list(bone.collections):
            other.unassign(bone)
        collection.assign(bone)


def _is_aside(collection: Any) -> bool:
    """Whether a bone collection is one of Supple's; one of an earlier Supple has no bones but its own."""
    bones = [bone.supple for bone in collection.bones]
    return is_marked(collection, Tag.ASIDE) or (bool(bones) and all(bone.is_lag or bone.is_handle for bone in bones))


def remove_put_aside(armature: bpy.types.Object, names: Iterable[str]) -> None:
    """Remove such bones that are still there, and collections of Supple's that are empty then."""
    data = cast(Any, armature.data)
    aside = [collection.name for collection in data.collections_all if _is_aside(collection)]
    with editing_bones(armature) as edit_bones:
        for name in names:
            if name in edit_bones:
                edit_bones.remove(edit_bones[name])
    for name in aside:
        if not len((collection := data.collections_all[name]).bones):
            data.collections.remove(collection)


def read_rests(armature: bpy.types.Object, names: Sequence[str]) -> np.ndarray:
    """Rest matrices of bones of these names, armature space, float64, shape (N, 4, 4)."""
    bones = cast(Any, armature.data).bones
    return np.array([bones[name].matrix_local for name in names], np.float64).reshape(-1, 4, 4)


def follow_rotation(armature: bpy.types.Object, bone: str, source: str, share: float) -> None:
    """Have a bone take a share of the rotation of another, in the form that the VRM add-on writes as a rule.

    Parameters
    ----------
    bone, source : str
        Names of bones that have the same rest and parent.
    share : float
        0 to 1.
    """
    constraint = cast(Any, armature.pose.bones[bone].constraints.new("COPY_ROTATION"))
    constraint.target, constraint.subtarget = armature, source
    constraint.owner_space = constraint.target_space = "LOCAL"
    constraint.mix_mode = "ADD"
    constraint.influence = share


def list_bone_curves(bones: Sequence[str], motion: BoneMotion, frames: np.ndarray, rows: np.ndarray) -> list[Curve]:
    """The curves of moving bones; constant channels have none.

    Parameters
    ----------
    motion : BoneMotion
        Of them.
    frames : int array, shape (n,)
    rows : int array, shape (n,)
        Row of each frame in the motion.
    """
    channels = (
        ("location", motion.locations, 0.0, 1e-7),
        ("rotation_quaternion", motion.rotations, None, 0.0),
        ("scale", motion.scales, 1.0, 1e-6),
    )
    curves = []
    for number, name in enumerate(bones):
        for channel, values, idle, least in channels:
            if idle is not None and np.abs(values[:, number] - idle).max(initial=0.0) <= least:
                continue
            path = f'pose.bones["{bpy.utils.escape_identifier(name)}"].{channel}'
            columns = values[rows, number].T
            curves += [Curve(path, index, frames, column, name) for index, column in enumerate(columns)]
    return curves
