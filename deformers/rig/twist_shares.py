"""What vertices take of spread twists: by their weights, and by where they are along the limb."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from ..algebra.dual_quaternions import multiply_quaternions
from .rest import Weights
from .spread_twists import CONJUGATE, SpreadTurns, SpreadTwists

TAPER = 0.6
"""How much thinner the skin of a long bone is at its end than at its start."""

LEAST_SHARE = 1e-3
"""Weights of the limb below are none: by half a turn, a vertex would turn by .2 degrees."""

FIRM = 0.2
"""Weight of the limb from which on it holds a vertex firmly."""


@dataclass(frozen=True)
class TwistShares:
    """What vertices take of the twists of joints: N entries.

    Attributes
    ----------
    vertices : int array, shape (N,)
    twists : int array, shape (N,)
        Which of the L twists.
    passes : int array, shape (N,)
        The entries of a vertex are numbered 0, 1, ...: in this order it is turned. A joint comes before those above it.
    whole : float32 array, shape (N,)
        k: share of the twist that the vertex is to be turned by.
    below : float32 array, shape (N,)
        b: weight of the joint and all below it.
    """

    vertices: np.ndarray
    twists: np.ndarray
    passes: np.ndarray
    whole: np.ndarray
    below: np.ndarray

    @cached_property
    def mixes(self) -> np.ndarray:
        """(1 - b)^2, b (1 - b) and b^2, float32, shape (3, N)."""
        left = 1.0 - self.below
        return np.stack([left * left, left * self.below, self.below * self.below])

    def ordered_by(self, order: np.ndarray) -> TwistShares:
        """The same entries in another order, or some of them: int array, shape (M,)."""
        return TwistShares(*(getattr(self, each.name)[order] for each in fields(self)))


def share_along(positions: np.ndarray) -> np.ndarray:
    """Share of a twist at positions along the bones that it is spread along, shape (N,): 0 at the start, 1 at the end.

    It grows as the inverse of the radius of what tapers toward the end, so that the skin is sheared alike everywhere.
    """
    return np.log(1.0 - TAPER * np.clip(positions, 0.0, 1.0)) / np.log(1.0 - TAPER)


def find_twist_shares(
    weights: Weights, points: np.ndarray, spread: SpreadTwists, has_below: bool = False
) -> TwistShares:
    """What vertices take of twists.

    Parameters
    ----------
    weights : Weights
        Normalized, of the joints without fractions; a joint of index B stays at rest.
    points : float array, shape (V, 3)
        At rest, armature space.
    has_below : bool
        Whether vertices of the limb below are among them, which are not turned: for averages with those that are.
    """
    points = np.asarray(points, np.float64)
    parts = []
    for number, end in enumerate(spread.ends):
        held, below = (_sum_of(weights, mask[number], len(points)) for mask in (spread.along, spread.below))
        chosen = np.flatnonzero((held + below if has_below else held) > LEAST_SHARE)
        along = 1.0 + (points[chosen] - end) @ spread.axes[number] / spread.lengths[number]
        whole = share_along(along) * held[chosen] + below[chosen]
        parts.append((chosen, np.full(len(chosen), number), whole, below[chosen]))
    vertices, twists, whole, below = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.lexsort((-spread.depths[twists], vertices))
    vertices, twists, whole, below = (rows[order] for rows in (vertices, twists, whole, below))
    passes = np.arange(len(vertices)) - np.searchsorted(vertices, vertices)
    return TwistShares(vertices, twists, passes, whole.astype(np.float32), below.astype(np.float32))


def find_hold(weights: Weights, vertex_count: int, spread: SpreadTwists) -> tuple[np.ndarray, np.ndarray]:
    """How firmly limbs hold vertices whose twist is spread along them: nothing there may be blended linearly.

    Parameters
    ----------
    weights : Weights
        As of `find_twist_shares`.

    Returns
    -------
    holds : float array, shape (V,)
        From 0, where the limb has no weight, to 1, where it has `FIRM` or more.
    twists : int array, shape (V,)
        Of the limb that has most.
    """
    held = np.stack([_sum_of(weights, mask, vertex_count) for mask in spread.along])
    return np.minimum(held.max(axis=0) / FIRM, 1.0), held.argmax(axis=0)


def find_feet(points: np.ndarray, twists: np.ndarray, spread: SpreadTwists) -> np.ndarray:
    """Where points stand on the lines of twists, shape (V, 3); armature space.

    Parameters
    ----------
    twists : int array, shape (V,)
    """
    axes, ends = spread.axes[twists], spread.ends[twists]
    return ends + np.einsum("vi,vi->v", points - ends, axes)[:, None] * axes


def _sum_of(weights: Weights, chosen: np.ndarray, count: int) -> np.ndarray:
    """Weight of some joints, bool array (B,), at each vertex, shape (count,)."""
    is_chosen = np.append(chosen, False)[weights.joints]
    return np.bincount(weights.vertices, weights.values * is_chosen, minlength=count)


def turn_vertices(shares: TwistShares, spread: SpreadTwists, turns: SpreadTurns) -> np.ndarray:
    """By how much vertices are turned at rest about the ends of their limbs, unit quaternions, float32, shape (N, 4).

    Notes
    -----
    B(r)^-1 B(s) t(k alpha) with B(q) = (1 - b + b q) / |1 - b + b q|: the blend of both bones turns by B(r) itself. So
    a vertex ends where it would if it was turned by k alpha, and the joint had no more than its swing. Written out, the
    first two are, but for their length, (1 - b)^2 + b (1 - b) (r* + s) + b^2 r* s.
    """
    back = turns.turns * CONJUGATE
    mixed = np.stack(
        [np.eye(1, 4).repeat(len(back), axis=0), back + turns.swings, multiply_quaternions(back, turns.swings)]
    )
    mixed, twists = mixed.transpose(2, 0, 1).astype(np.float32), turns.twists.astype(np.float32)
    w, x, y, z = np.einsum("ijn,jn->in", mixed[:, :, shares.twists], shares.mixes)
    a, b, c = spread.axes.T.astype(np.float32)[:, shares.twists]
    halves = shares.whole * (0.5 * twists)[shares.twists]
    scale = 1.0 / np.sqrt(w * w + x * x + y * y + z * z)
    cosines, sines = scale * np.cos(halves), scale * np.sin(halves)
    turned = np.empty((4, len(w)), np.float32)
    turned[0] = w * cosines - (x * a + y * b + z * c) * sines
    turned[1] = x * cosines + (w * a + y * c - z * b) * sines
    turned[2] = y * cosines + (w * b + z * a - x * c) * sines
    turned[3] = z * cosines + (w * c + x * b - y * a) * sines
    return turned.T
