"""Stages of a blend: coefficients of joints, and the motion of a vertex by their sum.

Two layouts make these rows cheap. An affine transform A is stored as its *cyclic diagonals*: rows (A00, A11, A22),
(A01, A12, A20), (A02, A10, A21) and the translation. Vectors are *wrapped*, as (x, y, z, x, y). Then A @ v is the
sum of three elementwise products of three rows each, and a cross product the difference of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

# Lower bound of squared norms of blended dual quaternions: opposite rotations in equal parts have no direction, and
# must not throw the vertex far away.
MIN_NORM = 1e-4

# Numbers that a processor reads at once; other alignments of rows take twice as long.
LANES = 16

CYCLIC_ROWS = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2])
CYCLIC_COLUMNS = np.array([0, 1, 2, 1, 2, 0, 2, 0, 1])
WRAP = np.array([0, 1, 2, 0, 1])
WRAPPED_QUATERNIONS = np.array([0, 1, 2, 3, 1, 2, 4, 5, 6, 7])

Kind = Literal["linear", "rigid", "pivot", "rotation"]


@dataclass(frozen=True)
class Stage:
    """One step of a method.

    Attributes
    ----------
    coefficients : float array, shape (B, 12), (B, 10), (B, 22) or (B, 6)
    kind : str
        "linear", "rigid", "pivot" or "rotation": the function below that made it.
    has_vertex_signs : bool
        Whether each vertex chooses the signs of its joints' quaternions, as in Blender.
    """

    coefficients: np.ndarray
    kind: Kind
    has_vertex_signs: bool = False


def linear_stage(matrices: np.ndarray) -> Stage:
    """Blend affine transforms, shape (B, 3, 4) or (B, 4, 4), entry by entry."""
    diagonals = matrices[:, CYCLIC_ROWS, CYCLIC_COLUMNS]
    return Stage(np.concatenate([diagonals, matrices[:, :3, 3]], axis=1), "linear")


def rigid_stage(dual_quaternions: np.ndarray) -> Stage:
    """Blend dual quaternions, shape (B, 8), whose signs agree."""
    return Stage(dual_quaternions[:, WRAPPED_QUATERNIONS], "rigid")


def pivot_stage(quaternions: np.ndarray, images: np.ndarray) -> Stage:
    """Blend dual quaternions with a dual part that depends on the vertex, because joints have scales.

    Parameters
    ----------
    quaternions : float array, shape (B, 4)
        Rotations, whose signs agree.
    images : float array, shape (B, 4, 4)
        Rows are the joint's images of each axis and, last, of the origin, as pure quaternions times the rotation.
    """
    rotations = quaternions[:, WRAPPED_QUATERNIONS[:6]]
    return Stage(np.concatenate([rotations, images.reshape(-1, 16)], axis=1), "pivot")


def rotation_stage(quaternions: np.ndarray) -> Stage:
    """Blend rotations about the origin as quaternions, shape (B, 4), whose signs agree."""
    return Stage(quaternions[:, WRAPPED_QUATERNIONS[:6]], "rotation")


# Coefficients of the joint at rest, shape (1, rows)
IDENTITY_COEFFICIENTS: dict[Kind, np.ndarray] = {
    stage.kind: stage.coefficients
    for stage in (
        linear_stage(np.eye(4)[None]),
        rigid_stage(np.eye(1, 8)),
        pivot_stage(np.eye(1, 4), np.eye(4, k=1)[None]),
        rotation_stage(np.eye(1, 4)),
    )
}


def empty_rows(rows: int, columns: int) -> np.ndarray:
    """A new float32 array of rows that are aligned to `LANES`. `columns`: a multiple of `LANES`."""
    memory = np.empty(rows * columns + LANES, np.float32)
    first = -memory.ctypes.data // memory.itemsize % LANES
    return memory[first : first + rows * columns].reshape(rows, columns)


class Scratch:
    """Parts of one array: new memory of this size would be mapped again at each call."""

    def __init__(self, memory: np.ndarray) -> None:
        self._memory = memory
        self._used = 0

    def take(self, *shape: int) -> np.ndarray:
        """The next part, of this shape, not cleared."""
        start = self._used
        self._used += math.prod(shape)
        return self._memory[start : self._used].reshape(shape)


def run_stages(stages: list[Stage], sums: np.ndarray, start: np.ndarray, memory: Scratch) -> np.ndarray:
    """Apply stages to columns: float32 array, (3, C, n).

    Parameters
    ----------
    sums : float32 array, shape (sum of the stages' rows, n)
        The stages' coefficients, summed over each vertex's joints, one stage below the other.
    start : float32 array, shape (5, C, n)
        Wrapped columns, the last a point, the others vectors.
    """
    state, row = start, 0
    for stage in stages:
        blended = sums[row : row + stage.coefficients.shape[1]]
        row += len(blended)
        state = MOVES[stage.kind](blended, state, memory)
    return state[:3]


def apply_affine(affine: np.ndarray, state: np.ndarray, memory: Scratch) -> np.ndarray:
    """Apply affine transforms to columns: float32 array, (5, C, n).

    Parameters
    ----------
    affine : float32 array, shape (12, n)
        Cyclic diagonals.
    state : float32 array, shape (5, C, n or 1)
        Wrapped columns, the last a point, the others vectors.
    """
    columns, count = state.shape[1], affine.shape[1]
    diagonals = affine.reshape(4, 3, 1, count)
    result = memory.take(5, columns, count)
    product = memory.take(3, columns, count)
    out = result[:3]
    np.multiply(diagonals[0], state[0:3], out=out)
    out += np.multiply(diagonals[1], state[1:4], out=product)
    out += np.multiply(diagonals[2], state[2:5], out=product)
    out[:, -1] += affine[9:]
    result[3:] = result[:2]
    return result


def _move_rigidly(blended: np.ndarray, state: np.ndarray, memory: Scratch) -> np.ndarray:
    """Normalize sums of dual quaternions and move points and vectors by them (eq 5-8); see `apply_affine`.

    `blended`, float32 array, shape (10, n): w and wrapped r of the real part, w' and r' of the dual part.

    Notes
    -----
    q v q* / |q|^2, written out with the translation 2 q' q*: v + 2 / |q|^2 (r x u + w u - w' r) with u = r x v + r'.
    Vectors do not use the dual part.
    """
    columns, count = state.shape[1], blended.shape[1]
    w, r, dual_w, dual_r = blended[0], blended[1:6, None], blended[6], blended[7:10]
    product, scale = memory.take(3, columns, count), _inverse_squares(blended[:4], memory)

    inner = memory.take(5, columns, count)
    u = np.multiply(r[1:4], state[2:5], out=inner[:3])
    u -= np.multiply(r[2:5], state[1:4], out=product)
    u[:, -1] += dual_r
    inner[3:] = inner[:2]

    result = memory.take(5, columns, count)
    out = np.multiply(r[1:4], inner[2:5], out=result[:3])
    out -= np.multiply(r[2:5], inner[1:4], out=product)
    out += np.multiply(w, u, out=product)
    out[:, -1] -= np.multiply(dual_w, blended[1:4], out=product[:, -1])
    out *= scale
    out += state[:3]
    result[3:] = result[:2]
    return result


def _move_about_pivots(blended: np.ndarray, state: np.ndarray, memory: Scratch) -> np.ndarray:
    """Rotate the columns' images by each joint by sums of quaternions; see `apply_affine`.

    `blended`, float32 array, shape (22, n): w and wrapped r of the quaternions, then the images of the axes and of the
    origin times them.

    Notes
    -----
    p q* / |q|^2 with p = (p', p) the image of the column: (w p - p' r + r x p) / |q|^2.
    """
    columns, count = state.shape[1], blended.shape[1]
    w, r, images = blended[0], blended[1:6, None], blended[6:].reshape(4, 4, 1, count)
    image, product = memory.take(6, columns, count), memory.take(4, columns, count)
    own = np.multiply(images[0], state[0], out=image[:4])
    own += np.multiply(images[1], state[1], out=product)
    own += np.multiply(images[2], state[2], out=product)
    own[:, -1] += images[3, :, 0]
    image[4:] = image[1:3]

    result, scale = memory.take(5, columns, count), _inverse_squares(blended[:4], memory)
    out, product = np.multiply(w, image[1:4], out=result[:3]), product[:3]
    out -= np.multiply(image[0], r[:3], out=product)
    out += np.multiply(r[1:4], image[3:6], out=product)
    out -= np.multiply(r[2:5], image[2:5], out=product)
    out *= np.multiply(scale, 0.5, out=scale)
    if scale.max() >= 1.0 / MIN_NORM:
        out += _fade_in(blended[:4]) * state[:3]
    result[3:] = result[:2]
    return result


def _fade_in(quaternions: np.ndarray) -> np.ndarray:
    """1 for quaternions, shape (4, n), without a direction, 0 above `MIN_NORM`, shape (n,)."""
    return np.maximum(1.0 - np.square(quaternions).sum(axis=0) / MIN_NORM, 0.0)


def _rotate(blended: np.ndarray, state: np.ndarray, memory: Scratch) -> np.ndarray:
    """Normalize sums of quaternions and rotate columns by them about the origin; see `apply_affine`.

    `blended`, float32 array, shape (6, n): w and wrapped r.

    Notes
    -----
    q v q* / |q|^2 = v + 2 / |q|^2 (r x u) with u = r x v + w v.
    """
    columns, count = state.shape[1], blended.shape[1]
    w, r = blended[0], blended[1:6, None]
    product, scale = memory.take(3, columns, count), _inverse_squares(blended[:4], memory)

    inner = memory.take(5, columns, count)
    u = np.multiply(r[1:4], state[2:5], out=inner[:3])
    u -= np.multiply(r[2:5], state[1:4], out=product)
    u += np.multiply(w, state[:3], out=product)
    inner[3:] = inner[:2]

    result = memory.take(5, columns, count)
    out = np.multiply(r[1:4], inner[2:5], out=result[:3])
    out -= np.multiply(r[2:5], inner[1:4], out=product)
    out *= scale
    out += state[:3]
    result[3:] = result[:2]
    return result


def _inverse_squares(quaternions: np.ndarray, memory: Scratch) -> np.ndarray:
    """2 / |q|^2 of quaternions, shape (4, n), to (n,)."""
    squares, scale = memory.take(*quaternions.shape), memory.take(quaternions.shape[1])
    np.add.reduce(np.multiply(quaternions, quaternions, out=squares), axis=0, out=scale)
    np.maximum(scale, MIN_NORM, out=scale)
    return np.divide(2.0, scale, out=scale)


MOVES: dict[Kind, Callable[[np.ndarray, np.ndarray, Scratch], np.ndarray]] = {
    "linear": apply_affine,
    "rigid": _move_rigidly,
    "pivot": _move_about_pivots,
    "rotation": _rotate,
}
