"""SDEF, "spherical deform" of MikuMikuDance: vertices of two bones with a center of rotation of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rest import Rest, normalize_weights


@dataclass(frozen=True)
class SdefPairs:
    """The vertices of a mesh that have SDEF.

    Attributes
    ----------
    vertices : int array, shape (N,)
        Ascending.
    first, second : int arrays, shape (N,)
        The two joints that each follows.
    centers : float array, shape (N, 3)
        C, armature space.
    offsets : float array, shape (N, 3)
        Where the center goes besides: by the difference of both joints' matrices, without translation, of this vector.
    """

    vertices: np.ndarray
    first: np.ndarray
    second: np.ndarray
    centers: np.ndarray
    offsets: np.ndarray


def find_sdef_pairs(rest: Rest) -> SdefPairs | None:
    """The vertices of a mesh that have SDEF, None where there are none.

    Notes
    -----
    SDEF rotates about C, which goes to w_0 M_0 c_0 + w_1 M_1 c_1 with c_i = C + (R_i - w_0 R_0 - w_1 R_1) / 2. As
    w_0 (c_0 - C) + w_1 (c_1 - C) = 0, this is (w_0 M_0 + w_1 M_1) C, plus the linear part of M_0 - M_1 times
    w_0 w_1 (R_0 - R_1) / 2. At rest it is C, whichever joint R_0 belongs to.
    """
    keys = rest.sdef
    if keys is None:
        return None
    joint_count = len(rest.joints.parents)
    weights = normalize_weights(rest.weights, len(rest.points), joint_count)
    entries, which = np.unique(weights.vertices * (joint_count + 1) + weights.joints, return_inverse=True)
    values = np.bincount(which.reshape(-1), weights.values, minlength=len(entries))
    vertices, joints = np.divmod(entries, joint_count + 1)
    has_two = np.bincount(vertices, minlength=len(rest.points)) == 2
    chosen = np.flatnonzero(has_two & (keys.centers != rest.points).any(axis=1))
    starts = np.searchsorted(vertices, chosen)
    both, shares = joints[[starts, starts + 1]], values[[starts, starts + 1]]
    order = keys.order[both]
    is_of_two = order[0] != order[1]  # else two ends of segments of one B-Bone
    chosen, both, shares, order = chosen[is_of_two], both[:, is_of_two], shares[:, is_of_two], order[:, is_of_two]
    if not len(chosen):
        return None
    both = np.where(order[0] < order[1], both, both[::-1])
    space = np.eye(4) if rest.object_to_armature is None else rest.object_to_armature
    centers, first, second = (
        np.asarray(points, np.float64)[chosen] @ space[:3, :3].T + space[:3, 3]
        for points in (keys.centers, keys.first, keys.second)
    )
    offsets = (0.5 * shares[0] * shares[1])[:, None] * (first - second)
    return SdefPairs(chosen, both[0], both[1], centers, offsets)
