"""Rig presets: files that are right and wrong, and the bones that they find by their names."""

import copy
import json
from pathlib import Path

import pytest

from supple.deformers import SkinningError
from supple.deformers.anatomy.presets import LEFT, MIDDLE, NEEDED, RIGHT, find_rig, match, read_preset

from ..cases import each

FOLDER = Path(__file__).resolve().parents[3] / "presets"
FILES = sorted(FOLDER.glob("*.json"))
PRESETS = [read_preset(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in FILES]
SIMPLE = {
    "name": "Simple",
    "sides": ["L", "R"],
    "bones": {
        "hips": "hips",
        "spine": ["belly", "chest"],
        "upper_arm": ["arm.{side}", "arm_twist.{side}"],
        "forearm": "elbow.{side}",
        "thigh": "thigh.{side}",
        "shin": "shin.{side}",
    },
    "twists": ["arm_twist.{side}"],
}


def both(pattern: str, left: str, right: str, names: str) -> list[str]:
    return [pattern.format(side=side, name=name) for name in names.split() for side in (left, right)]


UNREAL_4 = [
    "root", "pelvis", "spine_01", "spine_02", "spine_03", "neck_01", "head",
    *both("{name}_{side}", "l", "r", "clavicle upperarm upperarm_twist_01 lowerarm lowerarm_twist_01 hand thumb_01 "
          "pinky_01 thigh thigh_twist_01 calf calf_twist_01 foot ball ik_foot"),
]  # fmt: skip
MIXAMO = [
    "Hips", "Spine", "Spine1", "Spine2", "Neck", "Head",
    *both("{side}{name}", "Left", "Right", "Shoulder Arm ForeArm Hand HandThumb1 HandPinky1 UpLeg Leg Foot ToeBase"),
]  # fmt: skip
RIGS = {
    "unreal 4": ("unreal", UNREAL_4),
    "unreal 5": (
        "unreal",
        [*UNREAL_4, "spine_04", "spine_05", "neck_02", *both("{name}_{side}", "l", "r", "upperarm_twist_02")],
    ),
    "without twists": ("makehuman_game", [name for name in UNREAL_4 if "twist" not in name]),
    "mixamo": ("mixamo", [f"mixamorig:{name}" for name in MIXAMO]),
    "mixamo, the ninth": ("mixamo", [f"mixamorig9:{name}" for name in MIXAMO]),
    "mixamo without a colon": ("mixamo", [f"mixamorig{name}" for name in MIXAMO]),
    "vroid": (
        "vroid",
        [f"J_Bip_C_{name}" for name in ("Hips", "Spine", "Chest", "UpperChest", "Neck", "Head")]
        + both(
            "J_Bip_{side}_{name}", "L", "R", "Shoulder UpperArm LowerArm Hand UpperLeg LowerLeg Foot ToeBase J_Sec_Hair"
        ),
    ),
    "vrm": (
        "vrm",
        [
            *("Hips", "Spine", "Chest", "Neck", "Head"),
            *both("{side}{name}", "Left", "Right", "Shoulder UpperArm LowerArm Hand UpperLeg LowerLeg Foot Toes"),
        ],
    ),
    "auto-rig pro": (
        "auto_rig_pro",
        [
            *("root.x", "spine_01.x", "spine_02.x", "neck.x", "head.x"),
            *both("{name}.{side}", "l", "r", "shoulder arm arm_twist arm_stretch forearm forearm_stretch"),
            *both("{name}.{side}", "l", "r", "hand thigh_twist thigh_stretch leg leg_stretch leg_twist foot toes_01"),
        ],
    ),
}  # fmt: skip


@each("rig", RIGS)
def test_rigs_are_found_by_the_names_of_their_bones(rig: str) -> None:
    key, names = RIGS[rig]
    found = find_rig(PRESETS, names)
    assert found is not None
    assert found.preset.key == key
    for part in NEEDED:
        for side in (MIDDLE,) if part in ("hips", "spine") else (LEFT, RIGHT):
            assert set(found.bones[part, side]) <= set(names)
    left, right = (found.bones["forearm", side][0] for side in (LEFT, RIGHT))
    assert names.index(right) == names.index(left) + 1


def test_of_unreal_all_bones_of_the_spine_are_found() -> None:
    found = find_rig(PRESETS, RIGS["unreal 5"][1])
    assert found is not None
    assert found.bones["spine", MIDDLE] == tuple(f"spine_0{number}" for number in range(1, 6))
    assert found.drivers["upper_arm", LEFT] == ("upperarm_l",)


def test_of_auto_rig_pro_the_bones_that_carry_the_rotation_drive() -> None:
    found = find_rig(PRESETS, RIGS["auto-rig pro"][1])
    assert found is not None
    assert found.bones["upper_arm", RIGHT] == ("arm_twist.r", "arm_stretch.r")
    assert found.drivers["upper_arm", RIGHT] == ("arm.r",)


def test_deforming_bones_come_before_controls_of_the_same_names() -> None:
    preset = read_preset("simple", SIMPLE)
    names = ["hips", "belly", "chest", *both("{name}.{side}", "L", "R", "arm elbow thigh shin")]
    for order in (("DEF-", "ORG-"), ("ORG-", "DEF-")):
        found = match(preset, [prefix + name for prefix in order for name in names])
        assert found is not None
        assert found.bones["forearm", LEFT] == (f"{order[0]}elbow.L",)


def test_no_preset_takes_an_animal() -> None:
    assert find_rig(PRESETS, ["root", "b_Hip_01", "b_Tail01_012", "Spine", "Head", "L_Arm", "R_Arm"]) is None
    assert find_rig(PRESETS, []) is None


@each("path", FILES)
def test_files_name_each_bone_once(path: Path) -> None:
    preset = read_preset(path.stem, json.loads(path.read_text(encoding="utf-8")))
    names = [name for bones in preset.bones.values() for name in bones]
    assert len(names) == len(set(names))
    assert preset.twists <= set(names)
    assert set(preset.hinges) == {"forearm", "shin"} or path.stem == "kaykit"


def change(**changes: object) -> dict:
    return copy.deepcopy(SIMPLE) | changes


WRONG = {
    "no object": ([], "cannot be read"),
    "unknown": (change(color="red"), "no setting 'color'"),
    "no name": (change(name=""), "name must be a text"),
    "one side": (change(sides=["L"]), "left and right"),
    "sides alike": (change(sides=["L", "L"]), "left and right"),
    "no bones": (change(bones=None), "by body part"),
    "a part missing": (change(bones={"hips": "hips"}), "bones of spine, upper_arm, forearm, thigh, shin are missing"),
    "an unknown part": (change(bones={"tail": "tail"}), "no part 'tail'"),
    "no side": (change(bones=SIMPLE["bones"] | {"foot": "foot"}), "both sides"),
    "a side too many": (change(bones=SIMPLE["bones"] | {"head": "head.{side}"}), "in the middle"),
    "an empty part": (change(bones=SIMPLE["bones"] | {"head": []}), "head has no bones"),
    "a number": (change(bones=SIMPLE["bones"] | {"head": 3}), "head must be names"),
    "no hinge": (change(hinges=["head"]), "hinges must be one of forearm, shin"),
    "no axis": (change(axes={"forearm": "W"}), "axes must be one of X, -X"),
}


@each("wrong", WRONG)
def test_wrong_files_are_refused(wrong: str) -> None:
    content, message = WRONG[wrong]
    with pytest.raises(SkinningError, match=message) as caught:
        read_preset("mine", content)
    assert "'mine'" in str(caught.value)
