"""What was sculpted, brought back to rest."""

import numpy as np

from supple.deformers.corrections.inverses import MIN_STRETCH, pull_back, pull_back_by_steps

from ..cases import each


def random_matrices(rng: np.random.Generator, count: int, least: float) -> np.ndarray:
    """Matrices whose largest stretch is 2, and whose smallest is this share of it, shape (count, 3, 3)."""
    left, right = (np.linalg.qr(rng.normal(size=(count, 3, 3)))[0] for _ in range(2))
    return left @ (np.array([2.0, 1.0, 2.0 * least])[:, None] * right)


@each("least", [0.9, 0.3, 1.01 * MIN_STRETCH])
def test_the_inverse_is_exact(least: float) -> None:
    rng = np.random.default_rng(1)
    matrices, offsets = random_matrices(rng, 200, least), rng.normal(size=(200, 3))
    pulled = pull_back(matrices, offsets)
    assert np.abs(np.einsum("vij,vj->vi", matrices, pulled.offsets) - offsets).max() < 1e-12
    assert not pulled.is_damped.any()


@each("least", [0.05, 1e-3, 0.0])
def test_flattened_directions_are_damped(least: float) -> None:
    rng = np.random.default_rng(2)
    matrices, offsets = random_matrices(rng, 200, least), rng.normal(size=(200, 3))
    pulled = pull_back(matrices, offsets)
    assert pulled.is_damped.all()
    lengths = np.linalg.norm(pulled.offsets, axis=1) / np.linalg.norm(offsets, axis=1)
    assert lengths.max() <= 1.0 / (2.0 * MIN_STRETCH) + 1e-9
    reached = np.einsum("vij,vj->vi", matrices, pulled.offsets)
    left, _, _ = np.linalg.svd(matrices)
    missing = np.einsum("vji,vj->vi", left, offsets - reached)  # along the directions of each stretch
    assert np.abs(missing[:, :2]).max() < 1e-9


def test_damping_sets_in_without_a_jump() -> None:
    offsets = np.array([[0.0, 0.0, 1.0]])
    around = [
        pull_back(np.diag([1.0, 1.0, share * MIN_STRETCH])[None], offsets).offsets[0, 2] for share in (0.9999, 1.0001)
    ]
    assert np.isclose(*around, rtol=1e-3)


def test_collapsed_skin_gives_no_infinite_offset() -> None:
    pulled = pull_back(np.zeros((2, 3, 3)), np.ones((2, 3)))
    assert (pulled.offsets == 0.0).all()
    assert pulled.is_damped.all()


def test_what_was_not_sculpted_stays() -> None:
    offsets = np.zeros((3, 3))
    offsets[1] = 1.0
    pulled = pull_back(np.broadcast_to(2.0 * np.eye(3), (3, 3, 3)), offsets)
    assert (pulled.offsets == 0.5 * offsets).all()


def test_steps_reach_what_is_not_affine() -> None:
    rng = np.random.default_rng(3)
    rest, matrix = rng.normal(size=(50, 3)), np.diag([1.0, 2.0, 0.5])

    def deform(offsets: np.ndarray) -> np.ndarray:
        points = (rest + offsets) @ matrix
        return points + 0.4 * np.sin(points)  # keeps more or less of an offset, by where it is

    target = deform(np.zeros((50, 3))) + np.where(rng.random((50, 1)) < 0.5, 0.2, 0.0)
    pulled = pull_back_by_steps(
        np.broadcast_to(matrix, (50, 3, 3)), target, deform(np.zeros((50, 3))), deform, size=10.0
    )
    assert np.abs(deform(pulled.offsets) - target).max() < 1e-4
    assert not pulled.is_damped.any()
    assert (pulled.offsets[(target == deform(np.zeros((50, 3)))).all(axis=1)] == 0.0).all()


def test_steps_say_what_can_not_be_reached() -> None:
    rest = np.zeros((4, 3))

    def deform(offsets: np.ndarray) -> np.ndarray:
        return np.minimum(rest + offsets, 0.1)  # a wall

    target = np.array([[0.05, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.0, 0.0], [-0.5, 0.0, 0.0]])
    pulled = pull_back_by_steps(np.broadcast_to(np.eye(3), (4, 3, 3)), target, rest, deform, size=1.0)
    assert pulled.is_damped.tolist() == [False, True, False, False]
    assert np.allclose(deform(pulled.offsets)[[0, 2, 3]], target[[0, 2, 3]], atol=1e-5)
