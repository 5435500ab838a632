"""Limbs that run into each other in poses and are no joint: an arm into ribs, a hand into a thigh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import FindNearest
from ..geometry.solid import area_vectors, vertex_normals
from ..geometry.winding_numbers import find_winding_numbers
from ..layers.limb_pairs import join_small_limbs
from ..layers.order import INSIDE

FindExits = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""From vertices (N,), a surface's points (V, 3), normals (V, 3) and triangles (T, 3) to the triangles (N,) that rays
along their normals leave it through, -1 for none, and distances (N,): as `bridge.meshes.nearest.find_exits`."""

JOINT = 0.04
"""Distance from the other limb's skin at rest, in meters of a character of 1.8 m, up to which skin is of a joint."""

FARTHEST = 0.25
"""Length of a ray, in meters of a character of 1.8 m, up to which it can be in a limb and not in a gap of the mesh."""

LIFT = 1e-3
"""How far above its own skin a vertex is looked at, in those."""

EVERY = 4
"""Of so many vertices one is looked at to find the worst of many poses."""


@dataclass(frozen=True)
class Crossing:
    """Two limbs that run into each other in a pose.

    Attributes
    ----------
    limbs : tuple of 2 int
        As of `label_limbs`, the smaller first.
    joint, other : int
        Of the skin that lies in the other limb, and of that limb's skin above it: where most of it is.
    share : float
        Of the vertices of `joint` that lie in the other limb.
    depth : float
        Largest, below the other limb's skin.
    vertices : int array, shape (N,)
        That lie in the other limb, of either.
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
        """About the share of the vertices of posed points, shape (V, 3), that lie in another limb: quickly."""
        some = self._vertices[::EVERY]
        return len(self._find_crossed(posed, some)) / max(len(some), 1)

    def measure(self, posed: np.ndarray) -> list[Crossing]:
        """The pairs of limbs that run into each other in posed points, shape (V, 3)."""
        found = self._find_crossed(posed, self._vertices)
        joints, depths, apart = self._find_others(found, posed)
        above = posed[found] + LIFT * self._unit * vertex_normals(posed, self._triangles)[found]
        apart[apart] = find_winding_numbers(above[apart], posed, self._triangles) >= INSIDE
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
        """The nearest skin of another limb to vertices, shape (N,): its joints, its distances, and whether they count.

        They do where they are behind that skin, and far from that limb at rest.
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
            apart[into] = at_rest > JOINT * self._unit
        return joints, depths, apart

    def _find_crossed(self, posed: np.ndarray, vertices: np.ndarray) -> np.ndarray:
        """Those of the vertices, shape (N,), over which is skin of another limb that is no joint, perhaps."""
        exits, lengths = self._find_exits(vertices, posed, vertex_normals(posed, self._triangles), self._triangles)
        corners = self._triangles[exits]
        at_rest = np.linalg.norm(self._points[corners].mean(axis=1) - self._points[vertices], axis=1)
        limbs, reach = self._limbs[corners[:, 0]], FARTHEST * self._unit
        crossed = (exits >= 0) & (lengths < reach) & (at_rest > JOINT * self._unit)
        return vertices[crossed & (limbs >= 0) & (limbs != self._limbs[vertices])]
