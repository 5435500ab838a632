"""Bones between joints, by all presets of Supple, and files that are none."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fit_bodies import HUMAN_JOINTS
from supple.deformers.errors import SkinningError
from supple.deformers.fit.bones import find_axis, make_bones, read_fit_preset
from supple.deformers.fit.frame import Frame
from supple.deformers.fit.joints import HUMAN, QUADRUPED, Fit, mirror_joints

FOLDER = Path(__file__).parents[3] / "presets" / "fit"
FRAME = Frame(np.eye(3), np.zeros(3), 1.0, 1.0)
HALF = {name: np.array(point) for name, point in HUMAN_JOINTS.items()} | {
    "hand_tip": np.array([0.5, 0, 0.8]), "toe": np.array([0.07, -0.07, 0.02]), "toe_tip": np.array([0.07, -0.12, 0.02]),
    "hips": np.array([0, 0, 0.51]), "chest": np.array([0, 0, 0.72]), "neck": np.array([0, 0, 0.83]),
    "head": np.array([0, 0, 0.88]), "head_tip": np.array([0, 0, 1.0]),
}  # fmt: skip
HUMAN_FIT = Fit(HUMAN, FRAME, mirror_joints(HUMAN, HALF), frozenset())


def read(key: str):
    return read_fit_preset(key, json.loads((FOLDER / f"{key}.json").read_text(encoding="utf-8")))


def test_presets_give_connected_symmetric_bones(subtests):
    for path in sorted(FOLDER.glob("*.json")):
        preset = read(path.stem)
        if preset.kind == QUADRUPED:
            continue
        with subtests.test(path.stem):
            bones = {bone.name: bone for bone in make_bones(HUMAN_FIT, preset)}
            assert [bone.name for bone in bones.values() if not bone.parent] == [preset.bones[0][0]]
            for name, bone in bones.items():
                assert np.linalg.norm(bone.tail - bone.head) > 0.004
                assert np.linalg.norm(bone.x_axis) == pytest.approx(1.0)
                if bone.is_connected:
                    assert np.array_equal(bone.head, bones[bone.parent].tail)
                left, right = preset.sides
                row = next(row for row in preset.bones if row[0].replace("{side}", left) == name or row[0] == name or
                           row[0].replace("{side}", right) == name)  # fmt: skip
                if name == row[0].replace("{side}", left) != row[0]:
                    other = bones[row[0].replace("{side}", right)]
                    assert np.allclose(other.head, bone.head * [-1, 1, 1])
                    assert np.allclose(other.tail, bone.tail * [-1, 1, 1])


def test_a_rotation_about_the_axis_bends_the_limb():
    joints = HUMAN_FIT.joints
    for side in (".L", ".R"):
        forearm = joints["wrist" + side] - joints["elbow" + side]
        assert np.cross(find_axis(joints, "elbow", side), forearm)[1] < 0.0  # the hand comes forward
        shin = joints["ankle" + side] - joints["knee" + side]
        assert np.cross(find_axis(joints, "knee", side), shin)[1] > 0.0  # the foot goes back


def test_a_bent_limb_has_its_own_axis():
    bent = dict(HUMAN_FIT.joints)
    bent["wrist.L"] = bent["elbow.L"] + [0.08, 0.0, -0.1]
    assert abs(find_axis(bent, "elbow", ".L")[1]) == pytest.approx(1.0, abs=1e-6)


def test_fingers_bend_toward_the_palm():
    joints = dict(HUMAN_FIT.joints)
    for side, sign in ((".L", 1.0), (".R", -1.0)):  # palms down
        joints["index1" + side] = np.array([sign * 0.45, -0.02, 0.8])
        joints["pinky1" + side] = np.array([sign * 0.45, 0.02, 0.8])
        assert np.cross(find_axis(joints, "finger", side), [sign, 0.0, 0.0])[2] < 0.0


def test_what_the_body_does_not_have_gets_no_bones():
    joints = {name: point for name, point in HUMAN_FIT.joints.items() if "hand_tip" not in name}
    names = [bone.name for bone in make_bones(Fit(HUMAN, FRAME, joints, frozenset()), read("unreal"))]
    assert "lowerarm_l" in names
    assert "hand_l" not in names


WRONG = [
    ([], "cannot be read"),
    ({"name": "A"}, "are missing"),
    ({"kind": "BIRD"}, "one of HUMAN, QUADRUPED"),
    ({"sides": ["L", "L"]}, "left and right"),
    ({"points": {"a": ["hips", "moon", 0, 0, 0]}}, "two joints"),
    ({"bones": [["a", "", "hips"]]}, "a bone is"),
    ({"bones": [["a", "b", "hips", "chest", "side"]]}, "parent must stand before"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_refuses_files_that_are_no_preset(change, message):
    whole = {"name": "A", "kind": "HUMAN", "sides": ["L", "R"], "points": {}, "bones": []}
    content = {**whole, **change} if isinstance(change, dict) and change != {"name": "A"} else change
    with pytest.raises(SkinningError, match=message):
        read_fit_preset("mine", content)
