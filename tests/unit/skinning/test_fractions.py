"""Methods on joints with fractions, against the slow reference; and what must not change by fractions."""

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers import DEFORMERS, Joints, Pose, Rest, Weights
from supple.deformers.rig.fraction_plan import find_long_bones, plan_twists
from supple.deformers.skinning import centers, ssd

from .. import reference
from ..cases import each
from ..characters import Character, diagonal, make_hand, make_tube, pose_chain, rotation
from .limbs import make_limb, pose_limb

TUBE, HAND = make_tube(joint_count=4, rings=24), make_hand()
METHODS = {
    "SSD": ("SSD", ssd.Params()),
    "DLB": ("DLB", DEFORMERS["DLB"].Params()),
    "DLBNT-GH": ("DLBNT", DEFORMERS["DLBNT"].Params(order="GH", limb_roots=0.0)),
    "DLBNT-HG": ("DLBNT", DEFORMERS["DLBNT"].Params(order="HG", limb_roots=0.0)),
    "CENTERS": ("CENTERS", centers.Params(bulge_limit=0.0, contact=0.0, sharpness=0.0)),
}
CASES = {
    "at joints": (TUBE, {1: 3, 2: 2, 3: 5}, {}),
    "one joint": (TUBE, {2: 4}, {}),
    "spread along one bone": (TUBE, {}, {3: [2]}),
    "spread along two bones, and at a joint": (TUBE, {1: 2}, {3: [1, 2]}),
    "spread along bones one after the other": (TUBE, {}, {2: [1], 3: [2]}),
    "fractions below": (HAND, {2: 2, 7: 3}, {1: [0]}),
    "branches": (HAND, {1: 3, 2: 1, 4: 2, 7: 5, 8: 2}, {}),
}


def tails_of(character: Character) -> np.ndarray:
    return character.centers + np.array((0.05, 0.1, 0.9))


def pose(character: Character, stretched: bool) -> tuple[np.ndarray, np.ndarray]:
    """Joints twisted by up to 270 degrees besides their bends, and how far."""
    random, local, hints = np.random.default_rng(1), {}, np.zeros(len(character.parents))
    for joint in range(len(character.parents)):
        hints[joint] = random.uniform(-260, 260) if joint else 0.0
        axis = (tails_of(character) - character.centers)[joint]
        local[joint] = rotation(random.normal(size=3), random.uniform(-30, 30)) @ rotation(axis, hints[joint])
        if stretched:
            local[joint] = local[joint] @ np.diag(random.uniform(0.8, 1.25, 3))
    return pose_chain(character, local), np.radians(hints)


@each("stretched", [False, True])
@each("case", CASES)
@each("method", METHODS)
def test_against_the_slow_reference(method, case, stretched) -> None:
    character, levels, lines = CASES[case]
    key, params = METHODS[method]
    matrices, hints = pose(character, stretched)
    tails, count = tails_of(character), len(character.parents)
    joints = Joints(character.centers, character.parents, tails)
    chosen, counts = np.zeros((2, count), int)
    for joint in range(count):
        chosen[joint], counts[joint] = levels.get(joint, 0), len(lines.get(joint, ()))
    fractions, spread = plan_twists(joints, chosen, counts)
    rest = Rest(
        character.points,
        Weights.from_dense(character.weights),
        replace(joints, fractions=fractions, spread=spread),
    )
    module = DEFORMERS[key]
    posed = module.deform(module.bind(rest, params), Pose(matrices, hints=hints))

    found, path = reference.list_fractions(character.centers, tails, character.parents, levels)
    turned = reference.spread_twists(
        character.points, character.weights, character.centers, character.parents, matrices, hints, lines
    )
    rows, places, every, followed = reference.extend(
        character.weights, character.centers, character.parents, matrices, hints, found
    )
    if key == "CENTERS":
        move = reference.prepare_centers(every, places, path, followed)
        middles = centers.place_centers(rest, params).points  # other tests look at these
    else:
        move, middles = reference.METHODS[method](every, places, path), np.zeros((len(rows), 3))
    expected = np.array([
        move(row / row.sum(), reference.apply(turn, point), reference.apply(turn, about))
        for row, turn, point, about in zip(rows, turned, character.points, middles, strict=True)
    ])  # fmt: skip
    assert np.abs(posed - expected).max() / diagonal(expected) < 1e-5


def divide(rest: Rest, level: int, is_spread: bool = False) -> Rest:
    """A limb whose joint has fractions, or whose twist is spread."""
    levels, counts = np.array([0, 0 if is_spread else level]), np.array([0, int(is_spread)])
    fractions, spread = plan_twists(rest.joints, levels, counts)
    return replace(rest, joints=replace(rest.joints, fractions=fractions, spread=spread))


@each("twist", [90.0, 170.0, 270.0, -400.0])
@each("method", METHODS)
def test_a_twist_goes_all_the_way_round_and_keeps_the_section(method, twist) -> None:
    key, params = METHODS[method]
    rest = divide(make_limb(0.9), 5)
    module = DEFORMERS[key]
    posed = module.deform(module.bind(rest, params), Pose(pose_limb(twist=twist), hints=np.radians([0, twist])))
    rings = posed[:-2].reshape(67, -1, 3)
    angles = np.unwrap(np.arctan2(rings[:, 0, 1], rings[:, 0, 0]))
    assert np.degrees(angles[-1] - angles[0]) == pytest.approx(twist, abs=0.01)
    radii = np.linalg.norm(rings[..., :2], axis=2) / np.linalg.norm(rest.points[0, :2])
    assert radii.min() > (0.8 if key == "SSD" else 0.98)


def test_bends_look_as_without_fractions() -> None:
    rest, matrices = make_limb(), pose_limb(bend=100.0)
    plain = centers.deform(centers.bind(rest, centers.Params()), Pose(matrices))
    divided = centers.deform(centers.bind(divide(rest, 3), centers.Params()), Pose(matrices))
    assert np.linalg.norm(divided - plain, axis=1).max() < 0.02 * 0.25 * 2


@each(("module", "is_spread"), [(ssd, False), (centers, False), (centers, True)])
def test_limits_look_at_the_bones(module, is_spread) -> None:
    """A bone that bends moves skin that only fractions hold, if limits ask for it, whatever was there before."""
    rest, params = divide(make_limb(0.1), 5, is_spread), module.Params(bulge_limit=1.0, contact=1.0)
    binding = module.bind(rest, params)
    for bend in (0.0, 100.0, 40.0, 150.0):
        found = module.deform(binding, Pose(pose_limb(bend)))
        np.testing.assert_array_equal(found, module.deform(module.bind(rest, params), Pose(pose_limb(bend))))


def test_sharpness_hardly_narrows_a_twist() -> None:
    rest = divide(make_limb(0.9), 5)
    for twist in (90.0, 170.0, 540.0):
        matrices, hints = pose_limb(twist=twist), np.radians([0, twist])
        posed = centers.deform(centers.bind(rest, centers.Params()), Pose(matrices, hints=hints))
        assert np.linalg.norm(posed[:-2, :2], axis=1).min() > 0.98 * np.linalg.norm(rest.points[0, :2])


def test_forearms_and_shins_are_long_bones() -> None:
    """A skeleton of a person: spine, neck, collar bones, arms whose forearms are two bones, hands, legs, feet."""
    heads = {"hips": (0, 0, 1), "spine": (0, 0, 1.2), "neck": (0, 0, 1.5), "head": (0, 0, 1.6)}
    parents = {"spine": "hips", "neck": "spine", "head": "neck"}
    for side, x in (("l", 1), ("r", -1)):
        places = {
            "collar": (0.03, 1.45), "upper arm": (0.18, 1.45), "forearm": (0.48, 1.45), "forearm 2": (0.61, 1.45),
            "hand": (0.74, 1.45), "finger": (0.82, 1.45), "thumb": (0.78, 1.43), "finger 2": (0.86, 1.45),
            "thumb 2": (0.82, 1.43), "thigh": (0.1, 0.95), "shin": (0.1, 0.5), "foot": (0.1, 0.08), "toes": (0.1, 0.0),
        }  # fmt: skip
        above = {
            "collar": "spine", "upper arm": "collar", "forearm": "upper arm", "forearm 2": "forearm",
            "hand": "forearm 2", "finger": "hand", "thumb": "hand", "finger 2": "finger", "thumb 2": "thumb",
            "thigh": "hips", "shin": "thigh", "foot": "shin", "toes": "foot",
        }  # fmt: skip
        heads |= {f"{name} {side}": (x * across, -0.12 * (name == "toes"), up) for name, (across, up) in places.items()}
        parents |= {
            f"{name} {side}": parent if parent in heads else f"{parent} {side}" for name, parent in above.items()
        }
    names = list(heads)
    joints = Joints(
        np.array([heads[name] for name in names], float),
        np.array([names.index(parents[name]) if name in parents else -1 for name in names]),
        np.array([heads[name] for name in names], float) + np.array((0.0, 0.0, 0.05)),
    )
    found = find_long_bones(joints)
    long = {names[joint]: int(found.counts[joint]) for joint in np.flatnonzero(found.is_long)}
    assert long == {"hand l": 2, "hand r": 2, "foot l": 1, "foot r": 1}


def test_a_skeleton_without_joints_has_no_long_bones() -> None:
    assert not len(find_long_bones(Joints(np.empty((0, 3)), np.empty(0, int), np.empty((0, 3)))).counts)
