"""Spread Twist: vertices that are turned at rest before they follow their joints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers import DEFORMERS, Joints, Pose, Rest, Weights
from supple.deformers.rig.fraction_plan import plan_twists
from supple.deformers.skinning import centers, dlb, dlbnt

from .. import reference
from ..cases import each
from ..characters import about, apply_transforms, rotation
from .limbs import AROUND, RADIUS, find_radii, make_limb, pose_limb
from .test_sdef import TWO, add_sdef

PARAMS = {
    "DLB": dlb.Params(),
    "DLBNT": dlbnt.Params(),
    "CENTERS": centers.Params(),
}
"""Of the methods that spread twists: all but linear blending."""
ALONG = np.array((0.0, 0.0, 1.0))
SPACE = about(rotation((1, 2, 3), 40.0) @ np.diag([1.5, 1.0, 0.8]), np.zeros(3), (0.3, -0.2, 1.0))


def spread(rest: Rest, lines: dict[int, int]) -> Rest:
    """With twists of joints that are spread along so many bones before each."""
    counts = np.zeros(len(rest.joints.parents), int)
    counts[list(lines)] = list(lines.values())
    return replace(rest, joints=replace(rest.joints, spread=plan_twists(rest.joints, 0 * counts, counts)[1]))


def make_wrist() -> Rest:
    return spread(make_limb(0.15), {1: 1})


def twisted(degrees: float, bend: float = 0.0) -> Pose:
    return Pose(pose_limb(bend, degrees), hints=np.radians([0.0, degrees]))


def skin(rest: Rest, method: str, *poses: Pose) -> np.ndarray:
    """Posed points, shape (poses, V, 3), float64."""
    module = DEFORMERS[method]
    binding = module.bind(rest, PARAMS[method])
    return np.array([module.deform(binding, pose) for pose in poses], np.float64)


@each("method", PARAMS)
def test_rest_is_kept(method) -> None:
    rest = make_wrist()
    np.testing.assert_allclose(skin(rest, method, twisted(0.0))[0], rest.points, atol=1e-6)


@each("degrees", [-100.0, 40.0, 170.0, 200.0, 400.0, 540.0])
@each("bend", [0.0, 60.0])
@each("method", PARAMS)
def test_skin_of_one_bone_turns_by_its_share(method, bend, degrees) -> None:
    rest = make_wrist()
    posed, pose = skin(rest, method, twisted(degrees, bend))[0], pose_limb(bend, degrees)
    z = rest.points[:, 2]
    forearm, hand = np.flatnonzero((z < -0.2) & (z > -0.999)), np.flatnonzero(z > 0.2)
    shares = np.log(1.0 - 0.6 * (1.0 + z[forearm])) / np.log(0.4)
    turned = [rotation((0, 0, 1), share * degrees) @ rest.points[v] for v, share in zip(forearm, shares, strict=True)]
    limits = 0.0 if bend == 0.0 else 0.02 * RADIUS  # bulge limit and contact look as far
    np.testing.assert_allclose(posed[forearm], turned, atol=limits + 2e-6)
    ends = rest.points[hand] @ pose[1, :3, :3].T + pose[1, :3, 3]
    np.testing.assert_allclose(posed[hand], ends, atol=limits + 2e-6)


@each("method", PARAMS)
def test_a_twist_keeps_the_section(method) -> None:
    rest = make_wrist()
    for degrees in (60.0, 120.0, 170.0, 178.0, 190.0, 400.0):
        radii = find_radii(skin(rest, method, twisted(degrees))[0], pose_limb(0.0, degrees))
        assert radii.min() > 0.97 * RADIUS
        assert radii.max() < 1.001 * RADIUS


def weights_of_hand(rest: Rest) -> np.ndarray:
    """Of the limb's second bone, shape (V,)."""
    values, count = rest.weights.values * (rest.weights.joints == 1), len(rest.points)
    return np.bincount(rest.weights.vertices, values, minlength=count)


def make_turned(rest: Rest, degrees: float) -> np.ndarray:
    """Points of the limb, turned about its line by their share of a twist of its joint."""
    along, below = np.clip(1.0 + rest.points[:, 2], 0.0, 1.0), weights_of_hand(rest)
    whole = below + (1.0 - below) * np.log(1.0 - 0.6 * along) / np.log(0.4)
    turns = np.array([rotation((0, 0, 1), degrees * share) for share in whole])
    return np.einsum("vij,vj->vi", turns, rest.points)


@each("above", [np.eye(3), rotation((1, 2, 3), 100.0)])
@each(("bend", "degrees"), [(45.0, 170.0), (45.0, -170.0), (45.0, 200.0), (80.0, 100.0), (20.0, 540.0)])
@each("method", ["DLB", "DLBNT"])
def test_a_joint_that_bends_and_twists(method, bend, degrees, above) -> None:
    """As if it had only its swing, and all vertices had been turned by their share of the twist."""
    rest, whole = make_wrist(), about(above, np.zeros(3), (0.1, 0.2, 0.3))
    pose = Pose(whole @ pose_limb(bend, degrees), hints=np.radians([0.0, degrees]))
    dense, joints = np.stack([1.0 - weights_of_hand(rest), weights_of_hand(rest)], axis=1), rest.joints
    expected = reference.skin(
        "DLB", make_turned(rest, degrees), dense, joints.centers, joints.parents, whole @ pose_limb(bend)
    )
    np.testing.assert_allclose(skin(rest, method, pose)[0], expected, atol=5e-6)


@each("bend", [0.0, 45.0])
def test_centers_stand_on_the_line_of_the_limb(bend) -> None:
    """The share of the twist does not move them: what is between two bones keeps its distance from it."""
    rest = make_wrist()
    placed = centers.place_centers(rest, centers.Params(sharpness=0.0)).points
    np.testing.assert_allclose(placed[weights_of_hand(rest) < 0.8, :2], 0.0, atol=1e-9)
    plain, posed = skin(rest, "CENTERS", twisted(0.0, bend), twisted(170.0, bend))
    assert find_radii(posed, pose_limb(bend, 170.0)).min() > 0.98 * find_radii(plain, pose_limb(bend)).min()


@each(
    ("poses", "most"),
    [
        ([(degrees, 20.0) for degrees in range(160, 201)], 0.6),
        ([(-degrees, 20.0) for degrees in range(160, 201)], 0.6),
        ([(150.0, bend) for bend in range(85, 126)], 1.3),
    ],
)
@each("method", PARAMS)
def test_nothing_jumps(method, poses, most) -> None:
    """Twists through half a turn, and swings through those where less and less is spread: steps of one degree."""
    points = skin(make_wrist(), method, *(twisted(*each_one) for each_one in poses))
    steps = np.linalg.norm(np.diff(points, axis=0), axis=2).max(axis=1)
    assert 0.0 < steps.max() < most * np.radians(1.0) * np.hypot(RADIUS, 1.0)


def make_arm() -> Rest:
    """Three bones of length 1 along z, whose weights cross over within .15 of their joints; both twists are spread."""
    heights = np.repeat(np.linspace(0.0, 3.0, 91), AROUND)
    angles = np.tile(np.arange(AROUND) * 2.0 * np.pi / AROUND, 91)
    points = np.stack([RADIUS * np.cos(angles), RADIUS * np.sin(angles), heights], axis=1)
    path = np.clip(0.5 + (heights - 1.0) / 0.3, 0.0, 1.0) + np.clip(0.5 + (heights - 2.0) / 0.3, 0.0, 1.0)
    weights = np.maximum(0.0, 1.0 - np.abs(path[:, None] - np.arange(3)))
    heads = np.array([[0.0, 0.0, z] for z in range(3)])
    joints = Joints(heads, np.array([-1, 0, 1]), heads + ALONG)
    return spread(Rest(points, Weights.from_dense(weights), joints), {1: 1, 2: 1})


def pose_arm(rest: Rest, degrees: tuple[float, float], bends: tuple[float, float] = (30.0, 40.0)) -> Pose:
    matrices = [np.eye(4)]
    for head, bend, twist in zip(rest.joints.centers[1:], bends, degrees, strict=True):
        matrices.append(matrices[-1] @ about(rotation((1, 0, 0), bend) @ rotation((0, 0, 1), twist), head))
    return Pose(np.array(matrices), hints=np.radians([0.0, *degrees]))


@each("method", PARAMS)
def test_limbs_one_below_the_other(method) -> None:
    rest = make_arm()
    ways = np.linspace(0.0, 1.0, 181)
    poses = [pose_arm(rest, (200.0 * way, -250.0 * way)) for way in ways]
    points = skin(rest, method, *poses)
    assert np.linalg.norm(np.diff(points, axis=0), axis=2).max() < 0.1 * RADIUS  # 1.1 + 1.4 degrees a step
    hand = np.flatnonzero(rest.points[:, 2] > 2.2)
    for pose, posed in zip(poses, points, strict=True):
        end = pose.rest_to_pose[2]
        np.testing.assert_allclose(posed[hand], rest.points[hand] @ end[:3, :3].T + end[:3, 3], atol=0.01 * RADIUS)
    straight = skin(rest, method, pose_arm(rest, (200.0, -250.0), (0.0, 0.0)))[0].reshape(91, AROUND, 3)
    angles = np.degrees(np.unwrap(np.arctan2(straight[:, 0, 1], straight[:, 0, 0])))
    assert angles[[30, -1]] - angles[0] == pytest.approx([200.0, -50.0], abs=0.5)


@each("space", [None, SPACE])
@each("method", PARAMS)
def test_transforms_equal_points(method, space) -> None:
    rest, pose = make_arm(), Pose
    pose = replace(pose_arm(rest, (50.0, 185.0)), object_to_armature=space)
    points = skin(rest, method, pose)[0]
    transforms = DEFORMERS[method].vertex_transforms(DEFORMERS[method].bind(rest, PARAMS[method]), pose)
    np.testing.assert_allclose(apply_transforms(transforms, rest.points), points, atol=5e-6)


@each("method", PARAMS)
def test_space_does_not_matter(method) -> None:
    rest, back = make_arm(), np.linalg.inv(SPACE)
    pose = pose_arm(rest, (50.0, 185.0))
    moved = replace(rest, points=rest.points @ back[:3, :3].T + back[:3, 3], object_to_armature=SPACE)
    posed = skin(moved, method, replace(pose, object_to_armature=SPACE))[0]
    np.testing.assert_allclose(posed @ SPACE[:3, :3].T + SPACE[:3, 3], skin(rest, method, pose)[0], atol=1e-5)


@each("method", PARAMS)
def test_what_was_computed_before_does_not_matter(method) -> None:
    """Blocks are computed again where twists have changed, though no joint that they follow has moved."""
    rest, module = make_wrist(), DEFORMERS[method]
    binding = module.bind(rest, PARAMS[method])
    assert len(binding.blocks) > 3
    for degrees in (0.0, 30.0, 390.0, 30.0, 31.0, 175.0, 0.0):
        posed = module.deform(binding, twisted(degrees))
        np.testing.assert_array_equal(posed, skin(rest, method, twisted(degrees))[0].astype(np.float32))
    assert module.deform(binding, twisted(0.0)) is posed


@each("method", PARAMS)
def test_strength_scales_all_of_it(method) -> None:
    rest = make_wrist()
    full, pose = skin(rest, method, twisted(150.0, 30.0))[0], twisted(150.0, 30.0)
    strength = np.linspace(0.0, 1.0, len(rest.points))
    posed = skin(replace(rest, strength=strength), method, pose)[0]
    np.testing.assert_allclose(posed, rest.points + strength[:, None] * (full - rest.points), atol=1e-6)


def test_centers_of_the_model_are_turned_along() -> None:
    """SDEF: as if mesh and centers had been turned."""
    rest, params = add_sdef(TWO), centers.Params(bulge_limit=0.0, contact=0.0, sharpness=0.0)
    rest = spread(replace(rest, joints=replace(rest.joints, tails=rest.joints.centers + ALONG)), {2: 1})
    joints, matrices = rest.joints, np.tile(np.eye(4), (len(rest.joints.parents), 1, 1))
    matrices[2:] = about(rotation((1, 0, 0), 50.0) @ rotation(ALONG, 220.0), joints.centers[2])
    hints = np.radians([0.0, 0.0, 220.0, 0.0])
    posed = centers.deform(centers.bind(rest, params), Pose(matrices, hints=hints))

    turned = reference.spread_twists(
        rest.points, TWO.weights, joints.centers, joints.parents, matrices, hints, {2: [1]}
    )
    keys = [apply_transforms(turned, points) for points in (rest.sdef.centers, rest.sdef.first, rest.sdef.second)]
    is_own = (rest.sdef.centers == rest.points).all(axis=1)
    expected = replace(
        rest,
        points=apply_transforms(turned, rest.points),
        joints=replace(joints, spread=None),
        sdef=replace(rest.sdef, centers=keys[0], first=keys[1], second=keys[2]),
    )
    found = centers.deform(centers.bind(expected, params), Pose(matrices))
    chosen = ~is_own & ((TWO.weights > 0).sum(axis=1) == 2)
    assert chosen.sum() > 20
    np.testing.assert_allclose(posed[chosen], found[chosen], atol=1e-5)
