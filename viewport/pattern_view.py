"""An object's skin and patterns under the mouse, which drags, rotates, scales and draws patterns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager

import bpy
import numpy as np
from mathutils import Matrix, Vector

from ..bridge.meshes.rays import with_rest_positions
from ..deformers import SkinningError
from ..deformers.patterns.picking import PosedSkin, ShownPoint, SkinHit, carry_ray, cast_ray, find_shown
from ..deformers.patterns.strokes import draw_band, measure_line
from ..deformers.patterns.surface_points import SurfacePoint, locate_point, locate_uv
from ..settings.objects import settings_of
from ..settings.patterns import PatternSettings
from ..tasks.patterns.placing import find_covering, measure_aspect, put, read_layout, read_skin, rotate_and_scale
from ..tasks.patterns.read import charts_of
from .drawing import bind_line_shader, draw_lines, drawing_state, make_line_batch
from .view import Mouse, View

PRECISION_FACTOR = 0.1  # of the mouse's movement while Shift is held

MIN_DRAG = 3.0  # pixels before a pattern that a click has chosen follows, and between points of a stroke

SIDE_STEP = 1e-3  # share of a pattern's sides that is projected to find its orientation on the screen

MIN_STROKE = 8.0  # pixels; a shorter one is a click

MARGIN = 0.08  # share of a region along its borders in which a pattern does not count as visible

VIEW_DISTANCES = 3.0, 8.0  # minimum and maximum, in widths of the pattern that is brought into view

# color and width in pixels of a stroke while it is drawn: its rim, then itself
STROKE_LAYERS = (((0.0, 0.0, 0.0, 0.5), 4.0), ((0.35, 0.85, 1.0, 1.0), 2.0))


class PatternView:
    """The skin of an object with its patterns, as editors show it."""

    def __init__(self, obj: bpy.types.Object) -> None:
        self.obj = obj
        self.mesh = charts_of(obj).mesh
        self._settings = settings_of(obj)

    @property
    def pattern(self) -> PatternSettings:
        """The active pattern."""
        return self._settings.patterns[self._settings.active_pattern]

    def keep_rest(self) -> AbstractContextManager[None]:
        """Return a context in which the skin's positions at rest are known."""
        return with_rest_positions(self.obj)

    def read_skin(self, context: bpy.types.Context) -> tuple[PosedSkin, Matrix]:
        """Read the skin as it is shown, and its matrix from object to world space."""
        depsgraph = context.evaluated_depsgraph_get()
        return read_skin(self.obj, depsgraph), self.obj.evaluated_get(depsgraph).matrix_world

    def locate(self, context: bpy.types.Context, view: View, mouse: Mouse) -> SurfacePoint | None:
        """Find the surface point at a position in the window; None if it is not on the mesh."""
        if view.is_flat:
            try:
                return locate_uv(self.mesh, view.to_uv(mouse), near=np.array(self.pattern.location))
            except SkinningError:
                return None
        hit = cast_mouse(view, mouse, *self.read_skin(context))
        return None if hit is None else locate_point(self.mesh, hit.rest)

    def find_covering(self, point: SurfacePoint) -> int:
        """Find the index of the pattern that covers a surface point; -1 if there is none."""
        return find_covering(self.obj, charts_of(self.obj), point)

    def find_center(self, context: bpy.types.Context, view: View, mouse: Mouse) -> tuple[np.ndarray, float]:
        """Find the copy of the active pattern's center nearest to the mouse, and the sign of rotations there.

        Returns
        -------
        center : float array, shape (2,)
            Pixels of the window, or UV.
        sign : float
            1, or -1 if the pattern is mirrored on the screen.
        """
        if view.is_flat:
            return np.array(self.pattern.uv), 1.0
        skin, matrix = self.read_skin(context)
        found = []
        for shown in find_shown(skin, self.pattern.number):
            center = view.project(shown.point, matrix)
            along, up = (view.project(shown.point + side, matrix) - center for side in SIDE_STEP * shown.sides)
            sign = float(np.sign(along[0] * up[1] - along[1] * up[0])) or 1.0
            found.append((center, -sign if self.pattern.flip else sign))
        if not found:
            raise SkinningError(f"'{self.pattern.name}' is not on the mesh: drag it onto the skin first")
        return min(found, key=lambda center: float(np.linalg.norm(center[0] - mouse)))


def bring_into_view(context: bpy.types.Context, scene: PatternView) -> None:
    """Rotate and move the 3D View to the active pattern, if its center is not visible.

    Raises SkinningError if the skin cannot be read as it is shown.
    """
    area, space = context.area, context.space_data
    if area is None or not isinstance(space, bpy.types.SpaceView3D) or space.region_3d is None:
        return
    region = next(region for region in area.regions if region.type == "WINDOW")
    skin, matrix = scene.read_skin(context)
    shown = find_shown(skin, scene.pattern.number)
    if not shown or _is_seen(View(area, region), skin, matrix, shown[0]):
        return
    view = space.region_3d
    along, up = (matrix.to_3x3() @ Vector(side.tolist()) for side in shown[0].sides)
    normal = along.cross(up) * (-1.0 if scene.pattern.flip != (matrix.determinant() < 0.0) else 1.0)
    if view.view_perspective == "CAMERA":
        view.view_perspective = "PERSP"
    view.view_rotation = normal.to_track_quat("Z", "Y")
    view.view_location = matrix @ Vector(shown[0].point.tolist())
    nearest, farthest = (widths * along.length for widths in VIEW_DISTANCES)
    view.view_distance = min(max(view.view_distance, nearest), farthest)
    view.update()


def _is_seen(view: View, skin: PosedSkin, matrix: Matrix, shown: ShownPoint) -> bool:
    """Whether a point of a pattern is in the view, and no other part of the skin hides it."""
    try:
        pixel = view.project(shown.point, matrix)
    except SkinningError:
        return False
    inside = view.locate(pixel) / (view.region.width, view.region.height)
    if not ((inside > MARGIN) & (inside < 1.0 - MARGIN)).all():
        return False
    hit = cast_mouse(view, pixel, skin, matrix)
    return hit is not None and bool(np.linalg.norm(hit.point - shown.point) < 0.1 * np.linalg.norm(shown.sides[0]))


def cast_mouse(view: View, mouse: Mouse, skin: PosedSkin, matrix: Matrix) -> SkinHit | None:
    """Find the point of a skin at a position in the window; `matrix` is that from object to world space."""
    origin, direction = view.ray(mouse)
    to_object = np.array(matrix.inverted_safe())
    return cast_ray(skin, *carry_ray(to_object, np.array(origin), np.array(direction)))


class PatternDrag:
    """Drags the active pattern with the mouse.

    Parameters
    ----------
    view : View
        The view under the mouse.
    mouse : Mouse
        Position at which it was pressed.
    is_held : bool
        Whether the pattern stays until the mouse has moved by `MIN_DRAG`.
    """

    def __init__(self, scene: PatternView, view: View, mouse: Mouse, is_held: bool) -> None:
        self.is_held = is_held
        self._scene, self._view = scene, view
        self._mouse, self._target = mouse, mouse.copy()

    def follow(self, context: bpy.types.Context, mouse: Mouse | None = None, precise: bool = False) -> bool:
        """Move the pattern to the mouse, or to its last position. Returns whether it was moved."""
        mouse = self._mouse if mouse is None else mouse
        if self.is_held and np.linalg.norm(mouse - self._mouse) < MIN_DRAG:
            return False
        self.is_held = False
        self._target += (mouse - self._mouse) * (PRECISION_FACTOR if precise else 1.0)
        self._mouse = mouse
        point = self._scene.locate(context, self._view, self._target)
        if point is not None:
            put(self._scene.pattern, point)
        return point is not None


class RotateAndScale:
    """Rotates or scales the active pattern with the mouse, about its center on the screen.

    Raises SkinningError if the pattern is not visible, or the mouse is at its center.

    Parameters
    ----------
    mouse : Mouse
        Position at the start.
    scales : bool
        Whether it scales, and does not rotate.

    Attributes
    ----------
    before : tuple
        The layout at the start, for `write_layout`.
    """

    def __init__(self, context: bpy.types.Context, scene: PatternView, view: View, mouse: Mouse, scales: bool) -> None:
        self.scales = scales
        self._scene, self._view = scene, view
        self._center, self._sign = scene.find_center(context, view, mouse)
        self._at = self._locate(mouse)
        if not np.linalg.norm(self._at - self._center):
            raise SkinningError("Move the mouse away from the middle of the pattern to rotate and scale it")
        self.before = read_layout(scene.pattern)
        self._angle, self._factor, self._axes = 0.0, 1.0, np.ones(2)

    def _locate(self, mouse: Mouse) -> np.ndarray:
        """Find the mouse in the space of the rotation: pixels of the window, or UV."""
        return self._view.to_uv(mouse) if self._view.is_flat else mouse

    def follow(self, mouse: Mouse, precise: bool) -> None:
        """Add the angle, and the ratio of distances, by which the mouse has moved about the center."""
        at = self._locate(mouse)
        before, after = (complex(*(position - self._center)) for position in (self._at, at))
        if not (abs(before) and abs(after)):
            return
        share = PRECISION_FACTOR if precise else 1.0
        step = after / before
        self._angle += share * self._sign * math.atan2(step.imag, step.real)
        self._factor *= abs(step) ** share
        self._at = at

    def toggle_axis(self, axis: str) -> None:
        """Scale only the width, "X", or the height, "Y", or both again at the second call."""
        axes = np.array([axis == "X", axis == "Y"], float)
        self._axes = np.ones(2) if (axes == self._axes).all() else axes

    def apply(self) -> None:
        """Rotate or scale the pattern. `update` shows it."""
        if self.scales:
            rotate_and_scale(self._scene.pattern, self.before, factors=self._factor**self._axes)
        else:
            rotate_and_scale(self._scene.pattern, self.before, angle=self._angle)


class DrawnStroke:
    """A stroke that is being drawn on the skin, shown as a band in the 3D View until `remove`."""

    def __init__(self, scene: PatternView) -> None:
        self._scene = scene
        self._aspect = measure_aspect(scene.mesh, scene.pattern)
        self._view: View | None = None
        self._hits: list[SkinHit] = []
        self._lines: np.ndarray | Sequence[np.ndarray] = ()
        self._handle = bpy.types.SpaceView3D.draw_handler_add(self._draw, (), "WINDOW", "POST_VIEW")

    def remove(self) -> None:
        bpy.types.SpaceView3D.draw_handler_remove(self._handle, "WINDOW")

    @property
    def is_begun(self) -> bool:
        """Whether the mouse is pressed."""
        return self._view is not None

    @property
    def is_too_short(self) -> bool:
        """Whether it counts as a click."""
        return len(self._hits) < 2 or self._length < MIN_STROKE

    @property
    def points(self) -> list[np.ndarray]:
        """Points on the mesh at rest: float64 arrays, shape (3,), object space."""
        return [hit.rest for hit in self._hits]

    @property
    def width(self) -> float:
        """Extent across the stroke, object units."""
        return self._aspect * measure_line(np.array(self.points))

    def begin(self, context: bpy.types.Context, view: View, mouse: Mouse) -> None:
        """Start at a position in the window."""
        self._view, self._mouse, self._length = view, mouse, 0.0
        self._skin, self._matrix = self._scene.read_skin(context)
        self.follow(mouse, is_last=True)

    def follow(self, mouse: Mouse, is_last: bool = False) -> bool:
        """Add the point under the mouse, if it is far enough from the last one. Returns whether it was added."""
        step = float(np.linalg.norm(mouse - self._mouse))
        if self._view is None or (step < MIN_DRAG and not is_last):
            return False
        hit = cast_mouse(self._view, mouse, self._skin, self._matrix)
        if hit is None or (self._hits and not step):
            return False
        self._length += step
        self._mouse = mouse
        self._hits.append(hit)
        self._update_band()
        return True

    def widen(self, factor: float) -> None:
        """Make the band wider."""
        self._aspect *= factor
        self._update_band()

    def _update_band(self) -> None:
        if len(self._hits) < 2:
            return
        lines = draw_band(np.array([(*hit.point, *hit.normal) for hit in self._hits]), self._aspect)
        matrix = np.array(self._matrix)
        self._lines = lines @ matrix[:3, :3].T + matrix[:3, 3]

    def _draw(self) -> None:
        with drawing_state():
            shader = bind_line_shader()
            for number, line in enumerate(self._lines):
                batch = make_line_batch(np.stack([line[:-1], line[1:]], axis=1))
                for color, width in STROKE_LAYERS:
                    draw_lines(shader, batch, color, width / (1 if number == 0 else 2))
