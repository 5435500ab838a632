"""Mirrored rotations against mirrored matrices."""

import numpy as np
import pytest

from supple.deformers.algebra.dual_quaternions import rotations_from_quaternions
from supple.deformers.corrections.rotations import mirror_rotation

from ..cases import each

MIRROR = np.diag([-1.0, 1.0, 1.0])


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A rotation, and the rest axes of two bones of any rolls."""
    quaternions = np.random.default_rng(seed).normal(size=(3, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    return quaternions[0], *rotations_from_quaternions(quaternions[1:])


def as_matrix(quaternion: np.ndarray) -> np.ndarray:
    return rotations_from_quaternions(quaternion[None])[0]


@each("seed", range(10))
def test_a_rotation_becomes_its_mirror_image(seed: int) -> None:
    rotation, axes, others = draw(seed)
    expected = MIRROR @ (axes @ as_matrix(rotation) @ axes.T) @ MIRROR  # in the armature's space
    mirrored = mirror_rotation(rotation, axes, others)
    assert others @ as_matrix(mirrored) @ others.T == pytest.approx(expected, abs=1e-12)


@each("seed", range(10))
def test_mirrored_twice_it_is_what_it_was(seed: int) -> None:
    rotation, axes, others = draw(seed)
    there_and_back = mirror_rotation(mirror_rotation(rotation, axes, others), others, axes)
    assert there_and_back == pytest.approx(rotation, abs=1e-12)


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
