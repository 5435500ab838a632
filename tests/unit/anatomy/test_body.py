"""A body's front, sides, joints and axes: from bones of any roll, rotation and size, and from shape alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from supple.deformers import SkinningError
from supple.deformers.anatomy.body import Body, RestBones, body_of_rig, body_of_shape, find_axis
from supple.deformers.anatomy.presets import LEFT, MIDDLE, RIGHT, Rig, match, read_preset

from ..cases import each
from .test_presets import SIMPLE

CHAINS = {  # a person who looks to -Y, and whose left is +X
    "hips": ((0, 0, 0.9), (0, 0, 1.0)), "belly": ((0, 0, 1.0), (0, 0, 1.2)), "chest": ((0, 0, 1.2), (0, 0, 1.45)),
    "arm": ((0.17, 0, 1.4), (0.32, 0, 1.2)), "arm_twist": ((0.25, 0, 1.3), (0.32, 0, 1.2)),
    "elbow": ((0.32, 0, 1.2), (0.45, -0.1, 1.05)), "thigh": ((0.1, 0, 0.9), (0.1, -0.02, 0.5)),
    "shin": ((0.1, -0.02, 0.5), (0.1, 0.02, 0.08)), "foot": ((0.1, 0.02, 0.08), (0.1, -0.12, 0.02)),
}  # fmt: skip
PRESET = read_preset(
    "simple", SIMPLE | {"bones": SIMPLE["bones"] | {"foot": "foot.{side}"}, "hinges": ["forearm", "shin"]}
)


def make_bones(matrix: np.ndarray | None = None, seed: int = 0) -> tuple[Rig, RestBones]:
    """A person whose bones have any roll, moved by a matrix."""
    random, matrix = np.random.default_rng(seed), np.eye(4) if matrix is None else matrix
    names, heads, tails = [], [], []
    for name, ends in CHAINS.items():
        for side, sign in (("", 1),) if name in ("hips", "belly", "chest") else ((".L", 1), (".R", -1)):
            names.append(name + side)
            head, tail = (np.array(end) * (sign, 1, 1) @ matrix[:3, :3].T + matrix[:3, 3] for end in ends)
            heads.append(head)
            tails.append(tail)
    axes = np.linalg.qr(random.normal(size=(len(names), 3, 3)))[0]
    bones = RestBones(
        tuple(names), np.array(heads), np.array(tails), axes, ("",) * len(names), np.ones(len(names), bool)
    )
    rig = match(PRESET, names)
    assert rig is not None
    return rig, bones


def turn(x: float, y: float, z: float) -> np.ndarray:
    result = np.eye(3)
    for first, second, angle in ((1, 2, x), (2, 0, y), (0, 1, z)):
        step = np.eye(3)
        step[first, first] = step[second, second] = np.cos(angle)
        step[second, first], step[first, second] = np.sin(angle), -np.sin(angle)
        result = step @ result
    return result


MOVES = {
    "as it is": np.eye(3), "turned": turn(0, 0, np.pi / 2), "lying": turn(np.pi / 2, 0, 0), "any": turn(0.4, 2.0, -1.1),
    "in centimeters": 100 * np.eye(3), "mirrored": np.diag([-1.0, 1.0, 1.0]),
    "mirrored, turned": turn(0.4, 2.0, -1.1) @ np.diag([-1.0, 1.0, 1.0]),
}  # fmt: skip


@each("move", MOVES)
def test_the_body_follows_its_bones(move: str) -> None:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = MOVES[move], (3.0, -2.0, 1.0)
    size = np.linalg.norm(MOVES[move][:, 2])
    plain, body = body_of_rig(*make_bones()), body_of_rig(*make_bones(matrix, seed=3))
    is_mirrored = np.linalg.det(MOVES[move]) < 0
    for name in ("up", "front"):
        np.testing.assert_allclose(getattr(body, name), MOVES[move] @ getattr(plain, name) / size, atol=1e-6)
    np.testing.assert_allclose(body.left, np.cross(body.up, body.front), atol=1e-9)
    np.testing.assert_allclose(body.hips, MOVES[move] @ plain.hips + matrix[:3, 3], atol=1e-6)
    assert body.stature == pytest.approx(plain.stature * size)
    assert body.half_width == pytest.approx(0.17 * size)
    for side in (LEFT, RIGHT):
        own = body.named[side]
        assert own == ({LEFT: RIGHT, RIGHT: LEFT}[side] if is_mirrored else side)
        limb, expected = body.limbs["upper_arm", own], plain.limbs["upper_arm", side]
        np.testing.assert_allclose(limb.bend, MOVES[move] @ expected.bend / size, atol=1e-6)
        assert (limb.start - body.shoulders) @ body.outward(own) > 0


def test_a_person_by_hand() -> None:
    body = body_of_rig(*make_bones())
    np.testing.assert_allclose(body.front, (0, -1, 0), atol=0.02)
    np.testing.assert_allclose(body.left, (1, 0, 0), atol=1e-6)
    assert body.stature == pytest.approx(1.76, abs=0.02)
    np.testing.assert_allclose(body.torso_point(RIGHT, 0.5, 0.5), (-0.085, 0.0, 1.15), atol=1e-6)
    assert body.limbs["upper_arm", LEFT].bend @ (0, -1, 0) > 0.9
    assert body.limbs["thigh", LEFT].bend @ (0, 1, 0) > 0.9
    assert body.limbs["spine", MIDDLE].end.tolist() == [0, 0, 1.45]


def test_a_hinge_that_is_bent_at_rest_says_to_which_side() -> None:
    rig, bones = make_bones()
    for tilt, expected in ((0.0, 0.0), (0.05, 0.05), (0.2, 0.2)):
        tails = bones.tails.copy()
        elbow = bones.index("elbow.L")
        tails[elbow] = bones.heads[elbow] + (0.13, -0.1, -0.15) + np.array((tilt, 0.0, tilt))
        bend = body_of_rig(rig, replace(bones, tails=tails)).limbs["upper_arm", LEFT].bend
        assert bend @ (0.8, 0, 0.6) == pytest.approx(expected / np.hypot(0.1, expected), abs=0.25)


def test_bones_on_one_point_are_refused() -> None:
    rig, bones = make_bones()
    with pytest.raises(SkinningError, match="coincide"):
        body_of_rig(rig, replace(bones, heads=0 * bones.heads, tails=0 * bones.tails))


@pytest.mark.characters("cesium_man")
def test_front_and_height_of_a_skin_without_a_preset(asset: Callable[..., Path], character: str) -> None:
    with np.load(asset(character, ".npz")) as data:
        points = data["V"] @ (data["armature_world"][:3, :3].T if "armature_world" in data else np.eye(3))
    front = np.array([1.0, 0.0, 0.0] if character == "cesium_man" else [0.0, -1.0, 0.0])
    for angle in (0.0, np.pi / 2, 2.0):
        rotation = turn(0, 0, angle)
        # where no names tell the sides, symmetry is looked for along the axes
        pairs = [(rotation @ np.cross((0, 0, 1.0), front), np.zeros(3))] if angle == 2.0 else ()
        body = body_of_shape(points @ rotation.T, np.array([0.0, 0.0, 1.0]), pairs)
        np.testing.assert_allclose(body.front, rotation @ front, atol=0.05)
        assert isinstance(body, Body)
        assert body.stature == pytest.approx(np.ptp(points[:, 2]))


def test_axes_of_a_bone() -> None:
    assert find_axis(np.eye(3), np.array([0.0, 0.0, -1.0])) == ("Z", -1.0)
    axis, share = find_axis(turn(0, 0.5, 0) * 3.0, turn(0, 0.5, 0) @ (1.0, 0.0, 0.0))
    assert axis == "X"
    assert share == pytest.approx(1.0)
