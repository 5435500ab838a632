"""Weights as sets of joints: which sets each vertex follows, and how, as nodes read it from attributes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rest import Weights, normalize_weights

SET_SIZE = 4
"""Joints in a set."""

MOST_TO_MERGE = 4000
"""Sets that are compared with one another, all with all, to do without those that others contain."""


@dataclass(frozen=True)
class Influences:
    """What each vertex follows: some sets of joints, with a share of each and weights within it.

    Set k of vertex v is `sets[which[k, v]]`. Its first three joints have the weights `weights[k, v]`, the last has the
    rest to 1. The joint beyond the last stays at rest.

    Attributes
    ----------
    sets : int32 array, shape (S, 4)
        Joints. Those of fewer joints repeat one.
    which : int32 array, shape (K, V)
    weights : float32 array, shape (K, V, 3)
    shares : float32 array, shape (K, V), or None
        None where every vertex follows one set.
    is_interpolable : bool
        Whether shares may be averaged within faces; they then need not sum to 1.
    """

    sets: np.ndarray
    which: np.ndarray
    weights: np.ndarray
    shares: np.ndarray | None
    is_interpolable: bool = False


def pack_influences(weights: Weights, vertex_count: int, joint_count: int) -> Influences:
    """As few sets for each vertex as its joints need. Shares sum to 1.

    Parameters
    ----------
    weights : Weights
        Need not be normalized.
    """
    normalized = normalize_weights(weights, vertex_count, joint_count)
    vertices, joints, values = _read_pairs(normalized, joint_count + 1)
    slots = np.arange(len(vertices)) - np.searchsorted(vertices, vertices)
    depth = int(slots.max(initial=0)) // SET_SIZE + 1
    cells = (slots // SET_SIZE) * vertex_count + vertices
    members = np.full((depth * vertex_count, SET_SIZE), -1, np.int32)
    members[cells, slots % SET_SIZE] = joints
    kept, contained_in = _merge_sets(members)
    which = contained_in.astype(np.int32)

    shares = np.bincount(cells, values, minlength=len(members))
    columns = (kept[which[cells]] == joints[:, None]).argmax(axis=1)
    within = np.zeros((len(members), SET_SIZE))
    within[cells, columns] = values / shares[cells]
    shape = (depth, vertex_count)
    return Influences(
        sets=kept,
        which=which.reshape(shape),
        weights=within[:, :-1].astype(np.float32).reshape(*shape, SET_SIZE - 1),
        shares=shares.astype(np.float32).reshape(shape) if depth > 1 else None,
    )


def find_differences(influences: Influences, vertices: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Signed weights by which some vertices blend the difference of two joints, both in the first of their sets.

    Parameters
    ----------
    vertices : int array, shape (N,)
    first, second : int arrays, shape (N,)
        Joints.

    Returns
    -------
    float32 array, shape (N, 3)
        1 for the first and -1 for the second, of the first three joints of the set.
    """
    sets = influences.sets[influences.which[0, vertices]]
    ones = np.eye(SET_SIZE, dtype=np.float32)
    columns = [(sets == joints[:, None]).argmax(axis=1) for joints in (first, second)]
    return (ones[columns[0]] - ones[columns[1]])[:, :-1]


def find_sets(known: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where sets stand among those that are known; missing ones are added.

    Parameters
    ----------
    known, wanted : int32 arrays, shape (N, 4) and (S, 4)

    Returns
    -------
    indices : int32 array, shape (S,)
    grown : int32 array, shape (N', 4)
        The known sets, and those that were missing after them.
    """
    index: dict[bytes, int] = {row.tobytes(): number for number, row in enumerate(known)}
    missing = [row for row in wanted if row.tobytes() not in index]
    index |= {row.tobytes(): number for number, row in enumerate(missing, start=len(known))}
    indices = np.array([index[row.tobytes()] for row in wanted], np.int32)
    return indices, np.concatenate([known, *(row[None] for row in missing)]).astype(np.int32)


def pack_interpolable_influences(
    weights: Weights, vertex_count: int, joint_count: int, corner_vertices: np.ndarray, face_starts: np.ndarray
) -> Influences:
    """Slots that may be interpolated within faces: in each face, a slot means the same joint for all its vertices.

    Modifiers that add vertices average attributes over a face. Shares may be averaged, sets may not: so each set is of
    one joint, joints that meet in the faces around one vertex get different slots, the same everywhere, and a vertex
    also names the joints of its neighbors, with share 0.

    Shares are weights that are not normalized: Blender averages them as they are, and normalizes then.

    Parameters
    ----------
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
    slots = slot_of[joints]
    shares = np.zeros((int(slots.max(initial=0)) + 1, vertex_count), np.float32)
    shares[slots, vertices] = values
    ring, joint = np.nonzero(meets)
    named = np.zeros((len(rings), len(shares)), np.int32)
    named[ring, slot_of[joint]] = joint
    used, sets = np.unique(named[which.reshape(-1)].T, return_inverse=True)
    return Influences(
        sets=np.repeat(used[:, None], SET_SIZE, axis=1).astype(np.int32),
        which=sets.reshape(shares.shape).astype(np.int32),
        weights=np.zeros((*shares.shape, SET_SIZE - 1), np.float32),
        shares=shares,
        is_interpolable=True,
    )


def _read_pairs(weights: Weights, joint_count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, joints and positive weights, each pair once; the joint beyond the last, which rests, is left out."""
    kept = (weights.joints < joint_count) & (weights.values > 0)
    pairs = weights.vertices[kept].astype(np.int64) * joint_count + weights.joints[kept]
    pairs, order = np.unique(pairs, return_inverse=True)
    values = np.bincount(order.reshape(-1), weights.values[kept], minlength=len(pairs))
    return pairs // max(1, joint_count), pairs % max(1, joint_count), values


def _merge_sets(members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Do without sets that others contain.

    Parameters
    ----------
    members : int32 array, shape (N, 4)
        Ascending joints, and -1 after them.

    Returns
    -------
    kept : int32 array, shape (S, 4)
        Full: the last joint is repeated.
    contained_in : int array, shape (N,)
        That which contains each set; one of no joints counts as contained in the first.
    """
    base = np.int64(members.max(initial=0) + 2)  # one number for a set: ten times as fast to sort as rows
    numbers = (members.astype(np.int64) + 1) @ base ** np.arange(SET_SIZE)[::-1]
    _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
    rows = members[first]
    sizes = (rows >= 0).sum(axis=1)
    container = np.arange(len(rows))
    if len(rows) <= MOST_TO_MERGE:
        has = np.zeros((len(rows), int(rows.max(initial=0)) + 2), np.float32)
        has[np.arange(len(rows))[:, None], rows] = 1.0  # -1 is the last column
        has = has[:, :-1]
        contains = (has @ has.T) > sizes - 0.5  # row's joints include those of the column's
        largest_first = np.argsort(-sizes, kind="stable")
        container = largest_first[contains[largest_first].argmax(axis=0)]
    kept, index = np.unique(container, return_inverse=True)
    full = np.where(rows[kept] >= 0, rows[kept], rows[kept].max(axis=1, keepdims=True))
    return full, index.reshape(-1)[which.reshape(-1)]


def _color(meets: np.ndarray) -> np.ndarray:
    """A slot for each joint so that joints that meet have different ones, shape (B,): greedy, most neighbors first."""
    slots = np.full(len(meets), -1)
    for joint in np.argsort(-meets.sum(axis=0), kind="stable"):
        taken = set(slots[meets[joint]].tolist())
        slots[joint] = next(slot for slot in range(len(meets) + 1) if slot not in taken)
    return slots
