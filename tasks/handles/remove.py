"""Points and cages that are none any more: their bones go, and their weights go back to the bones that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.meshes.weights import read_weights, write_weights
from ...bridge.rigs.armatures import read_skeleton
from ...bridge.rigs.handles import clear_parent, list_handle_bones, remove_handle_bones
from ...deformers import SkinningError
from ...deformers.rig.skeleton import distances_to_bones
from ...settings.objects import settings_of
from ..subject.character import has_armature_modifier
from ..subject.stack import armature_modifiers
from .read import check_armature


def remove_handles(armature: bpy.types.Object, objects: Iterable[bpy.types.Object] | None = None) -> list[str]:
    """Take the bones of points and cages back, with constraints, vertex groups, and parents that adding them has set.

    Raises SkinningError if there are none, or the armature or a mesh cannot be changed; nothing is changed then.

    Parameters
    ----------
    objects : Objects, optional
        Points and cages; all of the armature if not given.
    """
    followed, chosen = list_handle_bones(armature), None if objects is None else set(objects)
    names = [name for name, obj in followed.items() if chosen is None or obj in chosen]
    if not names:
        raise SkinningError(f"'{armature.name}' has no handles to remove: select its points or cages")
    check_armature(armature)
    meshes = [obj for obj in bpy.data.objects if has_armature_modifier(obj, armature)]
    is_own = settings_of(armature).is_handle and len(names) == len(cast(Any, armature.data).bones)
    _check_meshes(meshes, names, is_own)
    targets = {obj for name, obj in followed.items() if name in names and obj is not None}
    _hand_back(armature, meshes, names)
    remove_handle_bones(armature, names)
    for obj in targets:
        if settings_of(obj).is_parented_by_supple:
            clear_parent(obj)
        settings_of(obj).is_handle = settings_of(obj).is_parented_by_supple = False
    if is_own:
        for mesh in meshes:
            for modifier in [one for one in armature_modifiers(mesh) if one.object == armature]:
                mesh.modifiers.remove(modifier)
        bpy.data.armatures.remove(cast(Any, armature.data))  # and its object
    return [f"Removed {len(targets)} handles and {len(names)} bones."]


def _check_meshes(meshes: Sequence[bpy.types.Object], names: Sequence[str], is_own: bool) -> None:
    for mesh in meshes:
        has_groups = any(name in mesh.vertex_groups for name in names)
        if has_groups and (mesh.library is not None or cast(Any, mesh.data).library is not None):
            raise SkinningError(f"'{mesh.name}' is linked from another file, with weights for handles: make it local")
        if is_own and settings_of(mesh).is_bound:
            raise SkinningError(f"'{mesh.name}' is bound and would have no armature left: unbind it first")


def _hand_back(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object], names: Sequence[str]) -> None:
    """Give the weights of bones to those that carry them, and remove their vertex groups."""
    carriers = _find_carriers(armature, names)
    for mesh in meshes:
        own = [name for name in names if name in mesh.vertex_groups]
        for carrier in sorted({carriers[name] for name in own if carriers[name]}):
            carried = [name for name in own if carriers[name] == carrier]
            weights = read_weights(mesh, [carrier, *carried]).sum(axis=1, keepdims=True)
            write_weights(mesh, [carrier], np.minimum(weights, 1.0))
        for name in own:
            mesh.vertex_groups.remove(mesh.vertex_groups[name])


def _find_carriers(armature: bpy.types.Object, names: Sequence[str]) -> dict[str, str]:
    """The bone that an object is parented to, else the nearest that is no handle; "" if there is none."""
    skeleton, followed = read_skeleton(armature), list_handle_bones(armature)
    others = np.flatnonzero(~skeleton.handles)
    found = {}
    for name in names:
        obj = followed[name]
        if obj is not None and obj.parent == armature and obj.parent_type == "BONE":
            bone = cast(Any, armature.data).bones.get(obj.parent_bone)
            if bone is not None and bone.use_deform and not bone.supple.is_handle:
                found[name] = bone.name
                continue
        head = np.array(cast(Any, armature.data).bones[name].head_local, np.float64)
        gaps = distances_to_bones(head, skeleton.envelopes.heads[others], skeleton.envelopes.tails[others])
        found[name] = skeleton.names[others[gaps.argmin()]] if others.size else ""
    return found
