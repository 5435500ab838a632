"""Joints in bodies whose joints are known, and what is refused."""

from functools import lru_cache

import numpy as np
import pytest

from benchmarks.fit_bodies import HUMAN_JOINTS, join, make_animal, make_human, make_spindle, rotate
from supple.deformers.errors import SkinningError
from supple.deformers.fit import fitting
from supple.deformers.fit.fitting import fit_joints
from supple.deformers.fit.joints import FINGERS, HUMAN, QUADRUPED, Fit

NEAR = 0.04


fit_human = lru_cache(lambda fall=0.0: fit_joints(*make_human(fall), HUMAN))
fit_animal = lru_cache(lambda: fit_joints(*rotate(make_animal(), 110.0), QUADRUPED))
HUMAN_MESH = make_human()


def measure(fit: Fit, truth: dict) -> float:
    """Largest error in heights."""
    return max(np.linalg.norm(fit.locate(f"{name}.L") - at) for name, at in truth.items()) / fit.frame.height


def test_finds_the_joints_of_a_human():
    assert measure(fit_human(), HUMAN_JOINTS) < NEAR


@pytest.mark.parametrize(("degrees", "size"), [(180.0, 170.0), (37.0, 1e-3)])
def test_rotated_scaled_and_moved_joints_are_found(degrees, size):
    def change(points):
        return size * (rotate((points, None), degrees)[0] + [5.0, -2.0, 0.3])

    truth = {joint: change(np.array([at]))[0] for joint, at in HUMAN_JOINTS.items()}
    assert measure(fit_joints(change(HUMAN_MESH[0]), HUMAN_MESH[1], HUMAN), truth) < NEAR


def test_arms_may_hang():
    shoulder, angle = np.array(HUMAN_JOINTS["shoulder"]), np.radians(50.0)
    direction = np.array([np.cos(angle), 0, -np.sin(angle)])
    truth = {
        name: shoulder + np.linalg.norm(HUMAN_JOINTS[name] - shoulder) * direction
        for name in ("shoulder", "elbow", "wrist")
    }
    assert measure(fit_human(50.0), truth) < NEAR


def test_joints_are_exactly_symmetric():
    for joints in (fit_human().joints, fit_animal().joints):
        for name in joints:
            if name.endswith(".L"):
                assert np.array_equal(joints[name] * [-1, 1, 1], joints[name.replace(".L", ".R")])
            elif not name.endswith(".R"):
                assert joints[name][0] == 0.0


def test_finds_the_joints_of_an_animal():
    joints = fit_animal().joints
    assert joints["nose"][1] < joints["neck"][1] < joints["hips"][1] < joints["tail_tip"][1]
    offset = joints["fetlock.L"][1] + 0.3  # the body's origin is the mean of its cells
    for name, y in (("carpus.L", -0.3), ("hock.L", 0.3), ("lower.L", 0.3), ("knee.L", 0.3)):
        assert joints[name][1] == pytest.approx(y + offset, abs=0.04)
        assert joints[name][0] == pytest.approx(0.09, abs=0.02)
    assert joints["shoulder.L"][2] > joints["elbow.L"][2] > joints["carpus.L"][2] > joints["fetlock.L"][2]


def test_moves_a_joint_and_its_mirror():
    fit, move = fit_human(), np.array([0.01, 0.02, 0.03])
    moved = fit.moved("knee.R", fit.locate("knee.R") + move)
    assert np.allclose(moved.locate("knee.R"), fit.locate("knee.R") + move)
    assert np.array_equal(moved.joints["knee.L"], moved.joints["knee.R"] * [-1, 1, 1])
    assert fit.moved("neck", fit.locate("neck") + move).joints["neck"][0] == 0.0


def test_arms_near_the_body_are_doubtful():
    assert "shoulder.L" in fit_human(64.0).doubtful
    assert "shoulder.L" not in fit_human().doubtful


BALL = make_spindle((0, 0, 0), (0, 0, 1), 0.1, 0.2, 0.2, 0.2, 0.1)
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


def test_refuses_what_has_no_such_skeleton(subtests, monkeypatch):
    monkeypatch.setattr(fitting, "SOLIDS", ((72, 0.0), (66, 20.0), (78, -20.0)))  # coarse, to be fast
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
    assert not any("thumb" in name for name in fit_human().joints)
