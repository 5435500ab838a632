"""Corrections for the panel and the buttons: their meshes, those being edited, and their problems."""

from __future__ import annotations

from collections.abc import Iterable
from math import acos, degrees
from typing import Any

import bpy
import numpy as np

from ...bridge.files.writing import parse_json
from ...deformers import METHODS, SkinningError
from ...settings.character import find_shown, list_meshes
from ...settings.objects import settings_of
from .character import find_method_in_use, has_armature_modifier
from .stack import find_deforming_modifier, resolve_skinned

# Source of the corrections that are flesh; that of earlier versions was made after Particles
FLESH, FORMER_FLESH = "FLESH", "PARTICLES"


def find_corrected(context: bpy.types.Context) -> bpy.types.Object | None:
    """The mesh whose corrections are shown.

    It is the active mesh; of a posed copy, its character; of an armature, the mesh that the Supple tab shows, or where
    that has no corrections, the first mesh that has some.
    """
    active = context.active_object
    if active is None or active.type not in ("MESH", "ARMATURE"):
        return None
    if active.type == "MESH":
        corrected = settings_of(active).corrected
        if corrected is not None:
            return corrected
        return active if has_armature_modifier(active) else None
    shown = find_shown(context)
    if shown is None or settings_of(shown).corrections:
        return shown
    return next((obj for obj in list_meshes(context) if settings_of(obj).corrections), shown)


def list_under_way(context: bpy.types.Context) -> list[bpy.types.Object]:
    """Meshes of the active character that are being corrected: each has a posed copy, which may be deleted."""
    mesh = find_corrected(context)
    armature = find_deforming_armature(mesh) if mesh is not None else None
    meshes = [mesh] if armature is None else list_meshes(context, armature)
    return [obj for obj in meshes if obj is not None and is_under_way(obj)]


def is_under_way(obj: bpy.types.Object) -> bool:
    """Whether a mesh is being corrected; its duplicate, which has the same settings, and is shown, is not."""
    settings = settings_of(obj)
    copy = settings.posed_copy
    return settings_of(copy).corrected == obj if copy is not None else settings.is_corrected and obj.hide_get()


def list_posed_copies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """Their posed copies, but for those that were deleted; the active one first."""
    copies = [settings_of(obj).posed_copy for obj in list_under_way(context)]
    return sorted(
        (copy for copy in copies if copy is not None and copy.users_scene),
        key=lambda copy: copy != context.active_object,
    )


def find_deforming_armature(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature that deforms a mesh, if any."""
    try:
        return find_deforming_modifier(obj).object
    except SkinningError:
        return None


def list_flesh(objects: Iterable[bpy.types.Object]) -> list[tuple[bpy.types.Object, str]]:
    """The corrections of meshes that are flesh, or were made after Particles."""
    sources = FLESH, FORMER_FLESH
    return [(obj, entry.name) for obj in objects for entry in settings_of(obj).corrections if entry.source in sources]


def find_key(obj: bpy.types.Object, name: str) -> bpy.types.ShapeKey | None:
    """A shape key of a mesh."""
    keys = obj.data.shape_keys
    return keys.key_blocks.get(name) if keys is not None else None


def is_driven(obj: bpy.types.Object, name: str) -> bool:
    """Whether a driver that works sets the value of a shape key."""
    animation = obj.data.shape_keys.animation_data
    driven = None if animation is None else animation.drivers.find(find_key(obj, name).path_from_id("value"))
    return driven is not None and driven.driver.is_valid and not driven.mute


def list_bones(correction: Any) -> tuple[str, ...]:
    """Names of the bones whose rotation brings a correction in."""
    return tuple(name for name in correction.bones.split("\n") if name)


def as_numbers(value: Any, *shape: int) -> np.ndarray:
    """Numbers of a shape, float64, out of JSON; raises ValueError for anything else."""
    try:
        found = np.array(value, np.float64)
    except (TypeError, OverflowError) as error:
        raise ValueError(value) from error
    if found.shape != shape or not np.isfinite(found).all():
        raise ValueError(value)
    return found


def read_rotations(correction: Any) -> np.ndarray:
    """Rotations of a correction's bones in its pose, shape (J, 4).

    Raises SkinningError if the file does not hold them.
    """
    return _read_rows(correction, correction.rotations)


def read_ramps(correction: Any) -> np.ndarray:
    """Ramps of a correction's bones, shape (J, 4), that drive it instead of its pose.

    Raises
    ------
    SkinningError
        If the file does not hold them.
    """
    return _read_rows(correction, correction.ramps)


def _read_rows(correction: Any, stored: str) -> np.ndarray:
    """Four numbers of each bone of a correction, (J, 4)."""
    try:
        return as_numbers(parse_json(stored), len(list_bones(correction)), 4)
    except ValueError as error:
        raise SkinningError(
            f"The stored data of correction '{correction.name}' is damaged: delete the correction, and make a new one"
        ) from error


def measure_angle(correction: Any) -> float:
    """How far the bone of a correction is rotated in its pose, degrees: the most of its bones."""
    try:
        return max(degrees(2.0 * acos(min(1.0, abs(rotation[0])))) for rotation in read_rotations(correction))
    except (SkinningError, ValueError):  # also where there is no bone
        return 0.0


def describe_problem(obj: bpy.types.Object, correction: Any) -> str:
    """The problem of a correction and its remedy; empty if it works."""
    if find_key(obj, correction.name) is None:
        return f"Shape key '{correction.name}' was deleted or renamed: restore its name, or delete the correction"
    if find_deforming_armature(obj) is None:
        return f"'{obj.name}' is not deformed by an armature: choose one in its Armature modifier"
    missing = [bone for bone in list_bones(correction) if bone not in find_deforming_armature(obj).data.bones]
    if missing:
        return f"Bone '{missing[0]}', which drives shape key '{correction.name}', was deleted: delete the correction"
    try:
        read_rotations(correction)
        if correction.ramps:
            read_ramps(correction)
    except SkinningError as error:
        return str(error)
    if not is_driven(obj, correction.name):
        return f"Shape key '{correction.name}' has lost its driver: undo that, or delete the correction"
    method = find_method_in_use(resolve_skinned(obj, find_deforming_modifier(obj)))
    if correction.method in METHODS and method in METHODS and correction.method != method:
        made, used = METHODS[correction.method].label, METHODS[method].label
        return (
            f"Made with {made}, but the skin is now deformed by {used}: check it with Go to Pose, and repair it with "
            "Edit Again"
        )
    return ""
