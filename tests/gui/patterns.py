"""Patterns placed by the mouse in a real window: dragged, turned, scaled and drawn, on the skin and in the UV map.

What the mouse was told is compared with where Blender then shows the pattern.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d, region_2d_to_origin_3d, region_2d_to_vector_3d
from mathutils import Vector
from mathutils.geometry import barycentric_transform, tessellate_polygon
from window import WAIT, Window, check, click, count_changed, part, press, press_mouse, take_picture, xdo

from scenes import add_tube, bind, turn

NEAR = 0.02
"""Shares of a pattern's size that it may lie beside the mouse."""

PLACES = ((0.56, 0.35), (0.52, 0.5), (0.5, 0.62))
START = (0.53, 0.45)
"""Where patterns are dropped, and where the mouse comes from, in shares of the 3D View: all on the skin."""


class Stage:
    """A posed tube with a pattern, and the mouse over it."""

    def __init__(self, window: Window) -> None:
        self.window = window
        window.clear()
        obj, armature = add_tube(bones=2, rings=41, sides=24, length=4.0, radius=0.5)
        obj.data.flip_normals()
        unwrap(obj)
        bind(obj)
        turn(armature, "bone.1", (0.4, 0.3, 0.5))
        bpy.ops.supple.pattern_add(preset="FOLDS_NECK", bone="bone.1", axis="Z", size=(1.0, 0.6))
        window.look_down()
        window.space.region_3d.view_perspective = "ORTHO"
        window.space.shading.type = "SOLID"
        bpy.ops.ed.undo_push(message="A posed tube with a pattern")

    @property
    def obj(self) -> bpy.types.Object:
        return bpy.data.objects["Tube"]

    @property
    def pattern(self) -> Any:
        return self.obj.supple.patterns[self.obj.supple.active_pattern]

    @property
    def state(self) -> tuple:
        return tuple(part("tasks.patterns.placing").read_layout(one) for one in self.obj.supple.patterns)

    def start(self, operator: str) -> Iterator[float]:
        self.window.call(getattr(bpy.ops.supple, operator))
        yield WAIT

    def at(self, share: tuple[float, float]) -> np.ndarray:
        region = self.window.region("WINDOW")
        return np.round(np.array(share) * (region.width, region.height))

    def drag(self, *places: np.ndarray) -> Iterator[float]:
        yield from self.window.drag(*places)
        yield from press_mouse(False)

    def seen(self, where: tuple[float, float] = (0.5, 0.5)) -> np.ndarray:
        """Where in the region a place of the picture is shown, by the evaluated mesh: pixels."""
        skin = part("tasks.patterns.placing").read_skin(self.obj, bpy.context.evaluated_depsgraph_get())
        shown, *_ = part("deformers.patterns.picking").find_shown(skin, self.pattern.number, where)
        return self.project(shown.point)

    def project(self, point: np.ndarray) -> np.ndarray:
        world = self.obj.matrix_world @ Vector(point)
        region = self.window.region("WINDOW")
        return np.array(location_3d_to_region_2d(region, self.window.space.region_3d, world))

    def measure(self) -> float:
        """Width of the picture as it is shown, pixels."""
        return float(np.linalg.norm(self.seen((1.0, 0.5)) - self.seen((0.0, 0.5))))

    def hit_by_blender(self, place: np.ndarray) -> np.ndarray:
        """Where at rest the skin under the mouse is, by Blender's own ray and the corners of the face it hits."""
        region, view = self.window.region("WINDOW"), self.window.space.region_3d
        evaluated = self.obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
        origin, direction = region_2d_to_origin_3d(region, view, place), region_2d_to_vector_3d(region, view, place)
        found, point, _, face = evaluated.ray_cast(origin, direction)
        assert found
        ends = list(evaluated.data.polygons[face].vertices)
        posed = [evaluated.data.vertices[end].co for end in ends]
        rest = [self.obj.data.vertices[end].co for end in ends]
        around = [
            barycentric_transform(point, *(posed[i] for i in three), *(rest[i] for i in three))
            for three in tessellate_polygon([posed])
        ]
        return np.array(min(around, key=lambda one: min((one - end).length for end in rest)))


def unwrap(obj: bpy.types.Object) -> None:
    """A UV map of the tube: around it, and along it."""
    layer = obj.data.uv_layers.new(name="UVMap")
    for face in obj.data.polygons:
        points = [obj.data.vertices[vertex].co for vertex in face.vertices]
        angles = np.array([math.atan2(point.z, point.x) / math.tau for point in points])
        angles[angles < angles.max() - 0.5] += 1.0
        for loop, angle, point in zip(face.loop_indices, angles, points, strict=True):
            layer.data[loop].uv = (1.0 - (angle + 0.5) / 1.1, point.y / 4.0)


def place_patterns(window: Window) -> Iterator[float]:
    """Place patterns by the mouse, in all ways."""
    for subdivided in (False, True):
        yield from drag_turn_scale(window, subdivided)
    yield from cancel_and_undo(window)
    yield from follow_a_bulge(window)
    yield from show_outlines(window)
    yield from draw_stroke(window)
    yield from place_in_uv_editor(window)


def drag_turn_scale(window: Window, subdivided: bool) -> Iterator[float]:
    """The pattern goes where the mouse goes, turns and grows as it does."""
    kind = "subdivided" if subdivided else "plain"
    stage = Stage(window)
    if subdivided:
        stage.obj.modifiers.new("Subdivision", "SUBSURF").levels = 2
        window.space.region_3d.view_perspective = "PERSP"
    yield WAIT
    take_picture(f"patterns-{kind}-1-added")
    yield from stage.start("pattern_place")
    for number, share in enumerate(PLACES):
        place = stage.at(share)
        yield from stage.drag(stage.at(START), 0.5 * (place + stage.at(START)), place)
        error = float(np.linalg.norm(stage.seen() - place)) / stage.measure()
        check(f"a pattern on a {kind} skin is dropped under the mouse ({100 * error:.2f} %)", error <= NEAR)
        if not subdivided:
            rest = stage.hit_by_blender(place)
            error = float(np.linalg.norm(rest - stage.pattern.location)) / stage.pattern.size[0]
            check(f"... where Blender's own ray finds it at rest ({100 * error:.2f} %)", error <= NEAR)
        if not number:
            take_picture(f"patterns-{kind}-2-placing")
    check("... with the flag that tells places at rest on", stage.obj.add_rest_position_attribute)

    center, angle = stage.seen(), stage.pattern.turn
    upward = upward_of(stage)
    yield from stage.window.go(moved(center, 120, 0))
    yield from press("r")
    yield from stage.window.go(moved(center, 60, 104))
    take_picture(f"patterns-{kind}-3-turned")
    yield from click()
    turned = math.degrees(stage.pattern.turn - angle)
    check(f"R turns by the mouse's angle ({turned:.1f}°)", abs(turned - 60.0) < 1.5)
    change = math.degrees(upward_of(stage) - upward)
    check(f"... and so it is seen ({change:.1f}°)", abs((change + 180) % 360 - 180 - 60.0) < 6.0)
    check("... about its center", float(np.linalg.norm(stage.seen() - center)) <= NEAR * stage.measure())

    size = np.array(stage.pattern.size)
    yield from scale(stage, center, "s", (80, 0), (120, 0))
    check("S scales by the mouse's distance", np.allclose(stage.pattern.size, 1.5 * size, rtol=0.02))
    yield from scale(stage, center, "s", (120, 0), (80, 0), "y")
    check("... Y the height alone", np.allclose(stage.pattern.size, size * (1.5, 1.0), rtol=0.03))
    take_picture(f"patterns-{kind}-4-scaled")
    yield from press("Return")
    check("Enter ends it, the flag off again", not stage.obj.add_rest_position_attribute)
    take_picture(f"patterns-{kind}-5-done")


def moved(place: np.ndarray, right: float, up: float) -> np.ndarray:
    """A place so many pixels away."""
    return place + np.array((right, up))


def upward_of(stage: Stage) -> float:
    """Which way the picture's upper side is seen about its middle, radians."""
    way = stage.seen((0.5, 0.55)) - stage.seen()
    return math.atan2(way[1], way[0])


def scale(stage: Stage, center: np.ndarray, key: str, before: tuple, after: tuple, axis: str = "") -> Iterator[float]:
    yield from stage.window.go(moved(center, *before))
    yield from press(key)
    if axis:
        yield from press(axis)
    yield from stage.window.go(moved(center, *after))
    yield from click()


def cancel_and_undo(window: Window) -> Iterator[float]:
    """Esc gives all back; what was confirmed is one step of undo; a click beside the mesh confirms. In Pose Mode."""
    stage = Stage(window)
    window.look_down(bpy.data.objects["Rig"], "POSE")
    bpy.ops.supple.pattern_add(preset="BULGE_GENTLE", bone="bone.0", size=(0.5, 0.5))
    bpy.ops.supple.pattern_place(location=(0.0, 0.8, 0.5))
    bpy.ops.ed.undo_push(message="In Pose Mode, with a second pattern")
    yield WAIT
    before, charts = stage.state, read_charts(stage.obj)
    yield from stage.start("pattern_place")
    yield from stage.drag(stage.at(PLACES[0]), stage.at(PLACES[1]))
    check("what is dragged is live", read_charts(stage.obj) != charts and stage.state != before)
    yield from window.go(moved(stage.at(PLACES[1]), 60, 0))  # scaled by the distance from where the drag ends
    yield from press("s")
    yield from stage.window.go(stage.at((0.6, 0.6)))
    yield from press("Escape")
    check("Esc while scaling goes on placing", stage.obj.add_rest_position_attribute)
    yield from press("Escape")
    check("Esc gives all back", stage.state == before and read_charts(stage.obj) == charts)
    check("... and ends it", not stage.obj.add_rest_position_attribute)

    stage.obj.supple.active_pattern = 0
    seen_first = stage.seen()
    stage.obj.supple.active_pattern = 1
    yield from stage.start("pattern_place")
    yield from stage.drag(seen_first, seen_first)
    check("a press on another pattern chooses it", stage.obj.supple.active_pattern == 0 and stage.state == before)
    yield from stage.drag(seen_first, stage.at(PLACES[0]))
    dragged = stage.state
    check("... and drags it", dragged[0] != before[0] and dragged[1] == before[1])
    take_picture("patterns-6-two")
    yield from stage.window.go(stage.at((0.1, 0.5)))
    yield from click()
    check("a click beside the mesh ends it", not stage.obj.add_rest_position_attribute and stage.state == dragged)
    yield from press("ctrl+z")
    check("one undo takes it all back", stage.state == before and len(stage.obj.supple.patterns) == 2)
    check("... charts included", read_charts(stage.obj) == charts)
    yield from press("ctrl+shift+z")
    check("redo brings it again", stage.state == dragged)
    window.set_mode("OBJECT")


def read_charts(obj: bpy.types.Object) -> list[bytes]:
    """What the mesh holds of patterns."""
    found = []
    for attribute in obj.data.attributes:
        if attribute.name.startswith("supple_"):
            values = np.empty(3 * len(attribute.data), np.float32)
            attribute.data.foreach_get("vector", values)
            found.append(values.tobytes())
    return found


def follow_a_bulge(window: Window) -> Iterator[float]:
    """A pattern that swells under the mouse is let go where it is seen; outlines are there only as overlays."""
    stage = Stage(window)
    bpy.ops.supple.pattern_remove()
    bpy.ops.supple.pattern_add(preset="BULGE_STEEP", bone="bone.1", axis="Z", size=(1.0, 0.8))
    stage.pattern.start, stage.pattern.full, stage.pattern.strength = 0.0, 0.4, 0.2
    stage.obj.supple.pattern_level = 2
    with window.override():
        bpy.ops.view3d.view_orbit(angle=0.4, type="ORBITUP")
    yield WAIT
    yield from stage.start("pattern_place")
    place = stage.at(PLACES[1])
    yield from stage.drag(stage.at(START), place)
    error = float(np.linalg.norm(stage.seen() - place)) / stage.measure()
    check(f"a bulge is let go under the mouse ({100 * error:.2f} %)", error <= NEAR)
    yield from press("Return")
    take_picture("patterns-6-bulge")


def show_outlines(window: Window) -> Iterator[float]:
    """Outlines are overlays: of a pattern that a solid view does not show, nothing else is seen."""
    stage = Stage(window)
    yield from stage.drag(stage.at((0.1, 0.5)))  # the mouse away, and nothing selected
    bpy.context.view_layer.objects.active = stage.obj
    yield from stage.start("pattern_place")
    yield from stage.drag(stage.at(START), stage.at(PLACES[1]))
    yield from press("Return")
    yield from stage.window.go(stage.at((0.1, 0.5)))
    for overlays in (True, False):
        window.space.overlay.show_overlays = overlays
        stage.pattern.show = True
        yield WAIT
        shown = window.look(f"patterns-outline-{overlays}")
        stage.pattern.show = False
        yield WAIT
        changed = count_changed(shown, window.look(f"patterns-bare-{overlays}"), 0.2)
        name = "an outline is drawn" if overlays else "... but not without overlays"
        check(f"{name} ({100 * changed:.2f} %)", (changed > 5e-4) == overlays)
    window.space.overlay.show_overlays = True


def draw_stroke(window: Window) -> Iterator[float]:
    """The pattern lies along what was drawn, from end to end."""
    stage = Stage(window)
    yield WAIT
    before = stage.state
    yield from stage.start("pattern_stroke")
    place = stage.at(PLACES[0])
    yield from stage.drag(place, moved(place, 2, 0))
    check("a stroke that is too short changes nothing", stage.state == before)
    check("... and leaves no flag", not stage.obj.add_rest_position_attribute)

    yield from stage.start("pattern_stroke")
    start, end = stage.at((0.52, 0.3)), stage.at((0.49, 0.62))
    line = [start + (end - start) * share + (25 * math.sin(math.pi * share), 0) for share in np.linspace(0, 1, 13)]
    yield from stage.window.drag(*line)
    take_picture("patterns-7-drawing")
    yield WAIT
    xdo("click", 4)
    xdo("click", 4)
    yield WAIT
    take_picture("patterns-8-wider")
    yield from press_mouse(False)
    take_picture("patterns-9-drawn")
    pattern = stage.pattern
    check("a stroke is on the surface", pattern.space == "SURFACE" and 2 < len(pattern.stroke) <= 24)
    length = float(np.linalg.norm(end - start))
    for s, place in ((0.001, line[0]), (0.999, line[-1])):
        error = float(np.linalg.norm(stage.seen((s, 0.5)) - place)) / length
        check(f"the picture ends where the stroke does ({100 * error:.2f} %)", error <= NEAR)
    away = [min(np.linalg.norm(stage.seen((s, 0.5)) - one) for one in dense(line)) for s in np.linspace(0.05, 0.95, 10)]
    check(f"... and follows it between ({100 * max(away) / length:.2f} %)", max(away) <= NEAR * length)
    aspect = pattern.size[1] / pattern.size[0]
    check(f"the wheel makes it wider ({aspect:.3f})", abs(aspect / 0.6 - 1.21) < 0.02)
    yield from press("ctrl+z")
    check("one undo takes the stroke back", stage.state == before)


def dense(line: list[np.ndarray]) -> np.ndarray:
    """Many points along a line."""
    return np.concatenate([np.linspace(a, b, 50) for a, b in pairwise(line)])


def place_in_uv_editor(window: Window) -> Iterator[float]:
    """In the UV editor the mouse is in the map."""
    stage = Stage(window)
    stage.obj.data.uv_layers.active_index = 0
    window.area.ui_type = "UV"
    yield WAIT
    before = stage.state
    take_picture("patterns-10-surface-in-uv")
    try:
        window.call(bpy.ops.supple.pattern_place)
        message = ""
    except RuntimeError as error:
        message = str(error)
    name = stage.obj.supple.patterns[0].name
    said = f"'{name}' is placed on the surface: set Place On to UV Map to move it in the UV editor"
    said = part("translations").translate(said)
    check("a pattern on the surface stays there", said in message and stage.state == before)
    stage.pattern.space = "UV"
    yield WAIT
    size = np.array(stage.pattern.size)
    yield from stage.start("pattern_place")
    view = window.region("WINDOW").view2d
    yield from stage.window.go(np.array(view.view_to_region(0.3, 0.3)))
    place = np.array(view.view_to_region(0.6, 0.4), float)
    yield from stage.drag(np.array(view.view_to_region(0.3, 0.3)), place)
    wanted = np.array(view.region_to_view(*place))
    error = float((np.abs(stage.pattern.uv - wanted) / size).max())
    check(f"a pattern is dragged in the UV map ({100 * error:.2f} %)", error <= NEAR)
    angle = stage.pattern.turn
    yield from stage.window.go(moved(place, 100, 0))
    yield from press("r")
    yield from stage.window.go(moved(place, 0, 100))
    yield from click()
    turned = math.degrees(stage.pattern.turn - angle)
    check(f"... turned ({turned:.1f}°)", abs(turned - 90) < 1.5)
    yield from scale(stage, place, "s", (0, 60), (0, 90))
    check("... and scaled", np.allclose(stage.pattern.size, 1.5 * size, rtol=0.03))
    take_picture("patterns-11-placed-in-uv")
    yield from press("Return")
    placed = stage.state
    window.area.type = "VIEW_3D"
    yield WAIT
    take_picture("patterns-12-seen-on-skin")
    check("Enter keeps it", stage.state == placed != before)
