"""Ghosts: each has the points of its method bound, follows the pose, says what is wrong, and leaves nothing behind."""

from collections.abc import Callable, Iterator
from pathlib import Path

import bpy
import numpy as np
import pytest
import test_overlay
from pictures import add_character, prepare_pictures, render_animation

import scenes
from supple.deformers import DEFORMERS
from supple.settings.side_by_side import GHOST_LABELS, LINEAR, PRESERVE_VOLUME, has_ghosts
from supple.tasks.side_by_side import ghosts
from supple.tasks.side_by_side.ghosts import Ghost, describe_shown, pose_ghost
from supple.tasks.skin.poses import Poses
from supple.viewport import ghosts as overlay

picture = test_overlay.picture

TOLERANCE = 2e-6
OWN = [key for key in GHOST_LABELS if key in DEFORMERS]


@pytest.fixture(autouse=True)
def none_left() -> Iterator[None]:
    yield
    overlay._on_load()  # noqa: SLF001


def pose(obj: bpy.types.Object, key: str) -> Ghost:
    """A ghost in the current pose."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return pose_ghost(obj, key, depsgraph, Poses(depsgraph))


def add_posed_tube() -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, armature = scenes.add_tube()
    scenes.turn(armature, "bone.1", (0.3, 0.4, 1.2))
    scenes.turn(armature, "bone.2", (0.0, 0.9, -0.5))
    return obj, armature


@pytest.fixture
def binds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows by a key with each ghost that is bound."""
    made = []
    original = ghosts._bind  # noqa: SLF001
    monkeypatch.setattr(ghosts, "_bind", lambda ghost, *given: (made.append(ghost.key), original(ghost, *given)))
    return made


@pytest.mark.versions
def test_ghosts_of_blenders_methods_have_their_points():
    obj, _ = add_posed_tube()
    obj.supple.linear_group = obj.vertex_groups[0].name  # which these do not know
    for key, has_volume in ((LINEAR, False), (PRESERVE_VOLUME, True)):
        scenes.armature_modifier(obj).use_deform_preserve_volume = has_volume
        assert scenes.distance(scenes.evaluated_points(obj), pose(obj, key).points) <= 1e-5


def test_ghosts_have_the_points_of_their_method_bound(subtests):
    obj, _ = add_posed_tube()
    scenes.close(obj.data)
    obj.supple.linear_group = obj.vertex_groups[0].name
    obj.supple.order, obj.supple.bulge_limit = "HG", 0.9
    obj.supple.particles.target_count, obj.supple.particles.radius = 100, 0.15
    obj.location = (0.2, 0.1, -0.1)
    bpy.context.view_layer.update()
    points: dict[str, list[np.ndarray]] = {key: [] for key in OWN}
    for is_bound in (False, True):
        if is_bound:
            scenes.bind(obj, method="DLBNT")
            overlay._on_load()  # noqa: SLF001
        for key, found in points.items():
            ghost = pose(obj, key)
            assert ghost.message == ""
            found.append(ghost.points.copy())
    for key, found in points.items():
        with subtests.test(key):
            scenes.bind(obj, method=key, evaluate="PYTHON")
            for ghost in found:
                assert scenes.distance(scenes.evaluated_points(obj), ghost) <= TOLERANCE


@pytest.mark.characters("kaykit_knight")
def test_real_characters(asset: Callable, character: str):
    scenes.open_file(asset(character))
    meshes, action = scenes.skinned_meshes(), scenes.longest_action()
    scenes.play(scenes.armature_modifier(meshes[0]).object, action)
    bpy.context.scene.frame_set(scenes.frames_of(action)[2])
    shown = {obj: scenes.evaluated_points(obj) for obj in meshes}
    for obj, points in shown.items():
        assert scenes.distance(points, pose(obj, LINEAR).points) <= 1e-5
    centers = {obj: pose(obj, "CENTERS").points.copy() for obj in meshes}
    scenes.bind(*meshes, method="CENTERS", evaluate="PYTHON")
    for obj, points in centers.items():
        assert scenes.distance(scenes.evaluated_points(obj), points) <= TOLERANCE


def test_a_ghost_follows_the_pose_and_is_bound_once(binds: list[str]):
    obj, armature = add_posed_tube()
    first = pose(obj, "DLBNT").points
    assert pose(obj, "DLBNT").points is first
    scenes.turn(armature, "bone.1", (0.0, 0.0, -0.8))
    second = pose(obj, "DLBNT").points
    assert second is not first
    scenes.bind(obj, method="DLBNT", evaluate="PYTHON")
    assert scenes.distance(scenes.evaluated_points(obj), second) <= TOLERANCE
    assert binds == ["DLBNT"]


def test_shape_keys_are_followed_without_binding_again(binds: list[str]):
    obj, _ = add_posed_tube()
    key = scenes.add_face_key(obj)
    scenes.animate_key(key)
    bpy.context.scene.frame_set(1)
    pose(obj, LINEAR)
    for frame in (2, 3, 6):
        bpy.context.scene.frame_set(frame)
        assert scenes.distance(scenes.evaluated_points(obj), pose(obj, LINEAR).points) <= 1e-5
    key.id_data.animation_data_clear()
    for value in (0.3, 0.7):
        key.value = value
        bpy.context.view_layer.update()
        assert scenes.distance(scenes.evaluated_points(obj), pose(obj, LINEAR).points) <= 1e-5
    assert len(binds) == 1


CHANGES = (
    "obj.vertex_groups['bone.2'].add(range(100), 1.0, 'REPLACE'); obj.data.update_tag()",
    "obj.data.transform(Matrix.Scale(1.3, 4)); obj.data.update_tag()",
    "edit_bones(rig, lambda bones: setattr(bones['bone.1'], 'head', (0.2, 1.1, 0.0)))",
    "obj.supple.bulge_limit = 0.2",
)


def test_changes_are_followed(subtests: pytest.Subtests):
    for change in CHANGES:
        with subtests.test(change):
            scenes.reset()
            obj, armature = add_posed_tube()
            scenes.turn(armature, "bone.1", (0.0, 0.0, 2.0))
            before = pose(obj, "CENTERS").points.copy()
            scenes.execute(change, obj=obj, rig=armature)
            bpy.context.view_layer.update()
            after = pose(obj, "CENTERS").points.copy()
            assert np.abs(after - before).max() > 1e-3
            scenes.bind(obj, method="CENTERS", evaluate="PYTHON")
            assert scenes.distance(scenes.evaluated_points(obj), after) <= TOLERANCE


def test_what_is_wrong_is_said_once_and_holds_up_no_other(binds: list[str]):
    obj, armature = add_posed_tube()
    bare = scenes.add_twin(obj)
    bare.vertex_groups.clear()
    bpy.context.view_layer.update()
    for _ in range(3):
        assert "no vertex groups" in pose(bare, LINEAR).message
        assert pose(obj, LINEAR).message == ""
    assert binds == [LINEAR, LINEAR]
    for name in ("bone.0", "bone.1", "bone.2"):
        bare.vertex_groups.new(name=name).add(range(len(bare.data.vertices)), 1.0, "REPLACE")
    bare.data.update_tag()
    bpy.context.view_layer.update()
    assert pose(bare, LINEAR).message == ""
    scenes.armature_modifier(obj).object = None
    assert "has no armature" in pose(obj, LINEAR).message
    assert pose(obj, LINEAR).points is None
    scenes.armature_modifier(obj).object = armature
    assert pose(obj, LINEAR).message == ""


def test_a_fault_of_a_method_and_a_modifier_above_are_messages(monkeypatch: pytest.MonkeyPatch):
    obj, _ = add_posed_tube()
    obj.modifiers.new("Subdivision", "SUBSURF")  # below

    def fail(*_given) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(DEFORMERS["DLBNT"], "deform", fail)
    assert pose(obj, "DLBNT").message == "Supple failed on 'Tube' (ZeroDivisionError: by nothing)"
    assert pose(obj, LINEAR).message == ""
    obj.modifiers.move(1, 0)
    assert "changes the number of vertices" in pose(obj, LINEAR).message


def test_a_ghost_stays_while_its_mesh_or_bones_are_edited():
    obj, armature = add_posed_tube()
    for edited, other in ((obj, "DLB"), (armature, "DLBNT")):
        before = pose(obj, LINEAR).points
        scenes.select(edited)
        bpy.ops.object.mode_set(mode="EDIT")
        assert pose(obj, LINEAR).points is before
        assert "being edited" in pose(obj, other).message
        bpy.ops.object.mode_set(mode="OBJECT")
        assert pose(obj, other).message == ""


def test_what_is_shown_is_named():
    obj, _ = add_posed_tube()
    assert describe_shown([obj]) == "Blender's Linear"
    scenes.armature_modifier(obj).use_deform_preserve_volume = True
    assert describe_shown([obj]) == "Preserve Volume"
    scenes.bind(obj, method="CENTERS")
    assert describe_shown([obj]) == "Centers"
    bpy.ops.supple.flip()
    assert describe_shown([obj]) == "Preserve Volume"


def view_3d() -> tuple[bpy.types.Window, bpy.types.Area]:
    window = bpy.context.window_manager.windows[0]
    return window, next(area for area in window.screen.areas if area.type == "VIEW_3D")


def draw_in_view() -> None:
    """Draw as a 3D View does, seen along Z."""
    window, area = view_3d()
    region = next(region for region in area.regions if region.type == "WINDOW")
    area.spaces.active.region_3d.view_rotation = (1.0, 0.0, 0.0, 0.0)
    with bpy.context.temp_override(window=window, area=area, region=region):
        overlay.draw()


def press(keys: set[str] | None = None) -> None:
    if keys is not None:
        bpy.context.window_manager.supple_ghosts = keys
    assert bpy.ops.supple.side_by_side() == {"FINISHED"}


@pytest.mark.versions
def test_ghosts_stand_beside_the_character(picture: Callable):
    scenes.add_tube(bones=2, rings=13, sides=12, length=1.6, radius=0.25)
    assert not picture(draw_in_view).any()
    press({LINEAR, "DLB", "DLBNT"})  # the first is what the character shows
    pixels = picture(draw_in_view)
    covered = pixels.any(axis=(0, 2))
    expected = np.zeros(test_overlay.SIZE, bool)
    for number in (1, 2):  # the character itself is not drawn by Supple
        middle = 0.5 * (1.0 + overlay.GAP) * number
        first, last = ((middle + side * 0.25 + 2.0) * test_overlay.SIZE / 4 for side in (-1, 1))
        expected[round(first) : round(last)] = True
    assert (covered != expected).sum() <= 4
    press()
    assert not picture(draw_in_view).any()


def test_nothing_is_drawn_where_it_is_hidden(picture: Callable):
    obj, _ = add_posed_tube()
    press({PRESERVE_VOLUME})
    shown = view_3d()[1].spaces.active.overlay
    for overlays, is_hidden in ((True, False), (False, False), (True, True)):
        shown.show_overlays = overlays
        obj.hide_set(is_hidden)
        bpy.context.view_layer.update()
        assert picture(draw_in_view).any() == (overlays and not is_hidden)


def test_ghosts_do_not_shake():
    obj, armature = scenes.add_tube()
    view = view_3d()[1].spaces.active.region_3d
    view.view_rotation = (1.0, 0.0, 0.0, 0.0)

    def step() -> float:
        found = overlay.place_ghosts(armature, [obj], bpy.context.evaluated_depsgraph_get(), view)
        return found[0].length

    narrow = step()
    scenes.turn(armature, "bone.1", (0.0, 0.0, 1.5))
    wide = step()
    assert wide > narrow + 0.2
    scenes.turn(armature, "bone.1")
    assert step() == wide


def test_nothing_of_the_file_changes_and_another_has_none(picture: Callable):
    obj, _ = add_posed_tube()
    scenes.bind(obj, method="CENTERS")
    picture(draw_in_view)  # which leaves a render result
    before = scenes.snapshot(obj)
    press({LINEAR, "PARTICLES"})
    picture(draw_in_view)
    press()
    picture(draw_in_view)
    assert scenes.snapshot(obj) == before
    assert ghosts._ghosts == {}  # noqa: SLF001
    assert not overlay.cache
    press()
    picture(draw_in_view)
    scenes.reset()  # another file has none
    assert not has_ghosts()
    assert ghosts._ghosts == {}  # noqa: SLF001


def test_one_click_and_they_are_gone():
    _, first = add_posed_tube()
    press()
    assert has_ghosts(first)
    press()
    assert not has_ghosts()
    _, second = scenes.add_tube()
    press()
    assert has_ghosts(second)
    scenes.select(first)
    press()
    assert has_ghosts(first)
    assert not has_ghosts(second)
    bpy.context.view_layer.objects.active = None
    press()
    assert not has_ghosts()


@pytest.mark.versions
def test_what_is_deleted_or_undone_has_none(picture: Callable):
    obj, armature = add_posed_tube()
    twin = scenes.add_twin(obj)
    bpy.context.view_layer.update()
    press({PRESERVE_VOLUME})
    picture(draw_in_view)
    assert len(overlay.cache) == 2
    bpy.data.objects.remove(twin)
    picture(draw_in_view)
    assert [ghost.key for ghost in overlay.cache] == [PRESERVE_VOLUME]
    bpy.ops.ed.undo_push(message="before")
    scenes.turn(armature, "bone.1", (0.0, 0.0, 0.1))
    bpy.ops.ed.undo_push(message="turned")
    scenes.undo()
    picture(draw_in_view)
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    assert scenes.distance(scenes.evaluated_points(obj), pose(obj, LINEAR).points) <= 1e-5
    bpy.data.objects.remove(armature)
    assert not picture(draw_in_view).any()


def test_no_ghosts_in_a_render(tmp_path: Path):
    add_character()
    prepare_pictures("workbench")
    before = render_animation(tmp_path)
    press({LINEAR, "CENTERS"})
    np.testing.assert_array_equal(render_animation(tmp_path), before)
