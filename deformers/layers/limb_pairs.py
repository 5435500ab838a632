"""Keep limbs out of one another: find which skin may enter which other limb, and how far each gives way.

A limb is a run of joints up to a branch. Skin near another limb at rest does not take part: it belongs to the joint
between the two, and is meant to fold.
"""

from __future__ import annotations

import numpy as np

from ..geometry.neighbors import FindNearest
from ..geometry.solid import vertex_normals
from ..geometry.vectors import smooth_step
from .limb_grids import Giving, LimbGrids, NearLimbs, find_near_bones, find_near_limbs

# Number of bones of other limbs that a point may be pushed out of
PAIR_SLOTS = 4


def label_limbs(parents: np.ndarray) -> np.ndarray:
    """Label the limb of each joint, int, shape (B,): a run of joints up to a branch, such as an arm or a finger.

    Joints without children belong to their parent's limb: bones that twist, eyes, the ends of toes.
    """
    parents = np.asarray(parents)
    has_children = np.isin(np.arange(len(parents)), parents)
    branches = np.bincount(parents[has_children & (parents >= 0)], minlength=len(parents))
    limbs, count = np.full(len(parents), -1), 0
    while (limbs < 0).any():
        for joint in np.flatnonzero(limbs < 0).tolist():  # few: a second round only if children come first
            parent = int(parents[joint])
            if parent >= 0 and limbs[parent] < 0:
                continue
            if parent >= 0 and (not has_children[joint] or branches[parent] == 1):
                limbs[joint] = limbs[parent]
            else:
                limbs[joint], count = count, count + 1
    return limbs


def join_small_limbs(points: np.ndarray, owners: np.ndarray, parents: np.ndarray, unit: float) -> np.ndarray:
    """Label the limb of each joint, int, shape (B,), with fingers, toes and ears joined to the limb above them.

    Points, (V, 3), are at rest. `owners`, (V,), are their joints, or -1. `unit` is the length of a meter on a character
    of 1.8 m.
    """
    min_size = 0.15 * unit
    parents = np.asarray(parents)
    limbs = label_limbs(parents)
    for limb in np.unique(limbs)[::-1].tolist():
        skin = points[np.append(limbs == limb, False)[owners]]
        start = np.flatnonzero((limbs == limb) & (np.append(limbs, -1)[parents] != limb))
        above = parents[start[0]] if len(start) else -1
        if above >= 0 and (not len(skin) or np.linalg.norm(np.ptp(skin, axis=0)) < min_size):
            limbs[limbs == limb] = limbs[above]
    return limbs


def find_limb_pairs(
    points: np.ndarray,
    weights: np.ndarray,
    body: tuple[np.ndarray, np.ndarray, np.ndarray],
    parents: np.ndarray,
    is_hard: np.ndarray,
    unit: float,
    reach: float,
    find_nearest: FindNearest,
    may_meet: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the bones of other limbs that points may enter.

    Parameters
    ----------
    points, weights : float arrays, shapes (V, 3) and (V, B)
        At rest, of the body or of clothes that cling to it. Weights are normalized.
    body : tuple of float array (S, 3), int array (T, 3), float array (S, B)
        Points, triangles and normalized weights of the body.
    parents : int array, shape (B,)
    is_hard : bool array, shape (B,)
        Bones whose skin does not give way, such as hands. Other skin then moves all of the way.
    unit, reach : float
        Length of a meter on a character of 1.8 m, and largest distance of bones at rest.
    may_meet : bool array, shape (B, B), optional
        Pairs of bones that are kept apart, by default those of different limbs.

    Returns
    -------
    bones : int array, shape (PAIR_SLOTS, V)
        The nearest first, -1 for none.
    shares : float32 array, shape (PAIR_SLOTS, V)
        Share of its way out of each limb that each point moves.
    """
    low, high = 0.002, 0.015  # in meters of a character of 1.8 m: skin takes part by its distance from another limb
    skin, triangles, of_skin = body
    if may_meet is None:
        limbs = join_small_limbs(skin, of_skin.argmax(axis=1), parents, unit)
        meets = limbs[:, None] != limbs
    else:
        limbs, meets = np.arange(len(parents)), may_meet
    owners = weights.argmax(axis=1)
    of_points, of_body = limbs[owners], limbs[of_skin.argmax(axis=1)]
    takes_part = np.zeros((int(limbs.max()) + 1, len(points)), np.float32)
    for limb in np.intersect1d(of_body, limbs[meets.any(axis=0)]).tolist():
        others = np.flatnonzero(of_points != limb)
        if len(others):
            distances = find_nearest(points[others], skin, triangles[(of_body[triangles] == limb).any(axis=1)])[2]
            takes_part[limb, others] = smooth_step((distances / unit - low) / (high - low))
    # Soft skin moves half of the way out of soft skin.
    ways = np.where(is_hard[:, None] == [False, True], 0.5, is_hard[:, None]).astype(np.float32)
    hard = is_hard[owners].astype(np.intp)

    def allow(bone: int) -> np.ndarray:
        return meets[bone, owners] & (takes_part[limbs[bone]] * ways[bone, hard] > 0.0)

    bones = find_near_bones(points, skin, of_skin, 1.8 * unit, reach, PAIR_SLOTS, allow)
    return bones, np.where(bones >= 0, takes_part[limbs[bones], np.arange(len(points))] * ways[bones, hard], 0.0)


def find_other_limbs(
    points: np.ndarray,
    triangles: np.ndarray,
    weights: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
    grids: LimbGrids,
) -> NearLimbs:
    """Look up the limbs of pairs, from `find_limb_pairs`, at rest in armature space.

    Points are (V, 3), triangles, which face outward, (T, 3), and normalized weights (V, B).
    """
    bones, shares = pairs
    used = np.flatnonzero((bones >= 0).any(axis=0))
    normals = vertex_normals(points, triangles)[used].astype(np.float32)
    giving = Giving(shares[:, used].astype(np.float32), weights[used].argmax(axis=1), normals)
    return find_near_limbs(points, bones[:, used], grids, used, giving)
