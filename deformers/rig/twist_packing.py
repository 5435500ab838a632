"""What vertices take of spread twists as rows of three numbers, as nodes read it from attributes."""

from __future__ import annotations

import numpy as np

from .twist_shares import TwistShares


def pack_twists(shares: TwistShares, vertex_count: int) -> np.ndarray | None:
    """The share of each vertex in a twist, the weight below it, and the twist's number, by pass.

    Returns
    -------
    float32 array, shape (P, V, 3), or None
        P is a power of 2. Twists are numbered from 1 on; 0 for none. None where no vertex takes anything.
    """
    if not len(shares.vertices):
        return None
    passes = 1 << int(shares.passes.max()).bit_length()
    packed = np.zeros((passes, vertex_count, 3), np.float32)
    rows = np.stack([shares.whole, shares.below, shares.twists + 1], axis=1)
    packed[shares.passes, shares.vertices] = rows
    return packed


def count_bent(packed: np.ndarray) -> int:
    """Of how many passes, the first ones, some vertex follows the joint below, too.

    Parameters
    ----------
    packed : float32 array, shape (P, V, 3)
        From `pack_twists`.
    """
    return int(np.flatnonzero(packed[..., 1].any(axis=1)).max(initial=-1)) + 1


def fill_faces(packed: np.ndarray | None, corners: np.ndarray, starts: np.ndarray) -> np.ndarray | None:
    """The same for values that are averaged within faces: all vertices of a face name the same twist in each pass.

    Parameters
    ----------
    packed : float32 array, shape (P, V, 3), or None
        From `pack_twists`, with a pass for each depth.
    corners : int array, shape (C,)
        Vertices of all faces' corners.
    starts : int array, shape (F,)
        Each face's first corner.

    Notes
    -----
    Where faces meet those of another limb, one of both twists is named: between them, averages are of neither.
    """
    if packed is None or not len(starts):
        return packed
    sizes = np.diff(np.append(starts, len(corners)))
    for rows in packed:
        of_faces = np.maximum.reduceat(rows[corners, 2], starts)
        numbers = rows[:, 2].copy()
        np.maximum.at(numbers, corners, np.repeat(of_faces, sizes))
        rows[:, 2] = np.where(rows[:, 2] > 0.0, rows[:, 2], numbers)
    return packed
