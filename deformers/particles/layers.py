"""What lies on flesh, and what is no flesh: layers ride on the body's skin, parts that one bone holds stay rigid."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..geometry.neighbors import find_nearest
from ..geometry.solid import label_islands

BODY_VERTICES = 20
"""Vertices that follow the flesh, from which on an island is body and no layer."""

FOLLOWS = 0.3
"""Share of the particles' motion from which on a vertex follows it."""

CARRIERS = 12
"""Vertices of the body that a vertex of a layer rides on."""

REACH = 0.02, 0.04
"""Distance from the body, in sizes of it, from which on a layer rides less, and from which on not at all."""

SHARED = 0.2, 0.6
"""Weight that both have in common from which on a vertex rides on one of the body, and fully."""

OF_ONE_MIND = 0.3, 0.7
"""Square of the mean change below, over the mean of its squares, from which on a layer takes it, and fully."""

WIDE = 0.35, 0.7
"""Change, in radii of the limb, from which on a layer takes less of it, and from which on nothing."""

HOLDS = 0.95
"""Weight from which on one bone holds a vertex by itself."""

LEAST_VERTICES = 4
"""Of a part that stays rigid."""


@dataclass(frozen=True)
class Riders:
    """Vertices that ride on the skin of a body.

    Attributes
    ----------
    vertices : int array, shape (R,)
    carriers : int array, shape (R, n)
        Vertices of the body that each rides on.
    shares : float array, shape (R, n)
        Of each: they sum to how much it rides, 0 to 1.
    radii : float array, shape (R,)
        Of the limb, in the unit of the changes.
    """

    vertices: np.ndarray
    carriers: np.ndarray
    shares: np.ndarray
    radii: np.ndarray

    @property
    def rides(self) -> np.ndarray:
        """How much each rides, 0 to 1, shape (R,)."""
        return self.shares.sum(axis=1)

    def find_changes(self, changes: np.ndarray) -> np.ndarray:
        """What they take, (R, 3), of changes of the body's vertices, (V, 3): where these are of one mind."""
        below, totals = changes[self.carriers], np.maximum(self.rides, 1e-9)
        mean = np.einsum("rn,rni->ri", self.shares, below)
        squares = np.einsum("rn,rn->r", self.shares, np.square(below).sum(axis=2)) / totals
        lengths = np.linalg.norm(mean, axis=1)
        alike = np.square(lengths / totals) / np.maximum(squares, 1e-30)
        wide = lengths / np.maximum(self.radii, 1e-30)
        return (_rise(OF_ONE_MIND, alike) * (1.0 - _rise(WIDE, wide)))[:, None] * mean


@dataclass(frozen=True)
class Layers:
    """Layers of a mesh that ride on the rest of it, and parts that stay rigid.

    Attributes
    ----------
    riders : Riders or None
        None where nothing lies on anything.
    rigid : tuple of int arrays
        The vertices of each part that one bone holds.
    """

    riders: Riders | None
    rigid: tuple[np.ndarray, ...]

    def carry(self, skin: np.ndarray, joints: np.ndarray) -> None:
        """Take layers along, and let rigid parts move as a whole.

        Parameters
        ----------
        skin : float32 array, shape (V, 3)
            The posed skin; changed.
        joints : float32 array, shape (V, 3)
            As the joints have it.
        """
        if self.riders is not None:
            own = self.riders.vertices
            skin[own] = joints[own] + self.riders.find_changes(skin - joints)
        for part in self.rigid:
            if (skin[part] != joints[part]).any():
                skin[part] = move_rigidly(joints[part], skin[part])


def _rise(bounds: tuple[float, float], values: np.ndarray) -> np.ndarray:
    low, high = bounds
    return np.clip((values - low) / (high - low), 0.0, 1.0)


def move_rigidly(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Where the rigid motion takes points that fits best to others, both of shape (n, 3) (Kabsch 1976)."""
    points = np.asarray(points, np.float64)
    before, after = points.mean(axis=0), others.mean(axis=0, dtype=np.float64)
    left, _, right = np.linalg.svd((points - before).T @ (others - after))
    left[:, 2] *= np.sign(np.linalg.det(left @ right))
    return (points - before) @ (left @ right) + after


def find_layers(
    points: np.ndarray, welded: np.ndarray, triangles: np.ndarray, weights: np.ndarray, follows: np.ndarray,
    radii: np.ndarray,
) -> Layers:  # fmt: skip
    """The layers and the rigid parts of a mesh.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Object space.
    welded : int array, shape (V,)
        The first vertex at the position of each.
    triangles : int array, shape (T, 3)
    weights : float array, shape (V, B)
        Of the joints.
    follows : float array, shape (V,)
        How much of the particles' motion each vertex takes.
    radii : float array, shape (V,)
        Of the limb around each, object space.
    """
    islands = label_islands(welded, triangles)
    is_body = (np.bincount(islands, follows > FOLLOWS) >= BODY_VERTICES)[islands]
    layer, body = np.flatnonzero(~is_body), np.flatnonzero(is_body & (welded == np.arange(len(points))))
    riders = find_riders(points[layer], weights[layer], points[body], weights[body], radii[body])
    if riders is not None:
        riders = replace(riders, vertices=layer[riders.vertices], carriers=body[riders.carriers])
    return Layers(riders, _find_rigid(islands, weights))


def find_riders(
    points: np.ndarray, weights: np.ndarray, body: np.ndarray, body_weights: np.ndarray, radii: np.ndarray
) -> Riders | None:
    """Which points ride on a body, and on which of its vertices; None where none is near enough.

    Parameters
    ----------
    points, body : float arrays, shapes (N, 3), (V, 3)
        In one space.
    weights, body_weights : float arrays, shapes (N, B), (V, B)
        Of the joints.
    radii : float array, shape (V,)
        Of the limb at the body's vertices.
    """
    if len(body) <= CARRIERS or not len(points):
        return None
    near, away = find_nearest(points, body, CARRIERS + 1)
    near, reach = near[:, :-1], np.maximum(away[:, -1:], 1e-30)
    shares = np.maximum(1.0 - np.square(away[:, :-1] / reach), 1e-6) ** 3
    common = [np.minimum(weights, body_weights[near[:, number]]).sum(axis=1) for number in range(CARRIERS)]
    shares *= _rise(SHARED, np.stack(common, axis=1))
    size = float(np.ptp(body, axis=0).max())
    ride = 1.0 - _rise((REACH[0] * size, REACH[1] * size), away[:, 0])
    totals = shares.sum(axis=1)
    rides = np.flatnonzero((totals > 1e-6) & (ride > 0.0))
    if not len(rides):
        return None
    shares = shares[rides] * (ride / np.maximum(totals, 1e-30))[rides, None]
    return Riders(rides, near[rides], shares, radii[near[rides, 0]])


def _find_rigid(islands: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Vertices of each island that one bone holds."""
    order = np.argsort(islands, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(islands[order])) + 1)
    strongest, holds = weights.argmax(axis=1), weights.max(axis=1, initial=0.0) > HOLDS
    return tuple(
        part
        for part in parts
        if len(part) >= LEAST_VERTICES and holds[part].all() and (strongest[part] == strongest[part[0]]).all()
    )
