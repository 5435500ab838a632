"""What joints can do, by what is in the file: whether Blender's own blend of quaternions is that of DLB and DLBNT.

Blender's Preserve Volume blends dual quaternions whose signs it chooses for each vertex, one after the other; here they
belong to the joints, and agree along the skeleton. Both are the same where the quaternions of all joints that a vertex
follows agree with each other. For a joint and its parent they always do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .rest import Joints, Weights

LEAST_WEIGHT = 1e-6
"""Weights below do not count."""

LEAST_AGREEMENT = 0.15
"""Product of two quaternions from which on they agree: what is between two samples may differ from both."""


@dataclass(frozen=True, eq=False)
class Reach:
    """What the joints of a character can do, as far as that is known.

    Attributes
    ----------
    problem : str
        Why bones may do more than rotate and move; "" where they do not.
    rotations : float array, shape (S, B, 4)
        From rest to pose, armature space, in samples of all poses: unit quaternions.
    is_free : bool array, shape (B,)
        Whether it is not known how far a joint rotates against its parent.
    twists : float array, shape (B,)
        How far each joint twists by its own channels, at most, radians.
    bones : bool array
        Of all bones of the armature, those that move a joint.
    known : dict
        What was computed from it.
    """

    problem: str
    rotations: np.ndarray
    is_free: np.ndarray
    twists: np.ndarray
    bones: np.ndarray
    known: dict[Joints, np.ndarray] = field(default_factory=dict, repr=False)


def find_pairs(weights: Weights, joints: Joints) -> np.ndarray:
    """Joints that some vertex follows at once and that are not parent and child, each pair once, int array (P, 2).

    Parameters
    ----------
    weights : Weights
        Normalized, ordered by vertex; a joint of index B stays at rest.
    """
    count, kept = len(joints.parents), weights.values > LEAST_WEIGHT
    vertices, followed = weights.vertices[kept], weights.joints[kept]
    order = np.lexsort((followed, vertices))
    vertices, followed = vertices[order], followed[order]
    found, step = [np.zeros(0, np.intp)], 1
    while (same := vertices[step:] == vertices[:-step]).any():
        found.append(np.unique(followed[:-step][same] * (count + 1) + followed[step:][same]))
        step += 1
    pairs = np.stack(np.divmod(np.unique(np.concatenate(found)), count + 1), axis=1)
    parents = np.append(joints.parents, -2)
    first, second = pairs.T
    return pairs[(first != second) & (parents[first] != second) & (parents[second] != first)]


@dataclass(frozen=True, eq=False)
class Followed:
    """Which joints vertices follow at once.

    Attributes
    ----------
    pairs : int array, shape (P, 2)
        From `find_pairs`. What stays at rest is a joint of its own.
    weights : Weights or None
        Normalized, ordered by vertex, and at each in the order in which Blender adds them up; None where that is not
        known, as modifiers that interpolate weights put them in another.
    """

    pairs: np.ndarray
    weights: Weights | None


def do_signs_agree(reach: Reach, joints: Joints, followed: Followed) -> bool:
    """Whether Blender, vertex by vertex, takes the signs that quaternions have along the skeleton, in all poses.

    It does where those of all joints that a vertex follows agree. Where two do not, its order tells: each is compared
    with the sum of those before it, so a stray weight that comes late changes nothing.
    """
    count = len(joints.parents)
    if not len(followed.pairs):
        return True
    first, second = followed.pairs.T
    if reach.is_free.any():
        above = np.zeros((count + 1, count), bool)
        above[:count] = joints.chains.below
        between = above[first] ^ above[second]
        if (between & reach.is_free).any():
            return False
    if joints not in reach.known:
        at_rest = np.tile(np.eye(1, 4), (len(reach.rotations), 1, 1))
        reach.known[joints] = np.concatenate([_align(reach.rotations, joints), at_rest], axis=1)
    signed = reach.known[joints]
    disagree = np.einsum("spi,spi->sp", signed[:, first], signed[:, second]) < LEAST_AGREEMENT
    samples, pairs = disagree.any(axis=1), disagree.any(axis=0)
    if not pairs.any() or followed.weights is None:
        return not pairs.any()
    table, values = _list_influences(followed.weights, followed.pairs[pairs], count + 1)
    return all(_agree_in_order(rotations, table, values) for rotations in signed[samples])


def _list_influences(weights: Weights, pairs: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Of vertices that follow both joints of a pair: joints, shape (V, K), and weights, 0 after the last."""
    kept = weights.values > LEAST_WEIGHT
    vertices, joints, values = weights.vertices[kept], weights.joints[kept], weights.values[kept]
    follows = np.zeros((vertices.max() + 1, count), bool)
    follows[vertices, joints] = True
    first, second = follows[:, pairs].transpose(2, 0, 1)
    rows = np.flatnonzero((first & second).any(axis=1))
    own = np.isin(vertices, rows)
    rows = np.searchsorted(rows, vertices[own])
    places = np.arange(len(rows)) - np.searchsorted(rows, rows)
    table = np.zeros((rows.max() + 1, places.max() + 1), np.intp)
    shares = np.zeros(table.shape)
    table[rows, places], shares[rows, places] = joints[own], values[own]
    return table, shares


def _agree_in_order(rotations: np.ndarray, joints: np.ndarray, values: np.ndarray) -> bool:
    """Whether each quaternion agrees with the sum of those before it; quaternions (B, 4), the rest (V, K)."""
    total = values[:, :1] * rotations[joints[:, 0]]
    for own, shares in zip(joints.T[1:], values.T[1:, :, None], strict=True):
        added = rotations[own]
        agreement = np.einsum("vi,vi->v", total, added) / np.linalg.norm(total, axis=1)
        if (agreement[shares[:, 0] > 0.0] < LEAST_AGREEMENT).any():
            return False
        total += shares * added
    return True


def _align(rotations: np.ndarray, joints: Joints) -> np.ndarray:
    """Quaternions, shape (S, B, 4), with the signs that agree with the parents'; those of roots with rest."""
    before = np.where(
        joints.chains.is_root[:, None], np.array([1.0, 0.0, 0.0, 0.0]), rotations[:, np.maximum(joints.parents, 0)]
    )
    disagrees = np.einsum("sbi,sbi->bs", rotations, before) < 0.0
    odd = joints.chains.sum(disagrees.astype(np.intp)).T % 2 == 1
    return np.where(odd[:, :, None], -rotations, rotations)
