"""Handles that were planned, written to the file: bones with constraints, and parents for the objects."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import bpy
import numpy as np

from ...bridge.restoring import undone_on_failure
from ...bridge.rigs.handles import (
    add_handle_bones,
    follow_object,
    follow_vertex,
    parent_to_bone,
    parent_to_object,
)
from ...settings.objects import settings_of
from ..installed.feature import Subject
from ..weights.parts import add_armature_modifier
from .plan import HandlesPlan


def write_handles(subject: Subject, plan: HandlesPlan) -> list[str]:
    """Add the bones of handles, to an armature of the meshes' own if they have none; returns sentences."""
    armature, meshes = subject.armature, subject.meshes
    objects: Any = bpy.data.objects  # by name and library: none, as of this file
    names = [name for handle in plan.handles for name in handle.names]
    with undone_on_failure() as undo:
        rig = armature or _new_armature(meshes[0], undo)
        add_handle_bones(rig, names, np.concatenate([handle.positions for handle in plan.handles]), plan.length)
        for handle in plan.handles:
            obj = objects[handle.obj, None]
            settings_of(obj).is_handle = True
            if handle.cage is None:
                follow_object(rig, handle.names[0], obj)
                continue
            for vertex, name in enumerate(handle.names):
                follow_vertex(rig, name, obj, vertex)
    if armature is None:
        for mesh in meshes:
            add_armature_modifier(mesh, rig)
    lines = [f"'{rig.name}' has {len(names)} more bones, which follow handles: use Automatic Weights on the skin."]
    for handle in plan.handles:
        if not handle.is_loose:
            continue
        obj = objects[handle.obj, None]
        if handle.carrier:
            parent_to_bone(obj, rig, handle.carrier)
        else:
            parent_to_object(obj, meshes[0])
        settings_of(obj).is_parented_by_supple = True
        lines.append(f"'{handle.obj}' was parented to '{handle.carrier or meshes[0].name}'.")
    return lines


def _new_armature(mesh: bpy.types.Object, undo: ExitStack) -> bpy.types.Object:
    """An armature of a mesh's own, that goes where the mesh goes."""
    data = bpy.data.armatures.new(f"{mesh.name} Handles")
    undo.callback(bpy.data.armatures.remove, data)  # and its object
    armature = bpy.data.objects.new(data.name, data)
    for collection in mesh.users_collection:
        collection.objects.link(armature)
    armature.parent = mesh
    settings_of(armature).is_handle = True
    bpy.context.view_layer.update()
    return armature
