"""Patterns placed by the mouse: dragged, turned and scaled on the skin or in the UV map."""

from __future__ import annotations

import math
from typing import Any, cast

import bpy
import numpy as np
from bpy.props import FloatProperty, FloatVectorProperty, IntProperty

from ..deformers import SkinningError
from ..deformers.patterns.surface_points import Place, locate_point, locate_uv
from ..settings.events import muted
from ..settings.objects import settings_of
from ..tasks.patterns import hits as pattern_hits
from ..tasks.patterns.display import update
from ..tasks.patterns.edit import check_index
from ..tasks.patterns.nodes import find_modifier
from ..tasks.patterns.placing import outline_of
from ..viewport.view import View, find_view
from .mouse_tools import NAVIGATION, PRESSED, THRESHOLD, MouseTool, cast_mouse

PRECISE = 0.1
"""Share of the mouse's way that counts while Shift is held."""

SETTLE = 3
"""How often a pattern that displaces the skin is placed anew where it was let go."""


class SUPPLE_OT_pattern_place(MouseTool, bpy.types.Operator):
    """Drag, turn and scale the active pattern with the mouse, on the posed skin or in the UV editor"""

    bl_idname = "supple.pattern_place"
    bl_label = "Place Pattern"

    index: IntProperty(
        name="Index", description="Which pattern; the active one if not given", min=0, options={"SKIP_SAVE", "HIDDEN"}
    )
    location: FloatVectorProperty(
        name="Location",
        description="Place of the center on the mesh at rest",
        subtype="TRANSLATION",
        options={"SKIP_SAVE"},
    )
    uv: FloatVectorProperty(name="UV", description="Place of the center in the UV map", size=2, options={"SKIP_SAVE"})
    angle: FloatProperty(
        name="Turn",
        description="Turned counter-clockwise by",
        subtype="ANGLE",
        options={"SKIP_SAVE"},
    )
    size: FloatVectorProperty(
        name="Size",
        description="Width and height, in the object's units or those of the UV map; as they are if not given",
        size=2,
        default=(0.1, 0.1),
        min=0.0,
        options={"SKIP_SAVE"},
    )

    def draw(self, _context: bpy.types.Context) -> None:
        self.layout.use_property_split = True
        for name in ("location", "uv", "angle", "size"):
            if self.properties.is_property_set(name):
                self.layout.prop(self, name)

    def run(self, _context: bpy.types.Context, obj: bpy.types.Object) -> str:
        given: dict[str, Any] = {}
        for name in ("location", "uv", "angle", "size"):
            if self.properties.is_property_set(name):
                given[name] = self.angle if name == "angle" else tuple(getattr(self, name))
        pattern = check_index(obj, self.index_of(obj))
        pattern_hits.place_pattern(obj, pattern, **given)
        settings_of(obj).active_pattern = self.index_of(obj)
        return f"Placed {pattern.name}"

    def begin(self, context: bpy.types.Context) -> None:
        if context.area is not None and context.area.type == "IMAGE_EDITOR":
            self._check_flat()
        self._before = self._read_all()
        self._action = ""
        self._saved: tuple = ()
        self._view: View | None = None

    def _check_flat(self) -> None:
        if self.pattern.space != "UV":
            raise SkinningError(
                f"'{self.pattern.name}' lies on the surface: switch Place In to UV Map to move it in the UV editor"
            )

    def _read_all(self) -> tuple:
        return self._settings.active_pattern, [pattern_hits.read_state(one) for one in self._settings.patterns]

    def keys(self) -> str:
        if self._action in ("TURN", "SCALE"):
            axes = "   X, Y: Width or Height Alone" if self._action == "SCALE" else ""
            return f"Click, Enter: Confirm   Esc, Right Click: Back{axes}   Shift: Precise"
        return (
            "Drag: Move   R: Turn   S: Scale   Shift: Precise   Enter, Space, Click Beside the Mesh: Confirm   "
            "Esc, Right Click: Cancel"
        )

    def describe(self) -> str:
        pattern = self.pattern
        width, height = pattern.size
        where = f"{pattern.name}   Turn {math.degrees(pattern.turn):.1f}°   Size {width:.4g} x {height:.4g}"
        return f"{where}   {pattern.note}" if pattern.note else f"{where}   {self.keys()}"

    def react(self, context: bpy.types.Context, event: bpy.types.Event, mouse: np.ndarray) -> set[str]:
        if self._action in ("TURN", "SCALE"):
            return self._react_turning(context, event, mouse)
        if event.type in ("ESC", "RIGHTMOUSE") and event.value == "PRESS":
            self._restore(self._before)
            return {"CANCELLED"}
        if event.type in ("RET", "NUMPAD_ENTER", "SPACE") and event.value == "PRESS":
            return self._finish()
        if event.type.startswith(NAVIGATION) or event.alt:
            return {"PASS_THROUGH"}
        if event.type == "LEFTMOUSE":
            return self._press(context, mouse) if event.value in PRESSED else self._release(context)
        if event.type == "MOUSEMOVE":
            if self._action == "DRAG":
                self._drag(context, mouse, event.shift)
                return {"RUNNING_MODAL"}
            return {"PASS_THROUGH"}
        if event.type in ("R", "S") and event.value == "PRESS" and not (event.ctrl or event.oskey):
            self._start_turning(context, mouse, "TURN" if event.type == "R" else "SCALE")
        return {"RUNNING_MODAL"}

    def _press(self, context: bpy.types.Context, mouse: np.ndarray) -> set[str]:
        """Choose the pattern that is pressed on and start to drag it; beside the mesh, be done."""
        view = find_view(context.screen, *mouse.astype(int))
        place = None if view is None else self._find_place(context, view, mouse)
        if view is None or place is None:
            if view is not None and view.is_flat:
                return {"RUNNING_MODAL"}
            return self._finish() | (set() if view is not None else {"PASS_THROUGH"})
        index = pattern_hits.find_covering(self._obj, outline_of(self._obj), place)
        chosen = index >= 0 and index != self._settings.active_pattern
        if chosen:
            self._settings.active_pattern = index
        if view.is_flat:
            self._check_flat()
        self._view, self._action, self._at, self._virtual = view, "DRAG", mouse, mouse.copy()
        self._is_held = chosen
        if not chosen:
            self._drag(context, mouse, False)
        self.redraw(context)
        return {"RUNNING_MODAL"}

    def _find_place(self, context: bpy.types.Context, view: View, mouse: np.ndarray) -> Place | None:
        """What of the mesh is at a place in the window."""
        if view.is_flat:
            try:
                return locate_uv(self._mesh, view.to_uv(mouse), near=np.array(self.pattern.location))
            except SkinningError:
                return None
        hit = cast_mouse(view, mouse, *self.read_skin(context))
        return None if hit is None else locate_point(self._mesh, hit.rest)

    def _drag(self, context: bpy.types.Context, mouse: np.ndarray, precise: bool) -> None:
        if self._is_held and np.linalg.norm(mouse - self._at) < THRESHOLD:
            return
        self._is_held = False
        self._virtual += (mouse - self._at) * (PRECISE if precise else 1.0)
        self._at = mouse
        place = self._find_place(context, cast(View, self._view), self._virtual)
        if place is not None:
            pattern_hits.put(self.pattern, place)
            self._show(context)

    def _release(self, context: bpy.types.Context) -> set[str]:
        if self._action == "DRAG":
            if not self._is_held and find_modifier(self._obj) is not None:
                for _ in range(SETTLE):  # the skin has swollen under the mouse
                    self._drag(context, self._at, False)
            self._action = ""
        return {"RUNNING_MODAL"}

    def _show(self, context: bpy.types.Context) -> None:
        update(self._obj)
        self.redraw(context)

    def _start_turning(self, context: bpy.types.Context, mouse: np.ndarray, action: str) -> None:
        view = find_view(context.screen, *mouse.astype(int))
        if view is None:
            raise SkinningError("Move the mouse over the 3D View or the UV editor to turn and scale the pattern")
        if view.is_flat:
            self._check_flat()
            center, sign = np.array(self.pattern.uv), 1.0
        else:
            center, sign = self._find_center(context, view, mouse)
        self._view, self._center, self._sign = view, center, sign
        self._at = self._locate(mouse)
        if not np.linalg.norm(self._at - center):
            raise SkinningError("Move the mouse away from the middle of the pattern to turn and scale it")
        self._action, self._saved = action, pattern_hits.read_state(self.pattern)
        self._angle, self._factor, self._axes = 0.0, 1.0, np.ones(2)

    def _find_center(self, context: bpy.types.Context, view: View, mouse: np.ndarray) -> tuple[np.ndarray, float]:
        """The pattern's middle in the window, and whether it turns there as it does on the skin, 1 or -1."""
        skin, matrix = self.read_skin(context)
        found = []
        for one in pattern_hits.find_shown(skin, self.pattern.number):
            center = view.project(one.point, matrix)
            way = 1e-3 * one.sides
            along, up = (view.project(one.point + side, matrix) - center for side in way)
            sign = float(np.sign(along[0] * up[1] - along[1] * up[0])) or 1.0
            found.append((center, -sign if self.pattern.flip else sign))
        if not found:
            raise SkinningError(f"'{self.pattern.name}' does not lie on the mesh: drag it onto the skin first")
        return min(found, key=lambda one: float(np.linalg.norm(one[0] - mouse)))

    def _locate(self, mouse: np.ndarray) -> np.ndarray:
        """Where the mouse is, in the space that the pattern is turned in: the window's pixels, or UVs."""
        view = cast(View, self._view)
        return view.to_uv(mouse) if view.is_flat else mouse

    def _react_turning(self, context: bpy.types.Context, event: bpy.types.Event, mouse: np.ndarray) -> set[str]:
        if event.type.startswith("TIMER"):
            return {"PASS_THROUGH"}
        if event.type == "MOUSEMOVE":
            self._follow(mouse, event.shift)
            self._show_turned(context)
        elif event.value == "PRESS" and event.type in ("LEFTMOUSE", "RET", "NUMPAD_ENTER", "SPACE"):
            self._action = ""
        elif event.value == "PRESS" and event.type in ("RIGHTMOUSE", "ESC"):
            self._action = ""
            pattern_hits.write_state(self.pattern, self._saved)
            self._show(context)
        elif event.value == "PRESS" and self._action == "SCALE" and event.type in ("X", "Y"):
            axes = np.array([event.type == "X", event.type == "Y"], float)
            self._axes = np.ones(2) if (axes == self._axes).all() else axes
            self._show_turned(context)
        return {"RUNNING_MODAL"}

    def _follow(self, mouse: np.ndarray, precise: bool) -> None:
        """Add what the mouse has turned and gone away since it was last looked at."""
        before, after = (complex(*(one - self._center)) for one in (self._at, self._locate(mouse)))
        if not (abs(before) and abs(after)):
            return
        share = PRECISE if precise else 1.0
        turned = after / before
        self._angle += share * self._sign * math.atan2(turned.imag, turned.real)
        self._factor *= abs(turned) ** share
        self._at = self._locate(mouse)

    def _show_turned(self, context: bpy.types.Context) -> None:
        values = dict(zip(pattern_hits.PLACING, self._saved[0], strict=True))
        with muted():
            if self._action == "TURN":
                self.pattern.stroke.clear()
                self.pattern.turn = values["turn"] + self._angle
            else:
                self.pattern.size = np.array(values["size"]) * self._factor**self._axes
        self._show(context)

    def _restore(self, state: tuple) -> None:
        if self._read_all() == state:
            return
        self._settings.active_pattern = state[0]
        for pattern, one in zip(self._settings.patterns, state[1], strict=True):
            pattern_hits.write_state(pattern, one)
        update(self._obj)

    def _finish(self) -> set[str]:
        """Keep what was done, also for the panel that does it again with other numbers."""
        if self._read_all() == self._before:
            return {"CANCELLED"}
        pattern = self.pattern
        self.index, self.size = self._settings.active_pattern, pattern.size
        if not pattern.stroke:
            self.location, self.angle = pattern.location, pattern.turn
        if pattern.space == "UV":
            self.uv = pattern.uv
        self.report({"INFO"}, f"Placed {pattern.name}. {pattern.note}" if pattern.note else f"Placed {pattern.name}")
        return {"FINISHED"}


register, unregister = bpy.utils.register_classes_factory((SUPPLE_OT_pattern_place,))
