"""Undo and redo of a bound character in several scenes: run by `test_undo`, in a process of its own."""

import bpy
import pytest
from scenes_twins import bend

from scenes import add_tube, bind, distance, evaluated_points, push, redo, select, undo, update

pytestmark = pytest.mark.usefixtures("silent_handlers")


@pytest.mark.parametrize("is_redo", [False, True])
def test_carriers_that_undo_brings_back_are_read_anew_in_other_scenes(is_redo):
    """A scene that is not shown keeps what it has evaluated of a carrier that was removed."""
    obj, armature = add_tube()
    for _ in range(2):
        bpy.ops.scene.new(type="LINK_COPY")
    names = [scene.name for scene in bpy.data.scenes]
    push("built")
    bind(obj, method="SSD", evaluate="PYTHON")
    push("bind")
    for name in names:
        bpy.context.window.scene = bpy.data.scenes[name]
        bend(armature, 80)
    bend(armature, 40)
    shape = evaluated_points(obj)
    push("pose")
    if is_redo:
        undo(2)
        redo(2)
    else:
        select(obj)
        bpy.ops.supple.unbind()
        push("unbind")
        undo()
    update()
    for name in names:
        bpy.context.window.scene = bpy.data.scenes[name]
        update()
        assert distance(evaluated_points(bpy.data.objects["Tube"]), shape) < 1e-6, name
