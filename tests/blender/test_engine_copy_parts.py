"""What a copy is made of beside the body, and what is left out of it; its shape keys; copies as USD."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_cli import DONE, LEFT_OUT, main, own_output
from test_engine_copy import Made

import scenes
from supple.bridge.meshes.data import read_key_points
from supple.bridge.meshes.shown_weights import read_shown_shape
from supple.deformers.measures.heat import color_rising
from supple.options import CopyOptions
from supple.settings.objects import settings_of
from supple.tasks.engine_copy.copies import find_copy
from supple.tasks.engine_copy.hung import list_hung
from supple.tasks.engine_copy.report import Report
from supple.tasks.engine_copy.run import make_engine_copy
from supple.tasks.engine_copy.show import show_copy
from supple.tasks.side_by_side.heat import COPY, color_heat
from supple.tasks.steps import take_all

Object = bpy.types.Object


@pytest.fixture
def tube() -> tuple[Object, Object]:
    """A bound tube that moves."""
    obj, armature = scenes.add_tube(rings=12, sides=8)
    scenes.animate_tube(armature)
    scenes.bind(obj, method="DLBNT")
    return obj, armature


def add_part(name: str, data: bpy.types.ID | None = None) -> Object:
    """A tetrahedron near the end of the tube, or other data."""
    if data is None:
        data = bpy.data.meshes.new(name)
        corners = [(0.5, 2.0, 0.0), (0.8, 2.0, 0.0), (0.5, 2.3, 0.0), (0.5, 2.0, 0.3)]
        data.from_pydata(corners, [], [(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)])
    return scenes.add_object(name, data)


def hang(part: Object, parent: Object, bone: str = "") -> Object:
    """Make a child where it stands."""
    bpy.context.view_layer.update()
    world = part.matrix_world.copy()
    part.parent, part.parent_type = parent, "BONE" if bone else "OBJECT"
    part.parent_bone = bone
    bpy.context.view_layer.update()
    part.matrix_world = world
    bpy.context.view_layer.update()
    return part


def copy(obj: Object, armature: Object, **chosen) -> Report:
    objects = [other for other in bpy.context.scene.objects if other.find_armature() == armature and other.modifiers]
    objects += list_hung(bpy.context.view_layer, armature)
    return take_all(make_engine_copy(objects, CopyOptions(**{"keys": 0, "helpers": 0, "angle": 0.0} | chosen)))


def world_points(obj: Object) -> np.ndarray:
    matrix = np.array(obj.matrix_world)
    return scenes.evaluated_points(obj) @ matrix[:3, :3].T + matrix[:3, 3]


@pytest.mark.versions
@pytest.mark.parametrize("target", ["gltf", "fbx"])
def test_parts_that_hang_on_bones_are_where_they_are_seen(tube, target):
    """On their bones, relative to them or not, on what hangs there, mirrored, in a scaled character."""
    obj, armature = tube
    armature.scale, armature.location = (2, 2, 2), (0.3, 0.1, 0)
    armature.data.bones["bone.1"].use_relative_parent = True
    bpy.context.scene.frame_set(4)
    eye, bag, lash = add_part("Eye"), add_part("Bag"), add_part("Lash")
    bag.location, lash.scale = (0.3, -1, 0.2), (-1, 1, 1)
    hang(eye, armature, "bone.2")
    hang(bag, armature, "bone.1")
    hang(lash, eye)
    scenes.add_face_key(eye, "Blink")
    report = copy(obj, armature, target=target)
    assert report.measured == "file"
    assert report.left_out == ()
    assert report.apart.largest == pytest.approx(report.copy.largest, abs=0.5)
    collection = find_copy(armature, target)
    copies = {mesh["supple_copy_of"]: mesh for mesh in collection.objects if mesh.type == "MESH"}
    assert set(copies) == {"Tube", "Eye", "Bag", "Lash"}
    bpy.context.view_layer.layer_collection.children[collection.name].hide_viewport = False
    for frame in (1, 4, 8):
        bpy.context.scene.frame_set(frame)
        for part in (eye, bag, lash):
            found = world_points(copies[part.name])
            assert found == pytest.approx(world_points(part), abs=2e-4)
    show_copy(armature, target, bpy.context.view_layer)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    far, near = color_rising(np.array([1.0, 0.0]), 1.0)
    colors = color_heat(copies["Eye"], read_shown_shape(copies["Eye"], depsgraph), COPY, "", 0.01, depsgraph)
    assert np.abs(colors - near).max() < 0.1 < np.abs(far - near).max()


HUNG = {
    "constraints, drivers or an animation": "part.constraints.new('LIMIT_LOCATION')",
    "does not deform": "edit_bones(rig, lambda bones: setattr(bones['bone.2'], 'use_deform', False))",
    "bends as a B-Bone": "rig.data.bones['bone.2'].bbone_segments = 3",
    "not a mesh": "pass",
}


def test_what_a_bone_can_not_carry_is_left_out_by_name(tube, subtests):
    obj, armature = tube
    for words, change in HUNG.items():
        with subtests.test(words):
            data = bpy.data.curves.new("Whip", "CURVE") if words == "not a mesh" else None
            part = hang(add_part("Part", data), armature, "bone.2")
            scenes.execute(change, part=part, rig=armature)
            (line,) = copy(obj, armature).left_out
            assert line.startswith("'Part' was left out.")
            assert words in line
            bpy.data.objects.remove(part)


def test_a_child_of_the_armature_that_no_bone_carries_is_left_out_by_name(tube):
    obj, armature = tube
    hang(add_part("Part"), armature)
    handle = hang(add_part("Cage"), armature, "bone.2")
    settings_of(handle).is_handle = True
    (line,) = copy(obj, armature).left_out
    assert line.startswith("'Part' was left out.")
    assert "of none of its bones" in line


def test_only_what_is_seen_on_its_own_bones_is_carried(tube):
    _, armature = tube
    parts = [add_part(name) for name in ("Seen", "Hidden", "Beside", "On another")]
    other = scenes.add_object("Other", armature.data)
    for part, holder in zip(parts, (armature, armature, None, other), strict=True):
        if holder is not None:
            hang(part, holder, "bone.1")
    parts[1].hide_set(True)
    assert list_hung(bpy.context.view_layer, armature) == parts[:1]
    assert list_hung(bpy.context.view_layer, None) == []


SCRAPS: dict[str, Callable[[Object], object]] = {
    "has no vertex groups": lambda scrap: scrap.vertex_groups.clear(),
    "No vertex of 'Scrap' has a weight": lambda scrap: [group.remove(range(96)) for group in scrap.vertex_groups],
    "'Scrap' has no vertex groups": lambda scrap: scrap.data.clear_geometry(),
    "are absolute": lambda scrap: setattr(scenes.add_face_key(scrap).id_data, "use_relative", False),
    "above 'Armature' and changes": lambda scrap: scrap.modifiers.move(
        scrap.modifiers.find(scrap.modifiers.new("Cut", "SUBSURF").name), 0
    ),
    "has zero scale": lambda scrap: setattr(scrap, "scale", (0, 1, 1)),
    "are not numbers": lambda scrap: setattr(scrap.data.vertices[0], "co", (np.nan, 0, 0)),
    "too far from its armature's origin (frame 1 of": lambda scrap: setattr(scrap.data.vertices[0].co, "x", 1e12),
}
"""What is said of a mesh that can not be copied, beside one that can."""


def test_meshes_that_can_not_be_copied_are_left_out_by_name(tube, tmp_path, capfd, subtests):
    obj, armature = tube
    scrap = scenes.add_twin(obj)
    scrap.name, names = "Scrap", (obj.name, armature.name)
    bpy.ops.supple.unbind()
    scenes.bind(obj)
    plain = scenes.save(tmp_path / "plain.blend")
    for number, (words, spoil) in enumerate(SCRAPS.items()):
        with subtests.test(words):
            scenes.open_file(plain)
            spoil(bpy.data.objects["Scrap"])
            bpy.context.view_layer.update()
            (line,) = copy(*(bpy.data.objects[name] for name in names)).left_out
            assert line.startswith("'Scrap' was left out.")
            assert words in line
            assert [mesh["supple_copy_of"] for mesh in find_copy(bpy.data.objects[names[1]], "gltf").objects] == [
                "Rig", "Tube",
            ]  # fmt: skip
            if number == 0:
                path = scenes.save(tmp_path / "spoiled.blend")
    capfd.readouterr()
    output = tmp_path / "a.glb"
    chosen = ("--bend", "0", "--keys", "0", "--helpers", "0")
    assert main("engine-copy", path, "--output", output, *chosen) == LEFT_OUT
    captured = capfd.readouterr()
    assert "supple: 'Scrap' was left out." in captured.err
    assert any("'Scrap' was left out." in line for line in own_output(captured.out))
    assert output.is_file()
    assert main("engine-copy", plain, "--output", output, *chosen) == DONE


# Shape keys: as many in as out, with the curves of their drivers


def add_control(armature):
    """A bone that does not deform, and moves in the action."""
    scenes.add_bones(armature, ("control", "", (2, 0, 0), (2, 1, 0)), use_deform=False)
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
    obj, armature = scenes.add_tube(rings=12, sides=8)
    scenes.animate_tube(armature)
    add_control(armature)
    smile, blink, on_top = (
        scenes.add_face_key(obj, name, size) for name, size in (("Smile", 0.2), ("Blink", 0.3), ("Top", 0.4))
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
    scenes.bind(obj)
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
    rest = scenes.rest_points(obj)
    group = np.zeros(len(rest))
    group[:48] = 0.5
    blink = (read_key_points(before["Blink"]) - rest) * group[:, None]
    assert np.abs(blink).max() > 0.05
    assert read_key_points(blocks["Blink"]) - scenes.rest_points(copy) == pytest.approx(blink, abs=1e-6)
    top = read_key_points(before["Top"]) - read_key_points(before["Blink"])
    assert read_key_points(blocks["Top"]) - scenes.rest_points(copy) == pytest.approx(top, abs=1e-6)
    assert not any(key.vertex_group for key in blocks)
    assert all(key.relative_key == blocks[0] for key in blocks)
    assert blocks["Top"].value == 0.25


def import_file(path: Path):
    scenes.reset()
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
    assert set(found["found_keys"]) == {"Smile", "Blink", "Top"}
    assert found["apart"] == pytest.approx(made.apart, abs=5e-5)  # keys are no part of it
    mesh = import_file(path)
    first = int(mesh.parent.animation_data.action.frame_range[0]) if mesh.parent.animation_data.action else 0
    blocks = mesh.data.shape_keys.key_blocks
    values = []
    for frame in range(8):
        bpy.context.scene.frame_set(first + frame)
        values.append([blocks[name].value for name in ("Smile", "Blink", "Top")])
    assert np.array(values) == pytest.approx(expected, abs=1e-4)


# USD: fitted as for other formats, whatever method the character is bound by


PYTHON_WITH_PXR = Path(__file__).resolve().parents[2] / ".venv" / "engine-copy" / "bin" / "python"


@pytest.fixture
def usd_tube():
    """A tube bound by dual quaternions, with a face key, that moves without scale."""
    obj, armature = scenes.add_tube(rings=12, sides=8)
    for frame, bend, twist in ((1, 0.1, 0.0), (4, 0.7, 0.4), (8, -0.3, 0.9)):
        for number, bone in enumerate(armature.pose.bones):
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = bend * number, 0.5 * twist * number, 0.1
            bone.keyframe_insert("rotation_euler", frame=frame)
    scenes.animate_key(scenes.add_face_key(obj))
    scenes.bind(obj, method="DLB")
    return obj, armature


def copy_to_usd(objects, output, **options):
    return take_all(make_engine_copy(objects, CopyOptions(target="usd", helpers=1, keys=0, **options), output))


@pytest.mark.versions
@pytest.mark.parametrize("ending", [".usda", ".usdc"])
def test_a_copy_is_fitted_and_blended_linearly(tmp_path, usd_tube, ending):
    obj, _ = usd_tube
    path = tmp_path / f"tube{ending}"
    report = copy_to_usd([obj], path)
    assert report.helpers > 0
    assert report.influences == 4
    assert report.copy.largest < 0.5 * report.linear.largest
    assert report.linear.largest > 10.0
    if ending == ".usda":
        text = path.read_text()
        assert "skinningMethod" not in text
        assert text.count("SkelAnimation") >= 1
        assert 'blendShapes = ["Face"]' in text
        assert "Tube__Face" not in text  # what drives the key stays out
    expected = []
    for frame in range(1, 9):
        bpy.context.scene.frame_set(frame)
        expected.append(obj.data.shape_keys.key_blocks["Face"].value)
    scenes.reset()
    bpy.ops.wm.usd_import(filepath=str(path))
    (mesh,) = [other for other in bpy.data.objects if other.type == "MESH"]
    values = []
    for frame in range(8):
        bpy.context.scene.frame_set(frame)
        values.append(mesh.data.shape_keys.key_blocks["Face"].value)
    assert np.ptp(expected) > 0.5
    assert values == pytest.approx(expected, abs=1e-4)


@pytest.mark.skipif(not PYTHON_WITH_PXR.is_file(), reason="copy_to_usd test-engine-copy")
@pytest.mark.parametrize("has_face_key", [False, True])
def test_pixars_own_library_shows_the_copy(tmp_path, usd_tube, has_face_key):
    """To it the file is the copy to 1e-4 of the size, and it knows the face key with its curve."""
    obj, armature = usd_tube
    other = scenes.add_twin(obj)
    other.shape_key_clear()
    obj = obj if has_face_key else other
    scenes.bind(obj, method="DLB")
    armature.location = (1.0, 2.0, 3.0)
    armature.rotation_euler = (0.2, 0.3, 0.4)
    bpy.context.view_layer.update()
    copy_to_usd([obj], tmp_path / "tube.usda")
    command = [PYTHON_WITH_PXR, Path(__file__).with_name("read_usd.py"), tmp_path / "tube.usda", tmp_path / "read.npz"]
    subprocess.run(command, check=True)
    read = np.load(tmp_path / "read.npz")
    assert set(read["methods"]) == {"classicLinear"}
    keys = obj.data.shape_keys
    (copy,) = [other for other in find_copy(armature, "usd").objects if other.type == "MESH"]
    for frame in range(1, 9):
        bpy.context.scene.frame_set(frame)
        if has_face_key:
            assert read["names"].tolist() == ["Face"]
            assert read["keys"][frame - 1] == pytest.approx([keys.key_blocks["Face"].value], abs=1e-4)
            continue
        world = np.array(copy.matrix_world)
        expected = scenes.evaluated_points(copy) @ world[:3, :3].T + world[:3, 3]
        assert np.abs(read["points"][frame - 1] - expected).max() < 1e-4 * scenes.diagonal(expected)
