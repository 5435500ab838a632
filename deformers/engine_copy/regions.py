"""Find the parts of a skin to be fitted: vertices that blend joints, the joints, and the frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.polar import determinants
from ..algebra.small_inverses import invert_three
from ..rig.rest import Joints, normalize_weights
from .model import CopiedSkin

# Number of joints that a vertex may lie across
CUTS = 6

# Number of vertices whose weights are dense at a time
VERTEX_CHUNK = 8192


@dataclass(frozen=True)
class Blends:
    """How vertices follow joints.

    Attributes
    ----------
    joints : int32 array, shape (V, 8)
        By descending weight.
    values : float32 array, shape (V, 8)
        Their weights. All weights of a vertex sum to 1.
    cuts : int32 array, shape (V, 6)
        Joints with weight of the vertex on both sides, the most even first, then joints near it; -1 for none.
    beyond : float32 array, shape (V, 6)
        Weight of each of these joints with all joints below it.
    """

    joints: np.ndarray
    values: np.ndarray
    cuts: np.ndarray
    beyond: np.ndarray


def find_blends(skin: CopiedSkin) -> Blends:
    """Find how the vertices of a skin follow its joints."""
    most, min_cut = 8, 0.005  # joints of a vertex; weight on the lesser side of a joint
    count, joint_count = len(skin.points), len(skin.joints.parents)
    weights = normalize_weights(skin.weights, count, joint_count).by_vertex()
    below = skin.joints.chains.below.astype(np.float32)
    parts = []
    bounds = np.searchsorted(weights.vertices, np.arange(0, count + VERTEX_CHUNK, VERTEX_CHUNK))
    for number, start in enumerate(range(0, count, VERTEX_CHUNK)):
        own = slice(bounds[number], bounds[number + 1])
        dense = np.zeros((min(VERTEX_CHUNK, count - start), joint_count + 1), np.float32)
        np.add.at(dense, (weights.vertices[own] - start, weights.joints[own]), weights.values[own])
        dense = dense[:, :-1]  # the joint beyond the last stays at rest
        beyond = dense @ below
        evenness = np.minimum(beyond, dense.sum(axis=1, keepdims=True) - beyond)
        joints, values = _take_largest(dense, most)
        cuts, evenly = _take_largest(evenness, CUTS)
        beyond = np.take_along_axis(beyond, cuts, axis=1)
        parts.append((joints, values, np.where(evenly > min_cut, cuts, -1), beyond))
    blends = Blends(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    _add_near_cuts(skin, blends)
    return blends


def _add_near_cuts(skin: CopiedSkin, blends: Blends) -> None:
    """Fill up the joints that vertices lie across with the two nearest ends of the bone that they follow most."""
    parents, centers = np.asarray(skin.joints.parents), np.asarray(skin.joints.centers)
    for joint in np.unique(blends.joints[:, 0]):
        own = np.flatnonzero((blends.joints[:, 0] == joint) & (blends.values[:, 0] > 0.0))
        ends = np.append(np.flatnonzero(parents == joint), joint)
        ends = ends[parents[ends] >= 0]
        away = np.linalg.norm(skin.points[own, None] - centers[ends], axis=2)
        for near in np.argsort(away, axis=1)[:, :2].T:
            is_known = (blends.cuts[own] == ends[near][:, None]).any(axis=1)
            slots = (blends.cuts[own] >= 0).sum(axis=1)
            free = ~is_known & (slots < CUTS)
            blends.cuts[own[free], slots[free]] = ends[near][free]
            blends.beyond[own[free], slots[free]] = ends[near][free] == joint


def _take_largest(values: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of the largest entries of each row, descending, shape (N, count), padded with 0."""
    missing = max(0, count - values.shape[1])
    count = min(count, values.shape[1])
    columns = np.argpartition(-values, count - 1, axis=1)[:, :count]
    found = np.take_along_axis(values, columns, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    columns, found = (np.take_along_axis(array, order, axis=1) for array in (columns, found))
    fill = ((0, 0), (0, missing))
    return np.pad(columns, fill).astype(np.int32), np.pad(found, fill)


def relate_to_parents(matrices: np.ndarray, parents: np.ndarray) -> np.ndarray:
    """Motion of joints relative to their parents, shape (F, B, 4, 4), in rest space. Roots do not move."""
    is_root = parents < 0
    local = invert_affine(matrices)[:, parents] @ matrices
    local[:, is_root] = np.eye(4)
    return local


def invert_affine(matrices: np.ndarray) -> np.ndarray:
    """Invert affine transforms, shape (..., 4, 4). Flattened transforms get a pseudoinverse."""
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
    """Choose frames by farthest-point sampling of the joints' motion relative to their parents: int array, ascending.

    `local`, (F, B, 4, 4), is from `relate_to_parents`, and `wanted`, bool, (B,), are joints that matter.
    """
    if len(local) <= count or not wanted.any():
        return np.arange(len(local))[:count]
    local, centers = local[:, wanted], np.asarray(joints.centers, np.float64)[wanted]
    moves = np.einsum("fbij,bj->fbi", local[:, :, :3, :3], centers) + local[:, :, :3, 3] - centers
    turns = local[:, :, :3, :3].reshape(*local.shape[:2], 9)
    # A move by a twentieth of the size counts as much as a rotation by one radian.
    state = np.concatenate([turns, moves / (0.05 * size)], axis=2).astype(np.float32)
    rest = np.concatenate([np.eye(3).ravel(), np.zeros(3)]).astype(np.float32)
    nearest = np.square(state - rest).sum(axis=2).max(axis=1)  # rest is known already
    chosen = []
    while len(chosen) < count:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.square(state - state[chosen[-1]]).sum(axis=2).max(axis=1))
    return np.unique(chosen)
