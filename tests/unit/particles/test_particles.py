"""Particle skinning: what it promises about poses, transforms, spaces and iterations."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.shapes import Shape
from supple.deformers import Joints, Pose, Weights
from supple.deformers.measures.sections import smallest_section
from supple.deformers.measures.space import close_surface
from supple.deformers.measures.stretch import edge_stretches, mesh_edges
from supple.deformers.particles import particles as method
from supple.deformers.particles.particles import Binding, Params
from supple.deformers.skinning import dlbnt

from .. import strategies
from ..cases import each
from ..characters import about, apply_transforms, check_layout, rotation
from .volumes_to_fill import (
    ARM,
    BEND,
    BOX,
    FEW,
    REST,
    SCALED,
    STILL,
    bend,
    make_rest,
    skin,
    transform,
    volume,
    with_params,
    within,
)

MOVE = about(rotation((3, -1, 2), 130), np.zeros(3), (2, 1, -3))
SPACE = about(0.4 * rotation((1, 2, 3), 50), np.zeros(3), (0.4, -0.7, 1.1))


def section(shape: Shape, posed: np.ndarray, start: object, end: object) -> float:
    ends = np.asarray(start, float), np.asarray(end, float)
    return smallest_section(shape.points, posed.astype(float), shape.triangles, *ends)[0]


@pytest.fixture(scope="module")
def arm_binding() -> Binding:
    return method.bind(make_rest(ARM), Params(target_count=250))


# exact


@settings(max_examples=3)
@given(strategies.rigid_motions(), st.floats(0.5, 2.0))
@example(np.eye(4), 1.0)
def test_rest_and_motion_as_a_whole(binding: Binding, arm_binding: Binding, motion: np.ndarray, scale: float) -> None:
    for shape, result in ((BOX, binding), (ARM, arm_binding)):
        matrix = motion.copy()
        matrix[:3, :3] *= scale
        matrix[:3, 3] *= 0.2 * shape.diagonal
        whole, moved = Pose(np.array([matrix, matrix])), transform(matrix, shape.points)
        within(method.deform(result, whole), moved)
        within(apply_transforms(method.vertex_transforms(result, whole), shape.points), moved)
        within(method.pose_particles(result, whole), transform(matrix, method.particles(result).points))


def test_far_away(binding: Binding) -> None:
    """A hundred sizes away, single precision has 1e-5 of the size left, for DLBNT as for the particles."""
    matrix = MOVE.copy()
    matrix[:3, 3] = [200, -150, 100]
    whole = np.array([matrix, matrix])
    expected = transform(matrix, BOX.points)
    error = np.abs(method.deform(binding, Pose(whole)) - expected).max()
    assert error < 1.5 * np.abs(skin(REST, whole) - expected).max() + 1e-5
    assert error < 4e-5 * 2.5


def test_a_bend_far_away(binding: Binding, bent: np.ndarray) -> None:
    away = np.eye(4)
    away[:3, 3] = [200, -150, 100]
    within(method.deform(binding, Pose(away @ BEND)) - away[:3, 3], bent, 5e-5)


def test_frames_do_not_depend_on_each_other(binding: Binding, bent: np.ndarray) -> None:
    assert method.deform(binding, Pose(BEND)).tobytes() == bent.tobytes()
    scaled = method.deform(binding, Pose(SCALED)).tobytes()
    transforms = method.vertex_transforms(binding, Pose(BEND)).tobytes()
    assert method.deform(binding, Pose(BEND)).tobytes() == bent.tobytes()
    fresh = method.bind(REST, FEW)
    assert method.vertex_transforms(fresh, Pose(BEND)).tobytes() == transforms
    assert method.deform(fresh, Pose(SCALED)).tobytes() == scaled
    assert method.deform(fresh, Pose(BEND)).tobytes() == bent.tobytes()


# transforms, groups, shapes


RAMP = np.linspace(0, 1, len(BOX.points))


UNEVEN = about(np.diag([0.5, 1.0, 2.0]) @ rotation((0, 0, 1), 20), np.zeros(3), (0.1, 0, 0))


@each(
    "parts",
    [
        {"solid": RAMP},
        {"linear": RAMP, "strength": RAMP[::-1], "solid": RAMP},
        {"points": transform(np.linalg.inv(UNEVEN), BOX.points), "object_to_armature": UNEVEN},
    ],
)
def test_transforms_carry_points(parts: dict) -> None:
    rest = replace(REST, **parts)
    result = method.bind(rest, FEW)
    for matrices in (BEND, SCALED):
        pose = Pose(matrices, rest.object_to_armature)
        transforms, posed = method.vertex_transforms(result, pose), method.deform(result, pose)
        assert posed.dtype == np.float32
        check_layout(transforms, len(BOX.points))
        within(apply_transforms(transforms, rest.points), posed, 1e-5)


def test_groups(binding: Binding, bent: np.ndarray) -> None:
    count, pose = len(BOX.points), Pose(BEND)

    def deform(**parts: np.ndarray) -> np.ndarray:
        return method.deform(method.bind(replace(REST, **parts), replace(FEW, volume=0.0)), pose)

    np.testing.assert_array_equal(deform(solid=np.zeros(count)), skin(REST, BEND))
    raw = method.deform(with_params(binding, volume=0.0), pose)
    within(deform(strength=np.full(count, 0.5)), 0.5 * (BOX.points + raw))
    linear = method.bind(replace(REST, linear=np.ones(count)), FEW)  # the weights alone are the particles'
    assert linear.flesh is not None
    within(method.deform(linear, pose), dlbnt.deform(linear.flesh.base, Pose(np.concatenate([BEND, np.eye(4)[None]]))))
    half = (BOX.points[:, 1] > 0).astype(float)
    mixed = deform(solid=half)
    np.testing.assert_array_equal(mixed[half == 0], skin(REST, BEND)[half == 0])
    assert np.abs(mixed[half == 1] - skin(REST, BEND)[half == 1]).max() > 0.02


def test_solid_of_nothing_is_dlbnt_with_volume() -> None:
    """The volume step moves only what the particles have moved."""
    result = method.bind(replace(REST, solid=np.zeros(len(BOX.points))), FEW)
    for matrices in (BEND, SCALED):
        np.testing.assert_array_equal(method.deform(result, Pose(matrices)), skin(REST, matrices))
    assert result.solid_share == 0


def test_another_shape(binding: Binding) -> None:
    shape = BOX.points * [1.0, 1.1, 0.9] + [0, 0.05, 0]
    moved = method.with_points(binding, shape)
    within(method.deform(moved, Pose(STILL)), shape)
    within(method.deform(moved, Pose(np.array([MOVE, MOVE]))), transform(MOVE, shape))
    raw = with_params(moved, volume=0.0)
    transforms = method.vertex_transforms(with_params(binding, volume=0.0), Pose(BEND))
    within(apply_transforms(transforms, shape), method.deform(raw, Pose(BEND)), 1e-5)
    assert method.measure_volume(moved, shape) == pytest.approx(1.0)
    assert method.measure_volume(moved, method.deform(moved, Pose(BEND))) == pytest.approx(1.0, abs=1e-3)
    assert method.measure_volume(binding, shape) == pytest.approx(0.99)


def test_vertices_without_weights_stay() -> None:
    points = np.concatenate([BOX.points, [[0.3, 0.2, 0.4], [5.0, 5, 5]]])
    loose = replace(REST, points=points)
    result = method.bind(loose, FEW)
    for matrices in (BEND, SCALED, np.array([MOVE, MOVE])):
        within(method.deform(result, Pose(matrices))[-2:], points[-2:])
    shown = BOX.weights.copy()
    shown[BOX.points[:, 0] > 1.2] = 0.0
    result = method.bind(replace(REST, weights=Weights.from_dense(shown)), FEW)
    assert np.isfinite(method.deform(result, Pose(BEND))).all()


# spaces


def test_object_that_moves_against_its_armature(binding: Binding) -> None:
    """Moved, turned and scaled evenly by D, it bends about the bones as they are then: D M D^-1."""
    for change in (MOVE, SPACE, about(3.0 * np.eye(3), np.zeros(3), (9, 0, 0))):
        carried = change @ BEND @ np.linalg.inv(change)
        within(method.deform(binding, Pose(carried, change)), method.deform(binding, Pose(BEND)), 1e-5)


@each("space", [MOVE, SPACE])
def test_bound_in_another_object_space(binding: Binding, space: np.ndarray) -> None:
    """Object space is that of the particles: moving, turning and scaling the object evenly changes nothing there."""
    into = np.linalg.norm(space[0, :3])
    joints = Joints(transform(space, BOX.heads), BOX.parents, transform(space, BOX.tails))
    other = method.bind(replace(REST, joints=joints, object_to_armature=space), FEW)
    assert into > 0
    assert other.count == binding.count
    for matrices in (BEND, SCALED):
        pose = Pose(space @ matrices @ np.linalg.inv(space), space)
        within(method.deform(other, pose), method.deform(binding, Pose(matrices)), 1e-5)
        within(method.pose_particles(other, pose), method.pose_particles(binding, Pose(matrices)), 1e-5)


@each("scales", [(1, 2, 0.5), (3, 3, 1)])
def test_unevenly_scaled_object(bent: np.ndarray, scales: tuple) -> None:
    """What the armature carries along as a whole is carried exactly; a bend keeps the volume that is seen."""
    space = about(np.diag(scales) @ rotation((0, 0, 1), 30), np.zeros(3), (0.1, 0.2, 0))
    points = transform(np.linalg.inv(space), BOX.points)
    result = method.bind(replace(REST, points=points, object_to_armature=space), FEW)
    carried = transform(space, method.deform(result, Pose(np.array([MOVE, MOVE]), space)))
    within(carried, transform(MOVE, BOX.points), 2e-6)
    posed = transform(space, method.deform(result, Pose(BEND, space)))
    assert volume(BOX, posed) == pytest.approx(1.0, abs=1e-3)
    apart = np.sqrt(((posed - bent) ** 2).sum(axis=1).mean())
    assert apart < 0.03 * BOX.diagonal  # the particles lie otherwise, the body bends the same


@each("factor", [2.0**10, 1e-3])
def test_unit_does_not_matter(factor: float, bent: np.ndarray) -> None:
    joints = Joints(factor * BOX.heads, BOX.parents, factor * BOX.tails)
    result = method.bind(replace(REST, points=factor * BOX.points, joints=joints), FEW)
    matrices = BEND.copy()
    matrices[:, :3, 3] *= factor
    within(method.deform(result, Pose(matrices)), factor * bent, 1e-5 if factor == 2.0**10 else 0.02)


# poses


@each(
    "matrices",
    [
        BOX.pose({1: np.zeros((3, 3))}),
        BOX.pose({1: np.diag([0.0, 1, 1])}),
        BOX.pose({1: np.diag([-1.0, 1, 1])}),
        BOX.pose({0: np.diag([-1.0, 1, 1]), 1: rotation((0, 1, 0), 50)}),
        BOX.pose({1: 1e-6 * np.eye(3)}),
        BOX.pose({1: 1e3 * np.eye(3)}),
        BOX.pose({1: rotation((0, 1, 0), 70)}, {1: np.array([1e6, 0, 0])}),
        np.zeros((2, 4, 4)),
    ],
)
def test_any_pose_is_finite(binding: Binding, matrices: np.ndarray) -> None:
    assert np.isfinite(method.deform(binding, Pose(matrices))).all()
    assert np.isfinite(method.vertex_transforms(binding, Pose(matrices))).all()
    assert np.isfinite(method.pose_particles(binding, Pose(matrices))).all()


@each(
    "matrices",
    [
        BOX.pose({1: 1e9 * np.eye(3)}),
        BOX.pose({0: 1e10 * np.eye(3)}),
        BOX.pose({1: 1e15 * np.eye(3)}),
        BOX.pose({1: rotation((0, 1, 0), 70)}, {1: np.array([5e13, 0, 0])}),
        BOX.pose({1: rotation((0, 1, 0), 70)}, {1: np.array([5e17, 0, 0])}),
    ],
)
def test_a_pose_of_any_size_that_is_allowed_is_finite(binding: Binding, matrices: np.ndarray) -> None:
    """DLBNT stands all that `Pose` lets through."""
    assert np.isfinite(skin(REST, matrices)).all()
    assert np.isfinite(method.deform(binding, Pose(matrices))).all()


@each("degrees", [90, 180, 540])
def test_twist(binding: Binding, degrees: float) -> None:
    matrices = bend(degrees, axis=(1, 0, 0))
    posed = method.deform(binding, Pose(matrices))
    stretch, beside = (
        edge_stretches(BOX.points, points, mesh_edges(BOX.triangles)).max() for points in (posed, skin(REST, matrices))
    )
    assert stretch < 1.3 * beside + 0.2
    assert volume(BOX, posed) == pytest.approx(1.0, abs=2e-3)
    assert section(BOX, posed, (-1.2, 0, 0), (1.2, 0, 0)) > 0.85


@each("axis", [(0, 1, 0), (0, 0, 1)])
def test_bend_keeps_volume_and_section(binding: Binding, axis: object) -> None:
    matrices = bend(90, axis=axis)
    posed = method.deform(binding, Pose(matrices))
    assert volume(BOX, posed) == pytest.approx(1.0, abs=1e-3)
    assert method.measure_volume(binding, posed) == pytest.approx(volume(BOX, posed), abs=1e-5)
    assert section(BOX, posed, (-1.2, 0, 0), (1.2, 0, 0)) >= 0.9
    assert abs(volume(BOX, skin(REST, matrices)) - 1) > 1e-3


def test_sharp_weights_bend_as_well() -> None:
    sharp = BOX.sharply()
    result = method.bind(make_rest(sharp), FEW)
    for axis in ((0, 1, 0), (0, 0, 1)):
        posed = method.deform(result, Pose(bend(90, axis=axis)))
        assert section(BOX, posed, (-1.2, 0, 0), (1.2, 0, 0)) >= 0.85
        assert volume(BOX, posed) == pytest.approx(1.0, abs=2e-3)


def test_an_elbow_overlaps_less(arm_binding: Binding) -> None:
    matrices = bend(150, ARM, (1, 0, 0))
    solid = close_surface(ARM.points, ARM.triangles)
    posed = method.deform(arm_binding, Pose(matrices)), skin(make_rest(ARM), matrices)
    overlap = [solid.measure(points).twice for points in posed]
    assert overlap[0] < 0.5 * overlap[1]
    assert overlap[0] < 0.047


def test_volume_can_be_left_off(binding: Binding) -> None:
    pose = Pose(bend(100, axis=(0, 0, 1)))
    lacks = []
    for share in (0.0, 0.5, 1.0):
        posed = method.deform(with_params(binding, volume=share), pose)
        lacks.append(abs(volume(BOX, posed) - 1))
    assert lacks[2] < 0.1 * lacks[0]
    assert lacks[1] == pytest.approx(0.5 * lacks[0], rel=0.1)


@each(("scale", "degrees"), [((1.3, 1.3, 1.3), 60), ((0.7, 0.7, 0.7), 0), ((1.5, 1, 1), 0), ((1, 1.4, 0.8), 60)])
def test_scaled_bones_scale_the_volume(arm_binding: Binding, scale: tuple, degrees: float) -> None:
    matrices = bend(degrees, ARM, (1, 0, 0), scale)
    expected = volume(ARM, skin(make_rest(ARM), matrices))
    assert abs(expected - 1) > 0.03
    assert volume(ARM, method.deform(arm_binding, Pose(matrices))) == pytest.approx(expected, rel=0.03)


def test_a_bone_scaled_by_a_hair_changes_no_more() -> None:
    """Of skin that is blended linearly in part, too."""
    result = method.bind(make_rest(ARM, linear=np.full(len(ARM.points), 0.5)), Params(target_count=250))
    plain, scaled = (
        method.deform(result, Pose(bend(60.0, ARM, (1, 0, 0), scale))) for scale in ((1, 1, 1), (1.0001, 1, 1))
    )
    assert np.abs(scaled - plain).max() < 1e-3 * ARM.diagonal


def test_stiffness_leads_to_the_joints() -> None:
    matrices, apart = bend(70), []
    for stiffness in (0.1, 1.0, 10.0, 100.0):
        result = method.bind(REST, replace(FEW, stiffness=stiffness, iterations=16, volume=0.0))
        posed = method.deform(result, Pose(matrices))
        apart.append(np.sqrt(((posed - skin(REST, matrices)) ** 2).sum(axis=1).mean()))
    assert (np.diff(apart) < 0).all()
    assert apart[-1] < 0.3 * apart[1]


# iterations


POSES = [bend(60), bend(90, axis=(0, 0, 1)), bend(160, axis=(1, 0, 0))]


def distances_to(binding: Binding, reference: int, counts: tuple[int, ...]) -> np.ndarray:
    """Rms distance to the pose after `reference` iterations, on average of poses, in sizes."""
    result = np.zeros(len(counts))
    for matrices in POSES:
        rest = method.deform(with_params(binding, iterations=reference), Pose(matrices))
        for place, count in enumerate(counts):
            posed = method.deform(with_params(binding, iterations=count), Pose(matrices))
            result[place] += np.sqrt(((posed - rest) ** 2).sum(axis=1).mean()) / BOX.diagonal / len(POSES)
    return result


def test_more_iterations_come_nearer_to_rest(binding: Binding) -> None:
    away = distances_to(binding, 80, (4, 8, 32))
    assert (np.diff(away) < 0).all()
    assert away[-1] < 0.5 * away[0]
    assert away[1] < 0.01
    same = method.bind(REST, replace(FEW, iterations=12))
    other = with_params(binding, iterations=12)
    assert method.deform(same, Pose(BEND)).tobytes() == method.deform(other, Pose(BEND)).tobytes()


# what is shown


def test_particles_are_shown_as_they_are(binding: Binding) -> None:
    shown = method.particles(binding)
    assert binding.count == len(shown.points) == len(shown.radii) == len(shown.joints)
    assert 140 < binding.count < 270
    within(method.pose_particles(binding, Pose(STILL)), shown.points)
    assert (np.abs(shown.points) < [1.35, 0.7, 0.6]).all()
    assert shown.radii.max() <= 4.001 * shown.radii.min()
    np.testing.assert_array_equal(shown.joints[shown.points[:, 0] < -0.6], 0)
    np.testing.assert_array_equal(shown.joints[shown.points[:, 0] > 0.6], 1)
    posed = method.pose_particles(binding, Pose(BEND))
    ends = np.abs(shown.points[:, 0]) > 1.0
    carried = [transform(BEND[joint], point) for joint, point in zip(shown.joints, shown.points, strict=True)]
    assert np.linalg.norm(posed - carried, axis=1)[ends].max() < 0.4


def test_radius_is_in_object_space() -> None:
    space = about(0.1 * np.eye(3), np.zeros(3))
    plain = method.bind(REST, Params(smallest_radius=0.15))
    joints = Joints(0.1 * BOX.heads, BOX.parents, 0.1 * BOX.tails)
    scaled = method.bind(replace(REST, joints=joints, object_to_armature=space), Params(smallest_radius=0.15))
    for result in (plain, scaled):
        assert method.particles(result).radii.min() == pytest.approx(0.15, rel=1e-5)
    assert plain.count == scaled.count


def test_volume_is_measured(binding: Binding) -> None:
    assert method.measure_volume(binding, BOX.points) == pytest.approx(1.0)
    assert method.measure_volume(binding, 2 * BOX.points + 3) == pytest.approx(8.0)
