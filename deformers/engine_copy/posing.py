"""Pose an engine copy as in the examples, and measure its distance from the targets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..algebra.products import multiply_rows
from .model import CopiedSkin, CopyFit, Examples

# Differences are counted in a histogram of so many steps, each a millionth of the character's size.
STEPS = 1_000_000


@dataclass(frozen=True)
class Differences:
    """Distances of a copy's vertices from their targets, in the unit of the points.

    Attributes
    ----------
    largest, most, rms : float
        Over all vertices and frames; 95 % are below `most`.
    frame, vertex, joint : int
        Position of the largest distance; the joint is -1 if the vertex has no weights.
    """

    largest: float
    most: float
    rms: float
    frame: int
    vertex: int
    joint: int


def chunk_frames(vertex_count: int, frames: np.ndarray) -> list[np.ndarray]:
    """Divide frames, int, shape (N,), into chunks whose targets take little memory."""
    length = max(1, 60_000_000 // max(1, 12 * vertex_count))
    return [frames[start : start + length] for start in range(0, len(frames), length)]


def pose_copy(skin: CopiedSkin, examples: Examples, fit: CopyFit, frames: np.ndarray) -> np.ndarray:
    """Pose a copy in frames, shape (N,), by linear blending as in engines: float32, (N, V, 3), in armature space."""
    matrices = np.concatenate([examples.matrices[frames], fit.helper_matrices[frames]], axis=1)
    points, count = np.asarray(skin.points, np.float64), len(frames)
    if not fit.keys:
        return blend(matrices, points, fit.bones, fit.values)
    posed = np.empty((count, len(points), 3), np.float32)
    offsets = np.stack([key.offsets for key in fit.keys])
    for number, frame in enumerate(frames):
        own = np.flatnonzero(fit.key_values[frame])
        shaped = points + np.tensordot(fit.key_values[frame, own], offsets[own], axes=1)
        posed[number] = blend(matrices[number : number + 1], shaped, fit.bones, fit.values)[0]
    return posed


def blend(matrices: np.ndarray, points: np.ndarray, bones: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Blend points, (V, 3), linearly: float32, shape (F, V, 3). Points without weights stay at rest.

    Bones have matrices (F, N, 4, 4). Indices and weights have shape (V, K).
    """
    frames, count = len(matrices), len(points)
    rows = np.ascontiguousarray(matrices[:, :, :3].transpose(1, 3, 0, 2)).reshape(-1, 4, 3 * frames).astype(np.float32)
    full = np.concatenate([points, np.ones((count, 1))], axis=1)
    loose = values.sum(axis=1) == 0.0
    posed = np.zeros((count, 3 * frames), np.float32)
    posed[loose] = np.tile(points[loose], frames)
    entries = np.flatnonzero(values)
    order = entries[np.argsort(bones.ravel()[entries], kind="stable")]
    present, starts = np.unique(bones.ravel()[order], return_index=True)
    slots = values.shape[1]
    for bone, own in zip(present, np.split(order, starts[1:]), strict=True):
        vertices = own // slots
        weighted = (values.ravel()[own, None] * full[vertices]).astype(np.float32)
        posed[vertices] += multiply_rows(weighted, rows[bone])  # a vertex follows a bone once
    return posed.reshape(count, frames, 3).transpose(1, 0, 2)


def measure(
    skin: CopiedSkin,
    examples: Examples,
    fit: CopyFit,
    progress: Callable[[float], None],
    frames: np.ndarray | None = None,
) -> Differences:
    """Measure how far a copy is from its targets.

    Parameters
    ----------
    progress : function
        Called with the finished share. An exception that it raises ends the measuring.
    frames : int array, shape (N,), optional
        Ascending; all by default.
    """
    frames = np.arange(examples.count) if frames is None else frames
    tally = Tally(skin)
    for some in chunk_frames(len(skin.points), frames):
        progress(float(np.searchsorted(frames, some[0])) / len(frames))
        tally.add(some, np.linalg.norm(pose_copy(skin, examples, fit, some) - examples.read(some), axis=2))
    return tally.sum_up()


class Tally:
    """Collects distances of a skin's vertices from their targets, some frames at a time."""

    def __init__(self, skin: CopiedSkin) -> None:
        self._skin, self._step = skin, 1e-6 * skin.size
        self._histogram, self._squares = np.zeros(STEPS + 1, np.int64), 0.0
        self._worst = 0.0, 0, 0

    def add(self, frames: np.ndarray, apart: np.ndarray) -> None:
        """Add the distances, shape (N, V), in some frames, shape (N,)."""
        self._squares += float(np.square(apart, dtype=np.float64).sum())
        steps = np.minimum(apart.ravel() / self._step, STEPS).astype(np.int64)
        self._histogram += np.bincount(steps, minlength=STEPS + 1)
        largest = apart.max(axis=1, initial=0.0)
        row = int(largest.argmax())
        if largest[row] > self._worst[0]:
            self._worst = float(largest[row]), int(frames[row]), int(apart[row].argmax())

    def sum_up(self) -> Differences:
        """Differences in all frames that were added."""
        largest, frame, vertex = self._worst
        below = np.cumsum(self._histogram)
        most = self._step * float(np.searchsorted(below, 0.95 * below[-1]) + 1)
        owners = find_main_joints(self._skin)
        rms = float(np.sqrt(self._squares / max(1, int(below[-1]))))
        joint = int(owners[vertex]) if len(owners) else -1
        return Differences(largest, min(most, largest), rms, frame, vertex, joint)


def find_main_joints(skin: CopiedSkin) -> np.ndarray:
    """The joint that each vertex follows most, or -1, int, shape (V,)."""
    weights, count = skin.weights, len(skin.joints.parents)
    order = np.argsort(weights.values, kind="stable")
    owners = np.full(len(skin.points), -1)
    owners[weights.vertices[order]] = weights.joints[order]  # the last, largest one stays
    return np.where(owners < count, owners, -1)
