"""The offsets of corrections in any pose: their drivers, evaluated without Blender."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.rigs.armatures import Skeleton
from ...bridge.rigs.rest_bones import read_rest_bones
from ...deformers import SkinningError
from ...deformers.corrections.readers import RampReader, Reader
from ...deformers.corrections.rotation_choice import read_joint_rotations
from ...settings.objects import settings_of
from ..subject.corrected import is_driven, list_bones
from .from_joints import find_joint
from .keys import Correction, find_group_reader, keys_of, list_group, read_offsets


@dataclass(frozen=True, eq=False)
class DrivenKeys:
    """Corrections of a mesh that the same bones drive.

    Attributes
    ----------
    joints : tuple of int, length J
        Of these bones.
    axes : float array, shape (J, 3, 3)
        Of the bones at rest: columns, armature space.
    reader : Reader
    offsets : float array, shape (K, V, 3)
        Offsets of each key, object space; 0 if it is muted.
    """

    joints: tuple[int, ...]
    axes: np.ndarray
    parents: np.ndarray
    reader: Reader
    offsets: np.ndarray

    def find_offsets(self, rest_to_pose: np.ndarray) -> np.ndarray | float:
        """Their offsets in a pose, (B, 4, 4): (V, 3), or 0 if all are zero."""
        rotations = [
            read_joint_rotations(rest_to_pose[None], self.parents, joint, axes)[0]
            for joint, axes in zip(self.joints, self.axes, strict=True)
        ]
        values = self.reader.read(np.array(rotations)[None])[0]
        used = np.flatnonzero(values)
        return np.einsum("k,kvi->vi", values[used], self.offsets[used]) if used.size else 0.0


def read_driven(obj: bpy.types.Object, armature: bpy.types.Object, skeleton: Skeleton) -> list[DrivenKeys]:
    """The corrections of a mesh that its drivers bring in; those that nothing drives any more are left out.

    Parameters
    ----------
    skeleton : Skeleton
    """
    found = []
    for bones, by_ramps in dict.fromkeys((list_bones(one), bool(one.ramps)) for one in settings_of(obj).corrections):
        group = [entry for entry in list_group(obj, bones, by_ramps) if is_driven(obj, entry.name)]
        if not group:
            continue
        with suppress(SkinningError):  # damaged, or of bones that are gone
            reader = find_group_reader(group)
            offsets = _read_all(obj, [entry.name for entry in group], len(obj.data.vertices))
            found.append(DrivenKeys(*_find_joints(armature, skeleton, bones), reader, offsets))
    return found


def plan_driven(armature: bpy.types.Object, skeleton: Skeleton, corrections: Sequence[Correction]) -> list[DrivenKeys]:
    """Corrections with ramps, which depend on no others, as they will be once they are stored."""
    groups: dict[tuple[str, ...], list[Correction]] = {}
    for correction in corrections:
        groups.setdefault(correction.bones, []).append(correction)
    found = []
    for bones, group in groups.items():
        reader = RampReader(np.array([correction.ramps for correction in group]))
        offsets = np.array([correction.offsets for correction in group], np.float32)
        found.append(DrivenKeys(*_find_joints(armature, skeleton, bones), reader, offsets))
    return found


def _find_joints(
    armature: bpy.types.Object, skeleton: Skeleton, names: Sequence[str]
) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
    bones = read_rest_bones(armature)
    joints = tuple(find_joint(armature, skeleton, bones, name).joint for name in names)
    return joints, np.array([bones.axes[bones.index(name)] for name in names]), skeleton.joints.parents


def _read_all(obj: bpy.types.Object, names: Sequence[str], vertices: int) -> np.ndarray:
    """Offsets of shape keys, shape (K, V, 3), float32: zero for muted ones."""
    found = np.zeros((len(names), vertices, 3), np.float32)
    for number, name in enumerate(names):
        if not keys_of(obj).key_blocks[name].mute:
            found[number] = read_offsets(obj, name)
    return found
