"""Folds and thickness of the skin around bent joints: what viewers dislike in a bend, in two numbers."""

from __future__ import annotations

import numpy as np

from ..geometry.mesh_laplacian import drop_degenerate, find_edges
from ..geometry.solid import vertex_areas, weld
from ..geometry.vectors import measure_edges, normalize
from ..rig.rest import Joints, Weights, normalize_weights

# Skin is measured so near to the joints, in limb radii.
REACH = 2.0

# Only folds deeper than this count, and if the pose has changed them by more; deeper than the last counts no more.
VALLEY, MIN_CHANGE, MAX_DEPTH = np.radians(30.0), np.radians(20.0), 2.0

# A bone of less weight is none of a vertex's bones.
MIN_WEIGHT = 0.1

# Skin nearer to its bone counts as this near, in limb radii.
MIN_DISTANCE = 0.1


def find_near(points: np.ndarray, centers: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Find skin near joints.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest.
    centers, radii : float arrays, shapes (J, 3), (J,)
        Of the bent joints, and of their limbs, in the unit of the points.

    Returns
    -------
    bool array, shape (V,)
    """
    distances = np.linalg.norm(np.asarray(points)[:, None] - centers, axis=2)
    return (distances < REACH * np.asarray(radii)).any(axis=1)


class FoldMeter:
    """Skin near joints at rest, to be measured in poses, by any methods.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Armature space.
    triangles : int array, shape (T, 3)
        Counter-clockwise from outside. Vertices at one position count as joined.
    joints : Joints
        With `tails`.
    near : bool array, shape (V,)
        From `find_near`.
    radius : float
        Of the limb, in the unit of the points.
    """

    def __init__(
        self,
        points: np.ndarray,
        triangles: np.ndarray,
        weights: Weights,
        joints: Joints,
        near: np.ndarray,
        radius: float,
    ) -> None:
        points, count = np.asarray(points, np.float64), len(joints.parents)
        self.radius, self.near = radius, np.flatnonzero(near)
        self._heads, self._tails = np.asarray(joints.centers), np.asarray(joints.tails)
        self._triangles = drop_degenerate(weld(points)[np.asarray(triangles)])
        edges, across = find_edges(self._triangles)
        owners, uses = np.argsort(across.ravel(), kind="stable") // 3, np.bincount(across.ravel(), minlength=len(edges))
        chosen = np.flatnonzero((uses == 2) & near[edges].all(axis=1))
        starts = (np.cumsum(uses) - uses)[chosen]
        self._edges, pairs = edges[chosen], np.stack([owners[starts], owners[starts + 1]], axis=1)
        used, self._sides = np.unique(pairs, return_inverse=True)
        self._sides = self._sides.reshape(-1, 2)  # NumPy 2.0 alone gives it this shape
        self._triangles = self._triangles[used]
        self._folds = self._measure_folds(points)
        self._areas = vertex_areas(points, np.asarray(triangles))[self.near]
        own = normalize_weights(weights, len(points), count)
        rows = np.full(len(points), -1)
        rows[self.near] = np.arange(len(self.near))
        used = (rows[own.vertices] >= 0) & (own.joints < count)
        dense = np.zeros((len(self.near), max(count, 2)))
        np.add.at(dense, (rows[own.vertices[used]], own.joints[used]), own.values[used])
        self._bones = np.argsort(-dense, axis=1, kind="stable")[:, :2]
        self._counts = np.take_along_axis(dense, self._bones, axis=1) > MIN_WEIGHT
        self._distances = self._measure_distances(points, self._heads, self._tails)

    def measure(self, posed: np.ndarray, rest_to_pose: np.ndarray) -> tuple[float, float]:
        """Measure a pose.

        Parameters
        ----------
        posed : float array, shape (V, 3)
            Armature space.
        rest_to_pose : float array, shape (B, 4, 4)

        Returns
        -------
        crease : float
            Length of new deep folds in limb radii, each times its depth beyond `VALLEY` in radians.
        thickness : float
            Root mean square of log2 of the distance from the bones over that at rest, by area.
        """
        posed = np.asarray(posed, np.float64)
        folds = self._measure_folds(posed)
        depths = np.clip(-folds - VALLEY, 0.0, MAX_DEPTH) * (np.abs(folds - self._folds) > MIN_CHANGE)
        crease = float((measure_edges(posed, self._edges) * depths).sum() / self.radius)
        heads, tails = (
            np.einsum("bij,bj->bi", rest_to_pose[:, :3, :3], ends) + rest_to_pose[:, :3, 3]
            for ends in (self._heads, self._tails)
        )
        changes = np.log2(self._measure_distances(posed, heads, tails) / self._distances)
        total = max(float(self._areas.sum()), 1e-30)
        return crease, float(np.sqrt((np.square(changes) * self._areas).sum() / total))

    def _measure_folds(self, points: np.ndarray) -> np.ndarray:
        """Angle between the two triangles of each edge, radians, valleys below 0: (E,)."""
        corners = points[self._triangles]
        normals = normalize(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
        middles, (first, second) = corners.mean(axis=1), self._sides.T
        angles = np.arccos(np.clip((normals[first] * normals[second]).sum(axis=1), -1.0, 1.0))
        return np.where(((middles[second] - middles[first]) * normals[first]).sum(axis=1) > 0.0, -angles, angles)

    def _measure_distances(self, points: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
        """Distances of the skin near the joints to the nearer of its bones, (n,); the least for skin without bones."""
        found, points = np.full(len(self.near), np.inf), points[self.near]
        for bones, counts in zip(self._bones.T, self._counts.T, strict=True):
            bones = np.minimum(bones, len(heads) - 1)  # a single bone has no second
            start, along = heads[bones], (tails - heads)[bones]
            shares = ((points - start) * along).sum(axis=1) / np.maximum(np.square(along).sum(axis=1), 1e-12)
            away = points - start - np.clip(shares, 0.0, 1.0)[:, None] * along
            found = np.where(counts, np.minimum(found, np.linalg.norm(away, axis=1)), found)
        return np.maximum(np.where(np.isinf(found), 0.0, found), MIN_DISTANCE * self.radius)
