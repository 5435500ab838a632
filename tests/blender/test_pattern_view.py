"""What the mouse does to patterns, in a view that looks straight down or shows the UV map: no window is needed."""

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import bpy
import numpy as np
import pytest
from mathutils import Vector
from scenes_placing import RADIUS, add_body, add_pattern, depsgraph, shown_at
from scenes_state import refuse

from supple.bridge.meshes.rays import with_rest_positions
from supple.tasks.patterns.placing import write_layout
from supple.tasks.patterns.write import update
from supple.viewport.pattern_view import MIN_DRAG, DrawnStroke, PatternDrag, PatternView, RotateAndScale
from supple.viewport.view import View

SCALE = 100.0
"""Pixels for a unit."""


def look_down() -> View:
    """A 3D View of the XY plane from above."""
    return cast(
        View,
        SimpleNamespace(
            is_flat=False,
            ray=lambda mouse: (Vector((*(mouse / SCALE), 9.0)), Vector((0.0, 0.0, -1.0))),
            project=lambda point, matrix: SCALE * np.array((matrix @ Vector(point))[:2]),
        ),
    )


def look_at_uv() -> View:
    """A UV editor."""
    return cast(View, SimpleNamespace(is_flat=True, to_uv=lambda mouse: mouse / SCALE))


@pytest.fixture
def scene() -> Iterator[PatternView]:
    obj, _ = add_body()
    add_pattern(size=(0.4, 0.2))
    bpy.ops.supple.pattern_place(location=(0.0, 2.0, RADIUS), angle=0.0)
    with with_rest_positions(obj):
        depsgraph()
        yield PatternView(obj)


def pixel(x: float, y: float) -> np.ndarray:
    return SCALE * np.array((x, y), float)


def test_a_drag_moves_the_center_under_the_mouse(scene: PatternView):
    drag = PatternDrag(scene, look_down(), pixel(0.0, 2.0), is_held=False)
    assert drag.follow(bpy.context, pixel(0.1, 2.5))
    update(scene.obj)
    np.testing.assert_allclose(shown_at(scene.obj, scene.pattern)[:2], (0.1, 2.5), atol=1e-3)
    assert drag.follow(bpy.context, pixel(0.1, 3.5), precise=True)
    assert scene.pattern.location.y == pytest.approx(2.6, abs=1e-3)


def test_a_drag_beside_the_mesh_leaves_the_pattern(scene: PatternView):
    before = tuple(scene.pattern.location)
    assert not PatternDrag(scene, look_down(), pixel(0.0, 2.0), is_held=False).follow(bpy.context, pixel(4.0, 2.0))
    assert tuple(scene.pattern.location) == before


def test_a_chosen_pattern_is_held_until_the_mouse_has_gone_far_enough(scene: PatternView):
    start = pixel(0.0, 2.0)
    drag = PatternDrag(scene, look_down(), start, is_held=True)
    for pixels, is_held in ((MIN_DRAG - 1.0, True), (MIN_DRAG + 1.0, False)):
        assert drag.follow(bpy.context, start + np.array((0.0, pixels))) != is_held
        assert drag.is_held == is_held


def test_a_pattern_rotates_as_the_mouse_goes_round_its_center(scene: PatternView, subtests):
    for precise, share, scene.pattern.flip in ((False, 1.0, False), (True, 0.1, False), (False, 1.0, True)):
        with subtests.test(precise=precise, flip=scene.pattern.flip):
            rotation = RotateAndScale(bpy.context, scene, look_down(), pixel(1.0, 2.0), scales=False)
            before = scene.pattern.turn
            for angle in (0.3, 0.6, 0.9):
                rotation.follow(pixel(math.cos(angle), 2.0 + math.sin(angle)), precise)
            rotation.apply()
            assert scene.pattern.turn - before == pytest.approx(0.9 * share, abs=1e-3)
            write_layout(scene.pattern, rotation.before)
            assert scene.pattern.turn == before


def test_a_pattern_scales_by_the_distance_of_the_mouse(scene: PatternView):
    scaling = RotateAndScale(bpy.context, scene, look_down(), pixel(0.5, 2.0), scales=True)
    scaling.follow(pixel(1.0, 2.0), precise=False)
    for axis, size in (("", (0.8, 0.4)), ("X", (0.8, 0.2)), ("X", (0.8, 0.4)), ("Y", (0.4, 0.4)), ("X", (0.8, 0.2))):
        if axis:
            scaling.toggle_axis(axis)
        scaling.apply()
        np.testing.assert_allclose(scene.pattern.size, size, atol=2e-3)


def test_in_the_uv_map_patterns_rotate_about_their_uv(scene: PatternView):
    pattern = scene.pattern
    pattern.space = "UV"
    center = SCALE * np.array(pattern.uv)
    rotation = RotateAndScale(bpy.context, scene, look_at_uv(), center + np.array((5.0, 0.0)), scales=False)
    before = pattern.turn
    rotation.follow(center + np.array((0.0, 7.0)), precise=False)
    rotation.apply()
    assert pattern.turn - before == pytest.approx(math.pi / 2, abs=1e-4)


def test_what_can_not_be_rotated_is_refused(scene: PatternView):
    center, _ = scene.find_center(bpy.context, look_down(), pixel(0.0, 2.0))
    refuse(
        "away from the middle of the pattern",
        lambda: RotateAndScale(bpy.context, scene, look_down(), center, scales=False),
    )
    scene.pattern.show = False
    refuse(
        "is not on the mesh: drag it onto the skin first",
        lambda: RotateAndScale(bpy.context, scene, look_down(), pixel(1.0, 2.0), scales=False),
    )


def test_what_is_under_the_mouse(scene: PatternView):
    for y, expected in ((2.0, 0), (3.5, -1)):
        point = scene.locate(bpy.context, look_down(), pixel(0.0, y))
        assert point is not None
        assert scene.find_covering(point) == expected
    assert scene.locate(bpy.context, look_down(), pixel(4.0, 2.0)) is None
    assert scene.locate(bpy.context, look_at_uv(), pixel(2.0, 2.0)) is None


def test_a_stroke_gathers_points_of_the_skin_at_rest(scene: PatternView):
    stroke = DrawnStroke(scene)
    try:
        assert not stroke.is_begun
        stroke.begin(bpy.context, look_down(), pixel(0.0, 1.0))
        assert stroke.is_begun
        assert stroke.is_too_short
        assert not stroke.follow(pixel(0.0, 1.0) + np.array((0.0, MIN_DRAG - 1.0)))
        for y in np.linspace(1.1, 2.0, 10):
            assert stroke.follow(pixel(0.0, y))
        assert not stroke.follow(pixel(4.0, 2.1))
        assert not stroke.is_too_short
        points = np.array(stroke.points)
        np.testing.assert_allclose(points[:, 1], np.linspace(1.0, 2.0, 11), atol=1e-3)
        width = stroke.width
        assert width == pytest.approx(0.5, rel=0.02)  # of a pattern twice as wide as high
        stroke.widen(2.0)
        assert stroke.width == pytest.approx(2.0 * width)
    finally:
        stroke.remove()
