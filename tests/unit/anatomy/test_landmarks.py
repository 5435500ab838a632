"""Landmarks: files that are right and wrong, and where they are on a person of a few bones."""

import json
from pathlib import Path

import numpy as np
import pytest

from supple.deformers import SkinningError
from supple.deformers.anatomy.body import body_of_rig
from supple.deformers.anatomy.landmarks import find_side, find_spot, guess_spot, read_landmarks, sides_of
from supple.deformers.anatomy.presets import LEFT, MIDDLE, RIGHT
from supple.deformers.patterns.library import PRESETS as PATTERNS

from ..cases import each
from .test_body import make_bones, turn

FILE = Path(__file__).resolve().parents[3] / "presets" / "landmarks" / "human.json"
CONTENT = json.loads(FILE.read_text(encoding="utf-8"))
LANDMARKS = {landmark.name: landmark for landmark in read_landmarks("human", CONTENT)}


def test_each_pattern_of_the_library_has_a_landmark() -> None:
    keys = {landmark.key(side) for landmark in LANDMARKS.values() for side in sides_of(landmark)}
    assert keys == set(PATTERNS)


WRONG = {
    "no list": ({}, "no list"),
    "unknown": ({"color": 1}, "no setting 'color'"),
    "lacking": ({"full": None}, "full are missing"),
    "region": ({"region": "TAIL"}, "mine, Belly': region must be one of"),
    "number": ({"height": "high"}, "height must be a number"),
    "driver": ({"driver": ["tail"]}, "driver must be a list"),
    "angles": ({"full": 1}, "larger than its start"),
}


@each("wrong", WRONG)
def test_wrong_files_are_refused(wrong: str) -> None:
    changes, message = WRONG[wrong]
    one = {name: value for name, value in (CONTENT["landmarks"][0] | changes).items() if value is not None}
    with pytest.raises(SkinningError, match=message):
        read_landmarks("mine", {"landmarks": [one]} if changes else {"landmarks": 3})


@each("seed", range(5))
def test_whatever_the_roll_of_the_bones_the_rotation_is_that_of_the_joint(seed: int) -> None:
    rig, bones = make_bones(seed=seed)
    body = body_of_rig(rig, bones)
    for name, side, wanted in (("Belly", MIDDLE, (1, 0, 0)), ("Shoulder blade", LEFT, (0, -1, 0))):
        spot = find_spot(LANDMARKS[name], side, body, rig, bones)
        assert spot is not None
        axes = bones.axes[bones.index(spot.bone)]
        shares = axes.T @ np.array(wanted)
        assert "XYZ"[np.abs(shares).argmax()] == spot.axis
        assert spot.is_positive == (shares["XYZ".index(spot.axis)] > 0)


def test_spots_by_hand() -> None:
    rig, bones = make_bones()
    body = body_of_rig(rig, bones)
    belly = find_spot(LANDMARKS["Belly"], MIDDLE, body, rig, bones)
    assert belly is not None
    np.testing.assert_allclose(belly.origin, (0, 0, 0.9 + 0.31 * 0.5), atol=1e-6)
    np.testing.assert_allclose(belly.toward, body.front, atol=1e-6)
    assert (belly.first_bone, belly.bone) == ("belly", "chest")
    biceps = find_spot(LANDMARKS["Biceps"], RIGHT, body, rig, bones)
    assert biceps is not None
    assert (biceps.first_bone, biceps.bone) == ("", "elbow.R")
    assert biceps.origin[0] == pytest.approx(-0.17 - 0.46 * 0.15)
    assert biceps.right is not None
    assert biceps.right[0] < 0  # to the elbow
    assert find_spot(LANDMARKS["Wrist"], LEFT, body, rig, bones) is None  # it has no hands


def test_an_arm_that_is_raised_at_rest_has_less_to_go() -> None:
    rig, bones = make_bones()
    body = body_of_rig(rig, bones)
    starts = []
    for angle in (0.0, -0.3):  # up to the side
        rotation = turn(0.0, angle, 0.0)
        heads, tails = bones.heads.copy(), bones.tails.copy()
        for name in ("arm.L", "arm_twist.L", "elbow.L"):
            index = bones.index(name)
            for ends in (heads, tails):
                ends[index] = rotation @ (ends[index] - (0.17, 0, 1.4)) + (0.17, 0, 1.4)
        moved = type(bones)(bones.names, heads, tails, bones.axes, bones.parents, bones.deforming)
        spot = find_spot(LANDMARKS["Shoulder blade"], LEFT, body_of_rig(rig, moved), rig, moved)
        assert spot is not None
        share = np.abs(bones.axes[bones.index("arm.L")].T @ body.front).max()
        starts.append(np.degrees(spot.full) / share)
    assert starts[0] - starts[1] == pytest.approx(np.degrees(0.3), abs=1.0)


def test_without_a_preset_the_bone_says_where_the_arm_is() -> None:
    rig, bones = make_bones()
    body = body_of_rig(rig, bones)
    parents = tuple("arm.L" if name == "elbow.L" else "" for name in bones.names)
    bones = type(bones)(bones.names, bones.heads, bones.tails, bones.axes, parents, bones.deforming)
    spot = guess_spot(LANDMARKS["Biceps"], LEFT, body, bones, "elbow.L")
    np.testing.assert_allclose(spot.origin, (0.17 + 0.46 * 0.15, 0, 1.4 - 0.46 * 0.2), atol=1e-6)
    assert spot.toward @ body.front > 0.9
    assert find_side(body, bones.heads[bones.index("elbow.L")]) == LEFT
    assert find_side(body, body.hips) == MIDDLE
