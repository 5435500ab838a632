"""Weights as slots: so many pairs of a joint and a weight for each vertex, as nodes read them from attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rest import Weights, normalize_weights


@dataclass(frozen=True)
class Influences:
    """What each vertex follows: slot k of vertex v says joint `joints[k, v]` with weight `weights[k, v]`.

    Where the weights of a vertex sum to nothing, it stays at rest. Unused slots have weight 0.

    Attributes
    ----------
    joints : int32 array, shape (K, V)
    weights : float32 array, shape (K, V)
    """

    joints: np.ndarray
    weights: np.ndarray


def pack_influences(weights: Weights, vertex_count: int, joint_count: int) -> Influences:
    """Slots by strength: as many as the vertex with most joints needs. Weights sum to 1.

    Parameters
    ----------
    weights : Weights
        Need not be normalized.
    vertex_count, joint_count : int
    """
    normalized = normalize_weights(weights, vertex_count, joint_count)
    vertices, joints, values = _read_pairs(normalized, joint_count)
    order = np.lexsort((-values, vertices))
    vertices, joints, values = vertices[order], joints[order], values[order]
    slots = np.arange(len(vertices)) - np.searchsorted(vertices, vertices)
    return _fill(vertices, joints, values, slots, vertex_count)


def pack_interpolable_influences(
    weights: Weights, vertex_count: int, joint_count: int, corner_vertices: np.ndarray, face_starts: np.ndarray
) -> Influences:
    """Slots that may be interpolated within faces: in each face, a slot means the same joint for all its vertices.

    Modifiers that add vertices average attributes over a face. The weights of a slot may be averaged, its joint may
    not: so joints that meet in the faces around one vertex get different slots, the same everywhere, and a vertex also
    names the joints of its neighbors, with weight 0.

    Weights are not normalized: Blender averages them as they are, and normalizes then.

    Parameters
    ----------
    weights : Weights
    vertex_count, joint_count : int
    corner_vertices : int array, shape (C,)
        Vertices of the faces' corners, face after face.
    face_starts : int array, shape (F,)
        First corner of each face.
    """
    vertices, joints, values = _read_pairs(weights, joint_count)
    influencing = np.zeros((vertex_count, -(-max(1, joint_count) // 8)), np.uint8)  # a bit for each joint
    np.bitwise_or.at(influencing, (vertices, joints >> 3), np.left_shift(1, joints & 7).astype(np.uint8))
    around = influencing.copy()
    if len(face_starts):
        by_face = np.bitwise_or.reduceat(influencing[corner_vertices], face_starts, axis=0)
        sizes = np.diff(np.append(face_starts, len(corner_vertices)))
        np.bitwise_or.at(around, corner_vertices, np.repeat(by_face, sizes, axis=0))

    rings, which = np.unique(around, axis=0, return_inverse=True)
    meets = np.unpackbits(rings, axis=1, bitorder="little")[:, :joint_count].astype(np.float32)
    slot_of = _color((meets.T @ meets) > 0)
    result = _fill(vertices, joints, values, slot_of[joints], vertex_count)
    ring, joint = np.nonzero(meets)
    named = np.zeros((len(rings), len(result.joints)), np.int32)
    named[ring, slot_of[joint]] = joint
    return Influences(named[which.reshape(-1)].T.copy(), result.weights)


def _read_pairs(weights: Weights, joint_count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, joints and positive weights, each pair once; the joint beyond the last, which rests, is left out."""
    kept = (weights.joints < joint_count) & (weights.values > 0)
    pairs = weights.vertices[kept].astype(np.int64) * joint_count + weights.joints[kept]
    pairs, order = np.unique(pairs, return_inverse=True)
    values = np.bincount(order.reshape(-1), weights.values[kept], minlength=len(pairs))
    return pairs // max(1, joint_count), pairs % max(1, joint_count), values


def _fill(
    vertices: np.ndarray, joints: np.ndarray, values: np.ndarray, slots: np.ndarray, vertex_count: int
) -> Influences:
    shape = (int(slots.max(initial=0)) + 1, vertex_count)
    result = Influences(np.zeros(shape, np.int32), np.zeros(shape, np.float32))
    result.joints[slots, vertices] = joints
    result.weights[slots, vertices] = values
    return result


def _color(meets: np.ndarray) -> np.ndarray:
    """A slot for each joint so that joints that meet have different ones, shape (B,): greedy, most neighbors first."""
    slots = np.full(len(meets), -1)
    for joint in np.argsort(-meets.sum(axis=0), kind="stable"):
        taken = set(slots[meets[joint]].tolist())
        slots[joint] = next(slot for slot in range(len(meets) + 1) if slot not in taken)
    return slots
