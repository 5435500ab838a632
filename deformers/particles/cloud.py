"""Oriented particles at rest: which are neighbors, which joints they follow, and how closely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.nested_dissection import FEW_SIDES_LEAF, NestedDissectionFactor, factorize
from ..geometry.neighbors import find_nearest, find_pairs
from ..geometry.solid import Surface, find_crossed
from ..geometry.vectors import smooth_step
from ..rig.skeleton import Chains
from .fill import Fill

NEIGHBOR_REACH = 1.25
"""Particles are neighbors within this many sums of their radii ..."""

LEAST_NEIGHBORS = 10
"""... and at least so many nearest ones are."""

ALIKE = 0.05
"""Share by which distances differ that count as the same: in a packing many are, and all of these are neighbors."""

SAME_PART = 0.5
"""Shared weight from which two particles are in one part of the solid, whatever is between them."""

SKIN_VERTICES = 12
"""Vertices whose weights a particle takes, the farthest of them none."""

ONE_SKIN, MIXED_SKIN = 0.2, 0.4
"""Difference of one of these vertices from their mean, up to which that skin belongs to the same bones, and from which
it belongs to different ones."""

WEIGHT_SMOOTHING = 0.9
"""Share of the limb's radius over which weights are smoothed: flesh is not cut where the skin's weights are."""

LEAST_WEIGHT_SMOOTHING = 0.1
"""The same where bones are short."""

LONG_BONES = (1.25, 2.0)
"""Lengths of bones, in radii of the limb, from which weights are smoothed: a jaw's are sharp for a reason."""

SOFTNESS = 0.35
"""ell: share of the limb's radius over which the flesh moves apart from its bones, at stiffness 1."""

LEAST_PULL = 0.07
"""Share of its bones' pull that is left where two bones pull a particle alike."""

ROTATION_SMOOTHING = 0.3
"""Share of the limb's radius over which rotations are smoothed."""


@dataclass(frozen=True)
class Cloud:
    """Particles at rest and all that is constant over poses.

    Attributes
    ----------
    points : float32 array, shape (P, 3)
    weights : float array, shape (P, B)
        Of the particles for the joints.
    long : float array, shape (P,)
        Whether their bones are long for the limb, 0 to 1.
    starts : int array, shape (P,)
        Where each particle's links begin in the arrays of E links. Each pair of neighbors is two links.
    ends : int array, shape (E,)
        The neighbor that a link leads to.
    own, back : float32 arrays, shape (E,)
        w_ij and w_ji of the link from i to j.
    smoothing : float32 array, shape (P,)
        Weight of the neighbors' rotations beside a particle's own F.
    factor : NestedDissectionFactor
        Of L + diag(b), float32.
    """

    points: np.ndarray
    weights: np.ndarray
    long: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    own: np.ndarray
    back: np.ndarray
    smoothing: np.ndarray
    factor: NestedDissectionFactor

    def find_near(self) -> np.ndarray:
        """Pairs of particles that are linked, directly or through one other, or the same: i P + j, ascending."""
        count = len(self.points)
        counts = np.diff(np.append(self.starts, len(self.ends)))
        begins = np.repeat(np.arange(count), counts)
        more = counts[self.ends]
        offsets = np.arange(more.sum()) - np.repeat(np.cumsum(more) - more, more)
        through = np.repeat(begins, more) * count + self.ends[np.repeat(self.starts[self.ends], more) + offsets]
        return np.unique(np.concatenate([through, begins * count + self.ends, np.arange(count) * (count + 1)]))


class _Links:
    """Pairs of neighbors, and the matrix L of their weights w_ij + w_ji.

    Notes
    -----
    w_ij = 3 V_i k_ij / sum_j k_ij |E_ij|^2 with k = 1 / |E|, times the presence of both: what a particle's shape weighs
    against its pull depends on neither the size of the particles nor that of the character.
    """

    def __init__(self, fill: Fill, pairs: np.ndarray, volumes: np.ndarray) -> None:
        points, presence = fill.points, fill.presence
        self.points, self.pairs = points, pairs
        self.lengths = np.linalg.norm(points[pairs[:, 1]] - points[pairs[:, 0]], axis=1)
        kernel = presence[pairs].prod(axis=1) / np.maximum(self.lengths, 1e-3 * fill.smallest_radius)
        share = 3.0 * volumes / np.maximum(self.sum(kernel * self.lengths**2), 1e-300)
        self.forward, self.back = share[pairs[:, 0]] * kernel, share[pairs[:, 1]] * kernel
        self.diagonal = self.sum(self.forward + self.back)

    def sum(self, values: np.ndarray) -> np.ndarray:
        """Sum over the pairs at each particle, of values of the pairs."""
        count = len(self.points)
        return np.bincount(self.pairs[:, 0], values, count) + np.bincount(self.pairs[:, 1], values, count)

    def factorize(self, hold: np.ndarray) -> NestedDissectionFactor:
        """Factorize L + diag(hold), shape (P,)."""
        values, diagonal = -(self.forward + self.back), self.diagonal + hold
        return factorize(self.points, self.pairs, values, diagonal, np.float32, leaf=FEW_SIDES_LEAF)

    def smooth(self, weights: np.ndarray, hold: np.ndarray) -> np.ndarray:
        """Weights, shape (P, B), smoothed over the links as far as `hold`, shape (P,), lets them; sums of 1."""
        hold = hold + 1e-9 * self.diagonal.max(initial=1.0)
        dense = self.factorize(hold).solve((hold[:, None] * weights).astype(np.float32))
        dense = np.maximum(dense.astype(float), 0.0)
        return dense / np.maximum(dense.sum(axis=1, keepdims=True), 1e-12)

    def sort(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Where each particle's links begin, their ends, w_ij and w_ji; alone, a particle is linked to itself."""
        count = len(self.points)
        alone = np.flatnonzero(np.bincount(self.pairs.ravel(), minlength=count) == 0)
        begin, end = np.concatenate([self.pairs, self.pairs[:, ::-1], np.stack([alone, alone], axis=1)]).T
        none = np.zeros(len(alone))
        own, back = np.concatenate([self.forward, self.back, none]), np.concatenate([self.back, self.forward, none])
        order = np.lexsort((end, begin))
        starts = np.searchsorted(begin[order], np.arange(count))
        return starts, end[order], own[order].astype(np.float32), back[order].astype(np.float32)


def make_cloud(
    surface: Surface,
    fill: Fill,
    vertex_weights: np.ndarray,
    bone_lengths: np.ndarray,
    parents: np.ndarray,
    stiffness: float,
) -> Cloud:
    """Link the particles of a solid to each other and to the joints.

    Parameters
    ----------
    vertex_weights : float array, shape (V, B)
        Each row summing to 1.
    bone_lengths : float array, shape (B,)
    parents : int array, shape (B,)
        As in `Joints`.
    stiffness : float
        How closely the flesh follows its bones; 1 is flesh.
    """
    volumes = fill.volumes / fill.volumes.mean()
    skin_weights = _read_skin(surface, fill.points, vertex_weights)
    pairs = _drop_crossed(surface, fill, _find_pairs(fill), skin_weights)
    links = _Links(fill, pairs, volumes)

    lengths = bone_lengths / fill.thickness[:, None]
    shorter = 1.0 - smooth_step((lengths - LONG_BONES[0]) / (LONG_BONES[1] - LONG_BONES[0]))
    long = 1.0 - np.minimum(1.0, 3.0 * (shorter * skin_weights).sum(axis=1))
    weights = links.smooth(
        skin_weights,
        volumes / (np.maximum(WEIGHT_SMOOTHING * long, LEAST_WEIGHT_SMOOTHING) / stiffness * fill.thickness) ** 2,
    )
    lead = _find_lead(_roll_up(weights, shorter, parents))
    fade = LEAST_PULL + (1.0 - LEAST_PULL) * smooth_step(lead)
    pull = volumes * (stiffness / (SOFTNESS * fill.thickness)) ** 2 * fade

    starts, ends, own, back = links.sort()
    spacing = links.sum(links.lengths) / np.maximum(links.sum(np.ones(len(pairs))), 1.0)
    smoothing = (ROTATION_SMOOTHING * fill.thickness / np.maximum(spacing, 1e-3 * fill.smallest_radius)) ** 2
    return Cloud(
        points=fill.points.astype(np.float32),
        weights=np.where(weights > 1e-4, weights, 0.0),
        long=long,
        starts=starts,
        ends=ends,
        own=own,
        back=back,
        smoothing=smoothing.astype(np.float32),
        factor=links.factorize(pull),
    )


def _find_lead(weights: np.ndarray) -> np.ndarray:
    """By how much each particle's strongest joint leads the next, shape (P,)."""
    if weights.shape[1] < 2:
        return weights[:, 0]
    second, first = np.partition(weights, -2, axis=1)[:, -2:].T
    return first - second


def _roll_up(weights: np.ndarray, shorter: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Weights, shape (P, B), with those of short bones given to their parents: a jaw is part of the head."""
    depths = Chains(parents).sum(np.ones(len(parents), np.intp))
    result = weights.copy()
    for joint in np.argsort(-depths, kind="stable"):
        if parents[joint] >= 0:
            share = shorter[:, joint] * result[:, joint]
            result[:, parents[joint]] += share
            result[:, joint] -= share
    return result


def _read_skin(surface: Surface, points: np.ndarray, vertex_weights: np.ndarray) -> np.ndarray:
    """Weights of the skin next to each particle, shape (P, B).

    Where that skin is of different bones, vertices that are not seen from the particle are another part's.
    """
    used = np.unique(surface.triangles)
    near, away = find_nearest(points, surface.points[used], SKIN_VERTICES + 1)
    away = np.maximum(away, 1e-6 * (away.max(initial=0.0) or 1.0))
    near, share = used[near[:, :-1]], np.maximum(1.0 - (away[:, :-1] / away[:, -1:]) ** 2, 1e-6) / away[:, :-1] ** 2
    mean = np.einsum("pn,pnb->pb", share / share.sum(axis=1, keepdims=True), vertex_weights[near])
    differs = 0.5 * np.abs(vertex_weights[near] - mean[:, None]).sum(axis=2).max(axis=1)
    mixed = np.broadcast_to(smooth_step((differs - ONE_SKIN) / (MIXED_SKIN - ONE_SKIN))[:, None], near.shape)
    rows, columns = np.nonzero(mixed)
    unseen = find_crossed(surface, points[rows], surface.points[near[rows, columns]])
    share[rows[unseen], columns[unseen]] *= 1.0 - (1.0 - 1e-6) * mixed[rows[unseen], columns[unseen]]
    share /= share.sum(axis=1, keepdims=True)
    return np.einsum("pn,pnb->pb", share, vertex_weights[near])


def _find_pairs(fill: Fill) -> np.ndarray:
    """Pairs of neighbors, each once."""
    count = len(fill.points)
    near, away = fill.find_nearest(fill.points, 2 * LEAST_NEIGHBORS)
    last = away[:, min(LEAST_NEIGHBORS, near.shape[1] - 1), None]
    rows, columns = np.nonzero(away <= (1.0 + ALIKE) * last)
    nearest = np.stack([rows, near[rows, columns]], axis=1)
    nearest = np.sort(nearest[nearest[:, 0] != nearest[:, 1]], axis=1)
    pairs = np.concatenate([find_pairs(fill.points, fill.radii, NEIGHBOR_REACH), nearest])
    keys = np.unique(pairs[:, 0] * count + pairs[:, 1])
    return np.stack([keys // count, keys % count], axis=1)


def _drop_crossed(surface: Surface, fill: Fill, pairs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Leave out pairs that have air between them: those of different bones, and those whose middle is outside."""
    starts, ends = fill.points[pairs[:, 0]], fill.points[pairs[:, 1]]
    shared = np.minimum(weights[pairs[:, 0]], weights[pairs[:, 1]]).sum(axis=1)
    outside = ~fill.grid.inside[fill.grid.cells(0.5 * (starts + ends))]
    doubtful = np.flatnonzero((shared < SAME_PART) | outside)
    keep = np.ones(len(pairs), bool)
    keep[doubtful[find_crossed(surface, starts[doubtful], ends[doubtful])]] = False
    return pairs[keep]
