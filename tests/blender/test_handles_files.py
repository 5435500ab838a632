"""Points and cages wherever a character is deformed: live, by nodes, baked, saved, linked, and headless."""

from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_cli import DONE, add_character, assert_refused, main
from scenes_weights import POINTS, add_box, add_point, assert_whole

from scenes import evaluated_points, rest_points, save, select, update
from supple.bridge.rigs.handles import list_handle_bones
from supple.settings.objects import settings_of


@pytest.mark.versions
def test_opened_handles_can_be_removed_and_a_duplicate_follows_its_own(held_tube):
    """Shift D of all of it: Blender has the copies' constraints follow the copies."""
    tube, armature, (cage,) = held_tube("cage")
    select(tube, armature, cage)
    bpy.ops.object.duplicate()
    copy = bpy.data.objects["Tube.001"]
    own = bpy.data.objects["Rig.001"]
    assert set(list_handle_bones(own).values()) == {bpy.data.objects["Cage.001"]}
    bpy.data.objects["Cage.001"].location.z += 1.0
    update()
    assert np.abs(evaluated_points(copy) - rest_points(copy)).max() > 0.5
    np.testing.assert_allclose(evaluated_points(tube), rest_points(tube), atol=1e-5)
    select(cage)
    assert bpy.ops.supple.handles_remove() == {"FINISHED"}
    assert not list_handle_bones(armature)
    assert not cage.vertex_groups
    assert_whole(tube)


def write_character(folder: Path) -> Path:
    add_character()
    add_point("High", POINTS["High"])
    add_box()
    armature = bpy.data.objects["Rig"]
    armature.data.pose_position = "REST"
    update()
    return save(folder / "plain.blend")


def test_the_command_line_adds_handles_and_refuses(tmp_path, capfd):
    path, new = write_character(tmp_path), tmp_path / "new.blend"
    code = main("weights", path, "--output", new, "--object", "Tube", "--handle", "High", "--handle", "Cage")
    assert code == DONE, capfd.readouterr().err
    bpy.ops.wm.open_mainfile(filepath=str(new))
    tube, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    bones = list_handle_bones(armature)
    assert len(bones) == 13
    names = [*armature.data.bones.keys()]
    assert_whole(tube, names)
    assert bones["High"] == bpy.data.objects["High"]
    assert "Bounded Biharmonic" in settings_of(tube).weights_report

    new.unlink()
    capfd.readouterr()
    code = main("weights", path, "--output", new, "--handle", "Rig")
    assert_refused(code, capfd.readouterr(), "'Rig' is neither an empty nor a mesh")
    assert not new.exists()
