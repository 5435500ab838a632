"""Limbs that run into each other in poses without a common joint: an arm into ribs, a hand into a thigh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import FindNearest
from ..geometry.solid import area_vectors, vertex_normals
from ..geometry.winding_numbers import find_winding_numbers
from ..layers.limb_pairs import join_small_limbs
from ..layers.order import MIN_WINDING

# From vertices (N,), a surface's points (V, 3), normals (V, 3) and triangles (T, 3) to the triangles (N,) through which
# rays along their normals leave it, -1 for none, and distances (N,): as `bridge.meshes.nearest.find_exits`.
FindExits = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

# All lengths in meters of a character of 1.8 m. Skin closer to the other limb at rest belongs to a joint.
MAX_JOINT_GAP = 0.04


@dataclass(frozen=True)
class Crossing:
    """Two limbs that run into each other in a pose.

    Attributes
    ----------
    limbs : tuple of 2 int
        From `label_limbs`, the smaller first.
    joint, other : int
        Joint with most of the skin inside the other limb, and joint of the other limb's skin above it.
    share : float
        Share of the vertices of `joint` inside the other limb.
    depth : float
        Largest depth below the other limb's skin.
    vertices : int array, shape (N,)
        Of either limb inside the other.
    """

    limbs: tuple[int, int]
    joint: int
    other: int
    share: float
    depth: float
    vertices: np.ndarray


class CrossingMeter:
    """The skin of a character at rest, to be measured in poses.

    Parameters
    ----------
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
    owners : int array, shape (V,)
        The joint of each vertex, -1 for none.
    parents : int array, shape (B,)
        Of the joints.
    unit : float
        Length that stands for a meter on a character of 1.8 m.
    """

    def __init__(
        self,
        points: np.ndarray,
        triangles: np.ndarray,
        owners: np.ndarray,
        parents: np.ndarray,
        unit: float,
        find_exits: FindExits,
        find_nearest: FindNearest,
    ) -> None:
        self._points, self._triangles, self._owners, self._unit = points, triangles, owners, unit
        self._of_joints = join_small_limbs(points, owners, parents, unit)
        self._limbs = np.append(self._of_joints, -1)[owners]
        self._find_exits, self._find_nearest = find_exits, find_nearest
        used = np.unique(triangles[(self._limbs[triangles] >= 0).all(axis=1)])
        normals = vertex_normals(points, triangles)
        self._vertices = used[find_exits(used, points, normals, triangles)[0] < 0]

    def estimate(self, posed: np.ndarray) -> float:
        """Quickly estimate the share of the vertices of posed points, shape (V, 3), inside another limb."""
        estimate_step = 4  # Step between tested vertices to find the worst of many poses
        some = self._vertices[::estimate_step]
        return len(self._find_crossed(posed, some)) / max(len(some), 1)

    def measure(self, posed: np.ndarray) -> list[Crossing]:
        """Find pairs of limbs that run into each other in posed points, shape (V, 3)."""
        found = self._find_crossed(posed, self._vertices)
        joints, depths, apart = self._find_others(found, posed)
        lift = 1e-3  # Distance of the tested point above a vertex's own skin
        above = posed[found] + lift * self._unit * vertex_normals(posed, self._triangles)[found]
        apart[apart] = find_winding_numbers(above[apart], posed, self._triangles) >= MIN_WINDING
        limbs = np.stack([self._limbs[found], self._of_joints[joints]], axis=1)
        pairs, crossings = np.sort(limbs, axis=1), []
        for pair in np.unique(pairs[apart], axis=0).tolist():
            own = np.flatnonzero((pairs == pair).all(axis=1) & apart)
            joint = int(np.bincount(self._owners[found[own]]).argmax())
            of_joint = own[self._owners[found[own]] == joint]
            share = len(of_joint) / int((self._owners[self._vertices] == joint).sum())
            other = int(np.bincount(joints[of_joint]).argmax())
            depth = float(depths[own].max())
            crossings.append(Crossing((pair[0], pair[1]), joint, other, share, depth, found[own]))
        return crossings

    def _find_others(self, vertices: np.ndarray, posed: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The nearest skin of another limb to vertices, shape (N,): joints, distances, and whether the vertices count.

        They count if they are behind that skin, and far from that limb at rest.
        """
        joints, depths = np.zeros(len(vertices), int), np.zeros(len(vertices))
        apart, of_triangles = np.zeros(len(vertices), bool), self._limbs[self._triangles]
        normals = area_vectors(posed, self._triangles)
        for limb in np.unique(self._limbs[vertices]).tolist():
            own = np.flatnonzero(self._limbs[vertices] == limb)
            skin = np.flatnonzero(((of_triangles != limb) & (of_triangles >= 0)).all(axis=1))
            triangles, shares, depths[own] = self._find_nearest(posed[vertices[own]], posed, self._triangles[skin])
            corners = self._triangles[skin[triangles]]
            offsets = posed[vertices[own]] - np.einsum("nc,nci->ni", shares, posed[corners])
            joints[own] = self._owners[corners[:, 0]]
            apart[own] = np.einsum("ni,ni->n", offsets, normals[skin[triangles]]) < 0.0
        others = self._of_joints[joints]
        for limb in np.unique(others[apart]).tolist():
            into = np.flatnonzero(apart & (others == limb))
            skin = self._triangles[(of_triangles == limb).any(axis=1)]
            at_rest = self._find_nearest(self._points[vertices[into]], self._points, skin)[2]
            apart[into] = at_rest > MAX_JOINT_GAP * self._unit
        return joints, depths, apart

    def _find_crossed(self, posed: np.ndarray, vertices: np.ndarray) -> np.ndarray:
        """Candidates among vertices, shape (N,): those with skin of another limb without a common joint above them."""
        exits, lengths = self._find_exits(vertices, posed, vertex_normals(posed, self._triangles), self._triangles)
        corners = self._triangles[exits]
        at_rest = np.linalg.norm(self._points[corners].mean(axis=1) - self._points[vertices], axis=1)
        max_ray = 0.25  # A longer ray passes a gap of the mesh.
        limbs, reach = self._limbs[corners[:, 0]], max_ray * self._unit
        crossed = (exits >= 0) & (lengths < reach) & (at_rest > MAX_JOINT_GAP * self._unit)
        return vertices[crossed & (limbs >= 0) & (limbs != self._limbs[vertices])]
