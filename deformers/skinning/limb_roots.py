"""Where limbs begin: shoulders, hips, knuckles. Dual quaternions swell the skin there, linear blending does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..option import Option
from ..rig.fraction_plan import IN_LINE, find_heirs, find_paired, measure_size
from ..rig.rest import Joints, Rest, Weights, normalize_weights, once_for_joints
from ..rig.twist_shares import find_hold
from .joint_shares import find_hinges, find_shoulders

LIMB_ROOTS = Option(
    name="limb_roots",
    label="Less Swelling",
    tooltip="How much shoulders, hips and knuckles are blended linearly, because dual quaternions make them swell",
    highest=1.0,
    unit="FACTOR",
    help="how linearly shoulders, hips and knuckles are blended, with DLBNT",
    metavar="0..1",
    read=float,
)

OFF_MIDDLE = 0.02
"""Distance of a bone's end from the plane between left and right, as a share of the skeleton's size, from which on it
is no part of the trunk."""

LEAST = 1e-3
"""Shares below are none."""


@once_for_joints
def find_limb_roots(joints: Joints) -> np.ndarray:
    """At which joints limbs begin, bool array, shape (B,).

    Their bones leave the middle of the body, out of line with the bone before, and are a shoulder, or one of several
    that begin at that bone: collar bones, upper arms, thighs, thumbs and fingers, but not elbows, knees and ankles.

    Parameters
    ----------
    joints : Joints
        Without their fractions.
    """
    parents = joints.parents
    if joints.tails is None or not len(parents):
        return np.zeros(len(parents), bool)
    centers = np.asarray(joints.centers, np.float64)
    before = centers - joints.chains.of_parents(centers, 0.0)
    lengths = np.linalg.norm(before, axis=1)
    is_in_line = np.einsum("bi,bi->b", before, joints.axes) > np.cos(IN_LINE) * lengths
    goes_on = find_heirs(parents)[parents] == np.arange(len(parents))
    return ~joints.chains.is_root & find_limbs(joints) & ~is_in_line & (find_shoulders(joints) | ~goes_on)


@once_for_joints
def find_limb_hinges(joints: Joints) -> np.ndarray:
    """At which joints limbs bend: elbows, knees, wrists, fingers, not spines, necks and shoulders, bool array (B,).

    Parameters
    ----------
    joints : Joints
        Without their fractions.
    """
    if joints.tails is None or not len(joints.parents):
        return np.zeros(len(joints.parents), bool)
    return find_hinges(joints) & find_limbs(joints) & ~find_shoulders(joints)


@once_for_joints
def find_limbs(joints: Joints) -> np.ndarray:
    """Which bones are off the plane between left and right, bool array, shape (B,): none where there is no plane."""
    paired, axis, middle = find_paired(joints)
    away = np.abs(np.asarray(joints.tails, np.float64)[:, axis] - middle)
    return paired.any() & (away > OFF_MIDDLE * measure_size(joints))


def find_linear_shares(weights: Weights, joints: Joints, vertex_count: int) -> np.ndarray:
    """How much of each vertex is held by bones that are apart from each other by a limb's root, 0 to 1, shape (V,).

    Parameters
    ----------
    weights : Weights
        Of the joints without fractions; need not be normalized.

    Notes
    -----
    With weights w and F_ab, which is 1 where a root lies between the joints a and b, else 0:
    t = sum over a and b of w_a w_b F_ab / (1 - sum of w^2). Cut at its roots, the skeleton falls into pieces, and F_ab
    is 1 for joints of different pieces: so the numerator is 1 - sum of (weight in a piece)^2. Vertices that are held by
    bones that have a twist spread along them are none of it: linear blending would wring them.
    """
    count = len(joints.parents)
    roots = find_limb_roots(joints)
    if not roots.any():
        return np.zeros(vertex_count)
    pieces = np.append(_number_pieces(joints, roots), count)  # what follows no joint is a piece of its own
    held = normalize_weights(weights, vertex_count, count)
    squares = _sum_squares(held, held.joints, count + 1, vertex_count)
    mixed = 1.0 - _sum_squares(held, pieces[held.joints], count + 1, vertex_count)
    shares = mixed / np.where(squares < 1.0 - LEAST, 1.0 - squares, np.inf)
    if joints.spread is not None:
        shares *= 1.0 - find_hold(held, vertex_count, joints.spread)[0]
    return np.where(shares > LEAST, np.clip(shares, 0.0, 1.0), 0.0)


def _number_pieces(joints: Joints, roots: np.ndarray) -> np.ndarray:
    """Of each joint the last root on its way from the skeleton's root: those of one piece have the same, shape (B,)."""
    pieces = np.where(roots | joints.chains.is_root, np.arange(len(roots)), -1)
    while (rest := pieces < 0).any():
        pieces[rest] = pieces[joints.parents[rest]]
    return pieces


def _sum_squares(weights: Weights, kinds: np.ndarray, kind_count: int, vertex_count: int) -> np.ndarray:
    """Sum over kinds of the square of a vertex's weight of that kind, shape (V,)."""
    cells, inverse = np.unique(weights.vertices * kind_count + kinds, return_inverse=True)
    sums = np.bincount(inverse, weights.values)
    return np.bincount(cells // kind_count, sums * sums, minlength=vertex_count)


def with_linear_roots(rest: Rest, amount: float) -> Rest:
    """A character whose skin is blended linearly where limbs begin, unless a vertex group says where.

    Parameters
    ----------
    amount : float
        0 to 1.
    """
    if rest.linear is not None or amount <= 0.0:
        return rest
    shares = find_linear_shares(rest.weights, rest.joints, len(rest.points))
    return replace(rest, linear=amount * shares) if shares.any() else rest
