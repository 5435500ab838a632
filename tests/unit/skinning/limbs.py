"""A limb of two bones to bend and twist: a closed tube, its weights a smooth ramp about the joint."""

from __future__ import annotations

import numpy as np

from supple.deformers import Joints, Rest, Weights

from ..characters import about, rotation

RADIUS = 0.25
AROUND = 48

HEADS = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
TAILS = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
JOINTS = Joints(HEADS, np.array([-1, 0]), TAILS)


def make_limb(ramp: float = 0.35, rings: int = 67) -> Rest:
    """A tube along z, each bone of length 1; two points close its ends."""
    heights = np.repeat(np.linspace(-1.0, 1.0, rings), AROUND)
    angles = np.tile(np.arange(AROUND) * 2.0 * np.pi / AROUND, rings)
    points = np.stack([RADIUS * np.cos(angles), RADIUS * np.sin(angles), heights], axis=1)
    points = np.concatenate([points, [[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]]])
    start, corner = np.arange(rings - 1)[:, None] * AROUND, np.arange(AROUND)
    after = (corner + 1) % AROUND
    quads = np.stack([start + corner, start + after, start + AROUND + after, start + AROUND + corner], axis=-1)
    quads = quads.reshape(-1, 4)
    below, above, last = len(points) - 2, len(points) - 1, (rings - 1) * AROUND
    triangles = np.concatenate([
        quads[:, [0, 1, 2]], quads[:, [0, 2, 3]],
        np.stack([np.full(AROUND, below), after, corner], axis=1),
        np.stack([np.full(AROUND, above), last + corner, last + after], axis=1),
    ])  # fmt: skip
    share = np.clip(0.5 + points[:, 2] / (2.0 * ramp), 0.0, 1.0)
    share = share * share * (3.0 - 2.0 * share)
    return Rest(points, Weights.from_dense(np.stack([1.0 - share, share], axis=1)), JOINTS, triangles=triangles)


def pose_limb(bend: float = 0.0, twist: float = 0.0) -> np.ndarray:
    """The lower bone bent about x and twisted about itself, degrees: shape (2, 4, 4)."""
    turn = rotation((1, 0, 0), bend) @ rotation((0, 0, 1), twist)
    return np.stack([np.eye(4), about(turn, np.zeros(3))])


def find_radii(points: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Distances of posed points, away from the ends of the limb, from the nearer bone."""
    inner = np.abs(make_limb(rings=(len(points) - 2) // AROUND).points[:, 2]) < 0.9
    nearest = np.full(int(inner.sum()), np.inf)
    for head, tail, matrix in zip(HEADS, TAILS, matrices, strict=True):
        start, end = (matrix[:3, :3] @ place + matrix[:3, 3] for place in (head, tail))
        along = np.clip((points[inner] - start) @ (end - start), 0.0, 1.0)
        nearest = np.minimum(nearest, np.linalg.norm(points[inner] - start - along[:, None] * (end - start), axis=1))
    return nearest
