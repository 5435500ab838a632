"""Skin patterns in renders: each frame as it is in the viewport, whatever the engine, and the same without Supple."""

from pathlib import Path

import bpy
import numpy as np
import pytest
from pictures import (
    FRAMES,
    assert_same_elsewhere,
    assert_something_to_see,
    count_changed,
    prepare_pictures,
    read_picture,
    read_pictures,
    render_animation,
    render_elsewhere,
    render_here,
)

from scenes import add_tube, bind, distance, evaluated_points, points_at, reset
from supple.settings.objects import settings_of
from supple.tasks.patterns.edit import add_pattern
from supple.tasks.patterns.library import ensure_image, find_entry

pytestmark = pytest.mark.python_only("patterns are shown alike, whatever evaluates the skin under them")

DISPLAYS = ("BUMP", "KIND", "DISPLACEMENT")
ENGINES = ("workbench", "cycles", "cycles-blur")
CASES = [
    f"{display} {engine}" for display in DISPLAYS for engine in ENGINES if (display, engine) != ("BUMP", "workbench")
]


def prepare_case(case: str, is_bound: bool = True) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube bent more in each frame, with a pattern of each kind that comes out of it."""
    reset()
    display, engine = case.split()
    obj, armature = add_tube(rings=48, sides=32)
    for polygon in obj.data.polygons:
        polygon.use_smooth = True
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (5, 0.6)):
        bone.rotation_euler = (-angle, 0, 0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    if is_bound:
        bind(obj)
    for preset, place in (("FOLDS_BELLY", (0.4, 0.5, 0.1)), ("BULGE_STEEP", (0.4, 1.4, 0)), ("RIBS_L", (0.4, 2.2, 0))):
        entry = find_entry(preset)
        pattern = add_pattern(obj, entry, ensure_image(entry), "bone.1", location=place)
        pattern.size, pattern.strength, pattern.direction = (0.7, 0.7), 0.15, "NEGATIVE"
        pattern.start, pattern.full = 0.05, 0.6
    settings_of(obj).pattern_display = display
    settings_of(obj).pattern_level = 1
    prepare_pictures(engine)
    bpy.context.view_layer.update()
    return obj, armature


def render_stills(folder: Path) -> np.ndarray:
    """The scene's frames, each rendered by itself after going to it."""
    for frame in reversed(FRAMES):
        bpy.context.scene.frame_set(frame)
        bpy.context.scene.render.filepath = str(folder / f"frame_{frame:04}.png")
        bpy.ops.render.render(write_still=True)
    return read_pictures(folder)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_each_frame_of_an_animation_is_as_when_rendered_by_itself(tmp_path, case, persistent):
    prepare_case(case)
    stills = render_stills(tmp_path / "stills")
    bpy.context.scene.render.use_persistent_data = persistent
    pictures = render_animation(tmp_path / "animation")
    assert_something_to_see(pictures)
    assert count_changed(stills, pictures) == [0] * len(FRAMES)


@pytest.mark.parametrize("engine", ["workbench", "cycles"])
def test_displacement_renders_what_the_viewport_has(tmp_path, engine):
    obj, _ = prepare_case(f"DISPLACEMENT {engine}")
    pictures = render_animation(tmp_path / "live")
    meshes = []
    for frame in FRAMES:
        points_at(obj, frame)
        meshes.append(bpy.data.meshes.new_from_object(obj.evaluated_get(bpy.context.evaluated_depsgraph_get())))
    obj.hide_render = True
    plain = []
    for frame, mesh in zip(FRAMES, meshes, strict=True):
        stand_in = bpy.data.objects.new("Plain", mesh)
        bpy.context.scene.collection.objects.link(stand_in)
        bpy.context.scene.frame_set(frame)
        bpy.context.scene.render.filepath = str(tmp_path / f"plain_{frame}.png")
        bpy.ops.render.render(write_still=True)
        plain.append(read_picture(tmp_path / f"plain_{frame}.png"))
        bpy.data.objects.remove(stand_in)
    assert count_changed(np.stack(plain), pictures) == [0] * len(FRAMES)


def test_bumps_render_as_with_amounts_typed_in(tmp_path):
    obj, _ = prepare_case("BUMP cycles")
    pictures = render_animation(tmp_path / "driven")
    name = next(key for key in obj.keys() if "_amounts_" in key)
    scene = bpy.context.scene
    for frame, picture in zip(FRAMES, pictures, strict=True):
        scene.frame_set(frame)
        amount = list(obj[name])
        for curve in obj.animation_data.drivers:
            curve.mute = True
        changed = []
        for values in (amount, [0.0] * 3):
            obj[name] = values
            obj.update_tag()
            scene.render.filepath = str(tmp_path / "typed.png")
            bpy.ops.render.render(write_still=True)
            changed.append(int((read_picture(tmp_path / "typed.png") != picture).any(axis=-1).sum()))
        assert changed[0] == 0
        assert changed[1] > 100 * max(amount)
        for curve in obj.animation_data.drivers:
            curve.mute = False


def test_a_bump_is_shaded_as_the_displacement_it_stands_for(tmp_path):
    shaded = []
    for display in ("BUMP", "DISPLACEMENT"):
        obj, _ = prepare_case(f"{display} cycles")
        for pattern in settings_of(obj).patterns:
            pattern.strength = 0.03
        settings_of(obj).pattern_level = 3
        bpy.context.scene.frame_set(5)
        bpy.context.scene.cycles.samples = 16
        bpy.context.scene.render.resolution_percentage = 400
        bpy.context.scene.render.filepath = str(tmp_path / f"{display}.png")
        bpy.ops.render.render(write_still=True)
        shaded.append(read_picture(tmp_path / f"{display}.png").astype(float))
        for pattern in settings_of(obj).patterns:
            pattern.show = False
        bpy.ops.render.render(write_still=True)
        shaded[-1] -= read_picture(tmp_path / f"{display}.png")
    bump, displaced = (one.mean(axis=-1).ravel() for one in shaded)
    assert np.abs(bump).max() > 20
    assert np.corrcoef(bump, displaced)[0, 1] > 0.6  # not more: a bump neither casts shadows nor hides what is behind
    assert bump.std() == pytest.approx(displaced.std(), rel=0.3)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with points and pictures of each case, here and in a Blender where Supple has never been."""
    folder = tmp_path_factory.mktemp("elsewhere")
    files = [render_here(folder, case, prepare_case(case, is_bound=False)[0]) for case in CASES]
    render_elsewhere(folder / "without Supple", False, files)
    return folder


@pytest.mark.parametrize("case", CASES)
def test_points_and_pictures_are_the_same_without_supple(elsewhere, case):
    assert_same_elsewhere(elsewhere, case)


def test_bound_and_baked_the_patterns_are_the_same(tmp_path):
    obj, _ = prepare_case("KIND workbench")
    live = render_animation(tmp_path / "live")
    shown = [points_at(obj, frame) for frame in FRAMES]
    bpy.ops.supple.bake_cache(
        filepath=str(tmp_path / "baked.pc2"), frame_start=FRAMES[0], frame_end=FRAMES[-1], frame_step=1
    )
    assert count_changed(live, render_animation(tmp_path / "baked")) == [0] * len(FRAMES)
    for frame, points in zip(FRAMES, shown, strict=True):
        bpy.context.scene.frame_set(frame)
        assert distance(points, evaluated_points(obj)) <= 1e-6
