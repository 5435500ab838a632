"""An object's skin and patterns under the mouse, and what the mouse does to them: dragged, rotated, scaled, stroked."""

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
from ..tasks.patterns.layout import charts_of
from ..tasks.patterns.placing.picking import find_covering, read_skin
from ..tasks.patterns.placing.place import measure_aspect, put, read_layout, rotate_and_scale
from .drawing import bind_line_shader, draw_lines, drawing_state, make_line_batch
from .view import Mouse, View

PRECISE = 0.1
"""Fraction of the mouse's movement that counts while Shift is held."""

THRESHOLD = 3.0
"""Pixels that the mouse goes before it drags a pattern that a click has chosen; also between points of a stroke."""

SIDE_STEP = 1e-3
"""Fraction of a pattern's sides that is projected to find how the pattern is oriented on the screen."""

SHORTEST_STROKE = 8.0
"""Pixels below which a stroke is taken for a click."""

MARGIN = 0.08
"""Share of a region along its borders in which the middle of a pattern is not well seen."""

CLOSEST, FARTHEST = 3.0, 8.0
"""How far the view is from a pattern that it is brought to, in widths of the pattern."""

STROKE_LAYERS = (((0.0, 0.0, 0.0, 0.5), 4.0), ((0.35, 0.85, 1.0, 1.0), 2.0))
"""Color and width in pixels of a stroke that is being drawn: its rim and itself."""


class PatternView:
    """The skin of an object, with its patterns, as editors show it."""

    def __init__(self, obj: bpy.types.Object) -> None:
        self.obj = obj
        self.mesh = charts_of(obj).mesh
        self._settings = settings_of(obj)

    @property
    def pattern(self) -> PatternSettings:
        """The active pattern."""
        return self._settings.patterns[self._settings.active_pattern]

    def keep_rest(self) -> AbstractContextManager[None]:
        """A context in which the skin's positions at rest are known."""
        return with_rest_positions(self.obj)

    def read_skin(self, context: bpy.types.Context) -> tuple[PosedSkin, Matrix]:
        """The skin as it is shown now, and its matrix from object to world space."""
        depsgraph = context.evaluated_depsgraph_get()
        return read_skin(self.obj, depsgraph), self.obj.evaluated_get(depsgraph).matrix_world

    def locate(self, context: bpy.types.Context, view: View, mouse: Mouse) -> SurfacePoint | None:
        """The surface point that is seen at a position in the window; None beside the mesh."""
        if view.is_flat:
            try:
                return locate_uv(self.mesh, view.to_uv(mouse), near=np.array(self.pattern.location))
            except SkinningError:
                return None
        hit = cast_mouse(view, mouse, *self.read_skin(context))
        return None if hit is None else locate_point(self.mesh, hit.rest)

    def find_covering(self, point: SurfacePoint) -> int:
        """Index of the pattern that covers a surface point; -1 where none does."""
        return find_covering(self.obj, charts_of(self.obj), point)

    def find_center(self, context: bpy.types.Context, view: View, mouse: Mouse) -> tuple[np.ndarray, float]:
        """Where the active pattern's center nearest to the mouse is seen, and the sign of rotations there.

        Returns
        -------
        center : float array, shape (2,)
            Pixels of the window, or UV.
        sign : float
            1 where the pattern rotates on the screen as it does on the skin, -1 where it is seen mirrored.
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
    """Rotate and move the 3D View to the active pattern, where its middle can not be seen there.

    Raises
    ------
    SkinningError
        Where the skin can not be read as it is shown.
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
    view.view_distance = min(max(view.view_distance, CLOSEST * along.length), FARTHEST * along.length)
    view.update()


def _is_seen(view: View, skin: PosedSkin, matrix: Matrix, shown: ShownPoint) -> bool:
    """Whether a point of a pattern is in the view, and no other part of the skin is before it."""
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
    """What of a skin is seen at a position in the window; `matrix` leads from its object to world space."""
    origin, direction = view.ray(mouse)
    to_object = np.array(matrix.inverted_safe())
    return cast_ray(skin, *carry_ray(to_object, np.array(origin), np.array(direction)))


class PatternDrag:
    """The active pattern dragged by the mouse.

    Parameters
    ----------
    view : View
        In which it is dragged.
    mouse : Mouse
        Where it was pressed.
    is_held : bool
        Whether it stays where it is until the mouse has gone `THRESHOLD`.
    """

    def __init__(self, scene: PatternView, view: View, mouse: Mouse, is_held: bool) -> None:
        self.is_held = is_held
        self._scene, self._view = scene, view
        self._mouse, self._target = mouse, mouse.copy()

    def follow(self, context: bpy.types.Context, mouse: Mouse | None = None, precise: bool = False) -> bool:
        """Move the pattern after the mouse, or to where the mouse last was: whether it was moved."""
        mouse = self._mouse if mouse is None else mouse
        if self.is_held and np.linalg.norm(mouse - self._mouse) < THRESHOLD:
            return False
        self.is_held = False
        self._target += (mouse - self._mouse) * (PRECISE if precise else 1.0)
        self._mouse = mouse
        point = self._scene.locate(context, self._view, self._target)
        if point is not None:
            put(self._scene.pattern, point)
        return point is not None


class RotateAndScale:
    """The active pattern rotated or scaled by the mouse, about its center on the screen.

    Parameters
    ----------
    mouse : Mouse
        Where it begins.
    scales : bool
        Whether it is scaled, not rotated.

    Attributes
    ----------
    before : tuple
        How the pattern lay, for `write_layout`.

    Raises
    ------
    SkinningError
        Where the pattern is not seen, or the mouse is at its center.
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
        """The mouse in the space that the pattern is rotated in: pixels of the window, or UV."""
        return self._view.to_uv(mouse) if self._view.is_flat else mouse

    def follow(self, mouse: Mouse, precise: bool) -> None:
        """Add the angle and the ratio of distances by which the mouse has moved about the center."""
        at = self._locate(mouse)
        before, after = (complex(*(position - self._center)) for position in (self._at, at))
        if not (abs(before) and abs(after)):
            return
        share = PRECISE if precise else 1.0
        step = after / before
        self._angle += share * self._sign * math.atan2(step.imag, step.real)
        self._factor *= abs(step) ** share
        self._at = at

    def toggle_axis(self, axis: str) -> None:
        """Scale only the width, "X", or the height, "Y"; both again where that was so already."""
        axes = np.array([axis == "X", axis == "Y"], float)
        self._axes = np.ones(2) if (axes == self._axes).all() else axes

    def apply(self) -> None:
        """Rotate or scale the pattern; it is not shown so before `update`."""
        if self.scales:
            rotate_and_scale(self._scene.pattern, self.before, factors=self._factor**self._axes)
        else:
            rotate_and_scale(self._scene.pattern, self.before, angle=self._angle)


class DrawnStroke:
    """A stroke that is drawn on the skin, shown as a band in the 3D View from when this is made until `remove`."""

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
        """Whether it is rather a click."""
        return len(self._hits) < 2 or self._length < SHORTEST_STROKE

    @property
    def points(self) -> list[np.ndarray]:
        """Points on the mesh at rest, float64 arrays, shape (3,), object space."""
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
        """Add a point where the mouse is on the skin, and far enough from the last point: whether it was added."""
        step = float(np.linalg.norm(mouse - self._mouse))
        if self._view is None or (step < THRESHOLD and not is_last):
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
