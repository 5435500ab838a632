"""Add > Armature > Supple Example: a character that walks, from nothing to a bound one in two clicks."""

import bpy
import pytest

import panels
from scenes import distance, evaluated_points
from supple.settings.objects import settings_of
from supple.tasks import example


@pytest.mark.versions
def test_the_example_walks_and_is_made_supple():
    bpy.context.scene.cursor.location = (2.0, 0.0, 0.0)
    assert "supple.example_add" in panels.draw("VIEW3D_PT_supple")
    assert bpy.ops.supple.example_add() == {"FINISHED"}
    armature = bpy.context.active_object
    assert armature.location.x == pytest.approx(2.0)
    meshes = [obj for obj in bpy.data.collections["Supple Example"].objects if obj.type == "MESH"]
    assert len(meshes) == 3
    assert bpy.ops.supple.make(look="FAST") == {"FINISHED"}
    assert all(settings_of(obj).is_bound for obj in meshes)
    first = evaluated_points(meshes[0])
    bpy.context.scene.frame_set(40)
    assert distance(first, evaluated_points(meshes[0])) > 0.1
    armature.select_set(False)
    assert bpy.ops.supple.example_add() == {"FINISHED"}, "a second one"
    assert bpy.context.active_object != armature


def test_the_example_is_small_and_says_what_is_missing(monkeypatch, tmp_path):
    assert example.FILE.stat().st_size < 1_000_000
    monkeypatch.setattr(example, "FILE", tmp_path / "gone.blend")
    with pytest.raises(RuntimeError, match=r"The example was deleted from .*: install Supple again"):
        bpy.ops.supple.example_add()
    assert not bpy.data.objects
