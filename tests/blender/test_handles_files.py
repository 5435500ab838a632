"""Points and cages wherever a character is deformed: live, by nodes, baked, saved, linked, and headless."""

from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from scenes_bake import assert_plays, bake_with, live_points
from scenes_cli import DONE, add_character, assert_refused, main
from scenes_handles import POINTS, add_box, add_point
from scenes_weights import assert_whole

from scenes import bind, diagonal, evaluated_points, reset, rest_points, save, select, turn, update
from supple.bridge.rigs.handles import list_handle_bones
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import make_independent

KINDS = ("cage", "points")
EVALUATES = ("PYTHON", "BLENDER")
FRAMES = range(1, 6)


def disturb(handles: list[bpy.types.Object]) -> None:
    """Move, turn and scale handles."""
    for number, obj in enumerate(handles, 1):
        obj.matrix_world = Matrix.Translation((0.1 * number, 0.3, 0.2)) @ obj.matrix_world
        obj.rotation_euler.x += 0.4
        obj.scale = (1.3, 0.8, 1.1)
    update()


def animate(handles: list[bpy.types.Object]) -> None:
    """Key handles over the frames."""
    for obj in handles:
        obj.keyframe_insert("location", frame=FRAMES[0])
        obj.location.z += 0.6
        obj.keyframe_insert("location", frame=FRAMES[-1])
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
    bpy.context.scene.frame_set(FRAMES[0])


@pytest.mark.versions
@pytest.mark.parametrize("kind", KINDS)
def test_live_follows_handles_alone_by_blender_and_by_python(held_tube, kind, subtests):
    """No bone is touched: what is live must notice that the handles move."""
    tube, armature, handles = held_tube(kind)
    before = rest_points(tube)
    disturb(handles)
    expected = evaluated_points(tube)
    assert np.abs(expected - before).max() > 0.1
    found = []
    for evaluate in EVALUATES:
        with subtests.test(evaluate):
            for obj in handles:
                obj.scale, obj.rotation_euler.x = (1, 1, 1), 0.0
            bind(tube, method="SSD", evaluate=evaluate)
            for obj in handles:
                obj.rotation_euler.x, obj.scale = 0.4, (1.3, 0.8, 1.1)
            update()
            assert np.abs(evaluated_points(tube) - expected).max() < 1e-5 * diagonal(before)
            turn(armature, "bone.1", (0.7, 0.4, 0.1))
            assert np.abs(evaluated_points(tube) - expected).max() > 0.1
            bind(tube, method="DLBNT", evaluate=evaluate)
            found.append(evaluated_points(tube))
            turn(armature, "bone.1")
    assert np.abs(found[0] - found[1]).max() < 1e-5 * diagonal(found[0])


@pytest.mark.parametrize(("kind", "bake"), [("cage", "PC2"), ("points", "SHAPE_KEYS")])
def test_baked(held_tube, tmp_path, kind, bake):
    tube, _, handles = held_tube(kind)
    animate(handles)
    bind(tube, method="DLBNT")
    live = live_points(tube, FRAMES)
    assert np.abs(live[-1] - live[0]).max() > 0.3
    bake_with(bake, tube, tmp_path / "tube.pc2", FRAMES)
    assert_plays(tube, live, FRAMES)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_deforms_without_supple(held_tube, tmp_path, kind):
    tube, _, handles = held_tube(kind)
    animate(handles)
    bind(tube, method="DLBNT", evaluate="BLENDER")
    live = live_points(tube, FRAMES)
    make_independent([tube])
    path = save(tmp_path / "held.blend")
    reset()
    bpy.ops.wm.open_mainfile(filepath=str(path))
    tube = bpy.data.objects["Tube"]
    assert not settings_of(tube).is_bound
    np.testing.assert_allclose(live_points(tube, FRAMES), live, atol=2e-5)


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
