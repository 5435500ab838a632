"""What of a skin has to be fitted: vertices that blend joints, which joints, and in which frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.polar import determinants
from ..algebra.small_inverses import invert_three
from ..rig.rest import Joints, normalize_weights
from .model import CopiedSkin

FOLLOWED = 8
"""Joints of a vertex that are looked at, the largest weights first."""

CUTS = 6
"""Joints that a vertex lies across, the most halfway first."""

NEAR = 2
"""Joints at the ends of its own bone that a vertex is counted to besides."""

LEAST_CUT = 0.005
"""Weight on the lesser side of a joint from which on a vertex lies across it."""

CHUNK = 8192
"""Vertices whose weights are dense at a time."""

FAR_MOVE = 0.05
"""A move of this share of the character's size counts as much as a turn by one radian, where frames are compared."""


@dataclass(frozen=True)
class Blends:
    """How vertices follow joints.

    Attributes
    ----------
    joints : int32 array, shape (V, 8)
        By descending weight.
    values : float32 array, shape (V, 8)
        Weights; all of a vertex sum to 1. 0 where there is none.
    cuts : int32 array, shape (V, 6)
        Joints that have weight of the vertex on both sides, by how evenly, then those near it; -1 for none.
    beyond : float32 array, shape (V, 6)
        Weight of each of these joints and of what is below it.
    """

    joints: np.ndarray
    values: np.ndarray
    cuts: np.ndarray
    beyond: np.ndarray


def find_blends(skin: CopiedSkin) -> Blends:
    """How the vertices of a skin follow its joints."""
    count, joint_count = len(skin.points), len(skin.joints.parents)
    weights = normalize_weights(skin.weights, count, joint_count).by_vertex()
    below = skin.joints.chains.below.astype(np.float32)
    parts = []
    bounds = np.searchsorted(weights.vertices, np.arange(0, count + CHUNK, CHUNK))
    for number, start in enumerate(range(0, count, CHUNK)):
        own = slice(bounds[number], bounds[number + 1])
        dense = np.zeros((min(CHUNK, count - start), joint_count + 1), np.float32)
        np.add.at(dense, (weights.vertices[own] - start, weights.joints[own]), weights.values[own])
        dense = dense[:, :-1]  # the joint beyond the last stays at rest
        beyond = dense @ below
        evenness = np.minimum(beyond, dense.sum(axis=1, keepdims=True) - beyond)
        joints, values = _take_largest(dense, FOLLOWED)
        cuts, evenly = _take_largest(evenness, CUTS)
        beyond = np.take_along_axis(beyond, cuts, axis=1)
        parts.append((joints, values, np.where(evenly > LEAST_CUT, cuts, -1), beyond))
    blends = Blends(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    _add_near_cuts(skin, blends)
    return blends


def _add_near_cuts(skin: CopiedSkin, blends: Blends) -> None:
    """Fill up the joints that vertices lie across with the nearest ends of the bone that they follow most."""
    parents, centers = np.asarray(skin.joints.parents), np.asarray(skin.joints.centers)
    for joint in np.unique(blends.joints[:, 0]):
        own = np.flatnonzero((blends.joints[:, 0] == joint) & (blends.values[:, 0] > 0.0))
        ends = np.append(np.flatnonzero(parents == joint), joint)
        ends = ends[parents[ends] >= 0]
        away = np.linalg.norm(skin.points[own, None] - centers[ends], axis=2)
        for near in np.argsort(away, axis=1)[:, :NEAR].T:
            is_known = (blends.cuts[own] == ends[near][:, None]).any(axis=1)
            slots = (blends.cuts[own] >= 0).sum(axis=1)
            free = ~is_known & (slots < CUTS)
            blends.cuts[own[free], slots[free]] = ends[near][free]
            blends.beyond[own[free], slots[free]] = ends[near][free] == joint


def _take_largest(values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of the largest of each row, descending, shape (N, count); filled up with column 0, value 0."""
    missing = max(0, count - values.shape[1])
    count = min(count, values.shape[1])
    columns = np.argpartition(-values, count - 1, axis=1)[:, :count]
    found = np.take_along_axis(values, columns, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    columns, found = (np.take_along_axis(array, order, axis=1) for array in (columns, found))
    fill = ((0, 0), (0, missing))
    return np.pad(columns, fill).astype(np.int32), np.pad(found, fill)


def relate_to_parents(matrices: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Motion of joints against the joints above them, in their rest space; roots do not move.

    Parameters
    ----------
    matrices : float array, shape (F, B, 4, 4)
    parents : int array, shape (B,)

    Returns
    -------
    float array, shape (F, B, 4, 4)
    """
    is_root = parents < 0
    local = invert_affine(matrices)[:, parents] @ matrices
    local[:, is_root] = np.eye(4)
    return local


def invert_affine(matrices: np.ndarray) -> np.ndarray:
    """Invert affine transforms; of flattened ones take the nearest inverse that there is.

    Parameters
    ----------
    matrices : float array, shape (..., 4, 4)
    """
    linear = matrices[..., :3, :3].reshape(-1, 3, 3)
    found = invert_three(linear)
    flat = np.abs(determinants(linear)) < 1e-12
    if flat.any():
        found[flat] = np.linalg.pinv(linear[flat])
    inverses = np.zeros(matrices.shape)
    inverses[..., :3, :3] = found.reshape(inverses[..., :3, :3].shape)
    inverses[..., :3, 3] = -np.einsum("...ij,...j->...i", inverses[..., :3, :3], matrices[..., :3, 3])
    inverses[..., 3, 3] = 1.0
    return inverses


def choose_frames(local: np.ndarray, joints: Joints, wanted: np.ndarray, count: int, size: float) -> np.ndarray:
    """The frames that differ most, by how joints lie against those above: one after the other, each the farthest.

    Parameters
    ----------
    local : float array, shape (F, B, 4, 4)
        Of `relate_to_parents`.
    wanted : bool array, shape (B,)
        Joints that matter.
    count : int
        Most of them.
    size : float
        Of the character.

    Returns
    -------
    int array, ascending
    """
    if len(local) <= count or not wanted.any():
        return np.arange(len(local))[:count]
    local, centers = local[:, wanted], np.asarray(joints.centers, np.float64)[wanted]
    moves = np.einsum("fbij,bj->fbi", local[:, :, :3, :3], centers) + local[:, :, :3, 3] - centers
    turns = local[:, :, :3, :3].reshape(*local.shape[:2], 9)
    state = np.concatenate([turns, moves / (FAR_MOVE * size)], axis=2).astype(np.float32)
    rest = np.concatenate([np.eye(3).ravel(), np.zeros(3)]).astype(np.float32)
    nearest = np.square(state - rest).sum(axis=2).max(axis=1)  # rest itself is known
    chosen = []
    while len(chosen) < count:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.square(state - state[chosen[-1]]).sum(axis=2).max(axis=1))
    return np.unique(chosen)
