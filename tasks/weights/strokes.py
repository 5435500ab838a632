"""Weights smoothed through the solid, under a brush."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_points
from ...bridge.meshes.weights import read_weights
from ...deformers import SkinningError
from ...deformers.geometry.neighbors import find_nearest
from ...deformers.weight_editing.strokes import add_dab
from .edits import has_mask, smoothing
from .group_writer import GroupWriter
from .lines import read_posed_points
from .parts import read_skins
from .targets import Scope, aim, keep_chosen

# Smallest change of a weight that is seen as a color
VISIBLE = 4e-3


class SmoothStroke:
    """A stroke of a brush that smooths weights of a mesh through the solid that its skin encloses.

    The weights are smoothed once, when the stroke begins; under the brush they come nearer to that. To compute them
    takes a second or more: touches are remembered meanwhile. Raises SkinningError if weights cannot be edited.

    Parameters
    ----------
    obj : Object
        A mesh with an Armature modifier. With a paint mask, only its selected vertices change; with X Mirror, the
        brush touches both sides.
    depsgraph : Depsgraph
        With the pose in which the brush touches the skin.
    repeats : int
        How far weights are smoothed: as in `edits.smooth_weights`.

    Attributes
    ----------
    smoothing : callable
        Computes the smooth weights, shape (V, B), for `prepare`. Touches nothing of Blender's.
    """

    def __init__(self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, repeats: int) -> None:
        if mesh_of(obj).is_editmode:
            raise SkinningError(f"The mesh of '{obj.name}' is in Edit Mode with another object: leave Edit Mode first")
        skins, _ = read_skins([obj], needs_faces=False)
        target = keep_chosen([aim(skin, Scope(has_mask(obj))) for skin in skins])[0]
        self.smoothing = smoothing(target, "SOLID", 1.0, repeats)
        self._obj, self._skin = obj, target.skin
        self._writer: GroupWriter | None = None
        matrix = np.array(obj.evaluated_get(depsgraph).matrix_world)
        self._points = read_posed_points(obj, depsgraph).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3]
        self._opposite = None
        if obj.use_mesh_mirror_x:
            points = read_points(mesh_of(obj))
            self._opposite = find_nearest(points * (-1.0, 1.0, 1.0), points, 1)[0][:, 0]
        self._shares = np.zeros(len(self._points))

    def prepare(self, goal: np.ndarray) -> None:
        """Get ready to write: `goal` is what `smoothing` has computed."""
        skin = self._skin
        differs = goal != skin.weights
        self._rows, columns = np.flatnonzero(differs.any(axis=1)), np.flatnonzero(differs.any(axis=0))
        members = read_weights(self._obj, skin.names, absent=np.nan)
        self._writer = GroupWriter(self._obj, skin.names, members, self._rows, columns)
        self._change = goal[np.ix_(self._rows, columns)] - self._writer.first

    @property
    def is_prepared(self) -> bool:
        return self._writer is not None

    @property
    def changed(self) -> int:
        """How many vertices have changed."""
        return int(np.count_nonzero(self._shares[self._rows]))

    def touch(self, center: Sequence[float] | np.ndarray, radius: float, strength: float) -> None:
        """Touch the skin; nothing is written before `write`.

        Parameters
        ----------
        center : 3 floats
            World space.
        radius : float
            Of the brush, world space.
        strength : float
            0 to 1.
        """
        before, after = self._shares, add_dab(self._shares, self._points, np.array(center), radius, strength)
        if self._opposite is not None:
            after = np.maximum(after, before + (after - before)[self._opposite])
        self._shares = np.minimum(after, 1.0)

    def write(self, is_last: bool = True) -> None:
        """Write the weights, once it is prepared; while the stroke goes on, only those that have visibly changed."""
        if self._writer is None:
            return
        weights = (self._writer.first + self._shares[self._rows, None] * self._change).astype(np.float32)
        if not is_last:
            weights = np.where(np.abs(weights - self._writer.written) < VISIBLE, self._writer.written, weights)
        self._writer.write(weights)

    def restore(self) -> None:
        """Bring the weights back."""
        if self._writer is None:
            return
        self._writer.write(self._writer.first)
        self._writer.remove_new_groups()
