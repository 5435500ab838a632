"""Copies of a mesh that Mirror modifiers make, and the vertex groups of the other side that they follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...deformers.geometry.solid import weld
from ..subject.character import object_to_armature
from ..subject.stack import armature_modifiers
from .parts import WeightedSkin, is_shown
from .reports import count, list_names


@dataclass(frozen=True)
class Copies:
    """Copies of a mesh by Mirror modifiers before an armature deforms it.

    Attributes
    ----------
    transforms : tuple of float64 array, shape (4, 4)
        From the mesh to each copy, armature space.
    swaps_sides : bool
        Whether copies follow the bones of the other side: these bones need groups, even empty ones.
    """

    transforms: tuple[np.ndarray, ...]
    swaps_sides: bool

    def add_twins(self, used: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Bones with weight, and those of the other side that copies follow.

        Parameters
        ----------
        used : bool array, shape (B,)
            Bones with weight.
        pairs : int array, shape (B,)
            The bone of the other side.

        Returns
        -------
        bool array, shape (B,)
        """
        return used | used[pairs] if self.swaps_sides else used


def read_copies(obj: bpy.types.Object, armature: bpy.types.Object) -> Copies:
    """The copies that Mirror modifiers above an armature's modifier make."""
    space = np.array(object_to_armature(obj, armature), np.float64)
    transforms, swaps_sides = [np.eye(4)], False
    for modifier in _find_mirrors(obj, armature):
        around: Any = modifier.mirror_object
        to_plane = np.eye(4)
        if around is not None:
            to_plane = np.array(around.matrix_world.inverted_safe() @ obj.matrix_world, np.float64)
        to_plane = to_plane @ np.linalg.pinv(space)
        for axis in np.flatnonzero(modifier.use_axis).tolist():
            flip = np.eye(4)
            flip[axis, axis] = -1.0
            across = np.linalg.pinv(to_plane) @ flip @ to_plane
            transforms += [across @ transform for transform in transforms]
            swaps_sides |= modifier.use_mirror_vertex_groups
    return Copies(tuple(transforms[1:]), swaps_sides)


def _find_mirrors(obj: bpy.types.Object, armature: bpy.types.Object) -> list[Any]:
    """Mirror modifiers whose copies the armature deforms; none where it deforms the mesh as its parent, before all."""
    found = armature_modifiers(obj)
    own = [modifier for modifier in found if modifier.object == armature]
    own = own or [modifier for modifier in found if modifier.object is None]
    if not own and obj.parent == armature and obj.parent_type == "ARMATURE":
        return []
    above = obj.modifiers[: obj.modifiers.find(own[0].name)] if own else list(obj.modifiers)
    return [modifier for modifier in above if modifier.type == "MIRROR" and is_shown(modifier)]


def join_copies(skin: WeightedSkin, copies: Sequence[Copies]) -> tuple[np.ndarray, np.ndarray]:
    """Points, shape (V', 3), and triangles, shape (T', 3), of a skin, and after them those of its parts' copies.

    Triangles of a copy whose corners are all at positions of vertices before it are left out: a whole mesh that is
    mirrored onto itself gets no second skin.
    """
    points, triangles, starts = [skin.points], [skin.triangles], [0]
    end = len(points[0])
    for part, own in zip(skin.parts, copies, strict=True):
        for transform in own.transforms:
            points.append(part.points @ transform[:3, :3].T + transform[:3, 3])
            corners = part.triangles + end
            triangles.append(corners[:, ::-1] if np.linalg.det(transform[:3, :3]) < 0 else corners)
            starts.append(end)
            end += len(part.points)
    if len(points) == 1:
        return points[0], triangles[0]
    together = np.concatenate(points)
    first = weld(together)
    kept = [(first[corners] >= start).any(axis=1) for corners, start in zip(triangles, starts, strict=True)]
    return together, np.concatenate(triangles)[np.concatenate(kept)]


def complete_sides(
    obj: bpy.types.Object, armature: bpy.types.Object, names: Sequence[str], used: np.ndarray, pairs: np.ndarray
) -> list[str]:
    """Add the empty groups that a mesh's mirrored copies follow.

    Parameters
    ----------
    names : sequence of str, length B
    used : bool array, shape (B,)
        Bones that the mesh has weights for.
    pairs : int array, shape (B,)
        The bone of the other side.
    """
    wanted = read_copies(obj, armature).add_twins(used, pairs)
    added = [name for name, is_wanted in zip(names, wanted, strict=True) if is_wanted and name not in obj.vertex_groups]
    for name in added:
        obj.vertex_groups.new(name=name)
    if not added:
        return []
    groups = count(len(added), "empty group")
    return [f"Added {groups} to '{obj.name}' for the side made by its Mirror modifier: {list_names(added)}."]
