"""What did not move since the latest pose keeps its result, and the joints are taken apart once for all meshes."""

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers import DEFORMERS, Joints, Pose, Weights
from supple.deformers.algebra import polar
from supple.deformers.skinning import blending, centers, dlb, dlbnt

from ..cases import each
from ..characters import METHODS, VARIANTS, Character, about, bind, pose_chain, rotation

JOINTS = 24
ROOM = about(rotation((1, 2, 3), 50) @ np.diag([0.5, 2.0, 1.5]), np.zeros(3), (0.4, -0.7, 1.1))


def make_snake(vertex_count: int) -> Character:
    """A straight chain of joints, each vertex between two of them."""
    random = np.random.default_rng(2)
    heights = random.uniform(0, JOINTS - 1, vertex_count)
    points = np.stack([*random.normal(size=(2, vertex_count)), heights], axis=1)
    weights = np.maximum(0.0, 1.0 - np.abs(heights[:, None] - np.arange(JOINTS)))
    centers = np.arange(JOINTS)[:, None] * np.array([0.0, 0, 1])
    return Character(points, weights, centers, np.arange(JOINTS) - 1)


SNAKE = make_snake(2 * blending.RUN_SIZE + 333)
BENT = {joint: rotation((1, 0.1 * joint, 0), 7) * (1.0 + 0.01 * joint) for joint in range(JOINTS)}
POSE = pose_chain(SNAKE, BENT)
TIP = pose_chain(SNAKE, BENT | {JOINTS - 2: rotation((0, 1, 0), 40)})
"""The same with the last two joints elsewhere."""

VALUES = np.random.default_rng(3).uniform(size=len(SNAKE.points))
PARTS = {"plain": {}, "linear": {"linear": VALUES}, "strength": {"strength": VALUES}}


@pytest.fixture
def blocks(monkeypatch) -> list[int]:
    """How many vertices each block has that was computed."""
    counts, multiply_columns = [], blending.multiply_columns

    def count(coefficients, weights, out):
        counts.append(weights.shape[1])
        multiply_columns(coefficients, weights, out)

    monkeypatch.setattr(blending, "multiply_columns", count)
    return counts


@each("method", METHODS)
@each("part", PARTS)
@each("space", [None, ROOM])
@each("function", ["deform", "vertex_transforms"])
def test_blocks_whose_joints_stay_are_kept(function, space, part, method, blocks) -> None:
    module, binding = bind(SNAKE, method, **PARTS[part])
    pose = getattr(module, function)
    blocks.clear()
    first = pose(binding, Pose(POSE, space))
    assert sum(blocks) >= len(SNAKE.points)
    blocks.clear()
    moved = pose(binding, Pose(TIP, space))
    assert 0 < sum(blocks) < 0.2 * len(SNAKE.points)
    np.testing.assert_array_equal(moved, pose(bind(SNAKE, method, **PARTS[part])[1], Pose(TIP, space)))
    above = SNAKE.points[:, 2] < JOINTS - 5
    np.testing.assert_array_equal(moved[above], first[above])
    assert not np.allclose(moved, first, atol=1e-3)


@each("method", METHODS)
@each("function", ["deform", "vertex_transforms"])
def test_the_same_pose_gives_the_same_array(function, method, blocks) -> None:
    module, binding = bind(SNAKE, method)
    first = getattr(module, function)(binding, Pose(POSE))
    blocks.clear()
    assert getattr(module, function)(binding, Pose(POSE.copy())) is first
    assert not blocks
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0


def test_joints_without_vertices_may_move(blocks) -> None:
    """A mesh that follows the first joints only is left alone where the last ones move."""
    weights = np.where(np.arange(JOINTS) < 5, SNAKE.weights, 0.0)
    module, binding = bind(replace(SNAKE, weights=weights), "DLBNT-GH")
    first = module.deform(binding, Pose(POSE))
    blocks.clear()
    assert module.deform(binding, Pose(TIP)) is first
    assert not blocks


@each("method", METHODS)
def test_every_change_equals_a_fresh_binding(method) -> None:
    """Poses, spaces, kinds of result and shapes in turn: each result is that of a binding that knows no other."""
    module, binding = bind(SNAKE, method)
    puffed = SNAKE.points * np.array([1.5, 1, 1])
    rigid = pose_chain(SNAKE, {3: rotation((1, 0, 0), 30)})
    steps = [
        ("deform", POSE, None), ("deform", TIP, None), ("vertex_transforms", TIP, None), ("deform", TIP, None),
        ("deform", TIP, ROOM), ("deform", POSE, ROOM), ("deform", rigid, None), ("deform", POSE, None),
    ]  # fmt: skip
    for points in (SNAKE.points, puffed, SNAKE.points):
        binding = module.with_points(binding, points)
        for function, matrices, space in steps:
            fresh = module.with_points(bind(SNAKE, method)[1], points)
            expected = getattr(module, function)(fresh, Pose(matrices, space))
            np.testing.assert_array_equal(getattr(module, function)(binding, Pose(matrices, space)), expected)


def test_another_order_is_computed_anew() -> None:
    _, binding = bind(SNAKE, "DLBNT-GH")
    dlbnt.deform(binding, Pose(POSE))
    other = replace(binding, params=dlbnt.Params(order="HG"))
    expected = dlbnt.deform(bind(SNAKE, "DLBNT-HG")[1], Pose(POSE))
    np.testing.assert_array_equal(dlbnt.deform(other, Pose(POSE)), expected)
    np.testing.assert_array_equal(
        dlbnt.deform(binding, Pose(POSE)), dlbnt.deform(bind(SNAKE, "DLBNT-GH")[1], Pose(POSE))
    )


@pytest.mark.parametrize("method", [name for name in METHODS if name != "SSD"])
@pytest.mark.parametrize("space", [None, ROOM], ids=["same space", "object space"])
def test_meshes_on_the_same_joints_take_them_apart_once(space, method, monkeypatch) -> None:
    key, params = VARIANTS[method]
    joints = Joints(SNAKE.centers, SNAKE.parents)
    rests = [replace(make_snake(count).rest(), joints=joints) for count in (10, 500, 900)]
    bindings = [DEFORMERS[key].bind(rest, params) for rest in rests]
    splits = []
    for module in (centers, dlb, dlbnt):
        monkeypatch.setattr(
            module, "decompose_polar", lambda *matrices: splits.append(1) or polar.decompose_polar(*matrices)
        )
    pose = Pose(POSE)
    shared = [DEFORMERS[key].deform(binding, pose.seen_from(space)) for binding in bindings]
    assert len(splits) == 1
    for rest, points in zip(rests, shared, strict=True):
        alone = DEFORMERS[key].bind(replace(rest, joints=Joints(SNAKE.centers, SNAKE.parents)), params)
        np.testing.assert_array_equal(DEFORMERS[key].deform(alone, Pose(POSE, space)), points)


def test_other_joints_and_params_are_taken_apart_by_themselves() -> None:
    """A pose that two skeletons share, or methods with their choices, gives each its own."""
    pose, joints = Pose(POSE), [Joints(SNAKE.centers + offset, SNAKE.parents) for offset in (0.0, 0.5)]
    for method in METHODS:
        key, params = VARIANTS[method]
        for own in joints:
            binding = DEFORMERS[key].bind(replace(SNAKE.rest(), joints=own), params)
            shared = DEFORMERS[key].deform(binding, pose)
            again = DEFORMERS[key].bind(replace(SNAKE.rest(), joints=own), params)
            np.testing.assert_array_equal(DEFORMERS[key].deform(again, Pose(POSE)), shared)


def test_weights_of_no_joint_are_kept_at_rest(blocks) -> None:
    character = replace(SNAKE, weights=0 * SNAKE.weights)
    module = DEFORMERS["DLBNT"]
    binding = module.bind(replace(character.rest(), weights=Weights.from_dense(character.weights)), module.Params())
    first = module.deform(binding, Pose(POSE))
    blocks.clear()
    assert module.deform(binding, Pose(TIP)) is first
    assert not blocks
