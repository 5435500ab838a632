"""Skin under tight clothes gives way to them, where it would show through: the clothes keep their shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import FindNearest
from ..geometry.solid import area_vectors, find_rim, vertex_normals
from ..geometry.vectors import normalize, smooth_step

REACH = 0.014
"""Height of the cloth above the skin at rest, in sizes of the body, up to which it is tight."""

GAP = 1.7e-3
"""Height that is left of it in a pose, at most."""

GIVE = 7e-3
"""How far skin gives way at most. What would have to give three times as much gives nothing: it is somewhere else."""

ALIKE = 0.2
"""Cosine between the normals of skin and cloth from which on they look the same way."""

INNER = 1e-3
"""Share that vertices off the cloth's rim have in the nearest point, at least: what is beside the cloth shows."""


@dataclass(frozen=True)
class Tuck:
    """Skin that a layer covers.

    Attributes
    ----------
    vertices : int array, shape (N,)
        Of the body.
    corners : int array, shape (N, 3)
        Vertices of the layer's triangle above each.
    shares : float array, shape (N, 3)
        Where on that the nearest point is.
    heights : float array, shape (N,)
        Of the layer above the skin at rest, positive.
    size : float
        Of the body; all in armature space.
    """

    vertices: np.ndarray
    corners: np.ndarray
    shares: np.ndarray
    heights: np.ndarray
    size: float

    def find_moves(self, body: np.ndarray, layer: np.ndarray) -> np.ndarray:
        """How far the skin has to go to be under the layer, float64, shape (N, 3), armature space.

        Parameters
        ----------
        body, layer : float arrays, shapes (V, 3), (L, 3)
            Posed, armature space.

        Notes
        -----
        With the height h in the pose, h0 at rest and g = min(h0, gap): d = s(g - h) - s(g - h0), against the triangle's
        normal; s is 0 below -k, (t + k)^2 / 4 k up to k, then t, with k = g / 2.
        """
        triangles = layer[self.corners]
        normals = normalize(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]))
        above = np.einsum("nc,nci->ni", self.shares, triangles) - body[self.vertices]
        gaps = np.minimum(self.heights, GAP * self.size)
        needed = _soften(gaps - np.einsum("ni,ni->n", normals, above), gaps) - _soften(gaps - self.heights, gaps)
        give = GIVE * self.size
        depths = np.minimum(needed, give) * (1.0 - smooth_step((needed / give - 1.0) / 2.0))
        return -np.maximum(depths, 0.0)[:, None] * normals


def _soften(values: np.ndarray, gaps: np.ndarray) -> np.ndarray:
    """What of values is positive, smooth over half a gap; shape (N,)."""
    soft = 0.5 * gaps
    return np.where(values > soft, values, np.square(np.maximum(values + soft, 0.0)) / np.maximum(4.0 * soft, 1e-30))


def find_tuck(
    body: np.ndarray,
    body_triangles: np.ndarray,
    layer: np.ndarray,
    triangles: np.ndarray,
    find_nearest: FindNearest,
) -> Tuck | None:
    """The skin that a layer covers at rest; None where that is none.

    Parameters
    ----------
    body, layer : float arrays, shapes (V, 3), (L, 3)
        At rest, armature space.
    body_triangles, triangles : int arrays, shapes (T, 3), (U, 3)
    """
    if not len(triangles) or not len(body_triangles):
        return None
    size = float(np.ptp(body, axis=0).max())
    owners, shares, distances = find_nearest(body, layer, triangles)
    corners, faces = triangles[owners], normalize(area_vectors(layer, triangles))[owners]
    heights = np.einsum("ni,ni->n", faces, np.einsum("nc,nci->ni", shares, layer[corners]) - body)
    is_inner = (shares * ~find_rim(triangles, len(layer))[corners]).sum(axis=1) > INNER
    looks_alike = np.einsum("ni,ni->n", vertex_normals(body, body_triangles), faces) > ALIKE
    covered = np.flatnonzero((distances < REACH * size) & (heights > 0.0) & is_inner & looks_alike)
    if not len(covered):
        return None
    return Tuck(covered, corners[covered], shares[covered], heights[covered], size)
