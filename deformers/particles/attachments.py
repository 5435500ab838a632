"""Attach the skin to the particles: the particles that each vertex follows, and their shares."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..geometry.solid import Surface, find_crossed
from ..geometry.vectors import smooth_ramp
from ..rig.rest import Joints, Rest, Weights
from ..skinning import blending
from .cloud import Cloud
from .fill import Fill


@dataclass(frozen=True)
class Attachment:
    """Particles that vertices follow.

    Attributes
    ----------
    near, shares : int and float arrays, shape (V, n)
        Particles and their shares, which sum to 1.
    solid : float array, shape (V,)
        Share of each vertex that follows particles at all, 0 to 1.
    """

    near: np.ndarray
    shares: np.ndarray
    solid: np.ndarray

    def smooth(self, weights: np.ndarray, cloud: Cloud) -> np.ndarray:
        """Make weights of the vertices, shape (V, B), as smooth as those of their particles if bones are long."""
        share = self.solid * self._gather(cloud.long[:, None])[:, 0]
        chosen = share > 0
        result = weights.copy()
        result[chosen] += share[chosen, None] * (self._gather(cloud.weights)[chosen] - weights[chosen])
        return result

    def find_resolved(self, weights: np.ndarray, cloud: Cloud) -> np.ndarray:
        """How well the particles resolve the vertices' weights, (V, B), 0 to 1, (V,): a face has too many bones."""
        apart = 0.5 * np.abs(weights - self._gather(cloud.weights)).sum(axis=1)
        count, near, shares = len(cloud.points), self.near.ravel(), self.shares.ravel()
        sums = np.bincount(near, shares * np.repeat(apart, self.near.shape[1]), minlength=count)
        mean = sums / np.maximum(np.bincount(near, shares, minlength=count), 1e-12)
        return 1.0 - smooth_ramp(self._gather(mean[:, None])[:, 0], 0.1, 0.3)

    def _gather(self, values: np.ndarray) -> np.ndarray:
        """Mix values of particles, shape (P, B), at the vertices: float32, shape (V, B)."""
        result = np.zeros((len(self.near), values.shape[1]), np.float32)
        values, shares = values.astype(np.float32), self.shares.astype(np.float32)
        for column in range(self.near.shape[1]):
            result += shares[:, column, None] * values[self.near[:, column]]
        return result

    def find_strength(self, rest: Rest) -> np.ndarray:
        """Share of the particles in the motion of the vertices, shape (V,), without the linear part."""
        strength = self.solid if rest.strength is None else self.solid * rest.strength
        return strength if rest.linear is None else strength * (1.0 - rest.linear)

    def bind(self, rest: Rest, points: np.ndarray, centers: np.ndarray) -> blending.Binding:
        """Bind vertices, (V, 3), to particles, (P, 3), as their joints, in unit space.

        `rest` limits vertices to linear blending, or in strength.
        """
        vertices = np.repeat(np.arange(len(points)), self.near.shape[1])
        weights = Weights(vertices, self.near.ravel(), self.shares.ravel())
        joints = Joints(centers, np.full(len(centers), -1))
        return blending.bind(Rest(points, weights, joints, strength=self.find_strength(rest)), None)


def attach(
    surface: Surface, fill: Fill, cloud: Cloud, weights: Weights, dense: np.ndarray, solid: np.ndarray | None
) -> tuple[np.ndarray, Attachment]:
    """Find the particles that each vertex follows.

    Weights of the joints come as `weights` and as a matrix `dense`, (V, B). `solid`, (V,), is as in `Rest`. Returns
    weights as smooth as those of the particles if bones are long, float32, shape (V, B), and the attachment.
    """
    near, shares = _find_particles(surface, fill, cloud, weights)
    own = _find_solid(surface, fill)
    attachment = Attachment(near, shares, own if solid is None else own * np.clip(solid, 0.0, 1.0))
    smooth = attachment.smooth(dense, cloud)
    return smooth, replace(attachment, solid=attachment.solid * attachment.find_resolved(smooth, cloud))


def _find_particles(surface: Surface, fill: Fill, cloud: Cloud, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Find the particles that each vertex follows, and their shares, shape (V, n) each.

    The nearest particles with bones in common with the vertex represent its part of the solid. Particles of other bones
    that are not linked to them, directly or through one other, belong to another finger if skin is between. Several
    particles represent a part, so that no single one decides.
    """
    followed, of_part, min_trust = 16, 4, 0.01
    points, count = surface.points, len(fill.points)
    near, away = fill.find_nearest(points, followed + 1)
    reach = np.maximum(away[:, -1:], 1e-12)
    near, away = near[:, :-1], away[:, :-1]
    shares = np.maximum(1.0 - (away / reach) ** 2, 1e-6) ** 3
    starts = np.searchsorted(weights.vertices, np.arange(len(points)))
    common = np.minimum(cloud.weights[near[weights.vertices], weights.joints[:, None]], weights.values[:, None])
    shared = np.add.reduceat(common, starts, axis=0)
    apart = 1.0 - smooth_ramp(shared / np.maximum(shared.max(axis=1, keepdims=True), 1e-12), 0.3, 0.7)
    scores = shares * (shared + 0.05)
    best = np.argsort(-scores, axis=1, kind="stable")[:, : of_part + 1]
    trust = np.take_along_axis(scores, best, axis=1)
    trust = (trust - (trust[:, -1:] if best.shape[1] > of_part else 0.0))[:, :of_part]
    trust = (trust + 1e-12) / (trust + 1e-12).sum(axis=1, keepdims=True)
    own = np.take_along_axis(near, best[:, :of_part], axis=1)
    hidden, known = np.zeros(near.shape), cloud.find_near()
    for rank in range(own.shape[1]):
        keys = own[:, rank, None] * count + near
        doubtful = known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] != keys
        doubtful &= (apart > 0.0) & (trust[:, rank, None] > min_trust)
        pairs, index = np.unique(keys[doubtful], return_inverse=True)
        crossed = find_crossed(surface, fill.points[pairs // count], fill.points[pairs % count])
        hidden[doubtful] += (np.broadcast_to(trust[:, rank, None], keys.shape)[doubtful]) * crossed[index.ravel()]
    shares *= 1.0 - apart * hidden
    return near, shares / shares.sum(axis=1, keepdims=True)


def _find_solid(surface: Surface, fill: Fill) -> np.ndarray:
    """Share of each vertex that follows the particles: 0 on thin limbs, and outside of the surface."""
    thickness = fill.limbs_at(surface.points) / fill.smallest_radius
    return smooth_ramp(thickness, 1.0, 2.0) * (surface.islands >= 0)
