"""Skin patterns that move a mesh: heights along the normals of the posed skin, by angles of joints and compression."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_face_corners
from ...deformers import SkinningError
from ...deformers.geometry.ring_normals import Rings, estimate_normals, find_rings
from ...deformers.geometry.vectors import normalize
from ...deformers.patterns.compression import measure_compression
from ...deformers.patterns.heights import KINDS, displace_points, draw_heights
from ...deformers.rig.rest import Rest
from ...deformers.rig.surfaces import WeightedSurface
from ...settings.objects import settings_of
from ..patterns.maps import LaidPatterns, bind_points, read_angles
from ..patterns.read import is_displaced
from ..patterns.write import find_modifier


@dataclass(frozen=True, eq=False)
class Displacement:
    """Displacement of a mesh's vertices by patterns.

    Attributes
    ----------
    laid : LaidPatterns
        On the corners of the faces.
    corners : int array, shape (C,)
        The vertex of each corner.
    """

    obj: bpy.types.Object
    laid: LaidPatterns
    corners: np.ndarray
    rings: Rings

    def read(self, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
        """How much of each pattern the angles in the pose of a depsgraph bring out, shape (P,)."""
        return np.array(read_angles(self.obj, self.laid.patterns, depsgraph))

    def move(self, points: np.ndarray, amounts: np.ndarray) -> np.ndarray:
        """Posed points with their patterns, both of shape (V, 3), object space; amounts of shape (P,)."""
        if not amounts.any():
            return points
        count = len(points)
        compression = [measure_compression(layer, points) for layer in self.laid.measured.layers]
        drawn = draw_heights(self.laid.heights, self.laid.spread(amounts.tolist(), compression))[0]
        totals = np.bincount(self.corners, drawn, count)
        heights = totals / np.maximum(np.bincount(self.corners, minlength=count), 1)
        normals = normalize(estimate_normals(self.rings, points))
        return displace_points(points, normals, heights.astype(np.float32))


def find_displacement(obj: bpy.types.Object, rest: Rest) -> Displacement | None:
    """The patterns that move the vertices of a mesh; None if there are none, or they move a subdivided skin.

    `rest`: of it, with triangles.
    """
    settings = settings_of(obj)
    kinds = [kind for kind in KINDS if is_displaced(settings.pattern_display, kind)]
    used = {pattern.kind for pattern in settings.patterns}
    modifier = find_modifier(obj)
    if not used & set(kinds) or settings.pattern_level or modifier is None or not modifier.show_viewport:
        return None
    try:
        laid = bind_points(obj, kinds)
    except SkinningError:  # none of them is shown
        return None
    corners, _ = read_face_corners(mesh_of(obj))
    return Displacement(obj, laid, corners, find_rings(rest.points, WeightedSurface.of_rest(rest).triangles))
