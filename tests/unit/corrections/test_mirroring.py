"""Offsets and rotations mirrored to the other side."""

import numpy as np
import pytest
from hypothesis import given

from supple.deformers.algebra.dual_quaternions import quaternions_from_rotations, rotations_from_quaternions
from supple.deformers.corrections.mirroring import mirror_offsets, mirror_rotation

from .. import strategies

MIRROR = np.diag([-1.0, 1.0, 1.0])
ROTATIONS = strategies.rotations()

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


def as_quaternion(rotation: np.ndarray) -> np.ndarray:
    return quaternions_from_rotations(rotation[None])[0]


def as_matrix(quaternion: np.ndarray) -> np.ndarray:
    return rotations_from_quaternions(quaternion[None])[0]


@given(ROTATIONS, ROTATIONS, ROTATIONS)
def test_a_rotation_becomes_its_mirror_image_and_back(rotation, axes, others) -> None:
    """Of bones with any rolls."""
    given_rotation = as_quaternion(rotation)
    mirrored = mirror_rotation(given_rotation, axes, others)
    expected = MIRROR @ (axes @ rotation @ axes.T) @ MIRROR  # in the armature's space
    assert others @ as_matrix(mirrored) @ others.T == pytest.approx(expected, abs=1e-12)
    assert mirror_rotation(mirrored, others, axes) == pytest.approx(given_rotation, abs=1e-12)


def test_an_arm_raised_on_the_left_is_raised_on_the_right() -> None:
    left = np.stack([[0, 1, 0], [1, 0, 0], [0, 0, -1]], axis=1).astype(float)  # the bone along x
    right = np.stack([[0, 1, 0], [-1, 0, 0], [0, 0, 1]], axis=1).astype(float)
    angle = np.radians(40)
    raised = np.array([np.cos(angle / 2), np.sin(angle / 2), 0, 0])  # about y of the armature
    moved = [
        axes @ as_matrix(q) @ [0, 1, 0] for axes, q in ((left, raised), (right, mirror_rotation(raised, left, right)))
    ]
    assert moved[0] == pytest.approx([np.cos(angle), 0, -np.sin(angle)])
    assert moved[1] == pytest.approx([-np.cos(angle), 0, -np.sin(angle)])
