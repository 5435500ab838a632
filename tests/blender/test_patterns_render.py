"""Skin patterns in renders: each frame as it is in the viewport, whatever the engine, and the same without Supple."""

from pathlib import Path

import bpy
import numpy as np
import pictures
import pytest
from pictures import FRAMES, count_changed, read_picture, render_animation
from scenes_patterns import add_skin

from scenes import add_object, bind, distance, evaluated_points, points_at, reset
from supple.settings.objects import settings_of
from supple.tasks.patterns.edit import add_pattern
from supple.tasks.patterns.library import ensure_image, find_entry

PAIRED = ("BUMP cycles", "KIND workbench", "DISPLACEMENT cycles-blur")
"""How patterns are shown, and by which engine: each once."""

OTHERS = ("BUMP cycles-blur", "KIND cycles", "KIND cycles-blur", "DISPLACEMENT workbench", "DISPLACEMENT cycles")
CASES = [*PAIRED, *(pytest.param(case, marks=pytest.mark.thorough) for case in OTHERS)]
BY_ANGLE = (("FOLDS_BELLY", (0.4, 0.5, 0.1)), ("BULGE_STEEP", (0.4, 1.4, 0)), ("RIBS_L", (0.4, 2.2, 0)))
BY_COMPRESSION = (
    ("FOLDS_BELLY", "COMPRESSION", -0.4), ("RIBS_L", "STRETCH", 0.4), ("BULGE_STEEP", "BOTH", -0.4),
)  # fmt: skip


def prepare_case(case: str, is_bound: bool = True) -> bpy.types.Object:
    """A tube bent more in each frame, with patterns that come out of it."""
    reset()
    display, engine, *more = case.split()
    obj, armature = add_skin()
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "XYZ"
    for frame, share in ((1, 0.0), (5, 1.0)):
        bone.rotation_euler = (0, 0, 0.8 * share) if more else (-0.6 * share, 0, 0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    if more:
        add_compressed(obj)
    else:
        add_by_angle(obj)
    if "bound" in more or (is_bound and not more):
        bind(obj, evaluate="BLENDER" if more else "")
    settings_of(obj).pattern_display = display
    pictures.prepare_pictures(engine)
    bpy.context.view_layer.update()
    return obj


def add_by_angle(obj: bpy.types.Object) -> None:
    """A pattern of each kind."""
    for preset, place in BY_ANGLE:
        entry = find_entry(preset)
        pattern = add_pattern(obj, entry, ensure_image(entry), "bone.1", location=place)
        pattern.size, pattern.strength, pattern.direction = (0.7, 0.7), 0.15, "NEGATIVE"
        pattern.start, pattern.full = 0.05, 0.6
    settings_of(obj).pattern_level = 1


def add_compressed(obj: bpy.types.Object) -> None:
    """Patterns where the tube is pushed together and where it is stretched."""
    for preset, driver, x in BY_COMPRESSION:
        entry = find_entry(preset)
        pattern = add_pattern(obj, entry, ensure_image(entry), "bone.1", location=(x, 1.3, 0.1), driver=driver)
        pattern.size, pattern.strength, pattern.axis, pattern.direction = (0.7, 0.7), 0.15, "Z", "BOTH"
        pattern.compression_angle = 0.0  # along the tube, since upright is Z
        pattern.compression_start, pattern.compression_full, pattern.full = 2.0, 15.0, 0.5
    assert [pattern.note for pattern in settings_of(obj).patterns] == [""] * 3


def render_still(path: Path, frame: int) -> np.ndarray:
    bpy.context.scene.frame_set(frame)
    bpy.context.scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    return read_picture(path)


def render_stills(folder: Path) -> np.ndarray:
    """The scene's frames, each rendered by itself after going to it."""
    for frame in reversed(FRAMES):
        render_still(folder / f"frame_{frame:04}.png", frame)
    return pictures.read_pictures(folder)


@pytest.mark.parametrize("case", CASES)
def test_each_frame_of_an_animation_is_as_when_rendered_by_itself(tmp_path, case):
    prepare_case(case)
    stills = render_stills(tmp_path / "stills")
    for persistent in (False, True):
        bpy.context.scene.render.use_persistent_data = persistent
        rendered = render_animation(tmp_path / f"animation, persistent data {persistent}")
        pictures.assert_something_to_see(rendered)
        assert count_changed(stills, rendered) == [0] * len(FRAMES)


def test_displacement_renders_what_the_viewport_has(tmp_path):
    obj = prepare_case("DISPLACEMENT workbench")
    rendered = render_animation(tmp_path / "live")
    meshes = []
    for frame in FRAMES:
        points_at(obj, frame)
        meshes.append(bpy.data.meshes.new_from_object(obj.evaluated_get(bpy.context.evaluated_depsgraph_get())))
    obj.hide_render = True
    plain = []
    for frame, mesh in zip(FRAMES, meshes, strict=True):
        stand_in = add_object("Plain", mesh)
        plain.append(render_still(tmp_path / "plain.png", frame))
        bpy.data.objects.remove(stand_in)
    assert count_changed(np.stack(plain), rendered) == [0] * len(FRAMES)


@pytest.mark.versions
def test_bumps_render_as_with_amounts_typed_in(tmp_path):
    obj = prepare_case("BUMP cycles")
    rendered = render_animation(tmp_path / "driven")
    name = next(key for key in obj.keys() if "_amounts_" in key)
    for frame, picture in zip(FRAMES, rendered, strict=True):
        bpy.context.scene.frame_set(frame)
        amount = list(obj[name])
        for curve in obj.animation_data.drivers:
            curve.mute = True
        changed = []
        for values in (amount, [0.0] * 3):
            obj[name] = values
            obj.update_tag()
            changed.append(count_changed(render_still(tmp_path / "typed.png", frame), picture))
        assert changed[0] == 0
        assert changed[1] > 100 * max(amount)
        for curve in obj.animation_data.drivers:
            curve.mute = False


def test_a_bump_is_shaded_as_the_displacement_it_stands_for(tmp_path):
    shaded = []
    for display in ("BUMP", "DISPLACEMENT"):
        obj = prepare_case(f"{display} cycles")
        for pattern in settings_of(obj).patterns:
            pattern.strength = 0.03
        settings_of(obj).pattern_level = 3
        bpy.context.scene.cycles.samples = 16
        bpy.context.scene.render.resolution_percentage = 400
        shaded.append(render_still(tmp_path / "shaded.png", 5).astype(float))
        for pattern in settings_of(obj).patterns:
            pattern.show = False
        shaded[-1] -= render_still(tmp_path / "plain.png", 5)
    bump, displaced = (one.mean(axis=-1).ravel() for one in shaded)
    assert np.abs(bump).max() > 20
    assert np.corrcoef(bump, displaced)[0, 1] > 0.6  # not more: a bump neither casts shadows nor hides what is behind
    assert bump.std() == pytest.approx(displaced.std(), rel=0.3)


@pytest.mark.parametrize("engine", ("CYCLES", pytest.param("EEVEE", marks=pytest.mark.thorough)))
def test_bumps_come_with_compression(tmp_path, engine):
    obj = prepare_case("BUMP cycles compressed")
    scene = bpy.context.scene
    if engine == "EEVEE":
        scene.render.engine = "BLENDER_EEVEE_NEXT" if bpy.app.version < (5, 0, 0) else "BLENDER_EEVEE"
        scene.eevee.taa_render_samples = 1
    shown = [render_still(tmp_path / "shown.png", frame) for frame in (1, 5)]
    for pattern in settings_of(obj).patterns:
        pattern.show = False
    plain = [render_still(tmp_path / "plain.png", frame) for frame in (1, 5)]
    changed = [(np.abs(one.astype(int) - two).max(axis=-1) > 4).sum() for one, two in zip(shown, plain, strict=True)]
    assert changed[0] == 0
    assert changed[1] > 20


@pytest.mark.usefixtures("evaluator")
def test_bound_and_baked_the_patterns_are_the_same(tmp_path):
    obj = prepare_case("KIND workbench")
    live = render_animation(tmp_path / "live")
    shown = [points_at(obj, frame) for frame in FRAMES]
    bpy.ops.supple.bake_cache(
        filepath=str(tmp_path / "baked.pc2"), frame_start=FRAMES[0], frame_end=FRAMES[-1], frame_step=1
    )
    assert count_changed(live, render_animation(tmp_path / "baked")) == [0] * len(FRAMES)
    for frame, points in zip(FRAMES, shown, strict=True):
        bpy.context.scene.frame_set(frame)
        assert distance(points, evaluated_points(obj)) <= 1e-6
