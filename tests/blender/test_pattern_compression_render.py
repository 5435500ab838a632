"""Patterns by compression in renders: as in the viewport, as bumps too, and the same where Supple has never been."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest
from pictures import (
    assert_same_elsewhere,
    prepare_pictures,
    read_picture,
    render_elsewhere,
    render_here,
)

from scenes import add_tube, bind, reset
from supple.settings.objects import settings_of
from supple.tasks.patterns.edit import add_pattern
from supple.tasks.patterns.library import ensure_image, find_entry

pytestmark = pytest.mark.python_only("patterns are shown alike, whatever evaluates the skin under them")

CASES = ("BUMP cycles", "KIND cycles-blur", "DISPLACEMENT workbench", "BUMP cycles bound")


def prepare_case(case: str) -> bpy.types.Object:
    """A tube bent more in each frame, with patterns where it is pushed together and where it is stretched."""
    reset()
    display, engine, *rest = case.split()
    obj, armature = add_tube(rings=48, sides=32)
    for polygon in obj.data.polygons:
        polygon.use_smooth = True
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (5, 0.8)):
        bone.rotation_euler = (0, 0, angle)
        bone.keyframe_insert("rotation_euler", frame=frame)
    if rest:
        bind(obj, evaluate="NODES")
    for preset, driver, x in (
        ("FOLDS_BELLY", "COMPRESSION", -0.4), ("RIBS_L", "STRETCH", 0.4), ("BULGE_STEEP", "BOTH", -0.4),
    ):  # fmt: skip
        entry = find_entry(preset)
        pattern = add_pattern(obj, entry, ensure_image(entry), "bone.1", location=(x, 1.3, 0.1), driver=driver)
        pattern.size, pattern.strength, pattern.axis, pattern.direction = (0.7, 0.7), 0.15, "Z", "BOTH"
        pattern.compression_angle = 0.0  # along the tube, since upright is Z
        pattern.compression_start, pattern.compression_full, pattern.full = 2.0, 15.0, 0.5
    assert [pattern.note for pattern in settings_of(obj).patterns] == [""] * 3
    settings_of(obj).pattern_display = display
    prepare_pictures(engine)
    bpy.context.view_layer.update()
    return obj


def render_still(path: Path, frame: int) -> np.ndarray:
    scene = bpy.context.scene
    scene.frame_set(frame)
    scene.render.filepath = str(path)
    bpy.ops.render.render(write_still=True)
    return read_picture(path).astype(float)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with points and pictures of each case, here and in a Blender where Supple has never been."""
    folder = tmp_path_factory.mktemp("elsewhere")
    files = [render_here(folder, case, prepare_case(case)) for case in CASES]
    render_elsewhere(folder / "without Supple", False, files)
    return folder


@pytest.mark.parametrize("case", CASES)
def test_points_and_pictures_are_the_same_without_supple(elsewhere, case):
    assert_same_elsewhere(elsewhere, case)


@pytest.mark.parametrize("engine", ("CYCLES", "EEVEE"))
def test_bumps_come_with_compression(tmp_path, engine):
    obj = prepare_case("BUMP cycles")
    scene = bpy.context.scene
    if engine == "EEVEE":
        scene.render.engine = "BLENDER_EEVEE_NEXT" if bpy.app.version < (5, 0, 0) else "BLENDER_EEVEE"
        scene.eevee.taa_render_samples = 1
    shown = [render_still(tmp_path / f"shown_{frame}.png", frame) for frame in (1, 5)]
    for pattern in settings_of(obj).patterns:
        pattern.show = False
    plain = [render_still(tmp_path / f"plain_{frame}.png", frame) for frame in (1, 5)]
    changed = [(np.abs(first - second).max(axis=-1) > 4).sum() for first, second in zip(shown, plain, strict=True)]
    assert changed[0] == 0
    assert changed[1] > 20
