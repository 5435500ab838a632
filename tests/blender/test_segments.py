"""B-Bone segments that spread twists along limbs: what they do to skin, and that files, copies and removal keep it."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, radians, sin
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

import scenes
from benchmarks.generated import open_rigify
from supple.bridge.owned import Tag
from supple.bridge.rigs.segments import (
    Roll,
    find_candidates,
    install_rolls,
    is_rolled,
    mute_rolls,
    read_rolls,
    remove_rolls,
)
from supple.bridge.rigs.twists import PROPERTY
from supple.deformers import SkinningError

pytestmark = pytest.mark.usefixtures("silent_handlers")

UPPER, LIMB, LAST = "bone.0", "bone.1", "bone.2"
ALONG = (0.0, 1.0, 0.0)
BY_LAST = Roll(LIMB, LAST, ALONG, 0.0, 1.0)
BY_ITSELF = Roll(UPPER, UPPER, ALONG, -1.0, 0.0)
ROLLS = (BY_ITSELF, BY_LAST)
RADIUS, LENGTH = 0.4, 3.0

MAX_STEP = 1.7
"""Of a vertex between two poses of a twist, relative to the step of a vertex on the surface of what twists."""

MAX_OFF = 0.07
"""Of a vertex from an even twist, relative to the radius: at 540 degrees, 135 are blended within a segment."""

MAX_UNTWISTED = 1e-5 / 1.8
"""Where nothing twists, .01 mm at a height of 1.8 m."""


def add_limb() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube of upper limb, lower limb and hand, whose joints blend over a tenth of a bone to each side."""
    obj, armature = scenes.add_tube()
    y = scenes.rest_points(obj)[:, 1]
    shares = [np.clip((y - joint) / 0.2 + 0.5, 0.0, 1.0) for joint in (1.0, 2.0)]
    for name, weights in zip((UPPER, LIMB, LAST), (1 - shares[0], shares[0] - shares[1], shares[1]), strict=True):
        for vertex, weight in enumerate(weights.tolist()):
            obj.vertex_groups[name].add([vertex], weight, "REPLACE")
    scenes.armature_modifier(obj).use_deform_preserve_volume = True
    for bone in armature.pose.bones:
        bone.rotation_mode, bone.rotation_euler = "YXZ", (0.0, 0.0, 0.0)  # 0 from a quaternion has signs
    return obj, armature


def add_rolled_limb() -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, armature = add_limb()
    assert install_rolls(armature, ROLLS) == ROLLS
    scenes.update()
    return obj, armature


def twist(armature: bpy.types.Object, degrees: float, name: str = LAST) -> None:
    armature.pose.bones[name].rotation_euler = (0.0, radians(degrees), 0.0)
    scenes.update()


def read_roll_out(armature: bpy.types.Object, name: str = LIMB) -> float:
    """Degrees by which the limb is rolled at its tail."""
    return float(np.degrees(armature.pose.bones[name].bbone_rollout))


def assert_follows(armature: bpy.types.Object, degrees: float = 70.0, limb: str = LIMB, last: str = LAST) -> None:
    for each in (degrees, 0.0):
        twist(armature, each, last)
        assert read_roll_out(armature, limb) == pytest.approx(each, abs=1e-3)


def list_drivers(armature: bpy.types.Object) -> list:
    data = armature.animation_data
    return list(data.drivers) if data is not None else []


def dump(armature: bpy.types.Object) -> dict:
    """All values of bones and pose bones, their custom properties, and all drivers."""
    data: Any = armature.data
    parts = [
        (owner, bone) for owner in ("bones", "pose") for bone in (data if owner == "bones" else armature.pose).bones
    ]
    state = {
        (owner, bone.name, name): value
        for owner, bone in parts
        for name, value in scenes.rna_values(bone).items()
        if not name.startswith("matrix")
    }
    state |= {(owner, bone.name): sorted(bone.keys()) for owner, bone in parts}
    state["drivers"] = {
        (curve.data_path, curve.array_index): (curve.mute, curve.driver.expression) for curve in list_drivers(armature)
    }
    return state


# What they do to skin


def rotate_about_y(points: np.ndarray, angles: np.ndarray) -> np.ndarray:
    x, y, z = points.T
    return np.stack([x * np.cos(angles) + z * np.sin(angles), y, z * np.cos(angles) - x * np.sin(angles)], axis=1)


@pytest.mark.parametrize("hint", ["YXZ", "YZX", "turns"])
def test_a_limb_twists_turn_after_turn(hint: str):
    obj, armature = add_limb()
    bone: Any = armature.pose.bones[LAST]
    bone.rotation_mode = "QUATERNION" if hint == "turns" else hint
    if hint == "turns":
        bone[PROPERTY] = 0.0
    install_rolls(armature, [BY_LAST])
    rest, shown = scenes.rest_points(obj), []
    limb = (rest[:, 1] > 1.1) & (rest[:, 1] < 1.9)
    for degrees in range(-540, 541, 10):
        if hint == "turns":
            half = radians(degrees) / 2
            bone.rotation_quaternion, bone[PROPERTY] = (cos(half), 0.0, sin(half), 0.0), degrees / 360.0
            armature.update_tag()
        twist(armature, degrees)
        shown.append(scenes.evaluated_points(obj))
        off = shown[-1] - rotate_about_y(rest, radians(degrees) * (rest[:, 1] - 1.0))
        assert np.linalg.norm(off[limb], axis=1).max() <= MAX_OFF * RADIUS
    steps = np.linalg.norm(np.diff(shown, axis=0), axis=-1).max(axis=1)
    assert steps.max() <= MAX_STEP * 2 * RADIUS * sin(radians(5.0))
    assert steps.min() > 0.0


def test_poses_without_twist_are_as_before(subtests: pytest.Subtests):
    poses = {
        "rest": {},
        "bent": {LIMB: ((1.2, 0, 0), (1, 1, 1)), LAST: ((0.8, 0, 0), (1, 1, 1)), UPPER: ((0.5, 0, 0), (1, 1, 1))},
        "stretched": {LIMB: ((0, 0, 0), (1, 1.4, 1)), UPPER: ((0, 0, 0), (0.8, 1.2, 0.8))},
        "bent and stretched": {LIMB: ((0.9, 0, 0), (1, 1.3, 1)), LAST: ((-0.7, 0, 0), (0.9, 0.7, 1.1))},
    }
    obj, armature = add_limb()

    def show(pose: dict) -> np.ndarray:
        for bone in armature.pose.bones:
            bone.rotation_euler, bone.scale = pose.get(bone.name, ((0, 0, 0), (1, 1, 1)))
        scenes.update()
        return scenes.evaluated_points(obj)

    before = {name: show(pose) for name, pose in poses.items()}
    install_rolls(armature, ROLLS)
    for name, pose in poses.items():
        with subtests.test(name):
            largest = np.abs(show(pose) - before[name]).max()
            assert largest <= (0.0 if name == "rest" else MAX_UNTWISTED * LENGTH)


def test_an_upper_limb_is_not_wrung_at_its_head():
    obj, armature = add_rolled_limb()
    y = scenes.rest_points(obj)[:, 1]
    twist(armature, 80.0, UPPER)
    moved = np.linalg.norm(scenes.evaluated_points(obj) - scenes.rest_points(obj), axis=1)
    assert moved[y == 0.0].max() < 1e-5
    assert moved[np.isclose(y, 0.9)].min() > 0.5 * RADIUS


def test_rolls_fade_where_a_twist_has_no_meaning():
    _, armature = add_rolled_limb()
    for swing, share in ((80, 1.0), (130, 0.0)):
        bone = armature.pose.bones[LAST]
        bone.rotation_mode, half = "QUATERNION", radians(swing) / 2
        install_rolls(armature, ROLLS)
        turn, swung = (cos(0.4), 0, sin(0.4), 0), (cos(half), sin(half), 0, 0)
        bone.rotation_quaternion = np.array(
            [swung[0] * turn[0], swung[1] * turn[0], swung[0] * turn[2], swung[1] * turn[2]]
        )
        scenes.update()
        assert read_roll_out(armature) == pytest.approx(share * np.degrees(0.8), abs=1e-3)


def test_an_axis_across_the_source():
    """As at a foot: the twist of a limb is not about the y of what is below it."""
    _, armature = add_limb()
    install_rolls(armature, [Roll(LIMB, LAST, (0.6, 0.0, 0.8), 0.0, 0.5, 8)])
    bone = armature.pose.bones[LAST]
    bone.rotation_mode = "QUATERNION"
    bone.rotation_quaternion = (cos(0.3), 0.6 * sin(0.3), 0.0, 0.8 * sin(0.3))
    scenes.update()
    assert read_roll_out(armature) == pytest.approx(np.degrees(0.3), abs=1e-3)
    assert read_rolls(armature) == (Roll(LIMB, LAST, (0.6, 0.0, 0.8), 0.0, 0.5, 8),)


def test_expressions_need_no_python():
    _, armature = add_limb()
    armature.pose.bones[LAST][PROPERTY] = 0.0
    install_rolls(armature, [Roll(LIMB, LAST, (-0.1234567, 0.9847329, -0.1234567), -0.1234567, -0.7654321)])
    assert [curve.driver.is_simple_expression for curve in list_drivers(armature)] == [True, True]
    assert max(len(curve.driver.expression) for curve in list_drivers(armature)) < 256


# How they are written, read and removed


def test_installed_again_nothing_is_written():
    _, armature = add_rolled_limb()
    before, drivers = dump(armature), [curve.as_pointer() for curve in list_drivers(armature)]
    assert install_rolls(armature, read_rolls(armature)) == ROLLS
    assert (dump(armature), [curve.as_pointer() for curve in list_drivers(armature)]) == (before, drivers)


def test_other_rolls_replace_those_there():
    _, armature = add_limb()
    plain = dump(armature)
    install_rolls(armature, ROLLS)
    other = Roll(LIMB, LAST, ALONG, 0.0, 0.5, 8)
    assert install_rolls(armature, [other]) == (other,) == read_rolls(armature)
    assert Tag.SEGMENTS not in armature.data.bones[UPPER]
    assert_follows_half(armature)
    install_rolls(armature, [])
    assert read_rolls(armature) == ()
    remove_rolls(armature)
    assert dump(armature) == plain


def assert_follows_half(armature: bpy.types.Object) -> None:
    twist(armature, 80.0)
    assert read_roll_out(armature) == pytest.approx(40.0, abs=1e-3)
    twist(armature, 0.0)


def test_a_changed_rotation_mode_is_followed():
    _, armature = add_rolled_limb()
    armature.pose.bones[LAST].rotation_mode = "XYZ"
    install_rolls(armature, read_rolls(armature))
    assert all("round" not in curve.driver.expression for curve in list_drivers(armature) if LIMB in curve.data_path)
    armature.pose.bones[LAST].rotation_mode = "YZX"
    install_rolls(armature, read_rolls(armature))
    assert_follows(armature, 400.0)


@pytest.mark.versions
def test_removed_all_is_as_before():
    _, armature = add_limb()
    bone, pose_bone = armature.data.bones[LIMB], armature.pose.bones[LIMB]
    bone.bbone_handle_type_start, bone.bbone_easein, bone.bbone_easeout = "TANGENT", 0.3, 0.7
    pose_bone.bbone_easeout = 0.1
    armature.pose.bones[UPPER].driver_add("location", 1).driver.expression = "0.5"
    scenes.update()
    before = dump(armature)
    install_rolls(armature, ROLLS)
    assert (bone.bbone_easein, pose_bone.bbone_easeout) == (0.0, 0.0)
    twist(armature, 100.0)
    install_rolls(armature, ROLLS[1:])
    twist(armature, 0.0)
    remove_rolls(armature)
    assert dump(armature) == before
    remove_rolls(armature)
    assert dump(armature) == before


def test_a_driver_of_the_user_in_place_of_supple_s_stays():
    _, armature = add_rolled_limb()
    curve = next(curve for curve in list_drivers(armature) if LIMB in curve.data_path)
    curve.driver.expression = "0.25"
    assert LIMB not in find_candidates(armature)
    remove_rolls(armature)
    assert [curve.driver.expression for curve in list_drivers(armature)] == ["0.25"]
    assert armature.data.bones[LIMB].bbone_segments == 1


def key_rolls(armature: bpy.types.Object) -> None:
    armature.pose.bones[LIMB].bbone_rollin = 0.2
    armature.pose.bones[LIMB].keyframe_insert("bbone_rollin", frame=1)
    armature.pose.bones[LIMB].bbone_rollin = 0.0


def drive_rolls(armature: bpy.types.Object) -> None:
    armature.pose.bones[LIMB].driver_add("bbone_rollout").driver.expression = "0.1"


def of_pose(name: str, value: Any) -> Callable:
    return lambda armature: setattr(armature.pose.bones[LIMB], name, value)


def of_bone(name: str, value: Any) -> Callable:
    return lambda armature: setattr(armature.data.bones[LIMB], name, value)


OF_THE_USER = {
    "keyed": key_rolls, "driven": drive_rolls, "curved": of_pose("bbone_curveinx", 0.1),
    "scaled at rest": of_bone("bbone_scalein", (1.0, 1.2, 1.0)), "segments": of_bone("bbone_segments", 3),
    "handle": lambda armature: of_bone("bbone_custom_handle_start", armature.data.bones[UPPER])(armature),
}  # fmt: skip


@pytest.mark.parametrize("change", OF_THE_USER.values(), ids=OF_THE_USER)
def test_bones_of_the_user_s_own_are_kept(change: Callable):
    _, armature = add_limb()
    change(armature)
    scenes.update()
    before = dump(armature)
    assert find_candidates(armature) == {UPPER, LAST}
    assert install_rolls(armature, [BY_LAST]) == ()
    assert dump(armature) == before


@pytest.mark.parametrize("stored", [1.0, "text", {}, {"source": 1, "axis": 2.0, "shares": [1], "former": 3}])
def test_what_others_have_stored_under_the_name_is_no_roll(stored: Any):
    _, armature = add_limb()
    bone = armature.data.bones[LIMB]
    bone[Tag.SEGMENTS] = stored
    assert read_rolls(armature) == ()
    remove_rolls(armature)
    assert Tag.SEGMENTS in bone
    assert install_rolls(armature, [BY_LAST]) == (BY_LAST,) == read_rolls(armature)
    remove_rolls(armature)
    assert Tag.SEGMENTS not in bone


def test_keys_of_the_whole_character_do_not_count():
    _, armature = add_limb()
    for channel in ("bbone_rollin", "bbone_scalein", "bbone_easein"):
        armature.pose.bones[LIMB].keyframe_insert(channel, frame=1)
    assert install_rolls(armature, [BY_LAST]) == (BY_LAST,)
    assert_follows(armature)


def test_bones_that_do_not_deform_or_exist():
    _, armature = add_limb()
    armature.data.bones[LIMB].use_deform = False
    assert find_candidates(armature) == {UPPER, LAST}
    assert install_rolls(armature, [Roll("Gone", LAST, ALONG, 0.0, 1.0), Roll(UPPER, "Gone", ALONG, 0.0, 1.0)]) == ()


def test_rigify_s_own_b_bones_are_kept(tmp_path: Path):
    armature = open_rigify(tmp_path / "human.blend")
    bendy = {bone.name for bone in armature.data.bones if bone.bbone_segments > 1}
    assert bendy
    before, candidates = dump(armature), find_candidates(armature)
    assert candidates
    assert not candidates & bendy
    install_rolls(armature, [Roll(name, name, ALONG, -1.0, 0.0) for name in bendy | candidates])
    assert {roll.bone for roll in read_rolls(armature)} == candidates
    assert all(value == before[key] for key, value in dump(armature).items() if key[1] in bendy)
    remove_rolls(armature)
    assert dump(armature) == before


# Muted


@pytest.mark.versions
def test_muted_the_skin_is_as_without_segments(tmp_path: Path):
    obj, armature = add_limb()
    twist(armature, 150.0)
    plain = scenes.evaluated_points(obj)
    install_rolls(armature, ROLLS)
    scenes.update()
    rolled = scenes.evaluated_points(obj)
    assert scenes.distance(rolled, plain) > 0.01
    assert is_rolled(armature)
    mute_rolls(armature, True)
    assert not is_rolled(armature)
    scenes.update()
    assert np.abs(scenes.evaluated_points(obj) - plain).max() < 1e-6
    scenes.open_tube(scenes.save(tmp_path / "muted.blend"))
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    scenes.update()
    assert np.abs(scenes.evaluated_points(obj) - plain).max() < 1e-6
    assert install_rolls(armature, read_rolls(armature)) == ROLLS
    twist(armature, 150.0)
    assert read_roll_out(armature) == 0.0
    mute_rolls(armature, False)
    scenes.update()
    assert np.abs(scenes.evaluated_points(obj) - rolled).max() < 1e-6


# Files, copies and names


def reopen_override(path: Path) -> bpy.types.Object:
    bpy.ops.wm.open_mainfile(filepath=str(scenes.save(path)))
    return next(obj for obj in bpy.data.objects if obj.override_library and obj.type == "ARMATURE")


def save_character(path: Path) -> None:
    collection = bpy.data.collections.new("Character")
    for obj in list(bpy.context.scene.objects):
        collection.objects.link(obj)
        bpy.context.scene.collection.objects.unlink(obj)
    bpy.context.scene.collection.children.link(collection)
    scenes.save(path)


def load(path: Path, is_linked: bool) -> tuple[bpy.types.Object, bpy.types.Collection]:
    save_character(path)
    scenes.reset()
    with bpy.data.libraries.load(str(path), link=is_linked) as (_, wanted):
        wanted.collections = ["Character"]
    bpy.context.scene.collection.children.link(wanted.collections[0])
    scenes.update()
    return wanted.collections[0].objects["Rig"], wanted.collections[0]


def load_override(path: Path) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The override of a rig, and the rig of the library."""
    rig, collection = load(path, is_linked=True)
    made = collection.override_hierarchy_create(bpy.context.scene, bpy.context.view_layer, do_fully_editable=True)
    scenes.update()
    return next(obj for obj in made.all_objects if obj.type == "ARMATURE"), rig


@pytest.mark.versions
def test_a_second_object_with_the_same_armature():
    _, armature = add_limb()
    before = dump(armature)
    install_rolls(armature, ROLLS)
    second = bpy.data.objects.new("Second", armature.data)
    bpy.context.scene.collection.objects.link(second)
    scenes.update()
    for bone in second.pose.bones:
        bone.rotation_mode = "YXZ"
    assert list_drivers(second) == []
    armature.data.bones[LAST].name = "Hand"
    rolls = (BY_ITSELF, Roll(LIMB, "Hand", ALONG, 0.0, 1.0))
    assert read_rolls(second) == rolls
    assert install_rolls(second, read_rolls(second)) == rolls
    twist(second, 50.0, "Hand")
    assert (read_roll_out(second), read_roll_out(armature)) == (pytest.approx(50.0, abs=1e-3), 0.0)
    remove_rolls(second)
    assert (list_drivers(second), read_rolls(armature)) == ([], rolls)
    twist(armature, 30.0, "Hand")
    assert read_roll_out(armature) == pytest.approx(30.0, abs=1e-3)
    twist(armature, 0.0, "Hand")
    remove_rolls(armature)
    armature.data.bones["Hand"].name = LAST
    assert dump(armature) == before


@pytest.mark.versions
def test_a_linked_armature_is_refused(tmp_path: Path):
    add_limb()
    rig, linked = load_override(tmp_path / "library.blend")
    for each in (rig, linked):
        with pytest.raises(SkinningError, match="in its own file"):
            install_rolls(each, ROLLS)
    with pytest.raises(SkinningError, match="in its own file"):
        remove_rolls(linked)


@pytest.mark.versions
def test_drivers_on_an_override_of_segments_without_drivers(tmp_path: Path):
    _, armature = add_rolled_limb()
    armature.animation_data_clear()
    rig, _ = load_override(tmp_path / "library.blend")
    assert not is_rolled(rig)
    assert install_rolls(rig, read_rolls(rig)) == ROLLS
    assert_follows(rig)
    rig = reopen_override(tmp_path / "shot.blend")
    assert_follows(rig)
    mute_rolls(rig, True)
    rig = reopen_override(tmp_path / "shot.blend")
    twist(rig, 70.0)
    assert read_roll_out(rig) == 0.0
    remove_rolls(rig)
    rig = reopen_override(tmp_path / "shot.blend")
    assert list_drivers(rig) == []


def test_not_in_edit_mode():
    _, armature = add_rolled_limb()
    scenes.select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    for change in (remove_rolls, lambda rig: install_rolls(rig, ROLLS)):
        with pytest.raises(SkinningError, match="Edit Mode"):
            change(armature)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert read_rolls(armature) == ROLLS


def test_bones_made_by_symmetrize_have_no_roll_and_are_given_back():
    """They have a copy of the tag, and no drivers."""
    _, armature = add_limb()
    edit_names = {UPPER: "Upper.L", LIMB: "Fore.L", LAST: "Hand.L"}
    for before, after in edit_names.items():
        armature.data.bones[before].name = after
    install_rolls(armature, [Roll("Fore.L", "Hand.L", ALONG, 0.0, 1.0)])

    def mirror(_bones: Any) -> None:
        bpy.ops.armature.select_all(action="SELECT")
        bpy.ops.armature.symmetrize()

    scenes.edit_bones(armature, mirror)
    assert Tag.SEGMENTS in armature.data.bones["Fore.R"]
    assert [roll.bone for roll in read_rolls(armature)] == ["Fore.L"]
    remove_rolls(armature)
    assert armature.data.bones["Fore.R"].bbone_segments == 1
    assert Tag.SEGMENTS not in armature.data.bones["Fore.R"]


def test_a_deleted_source_leaves_no_roll():
    _, armature = add_rolled_limb()
    scenes.edit_bones(armature, lambda bones: bones.remove(bones[LAST]))
    assert read_rolls(armature) == (BY_ITSELF,)
    assert install_rolls(armature, read_rolls(armature)) == (BY_ITSELF,)
    assert armature.data.bones[LIMB].bbone_segments == 1
