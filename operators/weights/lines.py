"""Move weight lines by numbers, or by the mouse on the posed skin."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.props import BoolProperty, CollectionProperty, IntProperty, StringProperty

from ...bridge.changes import without_changes
from ...bridge.meshes.data import mesh_of
from ...deformers.weight_editing.line_fields import HANDLES_PER_LINE
from ...deformers.weight_editing.line_moves import MAX_FALLOFF
from ...settings.properties import FloatProperty, FloatVectorProperty
from ...tasks.subject.chosen_bones import find_active_armature, find_chosen_bones, find_deformed_meshes
from ...tasks.weights.line_mirror import add_mirrored
from ...tasks.weights.lines import WeightLines, describe_result, list_moves, read_first_lines, set_moves
from ...viewport.view import find_view
from ...viewport.weight_line_tool import WeightLineTool
from ..base import SKIP
from ..mouse_tools import CANCEL, CONFIRM, NAVIGATION, PRESSED, ModalTool, needs_mode

# Meshes with more vertices follow only when the tool ends: until then, Blender's own modifiers follow each movement,
# and skin that Python deforms does not.
MAX_FOLLOWED = 3000

WHEEL = ("WHEELUPMOUSE", "WHEELDOWNMOUSE")


class WeightLineMove(bpy.types.PropertyGroup):
    """Offsets and falloff of the handles of one line."""

    bone: StringProperty(name="Bone")
    line: IntProperty(name="Line", min=0)
    offsets: FloatVectorProperty(name="Offsets", size=HANDLES_PER_LINE, unit="LENGTH")
    widths: FloatVectorProperty(
        name="Falloff", size=HANDLES_PER_LINE, default=[1.0] * HANDLES_PER_LINE, min=1 / MAX_FALLOFF, max=MAX_FALLOFF
    )


def needs_deformed_meshes(context: bpy.types.Context) -> str:
    is_there = find_deformed_meshes(context.active_object, context.view_layer)
    return "" if is_there else "Select a mesh that has an Armature modifier, or its armature"


class SUPPLE_OT_weight_lines(ModalTool, bpy.types.Operator):
    """Drag the lines where weight passes from bone to bone, on the posed skin. Shows the lines of all selected bones"""

    bl_label = "Weight Lines"
    requires = (needs_deformed_meshes, needs_mode)
    followed_by = "the skin follows the weights"

    bone: StringProperty(
        name="Bone",
        description=(
            "Bone with the line to move, which separates it from its parent; the lines of all selected bones if empty"
        ),
        options=SKIP,
    )
    offset: FloatProperty(
        name="Offset",
        description="Distance to move whole lines along the limb: toward the tail of the bone if positive",
        subtype="DISTANCE",
        precision=4,
        step=1,
        options=SKIP,
    )
    width: FloatProperty(
        name="Falloff",
        description="Factor for the width over which weights fade from bone to bone",
        default=1.0,
        min=1 / MAX_FALLOFF,
        max=MAX_FALLOFF,
        options=SKIP,
    )
    mirror: BoolProperty(
        name="Mirror",
        description="Also move the lines on the other side of the armature. Follows the mesh's X Mirror if not set",
        options=SKIP,
    )
    moves: CollectionProperty(type=WeightLineMove, options={"HIDDEN", *SKIP})

    def draw(self, _context: bpy.types.Context) -> None:
        self.layout.use_property_split = True
        self.layout.prop(self, "offset")
        self.layout.prop(self, "width")

    def run(self, context: bpy.types.Context) -> str:
        moves = {(move.bone, move.line): (tuple(move.offsets), tuple(move.widths)) for move in self.moves}
        lines = self._read_lines(context, list(dict.fromkeys(bone for bone, _ in moves)))
        set_moves(lines, moves, self.offset, self.width)
        lines.write()
        return describe_result(lines)

    def _read_lines(self, context: bpy.types.Context, bones: list[str] | None = None) -> WeightLines:
        """The lines of given or selected bones, and their mirror images if Mirror is on."""
        active = context.active_object
        bones = bones or ([self.bone] if self.bone else find_chosen_bones(active))
        meshes = find_deformed_meshes(active, context.view_layer, bones)
        if not self.is_set("mirror"):
            self.mirror = any(obj.use_mesh_mirror_x for obj in meshes[:1])
        armature = cast(bpy.types.Object, find_active_armature(active))
        return read_first_lines(meshes, armature, add_mirrored(bones, armature) if self.mirror else bones)

    def begin(self, context: bpy.types.Context) -> None:
        self._lines = self._read_lines(context)
        for message in self._lines.problems.values():
            self.tell(message, "WARNING")
        self._tool = WeightLineTool(self._lines, context, self.mirror)
        self._began.callback(self._tool.remove)
        mesh = mesh_of(self._lines.obj)
        if len(mesh.vertices) > MAX_FOLLOWED:
            self._began.callback(mesh.update_tag)
            self._began.enter_context(without_changes())

    def keys(self) -> str:
        if self._tool.is_dragging:
            return "Release: Keep   Shift: Precise   Wheel: Falloff   Esc, Right Click: Undo the Drag"
        return (
            "Drag a Handle: Move the Line There   Drag the Line, or Ctrl: Move the Whole Line   "
            "Drag a Blue or Red Handle: Falloff   Ctrl Wheel: Falloff of the Whole Line   Ctrl Z: Undo   "
            "H: Weight Colors   Enter, Space: Confirm   Esc, Right Click: Cancel"
        )

    def describe(self) -> str:
        return self._tool.describe()

    def react(self, context: bpy.types.Context, event: bpy.types.Event, mouse: Any) -> set[str]:
        is_pressed, is_dragging = event.value == "PRESS", self._tool.is_dragging
        if event.type == "MOUSEMOVE":
            return self._follow(context, event, mouse)
        if event.type == "LEFTMOUSE" and not event.alt:
            return self._click(context, event, mouse)
        if is_pressed and event.type in CONFIRM:
            return self._finish()
        if is_pressed and event.type in CANCEL and not is_dragging:
            self.restore()
            return {"CANCELLED"}
        if is_pressed and (event.type in CANCEL or (event.type == "Z" and event.ctrl)):
            self._tool.undo()
            self.redraw(context)
        elif event.type in WHEEL and (event.ctrl or is_dragging):
            self._tool.turn_wheel(is_up=event.type == "WHEELUPMOUSE")
            self.redraw(context)
        elif is_pressed and event.type == "H":
            context.window_manager.supple_show_weights = not context.window_manager.supple_show_weights
        elif event.type.startswith(NAVIGATION) or event.alt:
            return {"PASS_THROUGH"}
        return {"RUNNING_MODAL"}

    def _follow(self, context: bpy.types.Context, event: bpy.types.Event, mouse: Any) -> set[str]:
        """Drag the grabbed handle, or highlight the handle under the mouse."""
        if self._tool.is_dragging:
            self._tool.drag(context, mouse, event.shift)
            self.redraw(context)
            return {"RUNNING_MODAL"}
        if self._tool.hover(find_view(context.screen, event.mouse_x, event.mouse_y), mouse):
            self.show_message(context)
            self.redraw(context)
        return {"PASS_THROUGH"}

    def _click(self, context: bpy.types.Context, event: bpy.types.Event, mouse: Any) -> set[str]:
        if event.value not in PRESSED:
            self._tool.release()
        else:
            self._tool.press(context, find_view(context.screen, event.mouse_x, event.mouse_y), mouse, event.ctrl)
        self.redraw(context)
        return {"RUNNING_MODAL"}

    def restore(self) -> None:
        self._lines.restore()

    def _finish(self) -> set[str]:
        """End the tool, and store the moves for Adjust Last Operation and Repeat Last."""
        if not self._lines.is_moved:
            self.restore()
            return {"CANCELLED"}
        for bone, line, offsets, widths in list_moves(self._lines):
            move = self.moves.add()
            move.bone, move.line, move.offsets, move.widths = bone, line, offsets, widths
        self.tell(describe_result(self._lines))
        return {"FINISHED"}
