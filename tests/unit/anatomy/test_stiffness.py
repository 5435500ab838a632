"""Elbows and knees bend about their hinges, and twisting bones twist, however bones are rolled."""

import numpy as np

from supple.deformers.anatomy.body import RestBones
from supple.deformers.anatomy.presets import match
from supple.deformers.anatomy.stiffness import HINGE_STIFFNESS, TWIST_STIFFNESS, find_stiffness

from ..cases import each
from .test_body import MOVES, PRESET, make_bones


@each("move", MOVES)
def test_hinges_and_twists(move: str) -> None:
    matrix = np.eye(4)
    matrix[:3, :3] = MOVES[move]
    rig, bones = make_bones(matrix)
    axes = np.array(bones.axes)
    for name in ("elbow.L", "shin.R"):  # X is the hinge: across the limb and the side to which it bends
        axes[bones.index(name)] = MOVES[move] @ np.eye(3) / np.cbrt(abs(np.linalg.det(MOVES[move])))
    found = find_stiffness(rig, RestBones(bones.names, bones.heads, bones.tails, axes, bones.parents, bones.deforming))
    assert set(found) == {"arm_twist.L", "arm_twist.R", "elbow.L", "elbow.R", "shin.L", "shin.R"}
    assert found["arm_twist.R"].tolist() == [TWIST_STIFFNESS, 0.0, TWIST_STIFFNESS]
    assert found["shin.R"].tolist() == [0.0, HINGE_STIFFNESS, HINGE_STIFFNESS]
    assert sorted(found["elbow.R"].tolist()) == [0.0, HINGE_STIFFNESS, HINGE_STIFFNESS]


def test_a_rig_without_hinges_has_none() -> None:
    _, bones = make_bones()
    plain = match(PRESET.__class__(PRESET.key, PRESET.name, PRESET.sides, PRESET.bones), bones.names)
    assert plain is not None
    assert find_stiffness(plain, bones) == {}
