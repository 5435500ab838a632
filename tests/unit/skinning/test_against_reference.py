"""Every method against the slow reference: characters scaled, sheared, mirrored, twisted and taken apart."""

import numpy as np

from supple.deformers import Pose
from supple.deformers.skinning.blocks import MIN_BLOCK_SIZE

from .. import reference
from ..cases import each
from ..characters import (
    METHODS,
    MIRROR_X,
    Character,
    about,
    apply_transforms,
    bind,
    deform,
    diagonal,
    make_hand,
    make_tube,
    pose_chain,
    rotation,
)

TOLERANCE = 1e-5
"""In diagonals of the posed character."""

OBJECT = about(rotation((1, 2, 3), 50) @ np.diag([0.5, 2.0, 1.5]), np.zeros(3), (0.4, -0.7, 1.1))

TUBE = make_tube()
LONG = make_tube(joint_count=8, rings=20, sides=3, width=0.8)
HAND = make_hand()


def pose_hand(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    local = {
        joint: rotation(random.normal(size=3), random.uniform(-100, 100)) @ np.diag(random.uniform(0.6, 1.6, 3))
        for joint in range(16)
    }
    return pose_chain(HAND, local)


def mirror_one_joint() -> np.ndarray:
    matrices = pose_chain(TUBE, {1: rotation((1, 0, 0), 50), 2: rotation((0, 1, 1), 40)})
    matrices[1, :3, :3] = matrices[1, :3, :3] @ np.diag([-0.8, 1.2, 1.0])
    matrices[1] = about(matrices[1, :3, :3], TUBE.centers[1])
    return matrices


CASES = {
    "rest": (TUBE, np.tile(np.eye(4), (3, 1, 1))),
    "rigid": (
        TUBE,
        pose_chain(TUBE, {0: rotation((1, 0, 0), 20), 1: rotation((1, 1, 0), 70), 2: rotation((0, 0, 1), 80)}),
    ),
    "scaled": (
        TUBE,
        pose_chain(TUBE, {0: np.diag([1, 1, 1.7]), 1: rotation((0, 0, 1), 90), 2: np.diag([2.0, 0.5, 1])}),
    ),
    "scaled uniformly": (TUBE, pose_chain(TUBE, {0: 2 * rotation((1, 0, 0), 60), 1: 0.25 * rotation((0, 1, 0), 60)})),
    "sheared": (
        TUBE,
        pose_chain(
            TUBE,
            {0: np.diag([1, 1, 2.5]), 1: rotation((1, 0, 0), 50), 2: rotation((0, 1, 0), 60) @ np.diag([1, 1.8, 0.6])},
        ),
    ),
    "one joint mirrored": (TUBE, mirror_one_joint()),
    "root mirrored": (TUBE, np.array([about(np.diag([-1, 1.3, 1.1]), np.zeros(3)), np.eye(4), np.eye(4)])),
    "mirrored chain": (
        TUBE,
        pose_chain(
            TUBE,
            {
                0: rotation((1, 2, 0), 30) @ np.diag([-1, 1.3, 0.8]),
                1: rotation((1, 0, 0), 70) @ np.diag([1.2, 1, 0.7]),
                2: rotation((0, 1, 1), 100),
            },
        ),
    ),
    "turned half around": (TUBE, pose_chain(TUBE, {0: rotation((1, 0, 0), 180), 1: rotation((0, 0, 1), 90)})),
    "twisted three times": (LONG, pose_chain(LONG, dict.fromkeys(range(1, 8), rotation((0, 0, 1), 155)))),
    "twisted back": (
        LONG,
        pose_chain(LONG, dict.fromkeys(range(8), rotation((0, 0, 1), -130) @ np.diag([1.1, 0.9, 1]))),
    ),
    "bent around": (LONG, pose_chain(LONG, dict.fromkeys(range(8), rotation((1, 0, 0.3), 70)))),
    "taken apart": (
        TUBE,
        pose_chain(
            TUBE,
            {0: np.diag([1.0, 1.5, 2.0]), 1: rotation((0, 1, 0), 40), 2: np.diag([1, 1.2, 1])},
            {1: (0.5, 0.1, 0.2), 2: (-0.3, 0.4, 0.6)},
        ),
    ),
    "hand": (HAND, pose_hand(1)),
    "hand again": (HAND, pose_hand(2)),
}


def expect(character: Character, method: str, rest_to_pose: np.ndarray, **more: np.ndarray) -> np.ndarray:
    return reference.skin(
        method, character.points, character.weights, character.centers, character.parents, rest_to_pose, **more
    )


def assert_close(actual: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE * diagonal(expected))


@each("method", METHODS)
@each("case", CASES)
def test_points_and_transforms(case: str, method: str) -> None:
    character, matrices = CASES[case]
    expected = expect(character, method, matrices)
    module, binding = bind(character, method)
    assert_close(module.deform(binding, Pose(matrices)), expected)
    transforms = module.vertex_transforms(binding, Pose(matrices))
    assert_close(apply_transforms(transforms, character.points), expected)


@each("method", METHODS)
@each("parts", [(), ("linear", "strength")])
@each("matrix", [None, OBJECT])
def test_parts_in_object_space(parts: tuple[str, ...], matrix: np.ndarray | None, method: str) -> None:
    random = np.random.default_rng(3)
    values = {part: random.uniform(0, 1, len(HAND.points)) for part in parts}
    matrices = CASES["hand"][1]
    expected = expect(HAND, method, matrices, object_to_armature=matrix, **values)
    module, binding = bind(HAND, method, **values)
    pose = Pose(matrices, matrix)
    assert_close(module.deform(binding, pose), expected)
    assert_close(apply_transforms(module.vertex_transforms(binding, pose), HAND.points), expected)


@each("method", METHODS)
def test_transforms_carry_other_positions(method: str) -> None:
    """They serve points that shape keys or modifiers have moved."""
    matrices = CASES["hand"][1]
    moved = HAND.points + np.random.default_rng(4).uniform(-0.2, 0.2, HAND.points.shape)
    rotation_centers = reference.find_rotation_centers(HAND.points, HAND.weights)
    other = Character(moved, HAND.weights, HAND.centers, HAND.parents)
    expected = expect(other, method, matrices, object_to_armature=OBJECT, rotation_centers=rotation_centers)
    module, binding = bind(HAND, method)
    assert_close(apply_transforms(module.vertex_transforms(binding, Pose(matrices, OBJECT)), moved), expected)


@each("method", METHODS)
@each("matrix", [None, OBJECT])
def test_unweighted_vertices_stay(method: str, matrix: np.ndarray | None) -> None:
    character = Character(HAND.points, HAND.weights.copy(), HAND.centers, HAND.parents)
    character.weights[::3] = 0.0
    character.weights[1] *= 0.5e-4
    matrices = CASES["hand"][1]
    module, binding = bind(character, method)
    actual = module.deform(binding, Pose(matrices, matrix))
    for still in (slice(None, None, 3), 1):
        np.testing.assert_allclose(actual[still], HAND.points[still], rtol=0, atol=1e-6)
    assert_close(actual, expect(character, method, matrices, object_to_armature=matrix))


@each("method", METHODS)
def test_many_blocks(method: str) -> None:
    random = np.random.default_rng(6)
    large = make_hand(7, vertex_count=2 * MIN_BLOCK_SIZE + 77)
    linear = np.where(large.points[:, 0] > 0.3, 0.5, 0.0)
    matrices = CASES["hand"][1]
    actual = deform(large, method, matrices, linear=linear)
    chosen = random.choice(len(large.points), 60, replace=False)
    middles = reference.find_rotation_centers(large.points, large.weights)[chosen]
    few = Character(large.points[chosen], large.weights[chosen], large.centers, large.parents)
    expected = expect(few, method, matrices, linear=linear[chosen], rotation_centers=middles)
    assert_close(actual[chosen], expected)


@each("method", METHODS)
@each("size", [1e-4, 180.0, 1e4])
def test_size_of_the_character(method: str, size: float) -> None:
    """Centimeters, or a miniature: errors stay small beside the character."""
    character = Character(HAND.points * size, HAND.weights, HAND.centers * size, HAND.parents)
    matrices = CASES["hand"][1].copy()
    matrices[:, :3, 3] *= size
    assert_close(deform(character, method, matrices), expect(character, method, matrices))


@each("method", METHODS)
@each("scale", [1e-4, 1e4])
def test_size_of_a_joint(method: str, scale: float) -> None:
    matrices = pose_chain(
        TUBE, {0: scale * rotation((1, 0, 0), 30), 1: rotation((1, 0, 0), 40), 2: np.diag([1, 2, 1.0])}
    )
    assert_close(deform(TUBE, method, matrices), expect(TUBE, method, matrices))


@each("method", METHODS)
def test_far_from_the_origin(method: str) -> None:
    """Single precision resolves 1e-6 of the distance from the armature's origin, here five diagonals."""
    away = about(np.eye(3), np.zeros(3), (10, -8, 6))
    matrices = CASES["sheared"][1]
    character = Character(TUBE.points + away[:3, 3], TUBE.weights, TUBE.centers + away[:3, 3], TUBE.parents)
    actual = deform(character, method, away @ matrices @ np.linalg.inv(away))
    assert_close(actual, expect(TUBE, method, matrices) + away[:3, 3])


@each("method", METHODS)
@each("case", ["rigid", "sheared", "hand"])
def test_single_precision_input(method: str, case: str) -> None:
    """Blender hands over float32, and slices of larger arrays."""
    character, matrices = CASES[case]
    wide = np.zeros((len(character.points), 6), np.float32)
    wide[:, ::2] = character.points
    narrow = Character(
        wide[:, ::2],
        np.asfortranarray(character.weights.astype(np.float32)),
        np.asfortranarray(character.centers.astype(np.float32)),
        character.parents.astype(np.int32),
    )
    turned = np.ascontiguousarray(matrices.transpose(0, 2, 1).astype(np.float32)).transpose(0, 2, 1)
    assert not narrow.points.flags.c_contiguous
    assert not turned.flags.c_contiguous
    assert_close(deform(narrow, method, turned), expect(character, method, matrices))


@each("method", METHODS)
@each("case", ["bent around", "twisted back", "sheared", "scaled uniformly"])
def test_mirrored_character_is_the_mirror_image(method: str, case: str) -> None:
    """The root mirrored, all else inherited: what turns below it must not turn into stretch and lose volume."""
    character, matrices = CASES[case]
    mirror = about(MIRROR_X, np.zeros(3))
    image = deform(character, method, mirror @ matrices)
    assert_close(image, deform(character, method, matrices) @ MIRROR_X)
