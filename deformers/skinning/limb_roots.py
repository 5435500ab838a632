"""Roots of limbs: shoulders, hips, knuckles. Dual quaternions swell the skin there, linear blending does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..option import Option
from ..rig.hinges import find_hinges, find_shoulders
from ..rig.limbs import (
    MAX_IN_LINE_BEND,
    find_heirs,
    find_limb_chains,
    find_mirrored,
    find_paired,
    make_even,
    measure_reaches,
    measure_size,
)
from ..rig.rest import Joints, Rest, Weights, normalize_weights, once_for_joints

LIMB_ROOTS = Option(
    name="limb_roots",
    label="Less Swelling",
    tooltip="How much shoulders, hips and knuckles are blended linearly, because dual quaternions make them swell",
    highest=1.0,
    unit="FACTOR",
    help="how linearly shoulders, hips and knuckles are blended, with DLB",
    metavar="0..1",
    read=float,
)

MIN_SHARE = 1e-3


@once_for_joints
def find_limb_roots(joints: Joints) -> np.ndarray:
    """Whether a limb begins at each joint, bool array, shape (B,), equal on both sides.

    Such bones leave the middle of the body, not in line with the bone before, and are a shoulder, or one of several
    that begin at that bone: collar bones, upper arms, thighs, thumbs and fingers, but not elbows, knees and ankles. If
    the skeleton has arms and legs, only their roots and fingers count: not toes, breasts, ears.
    """
    parents = joints.parents
    if joints.tails is None or not len(parents):
        return np.zeros(len(parents), bool)
    even, mirrored = make_even(joints), find_mirrored(joints)[0]
    before = even.centers - even.chains.of_parents(even.centers, 0.0)
    lengths = np.linalg.norm(before, axis=1)
    is_in_line = np.einsum("bi,bi->b", before, even.axes) > np.cos(MAX_IN_LINE_BEND) * lengths
    is_branch = find_heirs(parents)[parents] != np.arange(len(parents))
    leaves = ~joints.chains.is_root & _find_away(even) & ~is_in_line
    found = leaves & (
        (find_shoulders(even) & _lead_to_limbs(joints))
        | (is_branch & (_lead_to_limbs(joints) | _find_fingers(joints, is_branch)))
    )
    return found | (found[mirrored] & (mirrored >= 0))


def _lead_to_limbs(joints: Joints) -> np.ndarray:
    """Whether an arm or leg can begin at each joint: from the trunk to its first bone, shape (B,); all without arms and
    legs.
    """
    chains = find_limb_chains(joints)
    lead = np.zeros(len(joints.parents), bool) if chains else np.ones(len(joints.parents), bool)
    for chain in chains:
        lead |= joints.chains.below[chain.joints[:, chain.upper]].any(axis=0)
    return lead


def _find_fingers(joints: Joints, is_branch: np.ndarray) -> np.ndarray:
    """Whether a finger begins at each branching joint, shape (B,): toes are short relative to the shin."""
    found, reaches = np.zeros(len(joints.parents), bool), measure_reaches(make_even(joints))
    min_finger_reach = 0.25  # Reach of the longest finger, in lengths of the forearm: toes are shorter.
    for chain in find_limb_chains(joints):
        centers = np.asarray(joints.centers, np.float64)[chain.joints]
        forearm = np.linalg.norm(centers[:, chain.end] - centers[:, chain.lower], axis=1).mean()
        digits = is_branch & joints.chains.below[:, chain.joints[:, chain.end]].any(axis=1)
        digits[chain.joints[:, chain.end]] = False
        siblings = np.isin(joints.parents, joints.parents[digits])
        if reaches[siblings].max(initial=0.0) >= min_finger_reach * forearm:
            found |= digits
    return found


@once_for_joints
def find_limb_hinges(joints: Joints) -> np.ndarray:
    """Whether a limb bends at each joint: elbows, knees, wrists, fingers, not spines, necks and shoulders, bool array
    (B,).
    """
    if joints.tails is None or not len(joints.parents):
        return np.zeros(len(joints.parents), bool)
    return find_hinges(joints) & find_limbs(joints) & ~find_shoulders(joints)


@once_for_joints
def find_limbs(joints: Joints) -> np.ndarray:
    """Whether each bone is off the plane between left and right, bool array, shape (B,): none without such a plane."""
    return _find_away(make_even(joints))


def _find_away(joints: Joints) -> np.ndarray:
    paired, axis, middle = find_paired(joints)
    away = np.abs(np.asarray(joints.tails, np.float64)[:, axis] - middle)
    # In sizes of the skeleton: a bone whose end is farther from the plane between left and right is not in the trunk.
    min_off_middle = 0.02
    return paired.any() & (away > min_off_middle * measure_size(joints))


def find_linear_shares(weights: Weights, joints: Joints, vertex_count: int) -> np.ndarray:
    """Share of each vertex that follows bones on different sides of a limb's root, 0 to 1, shape (V,).

    `weights`: need not be normalized.

    Notes
    -----
    With weights w and F_ab, which is 1 if a root lies between the joints a and b, else 0:
    t = sum over a and b of w_a w_b F_ab / (1 - sum of w^2). Cut at its roots, the skeleton falls into pieces, and F_ab
    is 1 for joints of different pieces: so the numerator is 1 - sum of (weight in a piece)^2.
    """
    count = len(joints.parents)
    roots = find_limb_roots(joints)
    if not roots.any():
        return np.zeros(vertex_count)
    pieces = np.append(_number_pieces(joints, roots), count)  # what follows no joint is a piece of its own
    held = normalize_weights(weights, vertex_count, count)
    squares = _sum_squares(held, held.joints, count + 1, vertex_count)
    mixed = 1.0 - _sum_squares(held, pieces[held.joints], count + 1, vertex_count)
    shares = mixed / np.where(squares < 1.0 - MIN_SHARE, 1.0 - squares, np.inf)
    return np.where(shares > MIN_SHARE, np.clip(shares, 0.0, 1.0), 0.0)


def _number_pieces(joints: Joints, roots: np.ndarray) -> np.ndarray:
    """For each joint the last root between it and the skeleton's root, which identifies its piece, shape (B,)."""
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
    """A character with linear blending at the roots of limbs, unless a vertex group sets `Rest.linear`.

    `amount`: 0 to 1.
    """
    if rest.linear is not None or amount <= 0.0:
        return rest
    shares = find_linear_shares(rest.weights, rest.joints, len(rest.points))
    return replace(rest, linear=amount * shares) if shares.any() else rest


def measure_linear_gain(rest: Rest, linear: np.ndarray) -> float:
    """Largest difference between linear blending and dual quaternions at the roots of limbs.

    Parameters
    ----------
    rest : Rest
        In any space and unit; without segments.
    linear : float array, shape (V,)
        How linearly each vertex is blended, 0 to 1.

    Returns
    -------
    float
        Millimeters of a character that is 1.8 m tall.

    Notes
    -----
    Each root alone is bent by 60 degrees to six sides, orthogonal to its bone. A vertex with the share u of its weight
    on the bent side, at the distance r from the axis, goes by an angle b to r ((1 - u) + u e^ib) with linear blending,
    and to r e^if with dual quaternions, f twice the argument of (1 - u) + u e^(ib/2). Opposite axes are equal.
    """
    joints, chosen = rest.joints, np.flatnonzero(np.asarray(linear) > MIN_SHARE)
    roots, found = np.flatnonzero(find_limb_roots(joints)), 0.0
    if not len(chosen) or not len(roots):
        return 0.0
    count, points = len(joints.parents), rest.armature_points[chosen]
    held = normalize_weights(rest.weights, len(rest.points), count)
    scale = linear[chosen] * (1.0 if rest.strength is None else rest.strength[chosen])
    below = np.concatenate([joints.chains.below, np.zeros((1, count), bool)])
    probe_bend = np.radians(60.0)  # Bend of each root to measure the effect of linear blending
    for root in roots.tolist():
        bent = np.bincount(held.vertices, held.values * below[held.joints, root], len(rest.points))[chosen]
        half = 2.0 * np.angle(1.0 - bent + bent * np.exp(0.5j * probe_bend))
        offsets = scale * np.abs(1.0 - bent + bent * np.exp(1j * probe_bend) - np.exp(1j * half))
        from_center = points - joints.centers[root]
        for axis in _list_axes(joints.axes[root]):
            found = max(found, float((offsets * np.linalg.norm(np.cross(from_center, axis), axis=1)).max()))
    ends = np.concatenate([joints.centers, joints.centers if joints.tails is None else joints.tails])
    stature_millimeters = 1800.0  # Height of the character for measures in millimeters
    return found * stature_millimeters / float(np.ptp(ends, axis=0).max())


def _list_axes(along: np.ndarray) -> np.ndarray:
    """Three axes orthogonal to a bone, 60 degrees apart, shape (3, 3)."""
    across = np.cross(along, np.eye(3)[np.abs(along).argmin()])
    across /= max(float(np.linalg.norm(across)), 1e-12)
    angles = np.arange(3) * np.pi / 3.0
    return np.cos(angles)[:, None] * across + np.sin(angles)[:, None] * np.cross(along, across)
