"""Joints in bodies whose joints are known, and what is refused."""

import numpy as np
import pytest

from benchmarks.fit_bodies import HUMAN_JOINTS, Mesh, join, make_animal, make_human, make_spindle, rotate
from supple.deformers.errors import SkinningError
from supple.deformers.fit.fitting import fit_joints
from supple.deformers.fit.joints import FINGERS, HUMAN, QUADRUPED

NEAR = 0.04


def measure(mesh: Mesh, joints: dict) -> dict[str, float]:
    fit = fit_joints(*mesh, HUMAN)
    return {name: float(np.linalg.norm(fit.locate(f"{name}.L") - joints[name])) / fit.frame.height for name in joints}


def test_finds_the_joints_of_a_human(subtests):
    changes = {
        "as it is": lambda points: points,
        "turned by 180": lambda points: rotate((points, None), 180.0)[0],
        "turned by 37": lambda points: rotate((points, None), 37.0)[0],
        "in centimeters, far away": lambda points: 170.0 * points + [900.0, -400.0, 50.0],
        "in millimeters of a thousandth": lambda points: 1e-3 * points,
    }
    points, triangles = make_human()
    for name, change in changes.items():
        with subtests.test(name):
            truth = {joint: change(np.array([at]))[0] for joint, at in HUMAN_JOINTS.items()}
            errors = measure((change(points), triangles), truth)
            assert max(errors.values()) < NEAR, errors


def test_arms_may_hang(subtests):
    for fall in (30.0, 50.0):
        with subtests.test(f"{fall} degrees"):
            shoulder, angle = np.array(HUMAN_JOINTS["shoulder"]), np.radians(fall)
            truth = {
                name: shoulder
                + np.linalg.norm(HUMAN_JOINTS[name] - shoulder) * np.array([np.cos(angle), 0, -np.sin(angle)])
                for name in ("shoulder", "elbow", "wrist")
            }
            errors = measure(make_human(fall), truth)
            assert max(errors.values()) < NEAR, errors


def test_joints_are_exactly_symmetric():
    for kind, mesh in ((HUMAN, rotate(make_human(), 37.0)), (QUADRUPED, make_animal())):
        joints = fit_joints(*mesh, kind).joints
        for name in joints:
            if name.endswith(".L"):
                assert np.array_equal(joints[name] * [-1, 1, 1], joints[name.replace(".L", ".R")])
            elif not name.endswith(".R"):
                assert joints[name][0] == 0.0


def test_finds_the_joints_of_an_animal():
    fit = fit_joints(*rotate(make_animal(), 110.0), QUADRUPED)
    joints = fit.joints
    assert joints["nose"][1] < joints["neck"][1] < joints["hips"][1] < joints["tail_tip"][1]
    offset = joints["fetlock.L"][1] + 0.3  # the body's origin is the mean of its cells
    for name, y in (("carpus.L", -0.3), ("hock.L", 0.3), ("lower.L", 0.3), ("knee.L", 0.3)):
        assert joints[name][1] == pytest.approx(y + offset, abs=0.04)
        assert joints[name][0] == pytest.approx(0.09, abs=0.02)
    assert joints["shoulder.L"][2] > joints["elbow.L"][2] > joints["carpus.L"][2] > joints["fetlock.L"][2]


def test_moves_a_joint_and_its_mirror():
    fit, move = fit_joints(*rotate(make_human(), 37.0), HUMAN), np.array([0.01, 0.02, 0.03])
    moved = fit.moved("knee.R", fit.locate("knee.R") + move)
    assert np.allclose(moved.locate("knee.R"), fit.locate("knee.R") + move)
    assert np.array_equal(moved.joints["knee.L"], moved.joints["knee.R"] * [-1, 1, 1])
    assert fit.moved("neck", fit.locate("neck") + move).joints["neck"][0] == 0.0


def test_arms_near_the_body_are_doubtful():
    assert "shoulder.L" in fit_joints(*make_human(64.0), HUMAN).doubtful
    assert "shoulder.L" not in fit_joints(*make_human(), HUMAN).doubtful


BALL = make_spindle((0, 0, 0), (0, 0, 1), 0.1, 0.2, 0.2, 0.2, 0.1)
HUMAN_MESH = make_human()
WRONG = {
    "a column": (BALL, HUMAN, "No arms"),
    "a column as an animal": (BALL, QUADRUPED, "No four legs"),
    "two humans": (join(HUMAN_MESH, (HUMAN_MESH[0] + [1.3, 0, 0], HUMAN_MESH[1])), HUMAN, "2 parts lie apart"),
    "six legs": (make_animal(3), QUADRUPED, "6 legs"),
    "an animal as a human": (make_animal(), HUMAN, "No arms"),
    "a human as an animal": (HUMAN_MESH, QUADRUPED, "No four legs"),
    "one arm": (
        join(HUMAN_MESH, make_spindle((0.1, 0, 0.7), (0.5, -0.5, 0.5), 0.1, 0.1)),
        HUMAN,
        "Left and right differ",
    ),
    "no faces": ((HUMAN_MESH[0], np.empty((0, 3), int)), HUMAN, "no faces"),
    "one triangle": ((np.eye(3), np.array([[0, 1, 2]])), HUMAN, "no space"),
    "flat": ((HUMAN_MESH[0] * [1, 1, 0], HUMAN_MESH[1]), HUMAN, "no height"),
    "not numbers": ((np.where(HUMAN_MESH[0] > 0.9, np.nan, HUMAN_MESH[0]), HUMAN_MESH[1]), HUMAN, "not numbers"),
}


def test_refuses_what_has_no_such_skeleton(subtests):
    for name, (mesh, kind, message) in WRONG.items():
        with subtests.test(name), pytest.raises(SkinningError, match=message):
            fit_joints(*mesh, kind)


def test_finds_the_fingers_that_are_modeled(asset):
    with np.load(asset("human", ".npz")) as data:
        fit = fit_joints(data["V"].astype(float), data["tris"], HUMAN)
        heads = dict(zip(map(str, data["bone_names"]), data["bone_head"], strict=True))
    for finger in FINGERS:
        third = np.linalg.norm(fit.locate(f"{finger}3.L") - heads[f"{finger}_03_l"]) / fit.frame.height
        assert third < 0.01, finger
        assert np.array_equal(fit.joints[f"{finger}2.L"] * [-1, 1, 1], fit.joints[f"{finger}2.R"])
    move = np.array([0.1, 0.0, 0.0])
    moved = fit.moved("wrist.L", fit.locate("wrist.L") + move)
    assert np.allclose(moved.locate("index2.L"), fit.locate("index2.L") + move)
    assert np.allclose(moved.locate("index2.R"), fit.locate("index2.R") - move, atol=1e-9)
    assert not any("index" in name for name in fit.list_markers())


def test_a_hand_without_fingers_gets_none():
    assert not any("thumb" in name for name in fit_joints(*make_human(), HUMAN).joints)
