"""Projections of deformation gradients."""

import numpy as np

from supple.deformers.flesh.elastic import find_volume_steps, multiply, rotate_toward

from ..characters import rotation


def make_gradients(count: int = 300) -> np.ndarray:
    """Rotations up to 170 degrees times stretches, some of them inverted: float32, shape (3, 3, T)."""
    random = np.random.default_rng(0)
    turns = np.array([rotation(random.normal(size=3), random.uniform(0, 170)) for _ in range(count)])
    axes = np.linalg.qr(random.normal(size=(count, 3, 3)))[0]
    scales = random.uniform(0.4, 1.8, (count, 3))
    scales[::10, 0] *= -0.5
    return np.ascontiguousarray((turns @ (axes * scales[:, None]) @ axes.swapaxes(1, 2)).transpose(1, 2, 0), np.float32)


def test_rotations_become_the_nearest() -> None:
    gradients = make_gradients()
    rotations = np.repeat(np.eye(3, dtype=np.float32)[:, :, None], gradients.shape[2], axis=2)
    for _ in range(40):
        rotations = rotate_toward(gradients, rotations)
    assert np.abs(multiply(rotations.swapaxes(0, 1), rotations) - np.eye(3)[:, :, None]).max() < 1e-5
    sound = np.linalg.det(gradients.transpose(2, 0, 1)) > 0
    left, _, right = np.linalg.svd(gradients.transpose(2, 0, 1))
    np.testing.assert_allclose(rotations[:, :, sound], (left @ right).transpose(1, 2, 0)[:, :, sound], atol=1e-5)


def test_one_step_is_enough_near_the_rotation() -> None:
    gradients = make_gradients()
    sound = np.linalg.det(gradients.transpose(2, 0, 1)) > 0
    left, _, right = np.linalg.svd(gradients.transpose(2, 0, 1))
    exact = (left @ right).transpose(1, 2, 0)[:, :, sound]
    moved = multiply(exact, np.repeat(rotation((1, 2, 3), 3.0)[:, :, None], sound.sum(), axis=2))
    found = rotate_toward(gradients[:, :, sound], moved.astype(np.float32))
    assert np.abs(found - exact).max() < 0.1 * np.abs(moved - exact).max()


def test_volumes_become_one() -> None:
    gradients = make_gradients()
    steps, volumes = find_volume_steps(gradients)
    np.testing.assert_allclose(volumes, np.linalg.det(gradients.transpose(2, 0, 1)), atol=1e-4)
    near = np.abs(volumes - 1.0) < 0.4
    after = np.linalg.det((gradients + steps).transpose(2, 0, 1))
    assert near.sum() > 20
    assert (np.abs(after - 1.0)[near] < 0.3 * np.abs(volumes - 1.0)[near] + 1e-3).all()
