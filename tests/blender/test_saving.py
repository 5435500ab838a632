"""A bound character saved, opened, appended, and opened where Supple is missing."""

import json
import subprocess
import sys

import bpy
import numpy as np
import pytest
from scenes_twins import TOLERANCE, animate, assert_follows, assert_tube_follows, bend, bound_tube

from scenes import (
    armature_modifier,
    distance,
    evaluated_points,
    reset,
    save,
    select,
    update,
    without_blenders_own,
)
from supple.settings.objects import settings_of
from supple.tasks.subject.stack import find_bound_objects, find_supple_modifier

pytestmark = [pytest.mark.versions, pytest.mark.usefixtures("silent_handlers")]
EVALUATED = pytest.mark.usefixtures("evaluator")


@EVALUATED
def test_saved_and_opened_again(tmp_path):
    obj, armature, _ = bound_tube("DLBNT")
    animate(armature)
    bpy.context.scene.frame_set(10)
    shape = evaluated_points(obj)
    save(tmp_path / "bound.blend")
    reset()
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
assert not hasattr(bpy.types.Object, "supple")
found = {}
for path in sys.argv[2:]:
    bpy.ops.wm.open_mainfile(filepath=path)
    shapes = []
    for frame in (1, 10, 15):
        bpy.context.scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        meshes = [bpy.data.objects[name].evaluated_get(depsgraph).data for name in ("Tube", "Twin")]
        shapes.append([[list(vertex.co) for vertex in mesh.vertices] for mesh in meshes])
    shown = [[m.type, m.show_viewport, m.show_render] for m in bpy.data.objects["Tube"].modifiers]
    found[path] = {"shapes": shapes, "shown": shown}
with open(sys.argv[1], "w") as file:
    json.dump(found, file)
"""


def test_a_saved_file_follows_the_armature_modifier_without_supple(tmp_path, subtests):
    obj, armature, _ = bound_tube("DLBNT")
    armature_modifier(obj).name = "Skin"
    find_supple_modifier(obj).show_render = False
    animate(armature)
    bpy.context.scene.frame_set(10)
    toggles = [(modifier.show_viewport, modifier.show_render) for modifier in obj.modifiers]
    shape, result = evaluated_points(obj), tmp_path / "shapes.json"
    for how in ("save a copy", "save", "save twice"):
        with subtests.test(how):
            bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / f"{how}.blend"), copy=how == "save a copy")
            if how == "save twice":
                bpy.ops.wm.save_mainfile()
            assert [(modifier.show_viewport, modifier.show_render) for modifier in obj.modifiers] == toggles
            update()
            assert np.array_equal(evaluated_points(obj), shape), "the session goes on with Supple"
    bpy.context.scene.frame_set(15)
    assert distance(shape, evaluated_points(obj)) > 0.01

    command = [sys.executable, "-c", WITHOUT_SUPPLE, str(result), *map(str, sorted(tmp_path.glob("*.blend")))]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, without_blenders_own(run.stderr)) == (0, "")
    saved = json.loads(result.read_text())
    assert len(saved) == 3
    for path, found in saved.items():
        with subtests.test(f"opened: {path}"):
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


@EVALUATED
@pytest.mark.parametrize("already", [False, True], ids=["into an empty file", "beside another bound object"])
def test_appended_into_another_file(tmp_path, already):
    bound_tube("SSD")
    save(tmp_path / "bound.blend")
    reset()
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
    settings_of(obj).method = "DLB"
    update()
    assert distance(evaluated_points(twin), evaluated_points(obj)) > 0.01
    if already:
        bend(own_armature, 40)
        assert_follows(own, own_twin)
    select(obj)
    bpy.ops.supple.unbind()
    assert_follows(obj, twin)


def test_another_file_opened_while_bound(tmp_path):
    _, armature, _ = bound_tube()
    bend(armature, 60)
    save(tmp_path / "first.blend")
    reset()
    assert not find_bound_objects()
    bound_tube()
    bend(bpy.data.objects["Rig"], 20)
    assert_tube_follows()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "first.blend"))
    assert_tube_follows()
    bend(bpy.data.objects["Rig"], 100)
    assert_tube_follows()
