"""Layers that ride on the skin of a body, and parts that stay rigid because one bone holds them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..algebra.polar import move_rigidly
from ..geometry.neighbors import find_nearest
from ..geometry.solid import label_islands

# Number of vertices of the body that a vertex of a layer rides on
CARRIERS = 12

# A layer follows the flesh as its motion becomes coherent: coherence = |mean change|^2 / mean of squared changes.
COHERENCE_RAMP = 0.3, 0.7

# Radii of the limb: a layer follows larger changes less, and not at all beyond.
CHANGE_FADE = 0.35, 0.7


@dataclass(frozen=True)
class Riders:
    """Vertices that ride on the skin of a body.

    Attributes
    ----------
    vertices : int array, shape (R,)
    carriers : int array, shape (R, n)
        Vertices of the body that each rides on.
    shares : float array, shape (R, n)
        Weights of the carriers. Their sum is the share of the vertex that rides, 0 to 1.
    radii : float array, shape (R,)
        Radius of the limb, in the unit of the changes.
    """

    vertices: np.ndarray
    carriers: np.ndarray
    shares: np.ndarray
    radii: np.ndarray

    @property
    def rides(self) -> np.ndarray:
        """Share of each that rides, 0 to 1, shape (R,)."""
        return self.shares.sum(axis=1)

    def find_changes(self, changes: np.ndarray) -> np.ndarray:
        """Find the changes of the riders, (R, 3), by coherent changes of the body's vertices, (V, 3)."""
        below, totals = changes[self.carriers], np.maximum(self.rides, 1e-9)
        mean = np.einsum("rn,rni->ri", self.shares, below)
        squares = np.einsum("rn,rn->r", self.shares, np.square(below).sum(axis=2)) / totals
        lengths = np.linalg.norm(mean, axis=1)
        coherence = np.square(lengths / totals) / np.maximum(squares, 1e-30)
        wide = lengths / np.maximum(self.radii, 1e-30)
        return (_ramp(COHERENCE_RAMP, coherence) * (1.0 - _ramp(CHANGE_FADE, wide)))[:, None] * mean


@dataclass(frozen=True)
class FleshLayers:
    """Layers of a mesh that ride on the rest of it, and parts that stay rigid.

    Attributes
    ----------
    riders : Riders or None
        None if nothing lies on the body.
    rigid : tuple of int arrays
        Vertices of each part that one bone holds.
    """

    riders: Riders | None
    rigid: tuple[np.ndarray, ...]

    def carry(self, skin: np.ndarray, joints: np.ndarray) -> None:
        """Move layers with the flesh, and rigid parts as a whole.

        `skin`, float32, shape (V, 3), is the posed skin, which is changed. `joints`, (V, 3), is the skin by the joints
        alone.
        """
        if self.riders is not None:
            own = self.riders.vertices
            skin[own] = joints[own] + self.riders.find_changes(skin - joints)
        for part in self.rigid:
            if (skin[part] != joints[part]).any():
                skin[part] = move_rigidly(joints[part], skin[part])


def _ramp(bounds: tuple[float, float], values: np.ndarray) -> np.ndarray:
    low, high = bounds
    return np.clip((values - low) / (high - low), 0.0, 1.0)


def find_flesh_layers(
    points: np.ndarray, welded: np.ndarray, triangles: np.ndarray, weights: np.ndarray, follows: np.ndarray,
    radii: np.ndarray,
) -> FleshLayers:  # fmt: skip
    """Find the layers and the rigid parts of a mesh.

    Parameters
    ----------
    points, triangles : float and int arrays, shapes (V, 3) and (T, 3)
        In object space.
    welded : int array, shape (V,)
        First vertex at the position of each.
    weights : float array, shape (V, B)
    follows, radii : float arrays, shape (V,)
        Share of each vertex's motion that follows the particles, and radius of the limb around it.
    """
    islands = label_islands(welded, triangles)
    is_body = (np.bincount(islands, follows > 0.3) >= 20)[islands]  # other islands are layers
    layer, body = np.flatnonzero(~is_body), np.flatnonzero(is_body & (welded == np.arange(len(points))))
    riders = find_riders(points[layer], weights[layer], points[body], weights[body], radii[body])
    if riders is not None:
        riders = replace(riders, vertices=layer[riders.vertices], carriers=body[riders.carriers])
    return FleshLayers(riders, _find_rigid(islands, weights))


def find_riders(
    points: np.ndarray, weights: np.ndarray, body: np.ndarray, body_weights: np.ndarray, radii: np.ndarray
) -> Riders | None:
    """Find the points that ride on a body, and their carriers. None if no point is near enough.

    Parameters
    ----------
    points, body : float arrays, shapes (N, 3), (V, 3)
        In one space.
    weights, body_weights : float arrays, shapes (N, B), (V, B)
    radii : float array, shape (V,)
        Radius of the limb at the body's vertices.
    """
    if len(body) <= CARRIERS or not len(points):
        return None
    near, away = find_nearest(points, body, CARRIERS + 1)
    near, reach = near[:, :-1], np.maximum(away[:, -1:], 1e-30)
    shares = np.maximum(1.0 - np.square(away[:, :-1] / reach), 1e-6) ** 3
    common = [np.minimum(weights, body_weights[near[:, number]]).sum(axis=1) for number in range(CARRIERS)]
    shares *= _ramp((0.2, 0.6), np.stack(common, axis=1))
    size = float(np.ptp(body, axis=0).max())
    ride = 1.0 - _ramp((0.02 * size, 0.04 * size), away[:, 0])
    totals = shares.sum(axis=1)
    rides = np.flatnonzero((totals > 1e-6) & (ride > 0.0))
    if not len(rides):
        return None
    shares = shares[rides] * (ride / np.maximum(totals, 1e-30))[rides, None]
    return Riders(rides, near[rides], shares, radii[near[rides, 0]])


def _find_rigid(islands: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """List the vertices of each island that one bone holds."""
    min_weight, min_vertices = 0.95, 4
    order = np.argsort(islands, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(islands[order])) + 1)
    strongest, holds = weights.argmax(axis=1), weights.max(axis=1, initial=0.0) > min_weight
    return tuple(
        part
        for part in parts
        if len(part) >= min_vertices and holds[part].all() and (strongest[part] == strongest[part[0]]).all()
    )
