"""Limbs against each other: which skin may run into which other limb, and how much of the way each gives way.

A limb is a run of joints up to where it branches. Skin near another limb at rest belongs to the joint between the two,
where it is meant to fold: it takes no part.
"""

from __future__ import annotations

import numpy as np

from ..geometry.neighbors import FindNearest
from ..geometry.solid import vertex_normals
from ..geometry.vectors import smooth_step
from .limb_grids import Giving, LimbGrids, NearLimbs, find_near_bones, find_near_limbs

SMALL = 0.15
"""Size of the skin of a limb, in meters of a character of 1.8 m, below which it is of the limb that it is on: fingers,
toes, ears."""

APART = 0.002, 0.015
"""Distance from another limb's skin at rest, in those, from which on skin takes part, and does so in full."""

SLOTS = 4
"""The most bones of other limbs that a point is kept out of."""

HALF = 0.5
"""Of its way out that skin goes where it meets other skin: the other goes as far."""


def label_limbs(parents: np.ndarray) -> np.ndarray:
    """The limb of each joint, int array, shape (B,): a run of joints up to where it branches, as an arm or a finger.

    Joints without children are of their parent's limb: bones that twist, eyes, the ends of toes.

    Parameters
    ----------
    parents : int array, shape (B,)
    """
    parents = np.asarray(parents)
    has_children = np.isin(np.arange(len(parents)), parents)
    branches = np.bincount(parents[has_children & (parents >= 0)], minlength=len(parents))
    limbs, count = np.full(len(parents), -1), 0
    while (limbs < 0).any():
        for joint in np.flatnonzero(limbs < 0).tolist():  # few: a second round only where children come first
            parent = int(parents[joint])
            if parent >= 0 and limbs[parent] < 0:
                continue
            if parent >= 0 and (not has_children[joint] or branches[parent] == 1):
                limbs[joint] = limbs[parent]
            else:
                limbs[joint], count = count, count + 1
    return limbs


def join_small_limbs(points: np.ndarray, owners: np.ndarray, parents: np.ndarray, unit: float) -> np.ndarray:
    """The limb of each joint, int array, shape (B,), with small ones joined to those that they are on.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest.
    owners : int array, shape (V,)
        The joint of each, -1 for none.
    parents : int array, shape (B,)
    unit : float
        Length that stands for a meter on a character of 1.8 m.
    """
    parents = np.asarray(parents)
    limbs = label_limbs(parents)
    for limb in np.unique(limbs)[::-1].tolist():
        skin = points[np.append(limbs == limb, False)[owners]]
        start = np.flatnonzero((limbs == limb) & (np.append(limbs, -1)[parents] != limb))
        above = parents[start[0]] if len(start) else -1
        if above >= 0 and (not len(skin) or np.linalg.norm(np.ptp(skin, axis=0)) < SMALL * unit):
            limbs[limbs == limb] = limbs[above]
    return limbs


def find_pairs(
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
    """Find the bones of other limbs that points may run into.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest, of the body or of clothes that cling to it.
    weights : float array, shape (V, B)
        Normalized.
    body : tuple of float array (S, 3), int array (T, 3), float array (S, B)
        Its points, triangles and normalized weights.
    parents : int array, shape (B,)
    is_hard : bool array, shape (B,)
        Bones whose skin does not give way, as that of hands: other skin does so the whole way.
    unit : float
        Length that stands for a meter on a character of 1.8 m.
    reach : float
        How far bones may be at rest.
    may_meet : bool array, shape (B, B), optional
        Which bones are kept out of which; by default those of different limbs.

    Returns
    -------
    bones : int array, shape (SLOTS, V)
        The nearest first, -1 where there are fewer.
    shares : float32 array, shape (SLOTS, V)
        Of its way out of the limb of each that each point goes.
    """
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
            low, high = APART
            takes_part[limb, others] = smooth_step((distances / unit - low) / (high - low))
    ways = np.where(is_hard[:, None] == [False, True], HALF, is_hard[:, None]).astype(np.float32)
    hard = is_hard[owners].astype(np.intp)

    def allow(bone: int) -> np.ndarray:
        return meets[bone, owners] & (takes_part[limbs[bone]] * ways[bone, hard] > 0.0)

    bones = find_near_bones(points, skin, of_skin, 1.8 * unit, reach, SLOTS, allow)
    return bones, np.where(bones >= 0, takes_part[limbs[bones], np.arange(len(points))] * ways[bones, hard], 0.0)


def find_other_limbs(
    points: np.ndarray,
    triangles: np.ndarray,
    weights: np.ndarray,
    pairs: tuple[np.ndarray, np.ndarray],
    grids: LimbGrids,
) -> NearLimbs:
    """What is known at rest of a mesh that meets limbs.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Armature space.
    triangles : int array, shape (T, 3)
        They look outward.
    weights : float array, shape (V, B)
        Normalized.
    pairs : tuple of arrays
        From `find_pairs`.
    """
    bones, shares = pairs
    used = np.flatnonzero((bones >= 0).any(axis=0))
    normals = vertex_normals(points, triangles)[used].astype(np.float32)
    giving = Giving(shares[:, used].astype(np.float32), weights[used].argmax(axis=1), normals)
    return find_near_limbs(points, bones[:, used], grids, used, giving)
