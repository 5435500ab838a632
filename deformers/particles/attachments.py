"""How the skin hangs on the particles: which of them each vertex follows, and how much."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..geometry.solid import Surface, find_crossed
from ..geometry.vectors import smooth_step
from ..rig.rest import Joints, Rest, Weights
from ..skinning import blending
from .cloud import Cloud
from .fill import Fill

SKIN_PARTICLES = 16
"""Particles that a vertex follows."""

OWN_PARTICLES = 4
"""Of these, how many stand for the part of the solid that the vertex is on."""

LEAST_TRUST = 0.01
"""Share of them below which one is not asked."""

OTHER, SAME = 0.3, 0.7
"""Weight in common, relative to the most, up to which a particle may be another part's, and from which it is not."""

THIN_LIMB, THICK_LIMB = 1.0, 2.0
"""Radii of a limb in smallest radii up to which it follows the joints, and from which it follows the particles."""

RESOLVED, UNRESOLVED = 0.1, 0.3
"""Weight by which vertices and their particles differ up to which they follow them, and from which not at all."""


@dataclass(frozen=True)
class Attachment:
    """What vertices follow.

    Attributes
    ----------
    near : int array, shape (V, n)
        Particles.
    shares : float array, shape (V, n)
        Of each; they sum to 1.
    solid : float array, shape (V,)
        How much a vertex follows particles at all, 0 to 1.
    """

    near: np.ndarray
    shares: np.ndarray
    solid: np.ndarray

    def smooth(self, weights: np.ndarray, cloud: Cloud) -> np.ndarray:
        """Weights of the vertices, shape (V, B), made as smooth as their particles' where bones are long."""
        share = self.solid * self._gather(cloud.long[:, None])[:, 0]
        chosen = share > 0
        result = weights.copy()
        result[chosen] += share[chosen, None] * (self._gather(cloud.weights)[chosen] - weights[chosen])
        return result

    def find_resolved(self, weights: np.ndarray, cloud: Cloud) -> np.ndarray:
        """How well the particles resolve differences in the vertices' weights, shape (V, B), 0 to 1: shape (V,).

        A face has more bones than particles could follow.
        """
        apart = 0.5 * np.abs(weights - self._gather(cloud.weights)).sum(axis=1)
        count, near, shares = len(cloud.points), self.near.ravel(), self.shares.ravel()
        sums = np.bincount(near, shares * np.repeat(apart, self.near.shape[1]), minlength=count)
        mean = sums / np.maximum(np.bincount(near, shares, minlength=count), 1e-12)
        return 1.0 - smooth_step((self._gather(mean[:, None])[:, 0] - RESOLVED) / (UNRESOLVED - RESOLVED))

    def _gather(self, values: np.ndarray) -> np.ndarray:
        """Values of particles, shape (P, B), mixed at the vertices: float32, shape (V, B)."""
        result = np.zeros((len(self.near), values.shape[1]), np.float32)
        values, shares = values.astype(np.float32), self.shares.astype(np.float32)
        for column in range(self.near.shape[1]):
            result += shares[:, column, None] * values[self.near[:, column]]
        return result

    def find_strength(self, rest: Rest) -> np.ndarray:
        """Share of the particles in the motion of the vertices, shape (V,): none where it is linear."""
        strength = self.solid if rest.strength is None else self.solid * rest.strength
        return strength if rest.linear is None else strength * (1.0 - rest.linear)

    def bind(self, rest: Rest, points: np.ndarray, centers: np.ndarray) -> blending.Binding:
        """Bind the vertices to the particles as their joints.

        Parameters
        ----------
        rest : Rest
            Where vertices are limited to linear blending, or in strength.
        points : float array, shape (V, 3)
            The vertices, unit space.
        centers : float array, shape (P, 3)
            The particles, unit space.
        """
        vertices = np.repeat(np.arange(len(points)), self.near.shape[1])
        weights = Weights(vertices, self.near.ravel(), self.shares.ravel())
        joints = Joints(centers, np.full(len(centers), -1))
        return blending.bind(Rest(points, weights, joints, strength=self.find_strength(rest)), None)


def attach(
    surface: Surface, fill: Fill, cloud: Cloud, weights: Weights, dense: np.ndarray, solid: np.ndarray | None
) -> tuple[np.ndarray, Attachment]:
    """Find what each vertex follows.

    Parameters
    ----------
    weights : Weights
        Of the vertices for the joints, each vertex's summing to 1.
    dense : float array, shape (V, B)
        The same.
    solid : float array, shape (V,), or None
        As in `Rest`.

    Returns
    -------
    weights : float32 array, shape (V, B)
        Of the vertices for the joints, smooth as the particles' where bones are long.
    attachment : Attachment
    """
    near, shares = _find_particles(surface, fill, cloud, weights)
    own = _find_solid(surface, fill)
    attachment = Attachment(near, shares, own if solid is None else own * np.clip(solid, 0.0, 1.0))
    smooth = attachment.smooth(dense, cloud)
    return smooth, replace(attachment, solid=attachment.solid * attachment.find_resolved(smooth, cloud))


def _find_particles(surface: Surface, fill: Fill, cloud: Cloud, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Particles that each vertex follows, shape (V, n), and how much: shares that sum to 1.

    The nearest particles that have bones in common with the vertex stand for the part of the solid that the vertex is
    on. Particles of other bones that these are not linked to, directly or through one other, are another finger's if
    skin is between. As several stand for it, no single one decides.
    """
    points, count = surface.points, len(fill.points)
    near, away = fill.find_nearest(points, SKIN_PARTICLES + 1)
    reach = np.maximum(away[:, -1:], 1e-12)
    near, away = near[:, :-1], away[:, :-1]
    shares = np.maximum(1.0 - (away / reach) ** 2, 1e-6) ** 3
    starts = np.searchsorted(weights.vertices, np.arange(len(points)))
    common = np.minimum(cloud.weights[near[weights.vertices], weights.joints[:, None]], weights.values[:, None])
    shared = np.add.reduceat(common, starts, axis=0)
    apart = 1.0 - smooth_step((shared / np.maximum(shared.max(axis=1, keepdims=True), 1e-12) - OTHER) / (SAME - OTHER))
    scores = shares * (shared + 0.05)
    best = np.argsort(-scores, axis=1, kind="stable")[:, : OWN_PARTICLES + 1]
    trust = np.take_along_axis(scores, best, axis=1)
    trust = (trust - (trust[:, -1:] if best.shape[1] > OWN_PARTICLES else 0.0))[:, :OWN_PARTICLES]
    trust = (trust + 1e-12) / (trust + 1e-12).sum(axis=1, keepdims=True)
    own, hidden, known = (
        np.take_along_axis(near, best[:, :OWN_PARTICLES], axis=1),
        np.zeros(near.shape),
        cloud.find_near(),
    )
    for rank in range(own.shape[1]):
        keys = own[:, rank, None] * count + near
        doubtful = known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] != keys
        doubtful &= (apart > 0.0) & (trust[:, rank, None] > LEAST_TRUST)
        pairs, index = np.unique(keys[doubtful], return_inverse=True)
        crossed = find_crossed(surface, fill.points[pairs // count], fill.points[pairs % count])
        hidden[doubtful] += (np.broadcast_to(trust[:, rank, None], keys.shape)[doubtful]) * crossed[index.ravel()]
    shares *= 1.0 - apart * hidden
    return near, shares / shares.sum(axis=1, keepdims=True)


def _find_solid(surface: Surface, fill: Fill) -> np.ndarray:
    """How much each vertex follows the particles: not where the limb is thin, nor outside of the surface."""
    thickness = fill.limbs_at(surface.points) / fill.smallest_radius
    return smooth_step((thickness - THIN_LIMB) / (THICK_LIMB - THIN_LIMB)) * (surface.islands >= 0)
