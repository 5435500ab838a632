"""What a copy is made of beside the body: parts that hang on bones; and what is left out of it, by name."""

from collections.abc import Callable

import bpy
import numpy as np
import pytest
from scenes_cli import DONE, LEFT_OUT, main, own_output

from scenes import add_face_key, add_tube, add_twin, animate_tube, bind, edit_bones, evaluated_points, save
from supple.bridge.meshes.shown_weights import read_shown_shape
from supple.deformers.measures.heat import color_rising
from supple.options import CopyOptions
from supple.settings.objects import settings_of
from supple.tasks.engine_copy.copy import find_copy
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
    obj, armature = add_tube(rings=12, sides=8)
    animate_tube(armature)
    bind(obj, method="DLBNT")
    return obj, armature


def add_part(name: str, data: bpy.types.ID | None = None) -> Object:
    """A tetrahedron near the end of the tube, or other data."""
    if data is None:
        data = bpy.data.meshes.new(name)
        corners = [(0.5, 2.0, 0.0), (0.8, 2.0, 0.0), (0.5, 2.3, 0.0), (0.5, 2.0, 0.3)]
        data.from_pydata(corners, [], [(0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)])
    part = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(part)
    return part


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
    return evaluated_points(obj) @ matrix[:3, :3].T + matrix[:3, 3]


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
    add_face_key(eye, "Blink")
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


def constrain(part: Object, armature: Object) -> None:
    part.constraints.new("LIMIT_LOCATION")


def turn_deform_off(part: Object, armature: Object) -> None:
    edit_bones(armature, lambda bones: setattr(bones["bone.2"], "use_deform", False))


def bend_its_bone(part: Object, armature: Object) -> None:
    armature.data.bones["bone.2"].bbone_segments = 3


HUNG: dict[str, tuple[Callable[[], bpy.types.ID | None], Callable[[Object, Object], None]]] = {
    "constraints, drivers or an animation": (lambda: None, constrain),
    "does not deform": (lambda: None, turn_deform_off),
    "bends as a B-Bone": (lambda: None, bend_its_bone),
    "not a mesh": (lambda: bpy.data.curves.new("Whip", "CURVE"), lambda part, armature: None),
}


def test_what_a_bone_can_not_carry_is_left_out_by_name(tube, subtests):
    obj, armature = tube
    for words, (make_data, change) in HUNG.items():
        with subtests.test(words):
            part = hang(add_part("Part", make_data()), armature, "bone.2")
            change(part, armature)
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
    other = bpy.data.objects.new("Other", armature.data)
    bpy.context.scene.collection.objects.link(other)
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
    "are absolute": lambda scrap: setattr(add_face_key(scrap).id_data, "use_relative", False),
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
    scrap = add_twin(obj)
    scrap.name, names = "Scrap", (obj.name, armature.name)
    bpy.ops.supple.unbind()
    bind(obj)
    plain = save(tmp_path / "plain.blend")
    for number, (words, spoil) in enumerate(SCRAPS.items()):
        with subtests.test(words):
            bpy.ops.wm.open_mainfile(filepath=str(plain))
            spoil(bpy.data.objects["Scrap"])
            bpy.context.view_layer.update()
            (line,) = copy(*(bpy.data.objects[name] for name in names)).left_out
            assert line.startswith("'Scrap' was left out.")
            assert words in line
            assert [mesh["supple_copy_of"] for mesh in find_copy(bpy.data.objects[names[1]], "gltf").objects] == [
                "Rig", "Tube",
            ]  # fmt: skip
            if number == 0:
                path = save(tmp_path / "spoiled.blend")
    capfd.readouterr()
    output = tmp_path / "a.glb"
    chosen = ("--bend", "0", "--keys", "0", "--helpers", "0")
    assert main("engine-copy", path, "--output", output, *chosen) == LEFT_OUT
    captured = capfd.readouterr()
    assert "supple: 'Scrap' was left out." in captured.err
    assert any("'Scrap' was left out." in line for line in own_output(captured.out))
    assert output.is_file()
    assert main("engine-copy", plain, "--output", output, *chosen) == DONE
