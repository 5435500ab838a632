"""What vertices take of spread twists: by their weights, and by where they are along the limb."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from .rest import Weights
from .spread_twists import SpreadTwists, split_twists

TAPER = 0.6
"""How much thinner the skin of a long bone is at its end than at its start."""

LEAST_SHARE = 1e-3
"""Weights and shares below are none: by 172 degrees, a vertex would turn by .2."""

ALL = 1e-5
"""Weight that a vertex with all its weight below a twist may have beside, at most."""

MOST_OF = 0.5
"""Weight of what is below a twist from which on a vertex goes with it, where the limb itself holds nothing of it."""


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
    is_held : bool array, shape (N,)
        Whether the bones that the twist is spread along have weight there. Elsewhere k = b: where that is 1, a vertex
        is turned by what does not go through the blend, and by nothing else.
    """

    vertices: np.ndarray
    twists: np.ndarray
    passes: np.ndarray
    whole: np.ndarray
    below: np.ndarray
    is_held: np.ndarray

    def ordered_by(self, order: np.ndarray) -> TwistShares:
        """The same entries in another order, or some of them: int array, shape (n,)."""
        return TwistShares(*(getattr(self, each.name)[order] for each in fields(self)))

    @property
    def is_turned(self) -> np.ndarray:
        """Whether there is anything to turn as long as all of a twist goes through the blend, bool array, shape (N,)."""
        return self.is_held | (self.below < 1.0 - ALL)

    def only(self, chosen: np.ndarray) -> TwistShares:
        """Some entries, bool array, shape (N,)."""
        some = self.ordered_by(np.flatnonzero(chosen))
        return replace(some, passes=_number_passes(some.vertices))


def share_along(positions: np.ndarray) -> np.ndarray:
    """Share of a twist at positions along the bones that it is spread along, shape (N,): 0 at the start, 1 at the end.

    It grows as the inverse of the radius of what tapers toward the end, so that the skin is sheared alike everywhere.
    """
    return np.log(1.0 - TAPER * np.clip(positions, 0.0, 1.0)) / np.log(1.0 - TAPER)


def find_twist_shares(weights: Weights, points: np.ndarray, spread: SpreadTwists) -> TwistShares:
    """What vertices take of twists.

    Parameters
    ----------
    weights : Weights
        Normalized, of the joints without fractions; a joint of index B stays at rest.
    points : float array, shape (V, 3)
        At rest, armature space.
    """
    points = np.asarray(points, np.float64)
    parts = []
    for number, end in enumerate(spread.ends):
        held, below = (_sum_of(weights, mask[number], len(points)) for mask in (spread.along, spread.below))
        chosen = np.flatnonzero((held > LEAST_SHARE) | (below > MOST_OF))
        along = 1.0 + (points[chosen] - end) @ spread.axes[number] / spread.lengths[number]
        whole = share_along(along) * held[chosen] + below[chosen]
        taking = whole > LEAST_SHARE
        chosen, whole = chosen[taking], whole[taking]
        parts.append((chosen, np.full(len(chosen), number), whole, below[chosen], held[chosen] > LEAST_SHARE))
    vertices, twists, whole, below, is_held = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.lexsort((-spread.depths[twists], vertices))
    vertices, twists, whole, below, is_held = (rows[order] for rows in (vertices, twists, whole, below, is_held))
    whole, below = whole.astype(np.float32), below.astype(np.float32)
    return TwistShares(vertices, twists, _number_passes(vertices), whole, below, is_held)


def _number_passes(vertices: np.ndarray) -> np.ndarray:
    """How many entries of the same vertex come before each, by their vertices, ascending: shape (N,)."""
    return np.arange(len(vertices)) - np.searchsorted(vertices, vertices)


def _sum_of(weights: Weights, chosen: np.ndarray, count: int) -> np.ndarray:
    """Weight of some joints, bool array (B,), at each vertex, shape (count,)."""
    is_chosen = np.append(chosen, False)[weights.joints]
    return np.bincount(weights.vertices, weights.values * is_chosen, minlength=count)


def find_turns(shares: TwistShares, twists: np.ndarray, most_blended: float) -> tuple[np.ndarray, np.ndarray]:
    """By how much vertices are turned at rest about the lines of their twists: cosines and sines, float32, shape (N,).

    Parameters
    ----------
    twists : float array, shape (L,)
        Of the joints, radians.
    most_blended : float
        Radians that go through the blend, at most.

    Notes
    -----
    delta = k alpha - 2 atan2(b sin(c / 2), 1 - b + b cos(c / 2)), with c what goes through the blend of alpha: the
    second term is what the sum of both bones' quaternions, by the weights 1 - b and b, turns by.
    """
    blended, _ = split_twists(twists, most_blended)
    if not blended.any():
        angles = shares.whole * twists.astype(np.float32)[shares.twists]
        return np.cos(angles), np.sin(angles)
    of_twists = np.array([twists, np.cos(0.5 * blended), np.sin(0.5 * blended)], np.float32)
    angles, cosines, sines = of_twists[:, shares.twists]
    along, across = 1.0 - shares.below + shares.below * cosines, shares.below * sines
    squares = along * along + across * across
    cosines, sines = (along * along - across * across) / squares, 2.0 * along * across / squares
    angles = shares.whole * angles
    whole_cosines, whole_sines = np.cos(angles), np.sin(angles)
    return whole_cosines * cosines + whole_sines * sines, whole_sines * cosines - whole_cosines * sines
