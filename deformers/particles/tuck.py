"""Move skin back under tight clothes that it would pierce. The clothes keep their shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import FindNearest
from ..geometry.solid import area_vectors, find_rim, vertex_normals
from ..geometry.vectors import normalize, smooth_step

# Largest move of skin, in sizes of the body. If three times as much is needed, the cloth is somewhere else.
GIVE = 7e-3


@dataclass(frozen=True)
class Tuck:
    """Skin that a layer covers.

    Attributes
    ----------
    vertices : int array, shape (N,)
        Vertices of the body.
    corners, shares : int and float arrays, shape (N, 3)
        Triangle of the layer above each, and the barycentric coordinates of the nearest point on it.
    heights : float array, shape (N,)
        Height of the layer above the skin at rest, positive, in armature space.
    size : float
        Size of the body, in armature space.
    """

    vertices: np.ndarray
    corners: np.ndarray
    shares: np.ndarray
    heights: np.ndarray
    size: float

    def find_moves(self, body: np.ndarray, layer: np.ndarray) -> np.ndarray:
        """Find the moves of the skin to below the layer, float64, shape (N, 3), in armature space.

        `body` and `layer`, float arrays, shapes (V, 3), (L, 3): posed, in armature space.

        Notes
        -----
        With the height h in the pose, h0 at rest and g = min(h0, gap), the move against the triangle's normal is
        d = s(g - h) - s(g - h0). s is 0 below -k, (t + k)^2 / 4 k up to k, then t, with k = g / 2.
        """
        max_gap = 1.7e-3 * self.size
        triangles = layer[self.corners]
        normals = normalize(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]))
        above = np.einsum("nc,nci->ni", self.shares, triangles) - body[self.vertices]
        gaps = np.minimum(self.heights, max_gap)
        needed = _soften(gaps - np.einsum("ni,ni->n", normals, above), gaps) - _soften(gaps - self.heights, gaps)
        give = GIVE * self.size
        depths = np.minimum(needed, give) * (1.0 - smooth_step((needed / give - 1.0) / 2.0))
        return -np.maximum(depths, 0.0)[:, None] * normals


def _soften(values: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """Positive part of values, shape (N,), smooth over half a gap."""
    soft = 0.5 * gaps
    return np.where(values > soft, values, np.square(np.maximum(values + soft, 0.0)) / np.maximum(4.0 * soft, 1e-30))


def find_tuck(
    body: np.ndarray, body_triangles: np.ndarray, layer: np.ndarray, triangles: np.ndarray, find_nearest: FindNearest
) -> Tuck | None:
    """Find the skin that a tight layer covers at rest, or None.

    Body and layer are given by points, (V, 3) and (L, 3), in armature space, and triangles, (T, 3) and (U, 3).
    """
    if not len(triangles) or not len(body_triangles):
        return None
    size = float(np.ptp(body, axis=0).max())
    owners, shares, distances = find_nearest(body, layer, triangles)
    corners, faces = triangles[owners], normalize(area_vectors(layer, triangles))[owners]
    heights = np.einsum("ni,ni->n", faces, np.einsum("nc,nci->ni", shares, layer[corners]) - body)
    is_inner = (shares * ~find_rim(triangles, len(layer))[corners]).sum(axis=1) > 1e-3  # skin next to the cloth shows
    looks_alike = np.einsum("ni,ni->n", vertex_normals(body, body_triangles), faces) > 0.2
    covered = np.flatnonzero((distances < 0.014 * size) & (heights > 0.0) & is_inner & looks_alike)
    if not len(covered):
        return None
    return Tuck(covered, corners[covered], shares[covered], heights[covered], size)
