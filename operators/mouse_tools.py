"""Tools that follow the mouse over the 3D View and the UV editor: where it is, and what runs until it is confirmed."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d, region_2d_to_origin_3d, region_2d_to_vector_3d
from mathutils import Vector

from ..bridge.rays import PosedSkin, telling_rest
from ..deformers import SkinningError
from ..properties import PatternSettings, settings_of
from ..tasks import pattern_hits
from ..tasks.pattern_hits import Hit
from ..tasks.pattern_places import outline_of
from ..tasks.patterns import check_index
from .patterns import PatternOperator, find_skin

MODES = ("OBJECT", "POSE", "PAINT_WEIGHT")

NAVIGATION = ("MIDDLEMOUSE", "WHEEL", "TRACKPAD", "MOUSEROTATE", "MOUSESMARTZOOM", "NDOF", "NUMPAD", "HOME", "TIMER")
"""Starts of the names of events that are left to the editor."""

PRESSED = ("PRESS", "DOUBLE_CLICK")

THRESHOLD = 3.0
"""Pixels that the mouse goes before it drags a pattern that a click has chosen; also between points of a stroke."""


@dataclass(frozen=True)
class View:
    """An editor's region that patterns can be placed in."""

    area: bpy.types.Area
    region: bpy.types.Region

    @property
    def is_flat(self) -> bool:
        """Whether it shows a UV map."""
        return self.area.type == "IMAGE_EDITOR"

    @property
    def view(self) -> bpy.types.RegionView3D:
        return cast(bpy.types.RegionView3D, self.region.data)

    def locate(self, mouse: np.ndarray) -> np.ndarray:
        """A place in the window as one in the region, pixels."""
        return mouse - (self.region.x, self.region.y)

    def to_uv(self, mouse: np.ndarray) -> np.ndarray:
        """The UV at a place in the window."""
        region = self.region
        low = np.array(region.view2d.region_to_view(0, 0))
        high = np.array(region.view2d.region_to_view(region.width, region.height))
        return low + (high - low) * self.locate(mouse) / (region.width, region.height)

    def cast(self, mouse: np.ndarray, skin: PosedSkin, matrix: Any) -> Hit | None:
        """Where the skin of an object, which stands in the world by a matrix, is seen at a place in the window."""
        place = self.locate(mouse).tolist()
        origin = region_2d_to_origin_3d(self.region, self.view, place)
        direction = region_2d_to_vector_3d(self.region, self.view, place)
        to_object = np.array(matrix.inverted_safe())
        return pattern_hits.cast_ray(skin, *pattern_hits.to_object_space(to_object, origin, direction))

    def project(self, point: np.ndarray, matrix: Any) -> np.ndarray:
        """The place in the window at which a point in object space is seen."""
        place = location_3d_to_region_2d(self.region, self.view, matrix @ Vector(point.tolist()))
        if place is None:
            raise SkinningError("It is behind you: turn the view towards it")
        return np.array((place.x + self.region.x, place.y + self.region.y))


def find_view(screen: bpy.types.Screen, x: int, y: int) -> View | None:
    """The 3D View or UV editor at a place in the window, unless a sidebar or header of it is there."""
    for area in screen.areas:
        if area.type != "VIEW_3D" and area.ui_type != "UV":
            continue
        inside = [one for one in area.regions if one.width > 1 and one.height > 1 and _contains(one, x, y)]
        if inside and all(one.type == "WINDOW" for one in inside):
            return View(area, inside[0])
    return None


def _contains(region: bpy.types.Region, x: int, y: int) -> bool:
    return 0 <= x - region.x < region.width and 0 <= y - region.y < region.height


class ModalTool:
    """Mix-in: runs until it is confirmed or canceled, with a text that tells the keys."""

    _began: ExitStack

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if context.window is None:
            return self.execute(context)
        self._began = ExitStack()
        try:
            self.prepare(context)
        except SkinningError as error:
            self._began.close()
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        window, workspace, area = context.window, context.workspace, context.area
        self._began.callback(window.cursor_modal_restore)
        self._began.callback(workspace.status_text_set, None)
        if area is not None:
            self._began.callback(area.header_text_set, None)
        window.cursor_modal_set("CROSSHAIR")
        self._area = area
        self.tell(context)
        context.window_manager.modal_handler_add(cast(bpy.types.Operator, self))
        return {"RUNNING_MODAL"}

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Do without a window what the operator's properties say."""
        raise AssertionError("each tool has its own")

    def prepare(self, context: bpy.types.Context) -> None:
        """Look at what there is, before anything is changed."""
        self.begin(context)

    def begin(self, context: bpy.types.Context) -> None:
        """Get ready to follow the mouse."""

    def react(self, context: bpy.types.Context, event: bpy.types.Event, mouse: np.ndarray) -> set[str]:
        """Follow an event; `mouse` is its place in the window."""
        raise AssertionError("each tool has its own")

    def restore(self) -> None:
        """Take back what is not yet confirmed."""

    def keys(self) -> str:
        """What keys do now."""
        raise AssertionError("each tool has its own")

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        message = None
        try:
            result = self.react(context, event, np.array([event.mouse_x, event.mouse_y], float))
        except SkinningError as error:
            result, message = {"RUNNING_MODAL"}, str(error)
        except BaseException:  # a bug: its traceback is seen, and neither the tool nor its work is left half done
            try:
                self.restore()
            finally:
                self._end(context)
            raise
        if result & {"FINISHED", "CANCELLED"}:
            self._end(context)
        elif "PASS_THROUGH" not in result:
            self.tell(context, message)
        return result

    def cancel(self, context: bpy.types.Context) -> None:
        """Blender ends the tool, as when another file is opened."""
        self._end(context)

    def _end(self, context: bpy.types.Context) -> None:
        self._began.close()
        self.redraw(context)

    def tell(self, context: bpy.types.Context, message: str | None = None) -> None:
        """Show what keys do now, and what is wrong."""
        context.workspace.status_text_set(self.keys())
        if self._area is not None:
            self._area.header_text_set(message or self.describe())

    def describe(self) -> str:
        """What is being done."""
        return self.keys()

    def redraw(self, context: bpy.types.Context) -> None:
        for window in context.window_manager.windows:
            for area in window.screen.areas:
                if area.type in ("VIEW_3D", "IMAGE_EDITOR"):
                    area.tag_redraw()


class MouseTool(PatternOperator, ModalTool):
    """Mix-in: a tool for the patterns of a mesh."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not super().poll(context):
            return False
        if context.mode not in MODES:
            cls.poll_message_set("Go to Object, Pose or Weight Paint Mode first")
            return False
        return True

    def prepare(self, context: bpy.types.Context) -> None:
        self._obj = cast(bpy.types.Object, find_skin(context))
        self._settings = settings_of(self._obj)
        check_index(self._obj, self._settings.active_pattern)
        self._mesh = outline_of(self._obj).mesh
        self.begin(context)
        self._began.enter_context(telling_rest(self._obj))

    def read_skin(self, context: bpy.types.Context) -> tuple[PosedSkin, Any]:
        """The skin as it is shown now, and where it stands in the world."""
        depsgraph = context.evaluated_depsgraph_get()
        return pattern_hits.read_skin(self._obj, depsgraph), self._obj.evaluated_get(depsgraph).matrix_world

    @property
    def pattern(self) -> PatternSettings:
        """The one that is being placed."""
        return self._settings.patterns[self._settings.active_pattern]
