"""Skin that a pose brings together is kept apart inside the elastic solid."""

from __future__ import annotations

import numpy as np

from ..geometry.neighbors import find_pairs
from ..geometry.solid import area_vectors
from ..geometry.solid_skin import sample_triangles
from ..geometry.vectors import measure_lengths, normalize
from .body import Body
from .lattice import Carried, Lattice, embed

# In cells: apart at rest, and near when posed, for skin to touch; aside of the other's normal; the gap that is kept
MIN_APART, MAX_NEAR, MAX_ASIDE, GAP = 3.0, 2.5, 1.2, 0.15

# Skin touches if it comes nearer by this factor, and if its normals oppose by this cosine.
MIN_APPROACH, MAX_COSINE = 2.2, -0.1


class Contact:
    """Points of the skin, one in a cell, that push each other apart.

    Parameters
    ----------
    triangles : int array, shape (T, 3)
        Skin that is solved.
    weight : float
        Against 1 for shape.

    Attributes
    ----------
    diagonal : float64 array, shape (N,)
        At most what the contacts of a node add to a matrix: |a - b|^2 is at most 2 |a|^2 + 2 |b|^2.
    """

    def __init__(self, body: Body, lattice: Lattice, triangles: np.ndarray, weight: float) -> None:
        samples, owners = sample_triangles(body.points, triangles, 0.5 * lattice.step)
        first = np.unique(np.floor(samples / lattice.step), axis=0, return_index=True)[1]
        self._rest, corners = samples[first], triangles[owners[first]]
        self._touching = embed(body, lattice, self._rest, body.bones[corners[:, 0]])
        used, faces = np.unique(corners, return_inverse=True)
        self._faces = faces.reshape(-1, 3)
        self._skin = embed(body, lattice, body.points[used], body.bones[used])
        self._step, self._weight = lattice.step, weight
        slack = 2.0 * weight * np.abs(self._touching.shares)
        self.diagonal = np.bincount(self._touching.corners.ravel(), slack.ravel(), len(lattice.nodes))

    def find_near(self, nodes: np.ndarray) -> np.ndarray:
        """Pairs of points that posed nodes, shape (N, 3), bring near each other: int array, shape (2, K)."""
        reach, far = np.ones(len(self._rest)), MIN_APART * self._step
        pairs = find_pairs(self._touching.place(nodes), reach, 0.5 * far)
        pairs = pairs[measure_lengths(self._rest[pairs[:, 0]] - self._rest[pairs[:, 1]]) > far]
        return np.concatenate([pairs, pairs[:, ::-1]]).T

    def find_contacts(self, nodes: np.ndarray, pairs: np.ndarray) -> tuple[Carried, np.ndarray]:
        """Find the point that each faces, of pairs, shape (2, K).

        Returns
        -------
        ends : Carried
            The C points, and then those that they face.
        planes : float array, shape (C, 3)
            Normals of the latter.
        """
        (first, second), step = pairs, self._step
        points = self._touching.place(nodes)
        normals = normalize(area_vectors(self._skin.place(nodes), self._faces))
        gaps, planes = points[first] - points[second], normals[second]
        away, depths = measure_lengths(gaps), -np.einsum("ki,ki->k", gaps, planes)
        aside = measure_lengths(gaps + depths[:, None] * planes)
        facing = np.einsum("ki,ki->k", normals[first], planes) < MAX_COSINE
        apart = measure_lengths(self._rest[first] - self._rest[second]) > MIN_APPROACH * away
        close = (aside < MAX_ASIDE * step) & (away < MAX_NEAR * step) & (depths > -GAP * step)
        near = np.flatnonzero(facing & apart & close)
        near = near[np.lexsort((second[near], depths[near], first[near]))]
        near = near[np.unique(first[near], return_index=True)[1]]
        ends = pairs[:, near].ravel()
        touching = self._touching
        return Carried(touching.corners[ends], touching.shares[ends], touching.trust[ends]), planes[near]

    def find_forces(self, nodes: np.ndarray, contacts: tuple[Carried, np.ndarray]) -> np.ndarray:
        """Forces on nodes, shape (N, 3), that push both sides out equally if they are behind each other's planes."""
        ends, planes = contacts
        first, second = np.split(ends.place(nodes), 2)
        depths = GAP * self._step - np.einsum("ki,ki->k", first - second, planes)
        pushes = self._weight * np.maximum(depths, 0.0)[:, None] * planes
        pushes = ends.shares[:, :, None] * np.concatenate([pushes, -pushes])[:, None]
        which = ends.corners.ravel()
        return np.stack([np.bincount(which, pushes[..., axis].ravel(), len(nodes)) for axis in range(3)], axis=1)
