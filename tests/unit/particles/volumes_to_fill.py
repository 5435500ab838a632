"""What tests of particle skinning share: shapes, poses, and measures."""

from dataclasses import replace

import numpy as np

from benchmarks.shapes import Shape, arm, box
from supple.deformers import Joints, Pose, Rest, Weights
from supple.deformers.geometry.solid import signed_volumes
from supple.deformers.particles.particles import Binding, Params
from supple.deformers.skinning import dlbnt

from ..characters import rotation

BOX, ARM = box(0.15), arm(0.016)
FEW = Params(target_count=200)
STILL = np.tile(np.eye(4), (2, 1, 1))


def make_rest(shape: Shape, **parts: np.ndarray | None) -> Rest:
    joints = Joints(shape.heads, shape.parents, shape.tails)
    rest = Rest(shape.points, Weights.from_dense(shape.weights), joints, triangles=shape.triangles)
    return replace(rest, **parts)


REST = make_rest(BOX)


def bend(degrees: float, shape: Shape = BOX, axis: object = (0, 1, 0), scale: object = 1.0) -> np.ndarray:
    return shape.pose({1: rotation(axis, degrees) @ np.diag(np.ones(3) * scale)})


BEND, SCALED = bend(70), bend(70, scale=(1.3, 0.8, 1.2))


def transform(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def within(actual: np.ndarray, expected: np.ndarray, part: float = 1e-6) -> None:
    """Equal up to a part of the extent."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=part * np.ptp(expected, axis=0).max())


def skin(rest: Rest, matrices: np.ndarray, space: np.ndarray | None = None) -> np.ndarray:
    return dlbnt.deform(dlbnt.bind(rest, dlbnt.Params()), Pose(matrices, space))


def volume(shape: Shape, points: np.ndarray) -> float:
    """As a ratio to that at rest; where the skin overlaps itself it counts twice, as for the method."""
    posed, rest = (signed_volumes(each.astype(float), shape.triangles).sum() for each in (points, shape.points))
    return float(posed / rest)


def with_params(binding: Binding, **changes: float) -> Binding:
    """The same binding at another quality."""
    return replace(binding, params=replace(binding.params, **changes))
