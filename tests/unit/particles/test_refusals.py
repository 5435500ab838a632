"""Both methods that fill a mesh: what they refuse, and what they deform by DLBNT with a message."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from supple.deformers import Joints, Pose, Rest, SkinningError, Weights
from supple.deformers.particles import forces_2010, particles, particles_2010
from supple.deformers.skinning import dlbnt

from ..cases import each
from ..characters import about, rotation
from .volumes_to_fill import BEND, BOX, FEW, REST, SCALED, STILL, skin, transform, within

COARSE = particles_2010.Params("UNIFORM", 0.15)
METHODS = {particles: FEW, particles_2010: COARSE}
every_method = pytest.mark.parametrize("method", METHODS)
SPACE = about(0.4 * rotation((1, 2, 3), 50), np.zeros(3), (0.4, -0.7, 1.1))


def changed(**parts: object) -> Rest:
    return replace(REST, **parts)


LEANING = (
    changed(  # a tetrahedron that does not reach its box's low corner, the one place of a lattice of large spheres
        points=np.concatenate([np.eye(3), np.ones((len(BOX.points) - 3, 3))]),
        triangles=np.array([(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)]),
    )
)
FLAT, POINT = changed(points=BOX.points * [1, 1, 0]), changed(points=BOX.points * 0 + 7)


@pytest.mark.parametrize(
    ("method", "rest", "params", "message"),
    [
        *((method, changed(triangles=None), params, "no faces") for method, params in METHODS.items()),
        *((method, changed(triangles=np.zeros((0, 3), int)), params, "no faces") for method, params in METHODS.items()),
        (particles, changed(triangles=np.zeros((5, 3), int)), FEW, "no faces"),
        (particles, changed(triangles=BOX.triangles[:1]), FEW, "closed"),
        (particles, changed(triangles=BOX.triangles[: len(BOX.triangles) // 3]), FEW, "closed"),
        (particles, FLAT, FEW, "closed"),
        (particles, POINT, FEW, "no faces"),
        (particles, REST, particles.Params(smallest_radius=0.6), "smaller radius"),
        (particles_2010, changed(triangles=BOX.triangles[:1]), COARSE, "no volume"),
        (particles_2010, FLAT, particles_2010.Params(), "no volume"),
        (particles_2010, POINT, COARSE, "has zero scale"),
        (particles_2010, changed(object_to_armature=np.diag([1.0, 1, 0, 1])), COARSE, "has zero scale"),
        (particles_2010, changed(joints=replace(REST.joints, tails=None)), COARSE, "tail"),
        (particles_2010, LEANING, particles_2010.Params("UNIFORM", 5.0), "smaller radius"),
    ],
)
def test_what_cannot_be_filled_is_dlbnt(method: ModuleType, rest: Rest, params: object, message: str) -> None:
    binding = method.bind(rest, params)
    assert len(binding.messages) == 1
    assert message in binding.messages[0]
    assert "DQ with Stretch" in binding.messages[0]
    assert (
        binding.count == len(method.particles(binding).points) == len(method.pose_particles(binding, Pose(BEND))) == 0
    )
    for matrices in (BEND, SCALED):
        np.testing.assert_array_equal(method.deform(binding, Pose(matrices)), skin(rest, matrices))
        expected = dlbnt.vertex_transforms(dlbnt.bind(rest, dlbnt.Params()), Pose(matrices))
        np.testing.assert_array_equal(method.vertex_transforms(binding, Pose(matrices)), expected)
    within(method.deform(method.with_points(binding, BOX.points), Pose(STILL)), BOX.points)


@every_method
def test_a_mesh_that_can_be_filled_has_no_message(method: ModuleType) -> None:
    assert method.bind(REST, METHODS[method]).messages == ()


@every_method
def test_no_joints(method: ModuleType) -> None:
    joints = Joints(np.zeros((0, 3)), np.zeros(0, int), np.zeros((0, 3)))
    still = Rest(BOX.points, Weights.from_dense(np.zeros((len(BOX.points), 0))), joints, triangles=BOX.triangles)
    within(method.deform(method.bind(still, METHODS[method]), Pose(np.zeros((0, 4, 4)))), BOX.points)


@every_method
def test_circles_and_poses_of_other_armatures_are_refused(method: ModuleType) -> None:
    with pytest.raises(SkinningError, match="circle"):
        method.bind(changed(joints=replace(REST.joints, parents=np.array([1, 0]))), METHODS[method])
    binding = method.bind(REST, METHODS[method])
    for function in (method.deform, method.vertex_transforms, method.pose_particles):
        with pytest.raises(SkinningError, match="joints"):
            function(binding, Pose(np.tile(np.eye(4), (3, 1, 1))))


@every_method
def test_inputs_are_kept(method: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forces_2010, "MAX_STEPS", 50)
    rest = changed(points=transform(np.linalg.inv(SPACE), BOX.points), object_to_armature=SPACE)
    arrays = [rest.points, rest.triangles, rest.weights.values, rest.joints.centers, rest.joints.tails, SPACE, BEND]
    before = [np.array(array) for array in arrays]
    binding = method.bind(rest, FEW if method is particles else particles_2010.Params("UNIFORM", 0.15 / 0.4))
    method.deform(binding, Pose(BEND, SPACE))
    method.vertex_transforms(binding, Pose(BEND, SPACE))
    for array, original in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, original)


@each("wrong", [np.nan, np.inf])
def test_points_that_are_not_numbers_are_refused(wrong: float) -> None:
    points = BOX.points.copy()
    points[3, 1] = wrong
    for parts in ({"points": points}, {"solid": np.full(len(points), wrong)}):
        with pytest.raises(SkinningError, match="not numbers"):
            changed(**parts)


@each(
    ("params", "name", "values"),
    [
        (particles.Params, "stiffness", (0.0, -1.0, 101.0, np.nan)),
        (particles.Params, "iterations", (0, 1001)),
        (particles.Params, "smallest_radius", (-0.1, np.nan, np.inf)),
        (particles.Params, "target_count", (19, 100_001)),
        (particles.Params, "volume", (-0.1, 1.1, np.nan)),
        (particles_2010.Params, "fill", ("CUBIC",)),
        (particles_2010.Params, "radius", (-0.1, np.nan, np.inf)),
    ],
)
def test_wrong_parameters_are_refused(params: type, name: str, values: tuple) -> None:
    for value in values:
        with pytest.raises(SkinningError, match=f"(?i){name.replace('_', ' ')}.*choose"):
            params(**{name: value})


def test_limits_are_allowed() -> None:
    particles.Params(stiffness=0.01, iterations=1, smallest_radius=0.0, target_count=20, volume=0.0)
    particles.Params(stiffness=100.0, iterations=1000, smallest_radius=5.0, target_count=50_000, volume=1.0)
