"""Patterns placed by the mouse in a real window: dragged, turned, scaled and drawn, on the skin and in the UV map.

What the mouse was told is compared with where Blender then shows the pattern.
"""

from __future__ import annotations

import importlib
import math
import subprocess
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d, region_2d_to_origin_3d, region_2d_to_vector_3d
from mathutils import Vector
from mathutils.geometry import barycentric_transform, tessellate_polygon

import checkout
from scenes import add_tube, bind, select, turn

WAIT = 0.4
NEAR = 0.02
"""Shares of a pattern's size that it may lie beside the mouse."""

PLACES = ((0.56, 0.35), (0.52, 0.5), (0.5, 0.62))
START = (0.53, 0.45)
"""Where patterns are dropped, and where the mouse comes from, in shares of the 3D View: all on the skin."""


def xdo(*arguments: object) -> None:
    subprocess.run(["xdotool", *map(str, arguments)], check=True)


def part(name: str) -> ModuleType:
    """A module of the extension."""
    return importlib.import_module(f"{checkout.MODULE}.{name}")


class Stage:
    """A posed tube with a pattern, and the mouse over it."""

    def __init__(self, window: Any) -> None:
        self.window = window
        for obj in list(bpy.data.objects):
            bpy.data.objects.remove(obj)
        bpy.context.view_layer.update()
        obj, armature = add_tube(bones=2, rings=41, sides=24, length=4.0, radius=0.5)
        obj.data.flip_normals()
        unwrap(obj)
        bind(obj)
        turn(armature, "bone.1", (0.4, 0.3, 0.5))
        bpy.ops.supple.pattern_add(preset="FOLDS_NECK", bone="bone.1", axis="Z", size=(1.0, 0.6))
        with bpy.context.temp_override(**window.override()):
            bpy.ops.view3d.view_axis(type="TOP")
            bpy.ops.view3d.view_all()
        window.space.region_3d.view_perspective = "ORTHO"
        window.space.shading.type = "SOLID"
        window.space.show_region_ui = True
        bpy.ops.ed.undo_push(message="A posed tube with a pattern")

    @property
    def obj(self) -> bpy.types.Object:
        return bpy.data.objects["Tube"]

    @property
    def pattern(self) -> Any:
        return self.obj.supple.patterns[self.obj.supple.active_pattern]

    @property
    def state(self) -> tuple:
        return tuple(part("tasks.patterns.placing.place").read_layout(one) for one in self.obj.supple.patterns)

    def start(self, operator: str) -> None:
        with bpy.context.temp_override(**self.window.override()):
            getattr(bpy.ops.supple, operator)("INVOKE_DEFAULT")

    def go(self, place: np.ndarray) -> None:
        """Take the mouse to a place in the region, pixels."""
        self.window.move("WINDOW", place[0], place[1] + 1)  # a screen's lowest row is one less than its height

    def at(self, share: tuple[float, float]) -> np.ndarray:
        region = self.window.region("WINDOW")
        return np.round(np.array(share) * (region.width, region.height))

    def drag(self, *places: np.ndarray) -> Iterator[float]:
        self.go(places[0])
        xdo("mousedown", 1)
        for place in places[1:]:
            yield 0.15
            self.go(place)
        yield WAIT
        xdo("mouseup", 1)
        yield WAIT

    def seen(self, where: tuple[float, float] = (0.5, 0.5)) -> np.ndarray:
        """Where in the region a place of the picture is shown, by the evaluated mesh: pixels."""
        skin = part("tasks.patterns.placing.picking").read_skin(self.obj, bpy.context.evaluated_depsgraph_get())
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


def place_patterns(
    window: Any, check: Callable[[str, bool], None], look: Callable[[Any, str], np.ndarray]
) -> Iterator[float]:
    """Place patterns by the mouse, in all ways."""
    for subdivided in (False, True):
        yield from drag_turn_scale(window, check, look, subdivided)
    yield from cancel_and_undo(window, check, look)
    yield from follow_a_bulge(window, check, look)
    yield from show_outlines(window, check, look)
    yield from draw_stroke(window, check, look)
    yield from place_in_uv_editor(window, check, look)


def drag_turn_scale(window: Any, check: Any, look: Any, subdivided: bool) -> Iterator[float]:
    """The pattern goes where the mouse goes, turns and grows as it does."""
    kind = "subdivided" if subdivided else "plain"
    stage = Stage(window)
    if subdivided:
        stage.obj.modifiers.new("Subdivision", "SUBSURF").levels = 2
        window.space.region_3d.view_perspective = "PERSP"
    yield 1.0
    look(window, f"patterns-{kind}-1-added")
    stage.start("pattern_place")
    yield WAIT
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
            look(window, f"patterns-{kind}-2-placing")
    check("... with the flag that tells places at rest on", stage.obj.add_rest_position_attribute)

    center, angle = stage.seen(), stage.pattern.turn
    upward = upward_of(stage)
    stage.go(moved(center, 120, 0))
    yield WAIT
    xdo("key", "r")
    yield WAIT
    stage.go(moved(center, 60, 104))
    yield WAIT
    look(window, f"patterns-{kind}-3-turned")
    xdo("click", 1)
    yield WAIT
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
    look(window, f"patterns-{kind}-4-scaled")
    xdo("key", "Return")
    yield WAIT
    check("Enter ends it, the flag off again", not stage.obj.add_rest_position_attribute)
    look(window, f"patterns-{kind}-5-done")


def moved(place: np.ndarray, right: float, up: float) -> np.ndarray:
    """A place so many pixels away."""
    return place + np.array((right, up))


def upward_of(stage: Stage) -> float:
    """Which way the picture's upper side is seen about its middle, radians."""
    way = stage.seen((0.5, 0.55)) - stage.seen()
    return math.atan2(way[1], way[0])


def scale(stage: Stage, center: np.ndarray, key: str, before: tuple, after: tuple, axis: str = "") -> Iterator[float]:
    stage.go(moved(center, *before))
    yield WAIT
    xdo("key", key)
    yield WAIT
    if axis:
        xdo("key", axis)
        yield WAIT
    stage.go(moved(center, *after))
    yield WAIT
    xdo("click", 1)
    yield WAIT


def cancel_and_undo(window: Any, check: Any, look: Any) -> Iterator[float]:
    """Esc gives all back; what was confirmed is one step of undo; a click beside the mesh confirms. In Pose Mode."""
    stage = Stage(window)
    with bpy.context.temp_override(**window.override()):
        select(bpy.data.objects["Rig"])
        bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.supple.pattern_add(preset="BULGE_GENTLE", bone="bone.0", size=(0.5, 0.5))
    bpy.ops.supple.pattern_place(location=(0.0, 0.8, 0.5))
    bpy.ops.ed.undo_push(message="In Pose Mode, with a second pattern")
    yield 1.0
    before, charts = stage.state, read_charts(stage.obj)
    stage.start("pattern_place")
    yield WAIT
    yield from stage.drag(stage.at(PLACES[0]), stage.at(PLACES[1]))
    check("what is dragged is live", read_charts(stage.obj) != charts and stage.state != before)
    stage.go(moved(stage.at(PLACES[1]), 60, 0))  # it is scaled by the distance from its center, where the drag ends
    yield WAIT
    xdo("key", "s")
    yield WAIT
    stage.go(stage.at((0.6, 0.6)))
    yield WAIT
    xdo("key", "Escape")
    yield WAIT
    check("Esc while scaling goes on placing", stage.obj.add_rest_position_attribute)
    xdo("key", "Escape")
    yield WAIT
    check("Esc gives all back", stage.state == before and read_charts(stage.obj) == charts)
    check("... and ends it", not stage.obj.add_rest_position_attribute)

    stage.obj.supple.active_pattern = 0
    seen_first = stage.seen()
    stage.obj.supple.active_pattern = 1
    stage.start("pattern_place")
    yield WAIT
    yield from stage.drag(seen_first, seen_first)
    check("a press on another pattern chooses it", stage.obj.supple.active_pattern == 0 and stage.state == before)
    yield from stage.drag(seen_first, stage.at(PLACES[0]))
    dragged = stage.state
    check("... and drags it", dragged[0] != before[0] and dragged[1] == before[1])
    look(window, "patterns-6-two")
    stage.go(stage.at((0.1, 0.5)))
    xdo("click", 1)
    yield WAIT
    check("a click beside the mesh ends it", not stage.obj.add_rest_position_attribute and stage.state == dragged)
    xdo("key", "ctrl+z")
    yield 1.0
    check("one undo takes it all back", stage.state == before and len(stage.obj.supple.patterns) == 2)
    check("... charts included", read_charts(stage.obj) == charts)
    xdo("key", "ctrl+shift+z")
    yield 1.0
    check("redo brings it again", stage.state == dragged)
    with bpy.context.temp_override(**window.override()):
        bpy.ops.object.mode_set(mode="OBJECT")


def read_charts(obj: bpy.types.Object) -> list[bytes]:
    """What the mesh holds of patterns."""
    found = []
    for attribute in obj.data.attributes:
        if attribute.name.startswith("supple_"):
            values = np.empty(3 * len(attribute.data), np.float32)
            attribute.data.foreach_get("vector", values)
            found.append(values.tobytes())
    return found


def follow_a_bulge(window: Any, check: Any, look: Any) -> Iterator[float]:
    """A pattern that swells under the mouse is let go where it is seen; outlines are there only as overlays."""
    stage = Stage(window)
    bpy.ops.supple.pattern_remove()
    bpy.ops.supple.pattern_add(preset="BULGE_STEEP", bone="bone.1", axis="Z", size=(1.0, 0.8))
    stage.pattern.start, stage.pattern.full, stage.pattern.strength = 0.0, 0.4, 0.2
    stage.obj.supple.pattern_level = 2
    with bpy.context.temp_override(**window.override()):
        bpy.ops.view3d.view_orbit(angle=0.4, type="ORBITUP")
    yield 1.0
    stage.start("pattern_place")
    yield WAIT
    place = stage.at(PLACES[1])
    yield from stage.drag(stage.at(START), place)
    error = float(np.linalg.norm(stage.seen() - place)) / stage.measure()
    check(f"a bulge is let go under the mouse ({100 * error:.2f} %)", error <= NEAR)
    xdo("key", "Return")
    yield WAIT
    look(window, "patterns-6-bulge")


def show_outlines(window: Any, check: Any, look: Any) -> Iterator[float]:
    """Outlines are overlays: of a pattern that a solid view does not show, nothing else is seen."""
    stage = Stage(window)
    yield from stage.drag(stage.at((0.1, 0.5)))  # the mouse away, and nothing selected
    bpy.context.view_layer.objects.active = stage.obj
    stage.start("pattern_place")
    yield WAIT
    yield from stage.drag(stage.at(START), stage.at(PLACES[1]))
    xdo("key", "Return")
    stage.go(stage.at((0.1, 0.5)))
    yield 1.0
    for overlays in (True, False):
        window.space.overlay.show_overlays = overlays
        stage.pattern.show = True
        yield WAIT
        shown = look(window, f"patterns-outline-{overlays}")
        stage.pattern.show = False
        yield WAIT
        changed = float((np.abs(shown - look(window, f"patterns-bare-{overlays}")).max(axis=2) > 0.2).mean())
        name = "an outline is drawn" if overlays else "... but not without overlays"
        check(f"{name} ({100 * changed:.2f} %)", (changed > 5e-4) == overlays)
    window.space.overlay.show_overlays = True


def draw_stroke(window: Any, check: Any, look: Any) -> Iterator[float]:
    """The pattern lies along what was drawn, from end to end."""
    stage = Stage(window)
    yield 1.0
    before = stage.state
    stage.start("pattern_stroke")
    yield WAIT
    place = stage.at(PLACES[0])
    yield from stage.drag(place, moved(place, 2, 0))
    check("a stroke that is too short changes nothing", stage.state == before)
    check("... and leaves no flag", not stage.obj.add_rest_position_attribute)

    stage.start("pattern_stroke")
    yield WAIT
    start, end = stage.at((0.52, 0.3)), stage.at((0.49, 0.62))
    line = [start + (end - start) * share + (25 * math.sin(math.pi * share), 0) for share in np.linspace(0, 1, 13)]
    stage.go(line[0])
    xdo("mousedown", 1)
    for place in line[1:]:
        yield 0.15
        stage.go(place)
    look(window, "patterns-7-drawing")
    yield WAIT
    xdo("click", 4)
    xdo("click", 4)
    yield WAIT
    look(window, "patterns-8-wider")
    xdo("mouseup", 1)
    yield WAIT
    look(window, "patterns-9-drawn")
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
    xdo("key", "ctrl+z")
    yield 1.0
    check("one undo takes the stroke back", stage.state == before)


def dense(line: list[np.ndarray]) -> np.ndarray:
    """Many points along a line."""
    return np.concatenate([np.linspace(a, b, 50) for a, b in pairwise(line)])


def place_in_uv_editor(window: Any, check: Any, look: Any) -> Iterator[float]:
    """In the UV editor the mouse is in the map."""
    stage = Stage(window)
    stage.obj.data.uv_layers.active_index = 0
    window.area.ui_type = "UV"
    yield 1.0
    before = stage.state
    look(window, "patterns-10-surface-in-uv")
    try:
        with bpy.context.temp_override(**window.override()):
            bpy.ops.supple.pattern_place("INVOKE_DEFAULT")
        message = ""
    except RuntimeError as error:
        message = str(error)
    name = stage.obj.supple.patterns[0].name
    said = f"'{name}' lies on the surface: set Place On to UV Map to move it in the UV editor"
    said = importlib.import_module(f"{checkout.MODULE}.translations").translate(said)
    check("a pattern on the surface stays there", said in message and stage.state == before)
    stage.pattern.space = "UV"
    yield WAIT
    size = np.array(stage.pattern.size)
    stage.start("pattern_place")
    yield WAIT
    view = window.region("WINDOW").view2d
    stage.go(np.array(view.view_to_region(0.3, 0.3)))
    place = np.array(view.view_to_region(0.6, 0.4), float)
    yield from stage.drag(np.array(view.view_to_region(0.3, 0.3)), place)
    wanted = np.array(view.region_to_view(*place))
    error = float((np.abs(stage.pattern.uv - wanted) / size).max())
    check(f"a pattern is dragged in the UV map ({100 * error:.2f} %)", error <= NEAR)
    angle = stage.pattern.turn
    stage.go(moved(place, 100, 0))
    yield WAIT
    xdo("key", "r")
    yield WAIT
    stage.go(moved(place, 0, 100))
    yield WAIT
    xdo("click", 1)
    yield WAIT
    turned = math.degrees(stage.pattern.turn - angle)
    check(f"... turned ({turned:.1f}°)", abs(turned - 90) < 1.5)
    yield from scale(stage, place, "s", (0, 60), (0, 90))
    check("... and scaled", np.allclose(stage.pattern.size, 1.5 * size, rtol=0.03))
    look(window, "patterns-11-placed-in-uv")
    xdo("key", "Return")
    yield WAIT
    placed = stage.state
    window.area.type = "VIEW_3D"
    yield 1.0
    look(window, "patterns-12-seen-on-skin")
    check("Enter keeps it", stage.state == placed != before)
