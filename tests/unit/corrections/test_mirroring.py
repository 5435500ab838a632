"""Offsets carried to the other side."""

import numpy as np

from supple.deformers.corrections.mirroring import mirror_offsets

SIDE = np.array([[0.5, 0.0, 0.0], [1.0, 0.0, 0.2], [0.8, 1.0, -0.1], [0.4, 0.9, 0.3]])
POINTS = np.concatenate([SIDE, SIDE[::-1] * (-1.0, 1.0, 1.0)])
TRIANGLES = np.array([[0, 1, 2], [0, 2, 3], [7, 5, 6], [7, 4, 5]])


def find_nearest(positions: np.ndarray, points: np.ndarray, triangles: np.ndarray) -> tuple:
    """The nearest corner, by brute force."""
    corners = points[triangles]
    distances = np.linalg.norm(corners[None] - positions[:, None, None], axis=3)
    flat = distances.reshape(len(positions), -1).argmin(axis=1)
    owner, corner = np.divmod(flat, 3)
    return owner, np.eye(3)[corner], distances.reshape(len(positions), -1).min(axis=1)


def test_offsets_go_to_the_mirrored_vertex() -> None:
    offsets = np.zeros((8, 3))
    offsets[:4] = np.arange(12.0).reshape(4, 3) + 1.0
    mirrored = mirror_offsets(offsets, POINTS, TRIANGLES, find_nearest)
    assert np.allclose(mirrored[4:], offsets[:4][::-1] * (-1.0, 1.0, 1.0))
    assert not mirrored[:4].any()


def test_what_has_nothing_on_the_other_side_stays() -> None:
    points = POINTS.copy()
    points[4:] += (0.0, 0.0, 5.0)
    offsets = np.ones((8, 3))
    assert not mirror_offsets(offsets, points, TRIANGLES, find_nearest).any()
