"""Oriented particles at rest: their neighbors, the joints that they follow, and how closely they follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.nested_dissection import MAX_LEAF_FEW_SIDES, NestedDissectionFactor, factorize
from ..geometry.neighbors import find_nearest, find_pairs
from ..geometry.solid import Surface, find_crossed
from ..geometry.vectors import list_ranges, smooth_ramp, smooth_step
from ..rig.skeleton import Chains
from .fill import Fill

# Particles are neighbors within this many sums of their radii, and at least so many nearest ones are neighbors.
NEIGHBOR_REACH, MIN_NEIGHBORS = 1.25, 10


@dataclass(frozen=True)
class Cloud:
    """Particles at rest, with all that is constant over poses.

    Attributes
    ----------
    points : float32 array, shape (P, 3)
    weights : float array, shape (P, B)
        Weights of the joints.
    long : float array, shape (P,)
        Whether their bones are long, relative to the limb, 0 to 1.
    starts : int array, shape (P,)
        Index of each particle's first link. Each pair of neighbors has two links.
    ends : int array, shape (E,)
        Neighbor that each link leads to.
    own, back : float32 arrays, shape (E,)
        w_ij and w_ji of the link from i to j.
    smoothing : float32 array, shape (P,)
        Weight of the neighbors' rotations, relative to a particle's own F.
    factor : NestedDissectionFactor
        Factor of L + diag(b), float32.
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
        """List pairs of particles linked directly, through one other, or with themselves: i P + j, ascending."""
        count = len(self.points)
        counts = np.diff(np.append(self.starts, len(self.ends)))
        begins = np.repeat(np.arange(count), counts)
        links, further = list_ranges(self.starts[self.ends], counts[self.ends])
        through = begins[links] * count + self.ends[further]
        return np.unique(np.concatenate([through, begins * count + self.ends, np.arange(count) * (count + 1)]))


class _Links:
    """Pairs of neighbors, and the matrix L of their weights w_ij + w_ji.

    Notes
    -----
    w_ij = 3 V_i k_ij / sum_j k_ij |E_ij|^2 with k = 1 / |E|, times the presence of both. So the weight of a particle's
    shape, relative to its pull, does not depend on the size of the particles or of the character.
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
        """Sum of values of the pairs at each particle, shape (P,)."""
        count = len(self.points)
        return np.bincount(self.pairs[:, 0], values, count) + np.bincount(self.pairs[:, 1], values, count)

    def factorize(self, hold: np.ndarray) -> NestedDissectionFactor:
        """Factorize L + diag(hold), shape (P,)."""
        values, diagonal = -(self.forward + self.back), self.diagonal + hold
        return factorize(self.points, self.pairs, values, diagonal, np.float32, leaf=MAX_LEAF_FEW_SIDES)

    def smooth(self, weights: np.ndarray, hold: np.ndarray) -> np.ndarray:
        """Smooth weights, shape (P, B), over the links, held by `hold`, shape (P,), and normalize them."""
        hold = hold + 1e-9 * self.diagonal.max(initial=1.0)
        dense = self.factorize(hold).solve((hold[:, None] * weights).astype(np.float32))
        dense = np.maximum(dense.astype(float), 0.0)
        return dense / np.maximum(dense.sum(axis=1, keepdims=True), 1e-12)

    def sort(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """First link of each particle, ends, w_ij and w_ji. A particle without neighbors is linked to itself."""
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
        Normalized.
    bone_lengths, parents : float and int arrays, shape (B,)
    stiffness : float
        How closely the flesh follows its bones. 1 is flesh.
    """
    # Shares of the limb's radius: weights are smoothed over this where bones are long, so that flesh is not cut where
    # the skin's weights are, and over little where bones are short: a jaw's weights are sharp for a reason.
    smooth_long, smooth_short = 0.9, 0.1
    # ell: share of the radius over which flesh moves apart from its bones, at stiffness 1; and for rotations
    softness, smooth_rotations = 0.35, 0.3
    min_pull = 0.07  # share of the pull that is left if two bones pull alike
    volumes = fill.volumes / fill.volumes.mean()
    skin_weights = _read_skin(surface, fill.points, vertex_weights)
    pairs = _drop_crossed(surface, fill, _find_pairs(fill), skin_weights)
    links = _Links(fill, pairs, volumes)

    lengths = bone_lengths / fill.thickness[:, None]
    shorter = 1.0 - smooth_ramp(lengths, 1.25, 2.0)
    long = 1.0 - np.minimum(1.0, 3.0 * (shorter * skin_weights).sum(axis=1))
    weights = links.smooth(
        skin_weights, volumes / (np.maximum(smooth_long * long, smooth_short) / stiffness * fill.thickness) ** 2
    )
    lead = _find_lead(_roll_up(weights, shorter, parents))
    fade = min_pull + (1.0 - min_pull) * smooth_step(lead)
    pull = volumes * (stiffness / (softness * fill.thickness)) ** 2 * fade

    starts, ends, own, back = links.sort()
    spacing = links.sum(links.lengths) / np.maximum(links.sum(np.ones(len(pairs))), 1.0)
    smoothing = (smooth_rotations * fill.thickness / np.maximum(spacing, 1e-3 * fill.smallest_radius)) ** 2
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
    """Difference between the two largest weights of each particle, shape (P,)."""
    if weights.shape[1] < 2:
        return weights[:, 0]
    second, first = np.partition(weights, -2, axis=1)[:, -2:].T
    return first - second


def _roll_up(weights: np.ndarray, shorter: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Move weights, shape (P, B), of short bones to their parents: a jaw is part of the head."""
    depths = Chains(parents).sum(np.ones(len(parents), np.intp))
    result = weights.copy()
    for joint in np.argsort(-depths, kind="stable"):
        if parents[joint] >= 0:
            share = shorter[:, joint] * result[:, joint]
            result[:, parents[joint]] += share
            result[:, joint] -= share
    return result


def _read_skin(surface: Surface, points: np.ndarray, vertex_weights: np.ndarray) -> np.ndarray:
    """Read the weights of the skin next to each particle, shape (P, B).

    If that skin follows different bones, vertices that cannot be seen from the particle belong to another part.
    """
    used = np.unique(surface.triangles)
    near, away = find_nearest(points, surface.points[used], 12 + 1)
    away = np.maximum(away, 1e-6 * (away.max(initial=0.0) or 1.0))
    near, share = used[near[:, :-1]], np.maximum(1.0 - (away[:, :-1] / away[:, -1:]) ** 2, 1e-6) / away[:, :-1] ** 2
    mean = np.einsum("pn,pnb->pb", share / share.sum(axis=1, keepdims=True), vertex_weights[near])
    differs = 0.5 * np.abs(vertex_weights[near] - mean[:, None]).sum(axis=2).max(axis=1)
    mixed = np.broadcast_to(smooth_ramp(differs, 0.2, 0.4)[:, None], near.shape)
    rows, columns = np.nonzero(mixed)
    unseen = find_crossed(surface, points[rows], surface.points[near[rows, columns]])
    share[rows[unseen], columns[unseen]] *= 1.0 - (1.0 - 1e-6) * mixed[rows[unseen], columns[unseen]]
    share /= share.sum(axis=1, keepdims=True)
    return np.einsum("pn,pnb->pb", share, vertex_weights[near])


def _find_pairs(fill: Fill) -> np.ndarray:
    """Find pairs of neighbors, each once."""
    count = len(fill.points)
    near, away = fill.find_nearest(fill.points, 2 * MIN_NEIGHBORS)
    last = away[:, min(MIN_NEIGHBORS, near.shape[1] - 1), None]
    rows, columns = np.nonzero(away <= 1.05 * last)  # a packing has many equal distances, and all are neighbors
    nearest = np.stack([rows, near[rows, columns]], axis=1)
    nearest = np.sort(nearest[nearest[:, 0] != nearest[:, 1]], axis=1)
    pairs = np.concatenate([find_pairs(fill.points, fill.radii, NEIGHBOR_REACH), nearest])
    keys = np.unique(pairs[:, 0] * count + pairs[:, 1])
    return np.stack([keys // count, keys % count], axis=1)


def _drop_crossed(surface: Surface, fill: Fill, pairs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Leave out pairs across the skin, among those of different bones and those whose middle is outside."""
    starts, ends = fill.points[pairs[:, 0]], fill.points[pairs[:, 1]]
    shared = np.minimum(weights[pairs[:, 0]], weights[pairs[:, 1]]).sum(axis=1)
    outside = ~fill.grid.inside[fill.grid.cells(0.5 * (starts + ends))]
    doubtful = np.flatnonzero((shared < 0.5) | outside)
    keep = np.ones(len(pairs), bool)
    keep[doubtful[find_crossed(surface, starts[doubtful], ends[doubtful])]] = False
    return pairs[keep]
