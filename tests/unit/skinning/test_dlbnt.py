"""The split of joint transforms into a rigid part and a stretch, and what follows from it."""

import numpy as np

from supple.deformers import Pose
from supple.deformers.skinning import dlbnt

from ..cases import each
from ..characters import Character, about, bind, deform, diagonal, make_hand, make_tree, make_tube, pose_chain, rotation

ORDERS = ("GH", "HG")
TWO = Character(
    np.array([[1.0, 0, 1], [0, 1, 1]]), np.full((2, 2), 0.5), np.array([[0.0, 0, 0], [0, 0, 1]]), np.array([-1, 0])
)
TUBE = make_tube()


def split(character: Character, matrices: np.ndarray, order: str) -> tuple[np.ndarray, np.ndarray]:
    """G and H, shape (B, 4, 4) each."""
    _, binding = bind(character, f"DLBNT-{order}")
    rotations, moves, stretches, stretch_moves = dlbnt.split_transforms(binding.joints, Pose(matrices), order)
    both = np.tile(np.eye(4), (2, len(matrices), 1, 1))
    both[0, :, :3, :3], both[0, :, :3, 3] = rotations, moves
    both[1, :, :3, :3], both[1, :, :3, 3] = stretches, stretch_moves
    return both[0], both[1]


def at(matrices: np.ndarray, points: np.ndarray) -> np.ndarray:
    return np.einsum("bij,bj->bi", matrices[:, :3, :3], points) + matrices[:, :3, 3]


def random_pose(seed: int, least: float, apart: float) -> tuple[Character, np.ndarray]:
    """A tree of 30 joints in any order, each scaled along three axes of its own and moved off its parent."""
    random = np.random.default_rng(seed)
    parents = make_tree(random, 30)
    character = Character(random.normal(size=(4, 3)), np.ones((4, 30)), random.normal(size=(30, 3)), parents)
    local, moves = {}, {}
    for joint in range(30):
        turn = rotation(random.normal(size=3), 30)
        scale = turn @ np.diag(random.uniform(least, 1.3, 3)) @ turn.T
        local[joint] = rotation(random.normal(size=3), random.uniform(-170, 170)) @ scale
        moves[joint] = apart * random.normal(size=3)
    return character, pose_chain(character, local, moves)


@each(("order", "rigid_move", "stretch_move"), [("GH", (0, 2, 2), (0, 0, 1)), ("HG", (0, 1, 1), (0, 0, 1))])
def test_two_joints_by_hand(order: str, rigid_move: tuple, stretch_move: tuple) -> None:
    """The root is stretched to twice its length; the child keeps its size, is carried to (0, 0, 2), and turns there.

    GH: H of the child lifts by 1, so that its center meets H of the root, and G turns about (0, 0, 2).
    HG: G turns about (0, 0, 1), where the center still is, and H lifts by 1.
    """
    matrices = np.array([np.diag([1.0, 1, 2, 1]), about(rotation((1, 0, 0), 90), np.array([0, 0, 1.0]), (0, 0, 1))])
    rigid, stretch = split(TWO, matrices, order)
    np.testing.assert_allclose(rigid[0], np.eye(4), atol=1e-12)
    np.testing.assert_allclose(stretch[0], np.diag([1, 1, 2, 1]), atol=1e-12)
    np.testing.assert_allclose(rigid[1, :3, :3], [[1, 0, 0], [0, 0, -1], [0, 1, 0]], atol=1e-12)
    np.testing.assert_allclose(rigid[1, :3, 3], rigid_move, atol=1e-12)
    np.testing.assert_allclose(stretch[1, :3, :3], np.eye(3), atol=1e-12)
    np.testing.assert_allclose(stretch[1, :3, 3], stretch_move, atol=1e-12)
    # At the joint's height, half of each: a turn by 45 degrees about the joint, which is at (0, 0, 2).
    expected = [[1, 0, 2], [0, 0.5**0.5, 2 + 0.5**0.5 * (1.0 if order == "GH" else 1.5)]]
    np.testing.assert_allclose(deform(TWO, f"DLBNT-{order}", matrices), expected, atol=1e-6)


@each("order", ORDERS)
@each("apart", [0.0, 0.5])
@each("seed", range(4))
def test_parts_make_up_the_whole(seed: int, apart: float, order: str) -> None:
    character, matrices = random_pose(seed, 0.7, apart)
    rigid, stretch = split(character, matrices, order)
    whole = rigid @ stretch if order == "GH" else stretch @ rigid
    np.testing.assert_allclose(whole, matrices, atol=1e-9 * np.abs(matrices).max())
    np.testing.assert_allclose(
        rigid[:, :3, :3] @ rigid[:, :3, :3].transpose(0, 2, 1), np.tile(np.eye(3), (30, 1, 1)), atol=1e-9
    )
    assert (np.linalg.det(rigid[:, :3, :3]) > 0).all()
    np.testing.assert_allclose(
        stretch[:, :3, :3], stretch[:, :3, :3].transpose(0, 2, 1), atol=1e-9 * np.abs(stretch).max()
    )


@each("apart", [0.0, 0.5])
@each("seed", range(4))
def test_stretches_agree_at_the_joints(seed: int, apart: float) -> None:
    """Eq 15; at the roots H does not move."""
    character, matrices = random_pose(seed, 0.7, apart)
    _, stretch = split(character, matrices, "GH")
    own = at(stretch, character.centers)
    root = character.parents < 0
    of_parent = at(stretch[character.parents], character.centers)
    np.testing.assert_allclose(own[~root], of_parent[~root], atol=1e-9 * np.abs(matrices).max())
    np.testing.assert_allclose(stretch[root, :3, 3], 0, atol=1e-12)


@each("apart", [0.0, 0.5])
@each("seed", range(4))
def test_stretches_agree_where_they_act(seed: int, apart: float) -> None:
    """Eq 15 for M = H G, at x = G o. At the roots H leaves x alone; joined joints' G agree as well."""
    character, matrices = random_pose(seed, 1.0, apart)
    rigid, stretch = split(character, matrices, "HG")
    x = at(rigid, character.centers)
    root = character.parents < 0
    size = np.abs(x).max() + np.abs(matrices).max()
    np.testing.assert_allclose(at(stretch, x)[root], x[root], atol=1e-9 * size)
    if apart:
        stretches = stretch[character.parents]
        largest = np.abs(np.linalg.eigvalsh(stretches[:, :3, :3])).min(axis=1) >= 1
        told = ~root & largest
        assert told.any()
    else:
        told = ~root
        np.testing.assert_allclose(at(rigid[character.parents], character.centers)[told], x[told], atol=1e-6 * size)
    np.testing.assert_allclose(at(stretch[character.parents], x)[told], at(stretch, x)[told], atol=1e-5 * size)


@each("order", ORDERS)
@each("apart", [0.0, 0.5])
def test_rigid_pose_is_dlb(apart: float, order: str) -> None:
    """So says section 4 of the paper; here of joints that are taken apart, too, and of the split itself. Where joints
    are more than 180 degrees apart, DLB has other signs, as Blender."""
    random = np.random.default_rng(5)
    hand = make_hand()
    local = {joint: rotation(random.normal(size=3), random.uniform(-40, 40)) for joint in range(16)}
    matrices = pose_chain(hand, local, {joint: apart * random.normal(size=3) for joint in range(16)})
    expected = deform(hand, "DLB", matrices)
    np.testing.assert_allclose(deform(hand, f"DLBNT-{order}", matrices), expected, atol=1e-6 * diagonal(expected))
    rigid, stretch = split(hand, matrices, order)
    np.testing.assert_allclose(rigid, matrices, atol=1e-5)
    np.testing.assert_allclose(stretch, np.tile(np.eye(4), (16, 1, 1)), atol=1e-5)


@each("order", ORDERS)
def test_pose_without_turns_is_ssd(order: str) -> None:
    local = {0: np.diag([1, 2, 0.7]), 1: np.diag([0.5, 1, 1.5]), 2: np.diag([3.0, 0.1, 1])}
    matrices = pose_chain(TUBE, local)
    expected = deform(TUBE, "SSD", matrices)
    np.testing.assert_allclose(deform(TUBE, f"DLBNT-{order}", matrices), expected, atol=1e-6 * diagonal(expected))


@each("order", ORDERS)
@each("apart", [0.0, 0.3])
@each("scale", [1 + 1e-5, 1 - 1e-5])
def test_a_touch_of_scale_changes_little(scale: float, apart: float, order: str) -> None:
    """Rigid poses take a shorter way, which must not be seen to be left."""
    local = {0: rotation((1, 0, 0), 30), 1: rotation((1, 1, 0), 70), 2: rotation((0, 0, 1), 80)}
    matrices = pose_chain(TUBE, local, {2: (apart, 0, 0)})
    expected = deform(TUBE, f"DLBNT-{order}", matrices)
    touched = pose_chain(TUBE, local | {1: scale * local[1]}, {2: (apart, 0, 0)})
    np.testing.assert_allclose(deform(TUBE, f"DLBNT-{order}", touched), expected, atol=1e-4)


@each("order", ORDERS)
@each("scales", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, 0)])
@each("joint", [0, 1, 2])
def test_scale_of_zero_is_the_limit_of_small_scales(joint: int, scales: tuple, order: str) -> None:
    """Hidden joints: nothing jumps when the last of the scale is gone."""
    local = {0: rotation((1, 0, 0), 20), 1: rotation((0, 1, 0), 70), 2: rotation((1, 0, 1), 50)}
    results = []
    for scale in (0.0, 1e-3):
        scaled = local[joint] @ np.diag(np.maximum(np.array(scales, float), scale))
        results.append(deform(TUBE, f"DLBNT-{order}", pose_chain(TUBE, local | {joint: scaled})))
    assert np.isfinite(results[0]).all()
    if np.count_nonzero(scales) == 2:  # with less the rotation itself is lost, here and in the joints below
        np.testing.assert_allclose(results[0], results[1], atol=0.02)


@each("order", ORDERS)
@each("scales", [(0, 1, 1), (0, 0, 1), (0, 1, 0), (0, 0, 0), (-1, 1, 1), (-1, -1, -1)])
def test_single_precision_does_not_decide(scales: tuple, order: str) -> None:
    """Where a matrix leaves the rotation open, the noise of a pose that is read from Blender must not choose it."""
    local = {
        0: rotation((1, 2, 0), 20),
        1: rotation((1, 1, 0), 100) @ np.diag(scales).astype(float),
        2: rotation((1, 0, 1), 50),
    }
    matrices = pose_chain(TUBE, local)
    expected = deform(TUBE, f"DLBNT-{order}", matrices)
    for seed in range(4):
        noise = np.random.default_rng(seed).normal(size=(3, 3, 3)) * 5e-8
        noisy = matrices.copy()
        noisy[:, :3, :3] += noise * np.abs(matrices[:, :3, :3]).max(axis=(1, 2), keepdims=True)
        actual = deform(TUBE, f"DLBNT-{order}", noisy.astype(np.float32))
        np.testing.assert_allclose(actual, expected, atol=2e-3)


@each("order", ORDERS)
@each("scale", [1.0, 0.1, 1e-3, 1e-5, 1e-7, 0.0])
def test_joint_apart_from_a_shrunk_parent(scale: float, order: str) -> None:
    """The child, which does not inherit the scale, is moved by 0.1: no vertex may be thrown further than that."""
    matrices = np.tile(np.eye(4), (3, 1, 1))
    matrices[1] = about(scale * np.eye(3), TUBE.centers[1])
    posed = matrices[1, :3, :3] @ TUBE.centers[2] + matrices[1, :3, 3]
    matrices[2] = about(np.eye(3), TUBE.centers[2], posed - TUBE.centers[2] + (0.1, 0, 0))
    actual = deform(TUBE, f"DLBNT-{order}", matrices)
    assert np.abs(actual[:, 0]).max() < 0.3 + 0.11
