"""Shape keys of engine copies: as many in as out, with their groups, and with the curves of their drivers."""

from pathlib import Path

import bpy
import numpy as np
import pytest
from test_engine_copy import Made

from scenes import add_face_key, add_tube, animate_tube, bind, edit_bones, reset, rest_points
from supple.bridge.meshes.data import read_key_points


def add_control(armature):
    """A bone that does not deform, and moves in the action."""

    def add(bones):
        bone = bones.new("control")
        bone.head, bone.tail, bone.use_deform = (2, 0, 0), (2, 1, 0), False

    edit_bones(armature, add)
    control = armature.pose.bones["control"]
    for frame, x in ((1, 0.0), (4, 0.9), (8, 0.2)):
        control.location.x = x
        control.keyframe_insert("location", frame=frame)


def drive_by_control(key, armature):
    driver = key.driver_add("value").driver
    variable = driver.variables.new()
    variable.type, driver.expression = "TRANSFORMS", "0.5 * var"
    target = variable.targets[0]
    target.id, target.bone_target, target.transform_type, target.transform_space = (
        armature, "control", "LOC_X", "LOCAL_SPACE",
    )  # fmt: skip


@pytest.fixture
def face():
    """A bound tube with keys: one driven by a control, one with a vertex group that is keyed, one on another key."""
    obj, armature = add_tube(rings=12, sides=8)
    animate_tube(armature)
    add_control(armature)
    smile, blink, on_top = (
        add_face_key(obj, name, size) for name, size in (("Smile", 0.2), ("Blink", 0.3), ("Top", 0.4))
    )
    drive_by_control(smile, armature)
    half = obj.vertex_groups.new(name="Half")
    half.add(range(48), 0.5, "REPLACE")
    blink.vertex_group = "Half"
    for frame, value in ((1, 0.0), (8, 0.7)):
        blink.value = value
        blink.keyframe_insert("value", frame=frame)
    on_top.relative_key = blink
    on_top.value = 0.25
    bind(obj)
    return obj, armature


def source_values(obj, frames):
    values = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        keys = obj.data.shape_keys.evaluated_get(bpy.context.evaluated_depsgraph_get())
        values.append([key.value for key in keys.key_blocks][1:])
    return np.array(values)


def test_keys_have_their_groups_in_their_shape(tmp_path, face):
    obj, _ = face
    copy = Made(tmp_path, obj).copy.meshes[0]
    blocks, before = copy.data.shape_keys.key_blocks, obj.data.shape_keys.key_blocks
    assert [key.name for key in blocks] == [key.name for key in before]
    rest = rest_points(obj)
    group = np.zeros(len(rest))
    group[:48] = 0.5
    blink = (read_key_points(before["Blink"]) - rest) * group[:, None]
    assert np.abs(blink).max() > 0.05
    assert read_key_points(blocks["Blink"]) - rest_points(copy) == pytest.approx(blink, abs=1e-6)
    top = read_key_points(before["Top"]) - read_key_points(before["Blink"])
    assert read_key_points(blocks["Top"]) - rest_points(copy) == pytest.approx(top, abs=1e-6)
    assert not any(key.vertex_group for key in blocks)
    assert all(key.relative_key == blocks[0] for key in blocks)
    assert blocks["Top"].value == 0.25


def import_file(path: Path):
    reset()
    bpy.context.scene.render.fps = 24
    if path.suffix == ".fbx":
        bpy.ops.import_scene.fbx(filepath=str(path), anim_offset=0.0)
    else:
        bpy.ops.import_scene.gltf(filepath=str(path))
    return next(obj for obj in bpy.data.objects if obj.type == "MESH" and obj.data.shape_keys)


@pytest.mark.versions
@pytest.mark.parametrize("target", ["gltf", "fbx"])
def test_files_have_all_keys_and_the_curves_of_their_drivers(tmp_path, face, target):
    obj, _ = face
    made = Made(tmp_path, obj, target=target)
    expected = source_values(obj, range(1, 9))
    assert np.ptp(expected[:, :2], axis=0).min() > 0.3
    path = tmp_path / f"face.{'glb' if target == 'gltf' else 'fbx'}"
    found = made.export(path, tmp_path / "between")
    assert set(found.keys) == {"Smile", "Blink", "Top"}
    assert found.apart == pytest.approx(made.apart, abs=5e-5)  # keys are no part of it
    mesh = import_file(path)
    first = int(mesh.parent.animation_data.action.frame_range[0]) if mesh.parent.animation_data.action else 0
    blocks = mesh.data.shape_keys.key_blocks
    values = []
    for frame in range(8):
        bpy.context.scene.frame_set(first + frame)
        values.append([blocks[name].value for name in ("Smile", "Blink", "Top")])
    assert np.array(values) == pytest.approx(expected, abs=1e-4)
