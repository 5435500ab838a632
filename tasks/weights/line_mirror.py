"""Lines of weight moved on both sides of the body alike."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from mathutils import Matrix

from ...deformers.weight_editing.lines import HANDLES, LineField, locate_handles
from ..character import object_to_armature
from .lines import Joint, WeightLines

NEIGHBORS = 3
"""Vertices that a handle's place on the other side is told by."""


def add_mirrored(bones: Sequence[str], armature: bpy.types.Object) -> list[str]:
    """Names of bones, and after them those of the bones of the other side that the armature has."""
    flipped = [bpy.utils.flip_name(name) for name in bones]
    return list(dict.fromkeys([*bones, *(name for name in flipped if name in armature.data.bones)]))


def mirror_moves(lines: WeightLines, joint: Joint, armature: bpy.types.Object) -> None:
    """Move the lines of the bone of the other side, where that is among the lines, as those of a joint were moved.

    Sides are those of the armature's X axis. Handles of the two sides need not lie alike: what is moved is the spline.
    """
    other = bpy.utils.flip_name(lines.names[joint.bone])
    twin = next((one for one in lines.joints if lines.names[one.bone] == other), None)
    if twin is None or twin is joint:
        return
    mixing = lines.mixings.get((twin.bone, joint.bone))
    if mixing is None:
        space = object_to_armature(lines.obj, armature)
        flip = np.array(space.inverted_safe() @ Matrix.Scale(-1.0, 4, (1.0, 0.0, 0.0)) @ space, np.float64)
        mixing = _find_mixing(lines.points, twin.field, joint.field, flip)
        lines.mixings[twin.bone, joint.bone] = mixing
    size = (twin.field.line_count, HANDLES)
    twin.offsets[:] = (mixing @ joint.offsets.ravel()).reshape(size)
    twin.widths[:] = np.exp(mixing @ np.log(joint.widths.ravel())).reshape(size)


def _find_mixing(points: np.ndarray, field: LineField, other: LineField, flip: np.ndarray) -> np.ndarray:
    """What handles of a field take of those of another, shape (L * HANDLES, L' * HANDLES), once `flip` brings it there.

    `points`, shape (V, 3), are those of the mesh at rest.
    """
    still = np.zeros((field.line_count, HANDLES))
    places = locate_handles(field, field.shares, field.level, still).take(points[field.vertices])
    places = places @ flip[:3, :3].T + flip[:3, 3]
    near_line = np.argsort(np.abs(other.distances))[: 4000 * other.line_count]
    away = np.linalg.norm(places[:, None] - points[other.vertices[near_line]], axis=2)
    nearest = np.argsort(away, axis=1)[:, :NEIGHBORS]
    weights = 1.0 / (np.take_along_axis(away, nearest, axis=1) + 1e-9 * other.reach)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("hn,hnk->hk", weights, other.basis[near_line[nearest]])
