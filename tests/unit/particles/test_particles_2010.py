"""The literal particle skinning: what it promises about poses, spaces, parts, and shapes that it can not fill."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from supple.deformers import Joints, Pose, Rest, SkinningError, Weights
from supple.deformers.particles import forces_2010, solid_2010
from supple.deformers.particles import particles_2010 as method
from supple.deformers.particles.particles_2010 import Binding, Params
from supple.deformers.particles.solid_2010 import find_bones
from supple.deformers.skinning import dlbnt

from ..cases import each
from ..characters import about, apply_transforms, check_layout, rotation
from .volumes_to_fill import transform, within

SIZE = np.array([2.5, 1.2, 1.0])
ELBOW = np.array([1.25, 0.6, 0.5])
COARSE = Params("UNIFORM", 0.15)
BEND = np.array([np.eye(4), about(rotation((0, 0, 1), 45), ELBOW)])
TWIST = np.array([np.eye(4), about(rotation((1, 0, 0), 30), ELBOW)])
SPACE = about(0.4 * rotation((1, 2, 3), 50), np.zeros(3), (0.4, -0.7, 1.1))
MOVE = about(rotation((3, -1, 2), 70), np.zeros(3), (5, 2, -3))


def make_box(cuts: int = 6) -> Rest:
    """The paper's box, each side a grid of its own, with two bones along x; weights fade around the elbow."""
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, cuts + 1)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    number = np.arange(len(grid)).reshape(cuts + 1, cuts + 1)
    a, b, c, d = (part.ravel() for part in (number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]))
    side = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    points, triangles = [], []
    for axis in range(3):
        for height in (0.0, 1.0):
            outward = side if (axis == 1) != (height == 1.0) else side[:, ::-1]
            triangles.append(outward + len(grid) * len(points))
            points.append(np.insert(grid, axis, height, axis=1) * SIZE)
    skin = np.concatenate(points)
    share = np.clip((skin[:, 0] - ELBOW[0]) / 0.5 + 0.5, 0, 1)
    heads, tails = np.array([[0, 0.6, 0.5], ELBOW]), np.array([ELBOW, [2.5, 0.6, 0.5]])
    weights = Weights.from_dense(np.stack([1 - share, share], axis=1))
    return Rest(skin, weights, Joints(heads, np.array([-1, 0]), tails), triangles=np.concatenate(triangles))


BOX = make_box()


@pytest.fixture(autouse=True, scope="module")
def hurry() -> Iterator[None]:
    """What holds of settled particles holds on their way; test_forces_2010.py sees that they settle."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forces_2010, "MAX_STEPS", 100)
        yield


@pytest.fixture(scope="module")
def binding() -> Binding:
    return method.bind(BOX, COARSE)


@pytest.fixture(scope="module")
def bent(binding: Binding) -> np.ndarray:
    return method.deform(binding, Pose(BEND))


@each("fill", ["UNIFORM", "TWO_LEVEL"])
def test_rest_and_motion_as_a_whole(fill: str) -> None:
    """Exact: particles and springs go along, also with an even scale."""
    binding = method.bind(BOX, Params(fill, 0.09))
    assert (len(np.unique(binding.solid.radii)) == 2) == (fill == "TWO_LEVEL")
    for matrix in (np.eye(4), MOVE, about(1.7 * rotation((3, -1, 2), 70), np.zeros(3), (5, 2, -3))):
        whole = np.array([matrix, matrix])
        within(method.deform(binding, Pose(whole)), transform(matrix, BOX.points))
        within(method.pose_particles(binding, Pose(whole)), transform(matrix, method.particles(binding).points))


def test_the_mean_of_four_guesses(binding: Binding, bent: np.ndarray) -> None:
    """Section 5, vertex by vertex, from what `particles` and `pose_particles` show."""
    rest, posed = method.particles(binding), method.pose_particles(binding, Pose(BEND))
    for vertex in range(0, len(BOX.points), 7):
        point = BOX.points[vertex]
        nearest = np.argsort(np.linalg.norm(rest.points - point, axis=1), kind="stable")
        away = np.linalg.norm(rest.points[nearest] - point, axis=1)
        if away[4] - away[3] < 1e-9:
            continue  # which of two equally near ones is the fourth is not defined
        turned = [BEND[rest.joints[i], :3, :3] @ (point - rest.points[i]) + posed[i] for i in nearest[:4]]
        np.testing.assert_allclose(bent[vertex], np.mean(turned, axis=0), atol=2e-6)


def test_a_bend_squeezes_particles_and_they_give_way(
    binding: Binding, bent: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forces_2010, "MAX_STEPS", 300)
    rest, posed = method.particles(binding), method.pose_particles(binding, Pose(BEND))
    carried = np.array([transform(BEND[joint], point) for joint, point in zip(rest.joints, rest.points, strict=True)])
    lengths = np.linalg.norm(rest.points[:, None] - rest.points, axis=2)
    near = np.triu((lengths < 0.59) & (lengths > 0))
    before, after = (
        np.abs(np.linalg.norm(points[:, None] - points, axis=2) - lengths)[near].mean() for points in (carried, posed)
    )
    assert after < 0.5 * before
    assert np.abs(bent - dlbnt.deform(binding.skin, Pose(BEND))).max() > 0.05


def test_transforms_carry_points(binding: Binding, bent: np.ndarray) -> None:
    transforms = method.vertex_transforms(binding, Pose(BEND))
    assert bent.dtype == np.float32
    check_layout(transforms, len(BOX.points))
    within(apply_transforms(transforms, BOX.points), bent)
    shape = BOX.points * [1, 1.1, 0.9]
    other = method.deform(method.with_points(binding, shape), Pose(BEND))
    within(apply_transforms(transforms, shape), other)
    within(method.deform(method.with_points(binding, shape), Pose(np.tile(np.eye(4), (2, 1, 1)))), shape)


def test_frames_do_not_depend_on_each_other(binding: Binding, bent: np.ndarray) -> None:
    twisted = method.deform(binding, Pose(TWIST))
    assert method.deform(binding, Pose(BEND)).tobytes() == bent.tobytes()
    assert method.deform(method.bind(BOX, COARSE), Pose(TWIST)).tobytes() == twisted.tobytes()


@each("factor", [1e-3, 1e3])
def test_unit_does_not_matter(bent: np.ndarray, factor: float) -> None:
    joints = Joints(factor * BOX.joints.centers, BOX.joints.parents, factor * BOX.joints.tails)
    box = replace(BOX, points=factor * BOX.points, joints=joints)
    matrices = BEND.copy()
    matrices[:, :3, 3] *= factor
    actual = method.deform(method.bind(box, Params("UNIFORM", factor * 0.15)), Pose(matrices))
    within(actual, factor * bent)


def in_object_space() -> Rest:
    return replace(BOX, points=transform(np.linalg.inv(SPACE), BOX.points), object_to_armature=SPACE)


def test_object_space(binding: Binding, bent: np.ndarray) -> None:
    """The box in another object space gives the same in armature space; the radius is one of object space."""
    other = method.bind(in_object_space(), Params("UNIFORM", 0.15 / 0.4))
    assert other.count == binding.count
    pose = Pose(BEND, SPACE)
    within(transform(SPACE, method.deform(other, pose)), bent, 1e-5)
    within(transform(SPACE, method.pose_particles(other, pose)), method.pose_particles(binding, Pose(BEND)), 1e-5)
    np.testing.assert_allclose(method.particles(other).radii, 0.15 / 0.4)
    within(transform(SPACE, method.particles(other).points), method.particles(binding).points)
    transforms = method.vertex_transforms(other, pose)
    within(apply_transforms(transforms, other.points), method.deform(other, pose), 1e-5)


def test_object_that_moves_against_its_armature(binding: Binding, bent: np.ndarray) -> None:
    """Moved and scaled evenly by D, the body bends about the bones as they are then: D^-1 M D, seen by the object."""
    change = about(2.0 * rotation((1, 1, 0), 20), np.zeros(3), (0.2, 0.1, 0))
    carried = change @ BEND @ np.linalg.inv(change)
    within(method.deform(binding, Pose(carried, change)), bent, 1e-5)
    move = np.tile(about(rotation((0, 1, 0), 30), np.zeros(3), (1, 0, 0)), (2, 1, 1))
    other = method.bind(in_object_space(), Params("UNIFORM", 0.15 / 0.4))
    for space in (None, change, change @ SPACE):
        within(method.deform(other, Pose(move, space)), dlbnt.deform(other.skin, Pose(move, space)), 1e-5)


def test_solid_linear_and_strength_mix(bent: np.ndarray) -> None:
    count = len(BOX.points)
    pose = Pose(BEND)
    skinned = dlbnt.deform(dlbnt.bind(BOX, dlbnt.Params()), pose)
    half = np.full(count, 0.5)

    def deform(**parts: np.ndarray) -> np.ndarray:
        return method.deform(method.bind(replace(BOX, **parts), COARSE), pose)

    within(deform(solid=half), 0.5 * (skinned + bent))
    within(deform(strength=half), 0.5 * (BOX.points + bent))
    linear = dlbnt.deform(dlbnt.bind(replace(BOX, linear=np.ones(count)), dlbnt.Params()), pose)
    within(deform(linear=np.ones(count)), linear)
    with_strength = method.bind(replace(BOX, strength=half, solid=half), COARSE)
    transforms = method.vertex_transforms(with_strength, pose)
    within(apply_transforms(transforms, BOX.points), 0.5 * BOX.points + 0.25 * (skinned + bent))


def test_nearest_bone_by_hand() -> None:
    """Beside, beyond an end, nearer to a bone without length; a bone that is no number counts for nothing."""
    heads = np.array([[np.nan, 0, 0], [0, 0, 0], [0, 3, 0], [np.inf, 0, 0]])
    tails = np.array([[1, 0, 0], [2.0, 0, 0], [0, 3, 0], [0, 1, 0]])
    points = np.array([[1.0, 1.4, 0], [3.5, 0, 0], [-1, 1.55, 0], [2.0, 1.4, 1]])
    np.testing.assert_array_equal(find_bones(points, heads, tails), [1, 1, 2, 1])


def test_automatic_radius_gives_a_thousand() -> None:
    automatic = method.bind(BOX, Params("UNIFORM"))
    assert 900 < automatic.count < 1300
    assert method.bind(BOX, Params("TWO_LEVEL")).count < automatic.count


@each(
    "matrices",
    [
        np.array([np.eye(4), about(rotation((1, 0, 0), 180), ELBOW)]),
        np.array([np.eye(4), about(np.zeros((3, 3)), ELBOW)]),
        np.array([np.eye(4), about(np.diag([-1.0, 1, 1]), ELBOW)]),
        np.array([np.eye(4), about(1e6 * rotation((0, 1, 0), 50), ELBOW)]),
        np.zeros((2, 4, 4)),
    ],
)
def test_any_pose_is_finite(matrices: np.ndarray) -> None:
    binding = method.bind(BOX, Params("UNIFORM", 0.3))
    assert np.isfinite(method.deform(binding, Pose(matrices))).all()
    assert np.isfinite(method.vertex_transforms(binding, Pose(matrices))).all()


@each(
    ("limit", "most", "radius", "what"),
    [("MAX_PARTICLES", 2000, 0.05, "particles"), ("MAX_LATTICE_POINTS", 5000, 0.04, "lattice points")],
)
def test_too_many_particles_are_refused(limit: str, most: int, radius: float, what: str) -> None:
    """With the radius to choose instead, in object space, which then works."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solid_2010, limit, most)
        with pytest.raises(SkinningError, match=what) as caught:
            method.bind(in_object_space(), Params("UNIFORM", radius / 0.4))
        least = float(str(caught.value).rpartition(" ")[2])
        assert radius / 0.4 < least < 2 * radius / 0.4
        assert method.bind(in_object_space(), Params("UNIFORM", least)).count > 0.5 * most
