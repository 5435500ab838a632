"""A bound character through undo, saving, appending, duplicating, renaming, deleting and the extension's own end."""

import json
import subprocess
import sys
from math import radians

import bpy
import addon_utils
import numpy as np
import pytest

import checkout
from scenes import (
    EVALUATE,
    add_chain,
    add_tube,
    add_twin,
    armature_modifier,
    assert_own_carriers,
    diagonal,
    distance,
    evaluated_points,
    push,
    redo,
    rest_points,
    save,
    select,
    snapshot,
    turn,
    undo,
    update,
    without_blenders_own,
)
from supple.settings.objects import settings_of
from supple.tasks.skin import by_nodes as nodes
from supple.tasks.skin import live
from supple.tasks.skin.bind import bind, find_bound_objects, unbind
from supple.tasks.stack import find_supple_modifier

pytestmark = pytest.mark.usefixtures("silent_handlers")
TOLERANCE = 1e-5


def bend(armature: bpy.types.Object, angle: float) -> None:
    turn(armature, "bone.1", (radians(angle), radians(0.3 * angle), 0), (1.2, 0.9, 1.1))


def bound_tube(method: str = "SSD") -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """A bound tube, its armature, and a twin under Blender's own modifier."""
    obj, armature = add_tube()
    twin = add_twin(obj)
    twin.name = "Twin"
    select(obj)
    bpy.ops.supple.bind(method=method, evaluate=EVALUATE)
    return obj, armature, twin


def animate(armature: bpy.types.Object, end: int = 20) -> None:
    for frame, angle in ((1, 0), (end // 2, 80), (end, 30)):
        bend(armature, angle)
        for path in ("rotation_euler", "scale"):
            armature.pose.bones["bone.1"].keyframe_insert(path, frame=frame)


def assert_follows(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    update()
    assert settings_of(obj).message == ""
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE


def assert_tube_follows() -> None:
    """By name: undo and opening a file make new Python objects of all data."""
    obj, twin = bpy.data.objects["Tube"], bpy.data.objects["Twin"]
    assert distance(rest_points(obj), evaluated_points(twin)) > 0.01
    assert_follows(obj, twin)


# Undo


def test_undo_and_redo_of_poses():
    _, armature, _ = bound_tube()
    push("bind")
    shapes = []
    for angle in (40, 80, 120):
        bend(armature, angle)
        push(f"pose {angle}")
        shapes.append(evaluated_points(bpy.data.objects["Tube"]))
        assert_tube_follows()
    for shape in (shapes[1], shapes[0]):
        undo()
        assert_tube_follows()
        assert np.array_equal(evaluated_points(bpy.data.objects["Tube"]), shape)
    for shape in (shapes[1], shapes[2]):
        redo()
        assert_tube_follows()
        assert np.array_equal(evaluated_points(bpy.data.objects["Tube"]), shape)
    undo(2)
    bend(bpy.data.objects["Rig"], 150)
    assert_tube_follows()


def test_undo_of_bind_and_of_unbind():
    obj, armature = add_tube()
    twin = add_twin(obj)
    twin.name = "Twin"
    bend(armature, 60)
    push("built")
    before = snapshot(obj)
    select(obj)
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    push("bind")
    undo()
    obj = bpy.data.objects["Tube"]
    assert not settings_of(obj).is_bound
    assert snapshot(obj) == before
    assert_tube_follows()
    redo()
    assert settings_of(bpy.data.objects["Tube"]).is_bound
    assert_tube_follows()
    bend(bpy.data.objects["Rig"], 90)
    push("pose")
    assert_tube_follows()
    select(bpy.data.objects["Tube"])
    bpy.ops.supple.unbind()
    push("unbind")
    assert_tube_follows()
    undo()
    assert settings_of(bpy.data.objects["Tube"]).is_bound
    bend(bpy.data.objects["Rig"], 120)
    assert_tube_follows()


def test_bind_pose_undo_undo_redo_redo():
    obj, armature = add_tube()
    add_twin(obj).name = "Twin"
    bend(armature, 40)
    push("built")
    select(obj)
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    push("bind")
    bend(armature, 90)
    push("pose")
    undo()
    assert_tube_follows()
    undo()
    assert not settings_of(bpy.data.objects["Tube"]).is_bound
    assert_tube_follows()
    redo()
    assert_tube_follows()
    redo()
    assert_tube_follows()
    bend(bpy.data.objects["Rig"], 120)
    assert_tube_follows()


@pytest.mark.parametrize("segments", [1, 3])
def test_undo_of_a_method(segments):
    obj, armature, _ = bound_tube()
    for bone in armature.data.bones:
        bone.bbone_segments = segments
    bend(armature, 100)
    push("SSD")
    settings_of(obj).method = "DLBNT"
    update()
    push("DLBNT")
    changed = evaluated_points(obj)
    undo()
    assert settings_of(bpy.data.objects["Tube"]).method == "SSD"
    assert_tube_follows()
    redo()
    update()
    assert np.array_equal(evaluated_points(bpy.data.objects["Tube"]), changed)


def change_weights() -> None:
    for name in ("Tube", "Twin"):
        obj = bpy.data.objects[name]
        obj.vertex_groups["bone.0"].add(list(range(250, 400)), 0.6, "REPLACE")
        obj.data.update_tag()


def change_shape() -> None:
    for name in ("Tube", "Twin"):
        mesh = bpy.data.objects[name].data
        mesh.vertices.foreach_set("co", (rest_points(bpy.data.objects[name]) * (1.6, 1, 1)).astype(np.float32).ravel())
        mesh.update()


def change_size() -> None:
    for name in ("Twin", "Tube"):
        select(bpy.data.objects[name])
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()
        bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)


def change_bones() -> None:
    armature = bpy.data.objects["Rig"]
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones["bone.1"].tail = (0.2, 2.1, 0.1)
    bpy.ops.object.mode_set(mode="OBJECT")


def rename_bone() -> None:
    bpy.data.objects["Rig"].data.bones["bone.2"].name = "hand"


@pytest.mark.parametrize("change", [change_weights, change_shape, change_size, change_bones, rename_bone])
def test_undo_of_what_a_binding_depends_on(change):
    _, armature, _ = bound_tube()
    bend(armature, 80)
    push("before")
    change()
    update()
    push("after")
    assert_tube_follows()
    undo()
    assert_tube_follows()
    bend(bpy.data.objects["Rig"], 50)
    assert_tube_follows()
    redo()
    assert_tube_follows()
    undo()
    assert_tube_follows()


# Playback


@pytest.mark.parametrize("method", ["SSD", "DLBNT"])
@pytest.mark.parametrize("keyed", [False, True], ids=["plain", "with an animated key"])
def test_frames_in_any_order_give_the_same(method, keyed):
    obj, armature, twin = bound_tube(method)
    animate(armature)
    if keyed:
        for one in (obj, twin):
            one.shape_key_add(name="Basis")
            key = one.shape_key_add(name="Puff")
            for point in key.data:
                point.co.x *= 1.5
            for frame, value in ((1, 0.0), (20, 1.0)):
                key.value = value
                key.keyframe_insert("value", frame=frame)
    scene, shapes = bpy.context.scene, {}
    for frame in range(1, 21):
        scene.frame_set(frame)
        shapes[frame] = evaluated_points(obj)
        if method == "SSD":
            assert distance(evaluated_points(twin), shapes[frame]) <= TOLERANCE
    assert distance(shapes[1], shapes[10]) > 0.1
    for frame in (20, 3, 11, 3, 1, 19):
        scene.frame_set(frame)
        assert np.array_equal(evaluated_points(obj), shapes[frame])


@pytest.fixture
def binds(monkeypatch) -> list[str]:
    """Grows by the name of each object that is bound anew."""
    names = []

    def count(prepare):
        return lambda obj, *arguments: names.append(obj.name) or prepare(obj, *arguments)

    for module in (live, nodes):
        monkeypatch.setattr(module, "prepare", count(module.prepare))
    return names


@pytest.mark.parametrize("last", [None, 0.0, 1.0], ids=["plain", "with a held key", "with an animated key"])
def test_playback_does_not_bind_again(last, binds):
    obj, armature, _ = bound_tube()
    animate(armature)
    if last is not None:
        obj.shape_key_add(name="Basis")
        key = obj.shape_key_add(name="Puff")
        for frame, value in ((1, 0.0), (20, last)):
            key.value = value
            key.keyframe_insert("value", frame=frame)
    bpy.context.scene.frame_set(1)
    update()
    assert binds
    binds.clear()
    before = evaluated_points(obj)
    for frame in range(2, 8):
        bpy.context.scene.frame_set(frame)
        update()
    assert distance(before, evaluated_points(obj)) > 0.01
    assert not binds


@pytest.mark.parametrize("driven", [False, True], ids=["slider", "driven by a bone"])
def test_a_face_key_that_moves_does_not_bind_again(driven, binds):
    obj, armature, twin = bound_tube()
    keys = []
    for one in (obj, twin):
        one.shape_key_add(name="Basis")
        keys.append(one.shape_key_add(name="Puff"))
        for point in keys[-1].data:
            point.co.x *= 1.5
        if driven:
            driver = keys[-1].driver_add("value").driver
            variable = driver.variables.new()
            variable.targets[0].id = armature
            variable.targets[0].data_path = 'pose.bones["bone.1"].rotation_euler[0]'
            driver.expression = variable.name
    bend(armature, 10)
    update()
    assert binds
    binds.clear()
    before = evaluated_points(obj)
    for step in range(2, 6):
        if driven:
            bend(armature, 10 * step)
        else:
            for key in keys:
                key.value = 0.1 * step
        assert_follows(obj, twin)
    assert distance(before, evaluated_points(obj)) > 0.01
    assert not binds


# Toggles


def test_muted_in_the_viewport_the_mesh_is_at_rest_and_unmuted_follows():
    obj, armature, twin = bound_tube()
    bend(armature, 60)
    supple = find_supple_modifier(obj)
    supple.show_viewport = False
    update()
    assert np.array_equal(evaluated_points(obj), rest_points(obj))
    bend(armature, 90)
    assert np.array_equal(evaluated_points(obj), rest_points(obj))
    supple.show_viewport = True
    assert_follows(obj, twin)
    supple.show_render = False
    bend(armature, 30)
    assert_follows(obj, twin)


# Files


@pytest.mark.parametrize("method", ["SSD", "DLBNT"])
def test_saved_and_opened_again(tmp_path, method):
    obj, armature, _ = bound_tube(method)
    animate(armature)
    bpy.context.scene.frame_set(10)
    shape = evaluated_points(obj)
    save(tmp_path / "bound.blend")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "bound.blend"))
    obj = bpy.data.objects["Tube"]
    update()
    assert distance(shape, evaluated_points(obj)) <= TOLERANCE
    assert not armature_modifier(obj).show_viewport
    bpy.context.scene.frame_set(15)
    other = evaluated_points(obj)
    assert distance(shape, other) > 0.01
    bpy.context.scene.frame_set(10)
    assert distance(shape, evaluated_points(obj)) <= TOLERANCE
    settings_of(obj).method = "SSD"
    assert_tube_follows()
    select(obj)
    bpy.ops.supple.unbind()
    assert_tube_follows()


def test_opened_in_another_frame_than_saved(tmp_path):
    """What is shown after opening belongs to the pose of that moment, not to what the carrier held when saved."""
    obj, armature, _ = bound_tube()
    bend(armature, 40)
    find_supple_modifier(obj).show_viewport = False
    bend(armature, 90)
    save(tmp_path / "bound.blend")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "bound.blend"))
    find_supple_modifier(bpy.data.objects["Tube"]).show_viewport = True
    assert_tube_follows()


WITHOUT_SUPPLE = """
import json, sys
import bpy
import numpy as np
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
assert not hasattr(bpy.types.Object, "supple")
shapes = []
for frame in (1, 10, 15):
    bpy.context.scene.frame_set(frame)
    both = []
    for name in ("Tube", "Twin"):
        mesh = bpy.data.objects[name].evaluated_get(bpy.context.evaluated_depsgraph_get()).data
        both.append([list(vertex.co) for vertex in mesh.vertices])
    shapes.append(both)
shown = [[m.type, m.show_viewport, m.show_render] for m in bpy.data.objects["Tube"].modifiers]
with open(sys.argv[2], "w") as file:
    json.dump({"shapes": shapes, "shown": shown}, file)
"""


@pytest.mark.python_only("nodes deform without Supple")
@pytest.mark.parametrize("how", ["save", "save a copy", "save twice"])
def test_a_saved_file_follows_the_armature_modifier_without_supple(tmp_path, how):
    obj, armature, _ = bound_tube("DLBNT")
    armature_modifier(obj).name = "Skin"
    find_supple_modifier(obj).show_render = False
    animate(armature)
    bpy.context.scene.frame_set(10)
    toggles = [(modifier.show_viewport, modifier.show_render) for modifier in obj.modifiers]
    shape, path, result = evaluated_points(obj), tmp_path / "bound.blend", tmp_path / "shapes.json"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=how == "save a copy")
    if how == "save twice":
        bpy.ops.wm.save_mainfile()
    assert [(modifier.show_viewport, modifier.show_render) for modifier in obj.modifiers] == toggles
    update()
    assert np.array_equal(evaluated_points(obj), shape), "the session goes on with Supple"
    bpy.context.scene.frame_set(15)
    assert distance(shape, evaluated_points(obj)) > 0.01

    command = [sys.executable, "-c", WITHOUT_SUPPLE, str(path), str(result)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, without_blenders_own(run.stderr)) == (0, "")
    found = json.loads(result.read_text())
    assert found["shown"] == [["NODES", False, False], ["ARMATURE", True, False]]
    shapes = np.array(found["shapes"], np.float32)
    for own, expected in shapes:
        assert np.array_equal(own, expected)
    assert distance(shapes[0, 0], shapes[1, 0]) > 0.1


def test_a_save_that_fails_leaves_supple_on(tmp_path):
    obj, armature, twin = bound_tube()
    with pytest.raises(RuntimeError):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "no" / "such" / "folder" / "x.blend"))
    assert find_supple_modifier(obj).show_viewport
    assert not armature_modifier(obj).show_viewport
    bend(armature, 70)
    assert_follows(obj, twin)


@pytest.mark.parametrize("already", [False, True], ids=["into an empty file", "beside another bound object"])
def test_appended_into_another_file(tmp_path, already):
    bound_tube("SSD")
    save(tmp_path / "bound.blend")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    if already:
        own, own_armature, own_twin = bound_tube()
        for one, name in ((own, "Own"), (own_armature, "Own Rig"), (own_twin, "Own Twin")):
            one.name = name
    with bpy.data.libraries.load(str(tmp_path / "bound.blend"), link=False) as (_, wanted):
        wanted.objects = ["Tube", "Twin", "Rig"]
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    obj, twin, armature = wanted.objects
    update()
    bend(armature, 80)
    assert find_supple_modifier(obj).show_viewport
    assert_follows(obj, twin)
    settings_of(obj).method = "DLBNT"
    update()
    assert distance(evaluated_points(twin), evaluated_points(obj)) > 0.01
    if already:
        bend(own_armature, 40)
        assert_follows(own, own_twin)
        assert_own_carriers(own, obj)
    select(obj)
    bpy.ops.supple.unbind()
    assert_follows(obj, twin)


def test_another_file_opened_while_bound(tmp_path):
    _, armature, _ = bound_tube()
    bend(armature, 60)
    save(tmp_path / "first.blend")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert not find_bound_objects()
    bound_tube()
    bend(bpy.data.objects["Rig"], 20)
    assert_tube_follows()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "first.blend"))
    assert_tube_follows()
    bend(bpy.data.objects["Rig"], 100)
    assert_tube_follows()


# Copies


def duplicate_by_hand(obj: bpy.types.Object, name: str) -> bpy.types.Object:
    copy = obj.copy()
    copy.data = obj.data.copy()
    copy.name = name
    bpy.context.scene.collection.objects.link(copy)
    return copy


def duplicate_by_operator(obj: bpy.types.Object, name: str) -> bpy.types.Object:
    select(obj)
    bpy.ops.object.duplicate(linked=False)
    bpy.context.active_object.name = name
    return bpy.context.active_object


def duplicate_linked(obj: bpy.types.Object, name: str) -> bpy.types.Object:
    select(obj)
    bpy.ops.object.duplicate(linked=True)
    bpy.context.active_object.name = name
    return bpy.context.active_object


@pytest.mark.parametrize("duplicate", [duplicate_by_hand, duplicate_by_operator, duplicate_linked])
@pytest.mark.parametrize("name", ["A copy", "Zcopy"], ids=["named before", "named after"])
def test_a_duplicate_has_its_own_pose(duplicate, name):
    obj, armature, twin = bound_tube()
    bend(armature, 60)
    copy = duplicate(obj, name)
    other_twin = duplicate_by_hand(twin, "Other Twin")
    update()
    assert_follows(obj, twin)
    assert_follows(copy, twin)
    assert_own_carriers(copy, obj)

    other = bpy.data.objects.new("Other", bpy.data.armatures.new("Other"))
    bpy.context.scene.collection.objects.link(other)
    add_chain(other, 3, 3.0)
    for one in (copy, other_twin):
        armature_modifier(one).object = other
    turn(other, "bone.1", (0, 0, 1.0))
    for first, second in ((obj, twin), (copy, other_twin)):
        assert_follows(first, second)
    assert distance(evaluated_points(obj), evaluated_points(copy)) > 0.1

    select(copy)
    bpy.ops.supple.unbind()
    bend(armature, 30)
    assert_follows(obj, twin)
    select(obj)
    bpy.ops.supple.unbind()
    assert_follows(obj, twin)
    assert not [data.name for data in bpy.data.objects if data.name.startswith("Supple")]


@pytest.mark.parametrize("operator", ["unbind", "bind"])
def test_a_duplicate_is_told_apart_before_blender_has_evaluated_it(operator):
    obj, armature, twin = bound_tube()
    bend(armature, 60)
    copy = obj.copy()
    copy.data = obj.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    if operator == "unbind":
        unbind([copy])
    else:
        bind([copy], "DLB", EVALUATE)
        update()
        assert_own_carriers(copy, obj)
    bend(armature, 90)
    assert_own_carriers(obj)
    assert_follows(obj, twin)


def test_the_duplicate_of_mesh_and_armature_follows_its_own_armature():
    obj, armature, twin = bound_tube()
    bend(armature, 60)
    select(obj, armature, twin)
    bpy.ops.object.duplicate(linked=False)
    copy, other, other_twin = (bpy.data.objects[f"{name}.001"] for name in ("Tube", "Rig", "Twin"))
    assert armature_modifier(copy).object == other
    bend(other, 110)
    assert_follows(obj, twin)
    assert_follows(copy, other_twin)
    assert distance(evaluated_points(obj), evaluated_points(copy)) > 0.05


def test_objects_that_share_a_mesh():
    obj, armature, twin = bound_tube()
    sharing = duplicate_linked(obj, "Sharing")
    assert sharing.data == obj.data
    bend(armature, 60)
    settings_of(sharing).method = "DLBNT"
    assert_follows(obj, twin)
    assert distance(evaluated_points(obj), evaluated_points(sharing)) > 1e-3
    for mesh in (obj.data, twin.data):
        mesh.vertices.foreach_set("co", (rest_points(twin) * (1.5, 1, 1)).astype(np.float32).ravel())
        mesh.update()
    settings_of(sharing).method = "SSD"
    for one in (obj, sharing):
        assert_follows(one, twin)


# Names


@pytest.mark.parametrize(
    "what",
    [
        "object",
        "modifier",
        "armature modifier",
        "node group",
        pytest.param("carrier", marks=pytest.mark.python_only("nodes need no carrier")),
        "armature",
        "mesh",
    ],
)
def test_renaming(what):
    obj, armature, twin = bound_tube()
    bend(armature, 40)
    update()
    named = {
        "object": obj,
        "modifier": find_supple_modifier(obj),
        "armature modifier": armature_modifier(obj),
        "node group": find_supple_modifier(obj).node_group,
        "carrier": settings_of(obj).carrier,
        "armature": armature,
        "mesh": obj.data,
    }
    named[what].name = "Renamed"
    bend(armature, 80)
    assert_follows(obj, twin)
    bpy.context.scene.frame_set(3)
    assert_follows(obj, twin)
    select(obj)
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    assert_follows(obj, twin)
    bpy.ops.supple.unbind()
    assert_follows(obj, twin)
    assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE"]
    assert not bpy.data.node_groups


def test_names_exchanged_with_an_unbound_object():
    obj, armature, twin = bound_tube()
    bend(armature, 40)
    obj.name, twin.name = "Held", "Tube"
    obj.name = "Twin"
    bend(armature, 80)
    assert_follows(obj, twin)


# Ends


def test_a_deleted_object_leaves_only_orphans():
    obj, armature, _ = bound_tube()
    other, _, other_twin = bound_tube("SSD" if EVALUATE == "PYTHON" else "DLB")
    bend(armature, 40)
    left = settings_of(obj).carrier if EVALUATE == "PYTHON" else find_supple_modifier(obj).node_group
    name = left.name
    bpy.data.objects.remove(obj)
    bend(armature, 60)
    bpy.context.scene.frame_set(4)
    assert left.users == 0, "so that it is gone when the file is saved and opened"
    bpy.ops.outliner.orphans_purge(do_recursive=True)
    assert not [
        one for data in (bpy.data.objects, bpy.data.meshes, bpy.data.node_groups) for one in data if one.name == name
    ]
    assert find_bound_objects() == [other]
    settings_of(other).method = "SSD"
    bend(armature_modifier(other).object, 70)
    assert_follows(other, other_twin)


def test_deleted_and_copied_between_two_updates():
    """As many objects as before, but not the same."""
    obj, armature, twin = bound_tube()
    bystander = bpy.data.objects.new("Bystander", None)
    bpy.context.scene.collection.objects.link(bystander)
    bend(armature, 40)
    update()
    bpy.data.objects.remove(bystander)
    copy = duplicate_by_hand(obj, "Copy")
    bend(armature, 90)
    assert_follows(obj, twin)
    settings_of(copy).method = "DLBNT"
    update()
    assert_follows(obj, twin)
    assert_own_carriers(copy, obj)
    assert distance(evaluated_points(obj), evaluated_points(copy)) > 1e-3


def test_an_object_in_two_scenes():
    obj, armature, twin = bound_tube()
    animate(armature)
    first, second = bpy.context.scene, bpy.data.scenes.new("Second")
    for one in (obj, armature, twin):
        second.collection.objects.link(one)
    shapes = {}
    for scene, frame in ((first, 5), (second, 10), (first, 15), (second, 3)):
        scene.frame_set(frame)
        depsgraph = scene.view_layers[0].depsgraph
        points = []
        for one in (obj, twin):
            mesh = one.evaluated_get(depsgraph).data
            points.append(np.array([vertex.co for vertex in mesh.vertices], np.float32))
        assert np.abs(points[0] - points[1]).max() <= TOLERANCE * diagonal(points[1]), (scene.name, frame)
        shapes[frame] = points[0]
    assert distance(shapes[5], shapes[10]) > 0.01


def test_an_object_in_a_scene_without_its_armature():
    obj, armature, twin = bound_tube()
    second = bpy.data.scenes.new("Second")
    second.collection.objects.link(obj)
    second.frame_set(4)
    bend(armature, 60)
    assert_follows(obj, twin)


@pytest.mark.parametrize("hidden", [False, True], ids=["", "hidden in renders"])
def test_disabling_and_enabling_the_extension(hidden):
    obj, armature, twin = bound_tube("SSD")
    if hidden:
        find_supple_modifier(obj).show_render = False
    bend(armature, 60)
    addon_utils.disable(checkout.MODULE, default_set=True)
    try:
        assert not hasattr(bpy.types.Object, "supple")
        toggles = [(modifier.type, modifier.show_viewport, modifier.show_render) for modifier in obj.modifiers]
        bend(armature, 90)
        if EVALUATE == "NODES":
            assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE, "the nodes go on"
            assert toggles == [("NODES", True, not hidden), ("ARMATURE", False, False)]
        else:
            assert np.array_equal(evaluated_points(obj), evaluated_points(twin)), "the Armature modifier deforms"
            assert toggles == [("NODES", False, False), ("ARMATURE", True, not hidden)]
    finally:
        assert addon_utils.enable(checkout.MODULE, default_set=True) is not None
    bend(armature, 100)
    assert settings_of(obj).is_bound
    supple = find_supple_modifier(obj)
    assert (supple.show_viewport, supple.show_render) == (True, not hidden)
    assert not armature_modifier(obj).show_viewport
    settings_of(obj).method = "DLBNT"
    update()
    assert distance(evaluated_points(twin), evaluated_points(obj)) > 1e-3, "Supple deforms again"
    settings_of(obj).method = "SSD"
    assert_follows(obj, twin)
    select(obj)
    bpy.ops.supple.unbind()
    assert_follows(obj, twin)
