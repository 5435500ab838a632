"""Stored corrections: shape keys with their drivers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

import bpy
import numpy as np

from ...bridge.animation.correction_drivers import describe_drivers, drive_keys, release_keys
from ...bridge.meshes.data import mesh_of, read_key_points, write_key_points
from ...bridge.names import free_name
from ...deformers import SkinningError
from ...deformers.corrections.readers import RampReader, Reader, find_reader
from ...settings.corrections import CorrectionSettings
from ...settings.objects import settings_of
from ..subject.corrected import list_bones, read_ramps, read_rotations


@dataclass(frozen=True, eq=False)
class Correction:
    """A correction to store.

    Attributes
    ----------
    name : str
        Of the shape key: that of a correction replaces it.
    offsets : float array, shape (V, 3)
        Offsets at rest for this pose, object space.
    bones : tuple of str
        Bones whose rotation drives it.
    rotations : float array, shape (J, 4)
        Of these bones, in this pose.
    pose : str
        Of all bones: see `read_bone_pose`.
    reader : str
        Of `READER_ITEMS`.
    method : str
        Key of the method that deforms the mesh.
    source : str
        Key of the method it is made after; "" for a user's own.
    ramps : float array, shape (J, 4), or None
        Of these bones, for `RampReader`: they drive it instead of its pose, whatever other corrections there are.
    """

    name: str
    offsets: np.ndarray
    bones: tuple[str, ...]
    rotations: np.ndarray
    pose: str
    reader: str
    method: str
    source: str = ""
    ramps: np.ndarray | None = None


def store(obj: bpy.types.Object, armature: bpy.types.Object, correction: Correction) -> str:
    """Add a correction to a mesh, or replace that of its name.

    In its pose the mesh gets exactly these offsets: other corrections of these bones become 0 there, and stay as they
    are at their own poses.

    Returns
    -------
    str
        Name of the shape key.

    Raises
    ------
    SkinningError
        If the pose cannot be told from rest, or from that of another correction; nothing was changed.
    """
    (correction,) = _with_free_names(obj, [correction])
    group = list_group(obj, correction.bones, correction.ramps is not None)
    before = _read_values(obj, group, correction.rotations)
    reader, names = find_next_reader(obj, [correction])
    offsets = np.array(correction.offsets, np.float64)
    for entry, value in zip(group, before, strict=True):
        if value:
            offsets += value * read_offsets(obj, entry.name)
    name = _write(obj, correction, offsets)
    _drive(obj, armature, correction.bones, [*names[:-1], name], reader)
    return name


def store_all(
    obj: bpy.types.Object, armature: bpy.types.Object, corrections: Sequence[Correction], replaced: Sequence[str] = ()
) -> list[str]:
    """Add corrections of the same bones to a mesh, or replace those of their names, all at once.

    Unlike with `store`, each is the whole correction of these bones at its pose.

    Parameters
    ----------
    replaced : sequence of str
        Corrections of these bones to replace: those of other names are removed.

    Returns
    -------
    list of str
        Names of the shape keys.

    Raises
    ------
    SkinningError
        As `store`.
    """
    corrections = _with_free_names(obj, corrections)
    reader, names = find_next_reader(obj, corrections, replaced)
    for name in set(replaced) - {correction.name for correction in corrections}:
        remove(obj, armature, name)
    keys = [_write(obj, correction, correction.offsets) for correction in corrections]
    _drive(obj, armature, corrections[0].bones, [*names[: -len(keys)], *keys], reader)
    return keys


def _drive(
    obj: bpy.types.Object, armature: bpy.types.Object, bones: tuple[str, ...], names: Sequence[str], reader: Reader
) -> None:
    """Drive corrections by their bones, and store how to recognize them."""
    drive_keys(obj, armature, bones, names, reader)
    found = describe_drivers(obj)
    for name in names:
        find_correction(obj, name).driven = found[name]


def _write(obj: bpy.types.Object, correction: Correction, offsets: np.ndarray) -> str:
    """Write the shape key of a correction, with these offsets, and its entry; its name."""
    group = list_group(obj, correction.bones, correction.ramps is not None)
    is_known = any(entry.name == correction.name for entry in group)
    key = _ensure_key(obj, correction.name)
    write_key_points(key, read_key_points(key.relative_key) + np.asarray(offsets, np.float32))
    entry = find_correction(obj, key.name) if is_known else _add_entry(obj, key.name)
    entry.bones = "\n".join(correction.bones)
    entry.rotations = json.dumps(np.asarray(correction.rotations, float).tolist())
    entry.pose, entry.reader, entry.method = correction.pose, correction.reader, correction.method
    entry.source = correction.source
    entry.ramps = "" if correction.ramps is None else json.dumps(np.asarray(correction.ramps, float).tolist())
    return key.name


def find_next_reader(
    obj: bpy.types.Object, corrections: Sequence[Correction], replaced: Sequence[str] = ()
) -> tuple[Reader, list[str]]:
    """The reader of some bones' corrections after more of them are stored.

    Parameters
    ----------
    corrections : sequence of Correction
        Of the same bones, all with ramps or none.
    replaced : sequence of str
        Corrections that will be removed.

    Returns
    -------
    Reader
    list of str
        Names of all corrections, in the order of its values.

    Raises
    ------
    SkinningError
        If poses cannot be told apart.
    """
    new = {*replaced, *(correction.name for correction in corrections)}
    group = list_group(obj, corrections[0].bones, corrections[0].ramps is not None)
    others = [entry for entry in group if entry.name not in new]
    names = [*(entry.name for entry in others), *(one.name for one in corrections)]
    if corrections[0].ramps is not None:
        return RampReader(np.array([*map(read_ramps, others), *(one.ramps for one in corrections)])), names
    rotations = [*(read_rotations(entry) for entry in others), *(one.rotations for one in corrections)]
    asked = [*(entry.reader for entry in others), *(one.reader for one in corrections)]
    return find_reader(np.array(rotations), asked, names), names


def _with_free_names(obj: bpy.types.Object, corrections: Sequence[Correction]) -> list[Correction]:
    """Corrections of some bones, renamed if corrections of other bones have their names."""
    kind, found = (corrections[0].bones, corrections[0].ramps is not None), []
    taken = {entry.name for entry in settings_of(obj).corrections if (list_bones(entry), bool(entry.ramps)) != kind}
    for correction in corrections:
        found.append(replace(correction, name=free_name(correction.name, taken)))
        taken.add(found[-1].name)
    return found


def keys_of(obj: bpy.types.Object) -> bpy.types.Key:
    """The shape keys of a mesh that has some."""
    return cast(bpy.types.Key, mesh_of(obj).shape_keys)


def list_group(obj: bpy.types.Object, bones: tuple[str, ...], by_ramps: bool = False) -> list[CorrectionSettings]:
    """Corrections of a mesh that these bones bring in, by ramps or by poses, and whose shape keys are there."""
    keys = mesh_of(obj).shape_keys
    names = keys.key_blocks.keys() if keys is not None else ()
    joined = "\n".join(bones)
    own = [entry for entry in settings_of(obj).corrections if entry.bones == joined and bool(entry.ramps) == by_ramps]
    return [entry for entry in own if entry.name in names]


def _is_sound(entry: CorrectionSettings) -> bool:
    """Whether its rotations can be read; nothing can bring in a correction without them."""
    with suppress(SkinningError):
        _ = read_ramps(entry) if entry.ramps else read_rotations(entry)
        return True
    return False


def find_group_reader(group: Sequence[CorrectionSettings]) -> Reader:
    """The reader of corrections of `list_group`; raises SkinningError if their stored data is damaged."""
    if group[0].ramps:
        return RampReader(np.array([read_ramps(entry) for entry in group]))
    names, asked = [entry.name for entry in group], [entry.reader for entry in group]
    return find_reader(np.array([read_rotations(entry) for entry in group]), asked, names)


def _read_values(obj: bpy.types.Object, group: list[CorrectionSettings], rotations: np.ndarray) -> list[float]:
    """Values of a group's corrections where its bones have these rotations, shape (J, 4)."""
    if not group:
        return []
    values = find_group_reader(group).read(np.asarray(rotations, np.float64)[None])[0]
    blocks = keys_of(obj).key_blocks
    return [0.0 if blocks[entry.name].mute else float(value) for entry, value in zip(group, values, strict=True)]


def read_offsets(obj: bpy.types.Object, name: str) -> np.ndarray:
    """Offsets of a shape key at value 1, float64, shape (V, 3), object space."""
    key = keys_of(obj).key_blocks[name]
    return read_key_points(key).astype(np.float64) - read_key_points(key.relative_key)


def _ensure_key(obj: bpy.types.Object, name: str) -> bpy.types.ShapeKey:
    """The shape key of a correction, or a new one, whose name may get a number; with a Basis if there was no key."""
    keys = mesh_of(obj).shape_keys
    if keys is not None and name in keys.key_blocks and name in settings_of(obj).corrections:
        return keys.key_blocks[name]
    if keys is None:
        obj.shape_key_add(name="Basis", from_mix=False)
    key = obj.shape_key_add(name=name, from_mix=False)
    key.relative_key = keys_of(obj).reference_key
    key.value = 0.0
    return key


def _add_entry(obj: bpy.types.Object, name: str) -> CorrectionSettings:
    settings = settings_of(obj)
    stale = settings.corrections.find(name)
    if stale >= 0:  # its shape key was deleted
        settings.corrections.remove(stale)
    entry = settings.corrections.add()
    entry.name = name
    settings.active_correction = len(settings.corrections) - 1
    return entry


def find_correction(obj: bpy.types.Object, name: str) -> CorrectionSettings:
    """A correction by its name; raises SkinningError if there is none."""
    found = settings_of(obj).corrections.get(name)
    if found is None:
        raise SkinningError(f"'{obj.name}' has no correction '{name}': choose one from the list")
    return found


def remove(obj: bpy.types.Object, armature: bpy.types.Object | None, name: str) -> None:
    """Remove a correction and its shape key; the others of its bones take over what is between their poses.

    Raises
    ------
    SkinningError
        If there is none of this name.
    """
    settings, keys = settings_of(obj), mesh_of(obj).shape_keys
    entry = find_correction(obj, name)
    bones, by_ramps = list_bones(entry), bool(entry.ramps)
    group = list_group(obj, bones, by_ramps)
    if group:
        release_keys(obj, [other.name for other in group])
    settings.corrections.remove(settings.corrections.find(name))
    settings.active_correction = max(0, min(settings.active_correction, len(settings.corrections) - 1))
    if keys is not None and name in keys.key_blocks:
        obj.shape_key_remove(keys.key_blocks[name])
    rest = [other for other in list_group(obj, bones, by_ramps) if _is_sound(other)]
    if rest and armature is not None:
        _drive(obj, armature, bones, [other.name for other in rest], find_group_reader(rest))
    keys = mesh_of(obj).shape_keys
    if keys is not None and len(keys.key_blocks) == 1:
        obj.shape_key_clear()
