"""Elbows and knees have a hinge and a side, and twisting bones are known, however bones are rolled."""

import numpy as np

from supple.deformers.anatomy.body import RestBones
from supple.deformers.anatomy.presets import match
from supple.deformers.anatomy.stiffness import find_ends, find_hinges, find_twists

from ..cases import each
from .test_body import MOVES, PRESET, make_bones, turn


@each("move", MOVES)
def test_hinges_turn_limbs_to_their_side(move: str) -> None:
    """The person looks to -Y: forearms bend forward, shins back; the rest bend is where straight is measured from."""
    matrix = np.eye(4)
    matrix[:3, :3] = MOVES[move]
    size, is_mirrored = np.linalg.norm(MOVES[move][:, 2]), np.linalg.det(MOVES[move]) < 0.0
    rig, bones = make_bones(matrix)
    axes = np.tile(turn(0.3, -1.2, 2.0), (len(bones.names), 1, 1))
    bones = RestBones(bones.names, bones.heads, bones.tails, axes, bones.parents, bones.deforming)
    found = find_hinges(rig, bones)
    assert set(found) == {"elbow.L", "elbow.R", "shin.L", "shin.R"}
    for name, (own, straight) in found.items():
        index = bones.index(name)
        hinge, along, _ = (axes[index] @ own).T
        assert np.linalg.det(own) > 0.0
        limb = bones.tails[index] - bones.heads[index]
        np.testing.assert_allclose(along, limb / np.linalg.norm(limb), atol=1e-6)
        side = MOVES[move] @ np.array([0.0, 1.0 if name.startswith("shin") else -1.0, 0.0]) / size
        assert np.cross(hinge, along) @ side > 0.5
        assert straight < 0.0  # it is bent at rest
    if not is_mirrored:
        np.testing.assert_allclose(np.degrees(found["shin.L"][1]), -8.3, atol=0.3)


def test_a_hinge_is_the_bones_own_axis_where_that_is_near() -> None:
    rig, bones = make_bones()
    axes = np.array(bones.axes)
    index = bones.index("shin.L")
    axes[index] = turn(0.0, 0.0, 0.3)
    found = find_hinges(rig, RestBones(bones.names, bones.heads, bones.tails, axes, bones.parents, bones.deforming))
    np.testing.assert_allclose(np.abs(found["shin.L"][0][:, 0]), [1.0, 0.0, 0.0], atol=0.05)


def test_twists_and_ends() -> None:
    rig, bones = make_bones()
    assert find_twists(rig) == {"arm_twist.L", "arm_twist.R"}
    assert find_ends(rig) == {"foot.L", "foot.R"}
    plain = match(PRESET.__class__(PRESET.key, PRESET.name, PRESET.sides, PRESET.bones), bones.names)
    assert plain is not None
    assert find_hinges(plain, bones) == {}
    assert find_twists(plain) == set()
