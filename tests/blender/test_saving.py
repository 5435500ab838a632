"""A bound character saved, opened, appended, and opened where Supple is missing."""

import bpy
import numpy as np
import pytest
from scenes_twins import animate, assert_follows, assert_tube_follows, bend, bound_tube

from scenes import armature_modifier, evaluated_points, reset, save, update
from supple.tasks.subject.stack import find_bound_objects, find_supple_modifier

pytestmark = [pytest.mark.versions, pytest.mark.usefixtures("silent_handlers")]


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


def test_a_session_goes_on_with_supple_after_it_was_saved(tmp_path, subtests):
    """The file has Blender's own modifier on, for whoever opens it without Supple: the corpus opens it so."""
    obj, armature, _ = bound_tube("DLBNT")
    animate(armature)
    bpy.context.scene.frame_set(10)
    toggles = [(modifier.show_viewport, modifier.show_render) for modifier in obj.modifiers]
    shape = evaluated_points(obj)
    for how in ("save a copy", "save", "save twice"):
        with subtests.test(how):
            bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / f"{how}.blend"), copy=how == "save a copy")
            if how == "save twice":
                bpy.ops.wm.save_mainfile()
            assert [(modifier.show_viewport, modifier.show_render) for modifier in obj.modifiers] == toggles
            update()
            assert np.array_equal(evaluated_points(obj), shape)


def test_a_save_that_fails_leaves_supple_on(tmp_path):
    obj, armature, twin = bound_tube()
    with pytest.raises(RuntimeError):
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "no" / "such" / "folder" / "x.blend"))
    assert find_supple_modifier(obj).show_viewport
    assert not armature_modifier(obj).show_viewport
    bend(armature, 70)
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
