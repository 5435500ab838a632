"""DLBNT as published by Blender's own modifiers: two hidden armatures give what the formulas say, and Maya."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import radians
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from scenes import (
    add_tube,
    armature_modifier,
    distance,
    edit_bones,
    evaluated_points,
    longest_action,
    play,
    reset,
    rest_points,
    save,
    select,
    skinned_meshes,
    snapshot,
    turn,
    update,
)
from supple.bridge.meshes.weights import read_weights, write_weights
from supple.bridge.rigs.armatures import read_pose, read_skeleton
from supple.bridge.rigs.carriers import is_hidden_object
from supple.bridge.rigs.scaled_bones import find_problem
from supple.bridge.rigs.stretch_armatures import HOLD_TAGS, find_held, is_stretch_armature
from supple.deformers import SkinningError
from supple.deformers.rig.rest import Pose, Rest, Weights
from supple.deformers.skinning import dlbnt
from supple.settings.objects import settings_of
from supple.tasks.skin import by_stretch
from supple.tasks.subject.stack import find_armature_modifier, resolve_skinned

pytestmark = pytest.mark.usefixtures("silent_handlers")

ROUNDING = 1e-6
"""Largest distance from the formulas, in diagonals of the posed character."""

ORDERS = ("GH", "HG")


def published(obj: bpy.types.Object, order: str = "GH") -> np.ndarray:
    """What DLBNT gives for an object in the pose of its armature, in object space."""
    update()
    armature = armature_modifier(obj).object
    skeleton = read_skeleton(armature)
    rows = read_weights(obj, skeleton.names)
    vertices, joints = np.nonzero(rows)
    space = np.array(armature.matrix_world.inverted() @ obj.matrix_world, np.float64)
    rest = Rest(rest_points(obj), Weights(vertices, joints, rows[vertices, joints]), skeleton.joints)
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    pose = Pose(read_pose(posed, skeleton).rest_to_pose, space)
    return dlbnt.deform(dlbnt.bind(rest, dlbnt.Params(order=order)), pose)


def off(*meshes: bpy.types.Object, order: str) -> float:
    """How far meshes of a character are from the formulas."""
    expected = np.concatenate([published(obj, order) for obj in meshes])
    return distance(expected, np.concatenate([evaluated_points(obj) for obj in meshes]))


def install(obj: bpy.types.Object, order: str = "GH") -> None:
    replaced = armature_modifier(obj)
    skinned = resolve_skinned(obj, replaced)
    skinned.settings.order = order
    setup = by_stretch.prepare(skinned, "DLBNT")
    skinned.settings.method, skinned.settings.evaluate, skinned.settings.is_bound = "DLBNT", "STRETCH", True
    skinned.settings.armature_modifier = replaced.name
    by_stretch.install(skinned, setup)
    assert by_stretch.is_as_installed(obj, replaced, order)


def is_installed(obj: bpy.types.Object, order: str = "GH") -> bool:
    return by_stretch.is_as_installed(obj, armature_modifier(obj), order)


def add_scaled(order: str = "GH") -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube as published, its bones bent, twisted and scaled unevenly."""
    obj, armature = add_tube()
    for bone in armature.data.bones:
        bone.inherit_scale = "NONE"
    pose(armature)
    install(obj, order)
    assert off(obj, order=order) <= ROUNDING
    assert distance(rest_points(obj), evaluated_points(obj)) > 0.1
    return obj, armature


def pose(armature: bpy.types.Object, angle: float = 70.0) -> None:
    turn(armature, "bone.0", (0, radians(0.2 * angle), 0), (0.8, 1.2, 1.1))
    turn(armature, "bone.1", (radians(angle), radians(0.5 * angle), 0), (1.3, 0.8, 1.1))
    turn(armature, "bone.2", (radians(angle), 0, radians(20)), (0.9, 1.2, 1.1))


def list_hidden() -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if is_stretch_armature(obj)]


@pytest.mark.characters("human_male", "kaykit_knight")
@pytest.mark.parametrize("order", ORDERS)
def test_real_characters(asset: Callable[..., Path], character: str, order: str, subtests: pytest.Subtests):
    bpy.ops.wm.open_mainfile(filepath=str(asset(character)))
    meshes, action = skinned_meshes(), longest_action()
    armature = armature_modifier(meshes[0]).object
    play(armature, action)
    bpy.context.scene.frame_set(int(sum(action.frame_range) / 2))
    armature.animation_data_clear()  # keeps the pose
    random = np.random.default_rng(1)
    for bone in list(armature.pose.bones)[7::8]:
        bone.scale = 1.0 + random.uniform(-0.3, 0.3, 3)
    for inherits in ("NONE", "ALIGNED", "AVERAGE"):
        for bone in armature.data.bones:
            bone.inherit_scale = inherits
        with subtests.test(inherits=inherits):
            for obj in meshes:
                install(obj, order)
            assert off(*meshes, order=order) <= ROUNDING
    assert len(list_hidden()) == 2


def move_apart(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.pose.bones["bone.1"].location = 0.3, -0.2, 0.1
    armature.pose.bones["bone.0"].scale = 1.0, 1.2, 1.1  # below scales under 1, the other order is damped
    edit_bones(armature, lambda bones: setattr(bones["bone.1"], "use_connect", False))


def scale_along_all_axes(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Such scales may be inherited in full."""
    for number, bone in enumerate(armature.pose.bones):
        bone.bone.inherit_scale, bone.scale = "FULL", [0.8 + 0.2 * number] * 3


def stretch_to(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    aim = bpy.data.objects.new("Aim", None)
    bpy.context.scene.collection.objects.link(aim)
    aim.location = 0.5, 1.5, 3.5
    armature.pose.bones["bone.2"].constraints.new("STRETCH_TO").target = aim


def skip_a_bone(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.data.bones["bone.1"].use_deform = False
    armature.pose.bones["bone.0"].scale.x = 1.0


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("change", [move_apart, scale_along_all_axes, stretch_to, skip_a_bone])
def test_other_bones(order: str, change: Callable):
    obj, armature = add_scaled(order)
    before = evaluated_points(obj)
    change(obj, armature)
    install(obj, order)
    assert off(obj, order=order) <= ROUNDING
    assert distance(before, evaluated_points(obj)) > 0.01


def read_fbx(path: Path) -> Callable[[str], list[np.ndarray]]:
    """Finds all arrays of numbers with a name in an FBX file as text."""
    text = path.read_text()

    def find(name: str) -> list[np.ndarray]:
        found = re.findall(rf"\b{name}: \*\d+ {{\s*a: ([^}}]*)}}", text)
        return [np.array(each.replace("\n", "").split(","), float) for each in found]

    return find


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (1.0, 0.5, 2.0)], ids=["rotated", "scaled"])
def test_equal_to_maya(asset: Callable[..., Path], scale: tuple[float, float, float]):
    """The child is moved aside by 1, twisted by 170 degrees and scaled along its own axes, x along the bone."""
    folder, name = asset("maya_dq").parent, "maya_dual_quaternion" + "_scale" * (scale[1] != 1.0)
    find = read_fbx(folder / f"{name}_7500_ascii.fbx")
    lines = (folder / f"{name}.obj").read_text().splitlines()
    expected = np.array([line.split()[1:] for line in lines if line.startswith("v ")], float)
    obj = add_mesh(find("Vertices")[0].reshape(-1, 3))
    armature = armature_modifier(obj).object
    write_weights(obj, ["joint1", "joint2"], np.stack(find("Weights"), axis=1).astype(np.float32))
    child = armature.pose.bones["joint2"]
    child.matrix = Matrix.Translation((1, 0, 0)) @ Matrix.Rotation(radians(170), 4, "Y")
    child.scale = scale[1], scale[0], scale[2]
    armature_modifier(obj).use_deform_preserve_volume = True
    update()
    assert (distance(expected, evaluated_points(obj)) > 0.05) == (scale[1] != 1.0)
    install(obj)
    assert distance(expected, evaluated_points(obj)) <= 1e-6


def add_mesh(points: np.ndarray) -> bpy.types.Object:
    """A mesh with an armature of two bones along y, of length 2, from y = -2."""
    mesh = bpy.data.meshes.new("Mesh")
    mesh.from_pydata(points.tolist(), [], [])
    obj = bpy.data.objects.new("Mesh", mesh)
    armature = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    for one in (obj, armature):
        bpy.context.scene.collection.objects.link(one)

    def add_bones(bones: bpy.types.ArmatureEditBones) -> None:
        for name, head in (("joint1", -2.0), ("joint2", 0.0)):
            bone = bones.new(name)
            bone.head, bone.tail = (0, head, 0), (0, head + 2.0, 0)
        bones["joint2"].parent = bones["joint1"]

    edit_bones(armature, add_bones)
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    return obj


@pytest.mark.versions
@pytest.mark.parametrize("order", ORDERS)
def test_the_objects_own_modifier_is_given_back(order: str):
    obj, _ = add_tube()
    obj.modifiers.new("Cast", "CAST").factor = 0.1
    armature_modifier(obj).show_render = False
    before = snapshot(obj)
    install(obj, order)
    stack = [each.name for each in obj.modifiers]
    names = ["Supple Stretch", "Supple Rigid"]
    assert stack == ["Armature", *(names if order == "GH" else names[::-1]), "Cast"]
    assert find_armature_modifier(obj) == armature_modifier(obj)
    toggles = [(each.show_viewport, each.show_render) for each in obj.modifiers]
    assert toggles == [(False, False), (True, False), (True, False), (True, True)]
    assert all(map(is_hidden_object, list_hidden()))
    assert not any(hidden.users_collection for hidden in list_hidden())
    by_stretch.remove(obj, armature_modifier(obj))
    assert snapshot(obj) == before
    assert not list_hidden()
    assert len(bpy.data.armatures) == 1


def test_settings_of_the_own_modifier_are_followed():
    obj, _ = add_scaled()
    group = obj.vertex_groups.new(name="Half")
    group.add(list(range(200)), 1.0, "REPLACE")
    replaced = armature_modifier(obj)
    replaced.vertex_group, replaced.invert_vertex_group = "Half", True
    assert not is_installed(obj)
    assert by_stretch.follow_own(obj, replaced)
    assert not by_stretch.follow_own(obj, replaced)
    assert is_installed(obj)
    assert [each.vertex_group for each in by_stretch.find_modifiers(obj)] == ["Half", "Half"]


@pytest.mark.versions
@pytest.mark.parametrize("mode", ["POSE", "WEIGHT_PAINT", "EDIT", "OBJECT"])
def test_selection_and_modes_stay(mode: str):
    obj, armature = add_tube()
    other, other_rig = obj.copy(), armature.copy()
    for one in (other, other_rig):
        bpy.context.scene.collection.objects.link(one)
    active = other if mode in {"WEIGHT_PAINT", "EDIT"} else other_rig
    select(active, armature)
    bpy.context.view_layer.objects.active = active
    bpy.ops.object.mode_set(mode=mode)
    states = [(one.mode, one.select_get()) for one in bpy.context.scene.objects]
    install(obj)
    assert [(one.mode, one.select_get()) for one in bpy.context.scene.objects] == states
    assert bpy.context.view_layer.objects.active == active
    assert bpy.context.mode.startswith(active.mode.split("_")[-1]) or mode != "POSE"
    bpy.ops.object.mode_set(mode="OBJECT")
    pose(armature)
    for bone in armature.data.bones:
        bone.inherit_scale = "NONE"
    assert off(obj, order="GH") <= ROUNDING


@pytest.mark.versions
@pytest.mark.parametrize("order", ORDERS)
def test_mesh_and_rig_overridden_alone(order: str, tmp_path: Path):
    """The hidden armatures stay linked, and follow the linked rig: the override gets copies."""
    add_scaled(order)
    save(tmp_path / "library.blend")
    reset()
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        wanted.objects = ["Tube", "Rig"]
    obj, armature = (linked.override_create(remap_local_usages=True) for linked in wanted.objects)
    for one in (obj, armature):
        bpy.context.scene.collection.objects.link(one)
    armature_modifier(obj).object = armature
    by_stretch.follow_own(obj, armature_modifier(obj))
    pose(armature, 30.0)
    assert is_installed(obj, order)
    assert off(obj, order=order) <= ROUNDING
    save(tmp_path / "shot.blend")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    obj = next(one for one in bpy.context.scene.objects if one.type == "MESH")
    assert not by_stretch.follow_own(obj, armature_modifier(obj))
    assert is_installed(obj, order)
    assert off(obj, order=order) <= ROUNDING


@pytest.mark.versions
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", ["duplicated", "scene"])
def test_copies_follow_their_own_rig(order: str, how: str, subtests: pytest.Subtests):
    obj, armature = add_scaled(order)
    select(obj, armature)
    if how == "duplicated":
        bpy.ops.object.duplicate()
    else:
        bpy.ops.scene.new(type="FULL_COPY")
    copy = next(one for one in bpy.context.scene.objects if one.type == "MESH" and one != obj)
    pose(armature_modifier(copy).object, 25.0)
    assert armature_modifier(copy).object != armature
    by_stretch.follow_own(copy, armature_modifier(copy))  # Bind follows it, too
    assert not by_stretch.follow_own(copy, armature_modifier(copy))
    assert is_installed(copy, order)
    assert off(copy, order=order) <= ROUNDING
    if how == "duplicated":
        assert not by_stretch.follow_own(obj, armature_modifier(obj))
        assert off(obj, order=order) <= ROUNDING
    by_stretch.remove(copy, armature_modifier(copy))
    assert find_held(obj) is not None
    assert len(list_hidden()) == 2


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("change", ["renamed", "moved", "added"])
def test_changed_bones(order: str, change: str):
    obj, armature = add_scaled(order)
    second = obj.copy()
    bpy.context.scene.collection.objects.link(second)

    def edit(bones: bpy.types.ArmatureEditBones) -> None:
        if change == "moved":
            bones["bone.2"].tail.x += 0.5
        else:
            bone = bones.new("more")
            bone.head, bone.tail, bone.parent = (0, 0, 3), (0, 0.5, 3), bones["bone.2"]
            bone.inherit_scale = "ALIGNED"

    if change == "renamed":
        armature.data.bones["bone.1"].name = "elbow"
    else:
        edit_bones(armature, edit)
    assert not is_installed(obj, order)
    install(obj, order)
    assert off(obj, order=order) <= ROUNDING
    assert is_installed(second, order)
    assert len(list_hidden()) == 2


def test_the_order_changes():
    obj, _ = add_scaled("GH")
    install(obj, "HG")
    assert off(obj, order="HG") <= ROUNDING
    assert off(obj, order="GH") > 0.01
    assert len(list_hidden()) == 2


def test_removed_by_hand():
    obj, _ = add_scaled()
    bpy.data.objects.remove(find_held(obj).rigid)
    assert not is_installed(obj)
    install(obj)
    assert off(obj, order="GH") <= ROUNDING
    assert [each.type for each in obj.modifiers] == ["ARMATURE"] * 3
    assert set(HOLD_TAGS.values()) <= set(obj.keys())


def test_copies_of_the_modifiers_are_taken_out():
    obj, _ = add_scaled()
    with bpy.context.temp_override(object=obj):
        bpy.ops.object.modifier_copy(modifier="Supple Rigid")
    assert not is_installed(obj)
    install(obj)
    assert off(obj, order="GH") <= ROUNDING
    assert len(obj.modifiers) == 3


def blend_below(obj: bpy.types.Object) -> None:
    below: Any = obj.modifiers.new("Below", "ARMATURE")
    below.object, below.use_multi_modifier = armature_modifier(obj).object, True


def mix(obj: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="Half").add([3], 0.5, "REPLACE")
    armature_modifier(obj).vertex_group = "Half"


def blend_parts(obj: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="Linear")
    settings_of(obj).linear_group = "Linear"


REFUSED = {
    "parts": (blend_parts, "'Tube' has Parts as Blender"),
    "mixed": (mix, "'Half' of 'Tube' has weights between 0 and 1"),
    "animated": (
        lambda obj: armature_modifier(obj).keyframe_insert("show_viewport"),
        "turn modifier 'Armature' of 'Tube' on and off",
    ),
    "envelopes": (lambda obj: setattr(armature_modifier(obj), "use_bone_envelopes", True), "are from envelopes"),
    "multi": (blend_below, "have Multi Modifier on"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_modifiers_that_are_refused(name: str):
    change, expected = REFUSED[name]
    obj, _ = add_tube()
    change(obj)
    with pytest.raises(SkinningError, match=expected):
        install(obj)
    assert not list_hidden()


def key_scale(armature: bpy.types.Object, *scale: float) -> None:
    bone = armature.pose.bones["bone.0"]
    for frame, value in ((1, (1.0, 1.0, 1.0)), (9, scale)):
        bone.scale = value
        bone.keyframe_insert("scale", frame=frame)
    bpy.context.scene.frame_set(1)


def drive_scale(armature: bpy.types.Object) -> None:
    armature.driver_add('pose.bones["bone.0"].scale', 0).driver.expression = "1.5"


def stretch(armature: bpy.types.Object) -> None:
    armature.pose.bones["bone.0"].constraints.new("STRETCH_TO").target = bpy.data.objects["Tube"]


def copy_sheared(armature: bpy.types.Object) -> None:
    key_scale(armature, 1, 2, 1)
    armature.data.bones["bone.1"].inherit_scale = armature.data.bones["bone.2"].inherit_scale = "NONE"
    constraint = armature.pose.bones["bone.1"].constraints.new("ARMATURE")
    target = constraint.targets.new()
    target.target, target.subtarget = armature, "bone.0"


PROBLEMS = {
    "nothing": (lambda _: None, ""),
    "alike": (lambda armature: key_scale(armature, 2, 2, 2), ""),
    "sheared by keys": (lambda armature: key_scale(armature, 1, 2, 1), "bone.1' may be sheared"),
    "sheared by a driver": (drive_scale, "bone.1' may be sheared"),
    "sheared by a constraint": (stretch, "bone.1' may be sheared"),
    "carried by a scaled bone": (copy_sheared, "bone.1' may be sheared"),
    "mirrored": (lambda armature: key_scale(armature, -1, 1, 1), "bone.0' is mirrored"),
    "zero": (lambda armature: key_scale(armature, 1, 0, 1), "bone.0' is scaled to zero"),
    "segments": (lambda armature: setattr(armature.data.bones["bone.1"], "bbone_segments", 4), "bone.1' has segments"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems(name: str):
    change, expected = PROBLEMS[name]
    obj, armature = add_tube()
    change(armature)
    update()
    assert (expected in find_problem(armature)) if expected else not find_problem(armature)
    if expected:
        with pytest.raises(SkinningError, match=expected):
            install(obj)
        assert not list_hidden()


@pytest.mark.parametrize("inherits", ["ALIGNED", "AVERAGE", "NONE"])
def test_no_shear_below_bones_that_do_not_inherit_it(inherits: str):
    _, armature = add_tube()
    for bone in armature.data.bones:
        bone.inherit_scale = inherits
    key_scale(armature, 1, 2, 1)
    assert not find_problem(armature)
