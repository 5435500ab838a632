"""Posed copies: plain meshes that stand in their characters' stead while a pose is corrected."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.animation.correction_drivers import find_reading_bone, read_local_rotations
from ...bridge.files.writing import parse_json
from ...bridge.meshes.copies import copy_posed
from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.posed_copies import Record, show_in_local_views, write_record
from ...bridge.rigs.armatures import read_pose_names
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..left_out import LeftOut, sort_out
from ..skin.poses import find_skeleton
from ..subject.character import find_method_in_use, find_skinned
from ..subject.corrected import as_numbers
from ..subject.stack import SkinnedObject, check_has_vertices, check_not_linked
from .names import follow_names, rename
from .posed_skin import bound_skins, read_posed_skin
from .poses import parse_bone_pose, read_bone_pose

# Entries by which a matrix differs from its location, rotation and scale if it is sheared
SHEARED = 1e-5


@dataclass(frozen=True)
class State:
    """The armature in the corrected pose.

    Attributes
    ----------
    pose : str
        Of all bones, as `read_bone_pose` gives it.
    reading : dict of str to str
        For each deforming bone, the bone that rotates at its joint.
    rotations : dict of str to list of float
        Of each bone against its rest and its parent, (w, x, y, z).
    method : str
        Key of the method that deforms the skin.
    """

    pose: str
    reading: dict[str, str]
    rotations: dict[str, list[float]]
    method: str

    def pack(self) -> str:
        """As text."""
        return json.dumps([self.pose, self.reading, self.rotations, self.method])

    @classmethod
    def of(cls, copy: bpy.types.Object) -> State:
        """That of a posed copy; raises SkinningError if it has none."""
        try:
            return cls._unpack(settings_of(copy).corrected_pose)
        except (ValueError, TypeError, AttributeError, SkinningError) as error:
            raise SkinningError(
                f"The stored pose of '{copy.name}' is damaged: press Discard, and correct the pose again"
            ) from error

    @classmethod
    def _unpack(cls, text: str) -> State:
        pose, reading, rotations, method = parse_json(text)
        parse_bone_pose(pose)
        if not isinstance(method, str) or not {*reading, *reading.values()} <= rotations.keys():
            raise ValueError(text)
        return cls(pose, reading, {bone: as_numbers(one, 4).tolist() for bone, one in rotations.items()}, method)

    def follow_names(self, armature: bpy.types.Object) -> State:
        """The state by the present names of the bones, whose order is unchanged.

        Raises
        ------
        SkinningError
            If some were added or deleted.
        """
        former, present = list(self.rotations), list(read_pose_names(armature))
        if len(former) != len(present):
            raise SkinningError(
                f"'{armature.name}' has {len(present)} bones now, but had {len(former)} when the correction was "
                "started: press Discard, and correct the pose again"
            )
        names = dict(zip(former, present, strict=True))
        pose = json.dumps(rename(parse_bone_pose(self.pose), names))
        reading = {names[bone]: names[other] for bone, other in self.reading.items()}
        return State(pose, reading, rename(self.rotations, names), self.method)


def begin(
    objects: Sequence[bpy.types.Object], layer: bpy.types.ViewLayer, key: str = ""
) -> tuple[list[bpy.types.Object], LeftOut]:
    """Put posed copies in the place of meshes, in the pose that is shown.

    Parameters
    ----------
    objects : sequence of Object
        Meshes that an armature deforms, bound or not.
    layer : ViewLayer
        In which they are hidden meanwhile.
    key : str
        The correction that is to be edited; "" for a new one.

    Returns
    -------
    list of Object
        The copies, selected; the first is active.
    LeftOut
        Meshes that cannot be corrected.

    Raises
    ------
    SkinningError
        If no mesh can be corrected; nothing was changed.
    """
    if not objects:
        raise SkinningError("Nothing to correct: select a mesh that has an Armature modifier, or its armature")

    def read(obj: bpy.types.Object) -> tuple[SkinnedObject, Record, State]:
        one = check_correctable(obj)
        record = read_posed_skin(one, bpy.context.evaluated_depsgraph_get())
        return one, record, _read_state(one, bpy.context.evaluated_depsgraph_get())

    found, left_out = sort_out(objects, read)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for other in list(layer.objects.selected):
        other.select_set(False, view_layer=layer)
    copies = []
    for one, record, state in found:
        copy = copy_posed(one.obj, f"{one.obj.name} Posed", record.points)
        write_record(mesh_of(copy), record)
        _put_in_place(copy, one.obj, depsgraph)
        settings = settings_of(copy)
        settings.corrected, settings.corrected_key, settings.corrected_pose = one.obj, key, state.pack()
        copies.append(copy)
    for (one, *_), copy in zip(found, copies, strict=True):
        one.settings.posed_copy, one.settings.is_corrected = copy, True
        for collection in one.obj.users_collection:
            collection.objects.link(copy)
        show_in_local_views(copy, one.obj)
        one.obj.hide_set(True, view_layer=layer)
        copy.select_set(True, view_layer=layer)
    layer.objects.active = copies[0]
    return copies, left_out


def _put_in_place(copy: bpy.types.Object, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
    """Have a copy stand where its character stands: by the same parent if no location, rotation and scale do it."""
    matrix = obj.evaluated_get(depsgraph).matrix_world.copy()
    copy.matrix_world = matrix
    if obj.parent is not None and np.abs(np.array(Matrix.LocRotScale(*matrix.decompose()) - matrix)).max() > SHEARED:
        copy.parent, copy.parent_type, copy.parent_bone = obj.parent, obj.parent_type, obj.parent_bone
        copy.matrix_parent_inverse, copy.matrix_basis = obj.matrix_parent_inverse, obj.matrix_basis


def find_posed_copy(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The posed copy of a mesh that is being corrected; None if it was deleted, and for a duplicate of the mesh."""
    copy = settings_of(obj).posed_copy
    return copy if copy is not None and copy.users_scene and settings_of(copy).corrected == obj else None


def check_correctable(obj: bpy.types.Object) -> SkinnedObject:
    """A mesh with its armature; raises SkinningError if no shape key can correct its pose."""
    check_not_linked(obj)
    if settings_of(obj).corrected is not None:
        raise SkinningError(f"'{obj.name}' is what you sculpt: press Keep or Discard")
    if find_posed_copy(obj) is not None:
        raise SkinningError(f"'{obj.name}' is already being corrected: press Keep or Discard first")
    check_has_vertices(obj)
    skinned = find_skinned(obj)
    check_takes_keys(obj)
    follow_names(obj)
    return skinned


def check_takes_keys(obj: bpy.types.Object) -> None:
    """Raise SkinningError if a mesh can get no shape key that is its own, and shown."""
    settings, mesh = settings_of(obj), mesh_of(obj)
    check_own_mesh(obj)
    if mesh.users > 1 + mesh.use_fake_user:
        raise SkinningError(
            f"The mesh of '{obj.name}' has {mesh.users - mesh.use_fake_user} users, which would all get its shape "
            "keys: make the mesh single-user"
        )
    if settings.bake != "NONE":
        raise SkinningError(f"'{obj.name}' is deformed by a bake: go back to live first")
    keys = mesh.shape_keys
    if keys is not None and not keys.use_relative:
        raise SkinningError(f"The shape keys of '{obj.name}' are absolute: make them relative")
    if keys is not None and obj.show_only_shape_key:
        raise SkinningError(f"A shape key of '{obj.name}' is pinned: switch Solo Active Shape Key off")


def check_own_mesh(obj: bpy.types.Object) -> None:
    """Raise SkinningError if the shape keys of a mesh cannot be changed in this file."""
    mesh = mesh_of(obj)
    if mesh.override_library is not None or not mesh.is_editable:
        raise SkinningError(f"The mesh of '{obj.name}' is linked from another file: make it local, to add shape keys")


def _read_state(skinned: SkinnedObject, depsgraph: bpy.types.Depsgraph) -> State:
    armature = skinned.armature
    evaluated = armature.evaluated_get(depsgraph)
    skeleton = find_skeleton(armature)
    parents = skeleton.joints.parents[skeleton.first_joints]
    reading = {
        bone: find_reading_bone(evaluated, bone, skeleton.name_joint(int(parent)))
        for bone, parent in zip(skeleton.names, parents, strict=True)
    }
    rotations = read_local_rotations(evaluated, skeleton.pose_names)
    named = dict(zip(skeleton.pose_names, np.asarray(rotations, float).tolist(), strict=True))
    return State(read_bone_pose(armature), reading, named, find_method_in_use(skinned))


def stop(objects: Sequence[bpy.types.Object], layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Correct meshes no more: `discard`, also where their posed copies were deleted."""
    copies = [settings_of(obj).posed_copy for obj in objects]
    shown = discard([copy for copy in copies if copy is not None], layer)
    alone = [obj for obj in objects if obj not in shown]
    for obj in alone:
        release(obj, layer)
    return _choose([*shown, *alone], layer)


def discard(copies: Sequence[bpy.types.Object], layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Take posed copies away, and show their characters again.

    Returns
    -------
    list of Object
        The characters, selected; the first is active.
    """
    shown = []
    for copy in copies:
        obj = settings_of(copy).corrected
        for other in [other for other in bpy.data.objects if settings_of(other).posed_copy == copy]:
            settings_of(other).posed_copy, settings_of(other).is_corrected = None, False  # also of a duplicate
        bpy.data.meshes.remove(mesh_of(copy))  # and its object
        if obj is not None:
            release(obj, layer)
            shown.append(obj)
    return _choose(shown, layer)


def _choose(shown: list[bpy.types.Object], layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Select objects, the first as the active one."""
    present = [obj for obj in shown if obj in layer.objects.values()]
    for obj in present:
        obj.select_set(True, view_layer=layer)
    if present:
        layer.objects.active = present[0]
    return shown


def release(obj: bpy.types.Object, layer: bpy.types.ViewLayer) -> None:
    """Show a character whose posed copy is gone."""
    settings: Any = settings_of(obj)
    settings.posed_copy, settings.is_corrected = None, False
    bound_skins.forget(obj)
    if obj in layer.objects.values():
        obj.hide_set(False, view_layer=layer)
