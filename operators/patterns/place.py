"""Patterns placed by the mouse: dragged, rotated and scaled on the skin or in the UV map."""

from __future__ import annotations

import math

import bpy

from ...deformers import SkinningError
from ...settings.objects import settings_of
from ...settings.properties import FloatProperty, FloatVectorProperty
from ...tasks.patterns.edit import check_index
from ...tasks.patterns.placing import place_pattern, read_layout, write_layout
from ...tasks.patterns.write import find_modifier, update
from ...viewport.pattern_view import PatternDrag, RotateAndScale, bring_into_view
from ...viewport.view import Mouse, find_view
from ..mouse_tools import CANCEL, CONFIRM, NAVIGATION, PRESSED
from .library import SKIP
from .tools import PatternTool

LAYOUT = ("location", "uv", "angle", "size")  # properties, of which only those that were set count

MAX_PLACINGS = 3  # of a displaced pattern under the mouse that lets it go: each moves the skin a little less


class SUPPLE_OT_pattern_place(PatternTool, bpy.types.Operator):
    """Drag, rotate and scale the active pattern with the mouse, on the posed skin or in the UV editor"""

    bl_label = "Place Pattern"

    location: FloatVectorProperty(
        name="Location", description="Center of the pattern on the mesh at rest", subtype="TRANSLATION", options=SKIP
    )
    uv: FloatVectorProperty(name="UV", description="Center of the pattern in the UV map", size=2, options=SKIP)
    angle: FloatProperty(
        name="Rotation", description="Counter-clockwise rotation of the pattern", subtype="ANGLE", options=SKIP
    )
    size: FloatVectorProperty(
        name="Size",
        description="Width and height, in the object's units or those of the UV map; unchanged if not set",
        size=2,
        default=(0.1, 0.1),
        min=0.0,
        options=SKIP,
    )

    def draw(self, _context: bpy.types.Context) -> None:
        self.layout.use_property_split = True
        for name in filter(self.properties.is_property_set, LAYOUT):
            self.layout.prop(self, name)

    def change(self, _context: bpy.types.Context, obj: bpy.types.Object) -> str:
        given = {name: getattr(self, name) for name in filter(self.properties.is_property_set, LAYOUT)}
        pattern = check_index(obj, self.index_of(obj))
        place_pattern(obj, pattern, **given)
        settings_of(obj).active_pattern = self.index_of(obj)
        return f"Placed {pattern.name}"

    def prepare(self, context: bpy.types.Context) -> None:
        super().prepare(context)
        bring_into_view(context, self._scene)

    def begin(self, context: bpy.types.Context) -> None:
        if context.area is not None and context.area.type == "IMAGE_EDITOR":
            self._check_space()
        self._before = self._read_all()
        self._drag: PatternDrag | None = None
        self._rotation: RotateAndScale | None = None

    def _check_space(self) -> None:
        """Raise SkinningError if the pattern does not lie in the UV map."""
        if self.pattern.space != "UV":
            raise SkinningError(
                f"'{self.pattern.name}' is placed on the surface: set Place On to UV Map to move it in the UV editor"
            )

    def _read_all(self) -> tuple:
        return self._settings.active_pattern, [read_layout(pattern) for pattern in self._settings.patterns]

    def keys(self) -> str:
        if self._rotation is not None:
            axes = "   X, Y: Width or Height Only" if self._rotation.scales else ""
            return f"Click, Enter: Confirm   Esc, Right Click: Back{axes}   Shift: Precise"
        return (
            "Drag: Move   R: Rotate   S: Scale   Shift: Precise   Enter, Space, Click Outside the Mesh: Confirm   "
            "Esc, Right Click: Cancel"
        )

    def describe(self) -> str:
        pattern = self.pattern
        width, height = pattern.size
        layout = f"{pattern.name}   Rotation {math.degrees(pattern.turn):.1f}°   Size {width:.4g} x {height:.4g}"
        return f"{layout}   {pattern.note or self.keys()}"

    def react(self, context: bpy.types.Context, event: bpy.types.Event, mouse: Mouse) -> set[str]:
        if self._rotation is not None:
            return self._rotate(context, event, mouse, self._rotation)
        if event.type in CANCEL and event.value == "PRESS":
            self._restore()
            return {"CANCELLED"}
        if event.type in CONFIRM and event.value == "PRESS":
            return self._finish()
        if event.type.startswith(NAVIGATION) or event.alt:
            return {"PASS_THROUGH"}
        if event.type == "LEFTMOUSE":
            return self._press(context, mouse) if event.value in PRESSED else self._release(context)
        if event.type == "MOUSEMOVE":
            if self._drag is None:
                return {"PASS_THROUGH"}
            if self._drag.follow(context, mouse, event.shift):
                self._show(context)
        elif event.type in ("R", "S") and event.value == "PRESS" and not (event.ctrl or event.oskey):
            self._start_rotation(context, mouse, scales=event.type == "S")
        return {"RUNNING_MODAL"}

    def _press(self, context: bpy.types.Context, mouse: Mouse) -> set[str]:
        """Choose the pattern under the mouse and start to drag it; finish if the mouse is not on the mesh."""
        view = find_view(context.screen, *mouse.astype(int))
        point = None if view is None else self._scene.locate(context, view, mouse)
        if view is None or point is None:
            if view is not None and view.is_flat:
                return {"RUNNING_MODAL"}
            return self._finish() | (set() if view is not None else {"PASS_THROUGH"})
        index = self._scene.find_covering(point)
        is_chosen = index >= 0 and index != self._settings.active_pattern
        if is_chosen:
            self._settings.active_pattern = index
        if view.is_flat:
            self._check_space()
        self._drag = PatternDrag(self._scene, view, mouse, is_held=is_chosen)
        if not is_chosen and self._drag.follow(context):
            self._show(context)
        self.redraw(context)
        return {"RUNNING_MODAL"}

    def _release(self, context: bpy.types.Context) -> set[str]:
        if self._drag is not None:
            if not self._drag.is_held and find_modifier(self._obj) is not None:
                for _ in range(MAX_PLACINGS):  # the skin has swollen under the mouse
                    if self._drag.follow(context):
                        self._show(context)
            self._drag = None
        return {"RUNNING_MODAL"}

    def _show(self, context: bpy.types.Context) -> None:
        update(self._obj)
        self.redraw(context)

    def _start_rotation(self, context: bpy.types.Context, mouse: Mouse, scales: bool) -> None:
        view = find_view(context.screen, *mouse.astype(int))
        if view is None:
            raise SkinningError("Move the mouse over the 3D View or the UV editor to rotate and scale the pattern")
        if view.is_flat:
            self._check_space()
        self._rotation = RotateAndScale(context, self._scene, view, mouse, scales)

    def _rotate(
        self, context: bpy.types.Context, event: bpy.types.Event, mouse: Mouse, rotation: RotateAndScale
    ) -> set[str]:
        """Follow an event while the pattern is rotated or scaled."""
        if event.type.startswith("TIMER"):
            return {"PASS_THROUGH"}
        is_pressed = event.value == "PRESS"
        if is_pressed and event.type in ("LEFTMOUSE", *CONFIRM):
            self._rotation = None
        elif is_pressed and event.type in CANCEL:
            self._rotation = None
            write_layout(self.pattern, rotation.before)
            self._show(context)
        elif event.type == "MOUSEMOVE" or (is_pressed and rotation.scales and event.type in ("X", "Y")):
            if event.type == "MOUSEMOVE":
                rotation.follow(mouse, event.shift)
            else:
                rotation.toggle_axis(event.type)
            rotation.apply()
            self._show(context)
        return {"RUNNING_MODAL"}

    def _restore(self) -> None:
        """Restore the layouts of all patterns before the tool."""
        if self._read_all() == self._before:
            return
        self._settings.active_pattern, layouts = self._before
        for pattern, layout in zip(self._settings.patterns, layouts, strict=True):
            write_layout(pattern, layout)
        update(self._obj)

    def _finish(self) -> set[str]:
        """Keep the changes, and set the properties for Adjust Last Operation."""
        if self._read_all() == self._before:
            return {"CANCELLED"}
        pattern = self.pattern
        self.index, self.size = self._settings.active_pattern, pattern.size
        if not pattern.stroke:  # it would leave its stroke
            self.location, self.angle = pattern.location, pattern.turn
        if pattern.space == "UV":
            self.uv = pattern.uv
        self.tell(f"Placed {pattern.name}. {pattern.note}" if pattern.note else f"Placed {pattern.name}")
        return {"FINISHED"}
