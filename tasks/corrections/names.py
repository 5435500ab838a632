"""Follow renamed bones and shape keys of corrections: drivers do so by themselves, stored names do not."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import bpy

from ...bridge.animation.correction_drivers import describe_drivers, read_driving_bones
from ...bridge.changes import Changes
from ...bridge.meshes.data import mesh_of
from ...bridge.per_object import PerObject
from ...bridge.rigs.armatures import read_pose_names
from ...deformers import SkinningError
from ...settings.corrections import CorrectionSettings
from ...settings.objects import settings_of
from ..subject.stack import armature_modifiers
from .poses import parse_bone_pose

# Shape keys, and bones by armature, of each mesh with corrections when these last followed
_followed: PerObject[tuple] = PerObject()


def follow(changes: Changes) -> None:
    """Follow shape keys and bones that were renamed; that none was is seen by reading their names."""
    for obj in bpy.data.objects if changes.data and not changes.is_render else ():
        if obj.type != "MESH" or obj.library is not None or obj.data.is_editmode or not settings_of(obj).corrections:
            continue
        keys = obj.data.shape_keys
        bones = [read_pose_names(other.object) for other in armature_modifiers(obj) if other.object is not None]
        names = tuple(keys.key_blocks.keys()) if keys is not None else (), bones
        if _followed.find(obj) != names:
            _followed.keep(obj, names)
            follow_names(obj)


def follow_names(obj: bpy.types.Object) -> None:
    """Bring the stored names of a mesh's corrections up to the present ones of shape keys and bones."""
    entries = list(settings_of(obj).corrections)
    blocks = mesh_of(obj).shape_keys
    if blocks is None or not entries:
        return
    found = _find_keys(obj, entries, set(blocks.key_blocks.keys()))
    copy = settings_of(obj).posed_copy
    if copy is not None and settings_of(copy).corrected_key in found:
        settings_of(copy).corrected_key = found[settings_of(copy).corrected_key]
    followed = [(entry, found[entry.name]) for entry in entries if entry.name in found]
    renamed: dict[str, str] = {}
    for (entry, name), bones in zip(followed, read_driving_bones(obj, [key for _, key in followed]), strict=True):
        former = entry.bones.split("\n")
        if name != entry.name:
            entry.name = name
        if len(bones) == len(former) and list(bones) != former:
            renamed |= {old: new for old, new in zip(former, bones, strict=True) if old != new}
            entry.bones = "\n".join(bones)
    for entry in entries if renamed else ():
        with suppress(SkinningError):  # that is said where the pose is asked for
            entry.pose = json.dumps(rename(parse_bone_pose(entry.pose), renamed))


def _find_keys(obj: bpy.types.Object, entries: Sequence[CorrectionSettings], present: set[str]) -> dict[str, str]:
    """The shape keys of corrections, by the names that these have: those of the same driver, else of the same name."""
    drivers, found = describe_drivers(obj), {}
    for entry in entries:
        if entry.name in present and drivers.get(entry.name) == entry.driven:
            found[entry.name] = entry.name
    for entry in entries:
        if entry.name not in found:
            taken = set(found.values())
            alike = [key for key, text in drivers.items() if text == entry.driven and key not in taken]
            own = [key for key in alike if "\n".join(read_driving_bones(obj, [key])[0]) == entry.bones]
            if alike:
                found[entry.name] = (own or alike)[0]
    for entry in entries:
        if entry.name in present and entry.name not in found and entry.name not in found.values():
            found[entry.name] = entry.name  # somebody has changed its driver
    return found


def rename(values: Mapping[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    """Apply a mapping of names."""
    return {renamed.get(name, name): value for name, value in values.items()}
