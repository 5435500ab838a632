"""Lines of weight moved by the mouse on the posed skin."""

from __future__ import annotations

from typing import cast

import bpy
import numpy as np
from bpy.props import BoolProperty, CollectionProperty, FloatProperty, FloatVectorProperty, IntProperty, StringProperty

from ..deformers import SkinningError
from ..deformers.weight_editing.lines import FARTHEST, HANDLES, WIDEST
from ..tasks.chosen_bones import find_armature, find_chosen_bones, find_meshes
from ..tasks.weights.line_mirror import add_mirrored, mirror_moves
from ..tasks.weights.lines import Joint, WeightLines, read_lines, set_moves
from ..viewport.view import View, find_view
from ..viewport.weight_line_view import Grip, LinesInView
from ..viewport.weights import Tool, listen
from .mouse_tools import MODES, NAVIGATION, PRESSED, ModalTool

PRECISE = 0.1
"""Share of the mouse's way that counts while Shift is held."""

CATCH_UP = 0.03
"""How far a handle is pushed after the mouse where the line lags behind, in shares of the reach."""

STEP = 1.1
"""How much wider a step of the wheel makes the falloff."""

SHORTEST = 0.05
"""Shares of the falloff's half width nearer to the line than which a handle beside it is not dragged."""


class WeightLineMove(bpy.types.PropertyGroup):
    """How the handles of one line have been moved."""

    bone: StringProperty(name="Bone")
    line: IntProperty(name="Line", min=0)
    offsets: FloatVectorProperty(name="Offsets", size=HANDLES)
    widths: FloatVectorProperty(name="Falloff", size=HANDLES, default=[1.0] * HANDLES, min=1 / WIDEST, max=WIDEST)


class SUPPLE_OT_weight_lines(ModalTool, bpy.types.Operator):
    """Drag the lines at which weight passes from bone to bone, on the posed skin; for all selected bones"""

    bl_idname = "supple.weight_lines"
    bl_label = "Weight Lines"
    bl_options = {"REGISTER", "UNDO"}

    bone: StringProperty(
        name="Bone", description="Bone that weight passes to; the chosen ones if not given", options={"SKIP_SAVE"}
    )
    offset: FloatProperty(
        name="Offset",
        description="Move whole lines along the limb, towards the bone's own end if positive",
        subtype="DISTANCE",
        precision=4,
        step=1,
        options={"SKIP_SAVE"},
    )
    width: FloatProperty(
        name="Falloff",
        description="How much wider the weights fade from bone to bone than before",
        default=1.0,
        min=1 / WIDEST,
        max=WIDEST,
        options={"SKIP_SAVE"},
    )
    mirror: BoolProperty(
        name="Mirror",
        description="The same on the other side of the armature; as the mesh's X mirror says, if not set",
        options={"SKIP_SAVE"},
    )
    moves: CollectionProperty(type=WeightLineMove, options={"SKIP_SAVE", "HIDDEN"})

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if not find_meshes(context.active_object, context.view_layer):
            cls.poll_message_set("Select a mesh that has an Armature modifier, or its armature")
            return False
        if context.mode not in MODES:
            cls.poll_message_set("Go to Object, Pose or Weight Paint Mode first")
            return False
        return True

    def draw(self, _context: bpy.types.Context) -> None:
        self.layout.use_property_split = True
        self.layout.prop(self, "offset")
        self.layout.prop(self, "width")

    def execute(self, context: bpy.types.Context) -> set[str]:
        moves = {(one.bone, one.line): (tuple(one.offsets), tuple(one.widths)) for one in self.moves}
        try:
            lines = self._read_lines(context, list(dict.fromkeys(bone for bone, _ in moves)))
            set_moves(lines, moves, self.offset, self.width)
        except SkinningError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        lines.write()
        self.report({"INFO"}, describe_result(lines))
        return {"FINISHED"}

    def _read_lines(self, context: bpy.types.Context, bones: list[str] | None = None) -> WeightLines:
        """The lines of the bones given, or of those that are chosen, and of the other side's where that is mirrored."""
        active = context.active_object
        bones = bones or ([self.bone] if self.bone else find_chosen_bones(active))
        meshes = find_meshes(active, context.view_layer, bones)
        if not self.properties.is_property_set("mirror"):
            self.mirror = any(obj.use_mesh_mirror_x for obj in meshes[:1])
        armature = cast(bpy.types.Object, find_armature(active))
        return read_any_lines(meshes, armature, add_mirrored(bones, armature) if self.mirror else bones)

    def begin(self, context: bpy.types.Context) -> None:
        self._lines = self._read_lines(context)
        for note in self._lines.notes:
            self.report({"WARNING"}, note)
        self._obj = self._lines.obj
        self._view: View | None = None
        self._past: list[list[tuple[np.ndarray, np.ndarray]]] = []
        self._shown = LinesInView(self._lines, context.evaluated_depsgraph_get(), self._find_active(context))
        self._began.callback(self._shown.remove)
        self._began.callback(listen(self._obj, Tool(self._lines.read_groups, self._find_side)))

    def _find_active(self, context: bpy.types.Context) -> int:
        """The joint of the active bone; the first one where that is none."""
        active = cast(bpy.types.Object, find_armature(context.active_object)).data.bones.active
        names = [self._lines.names[joint.bone] for joint in self._lines.joints]
        return names.index(active.name) if active is not None and active.name in names else 0

    def _find_side(self) -> list[str]:
        """The bones that the lines of the active joint tell of: those beyond it."""
        side = self._lines.joints[self._shown.joint].side
        return [name for name, is_beyond in zip(self._lines.names, side, strict=True) if is_beyond]

    def keys(self) -> str:
        if self._shown.grip is not None:
            return "Let Go: Keep   Shift: Precise   Wheel: Falloff   Esc, Right Click: Back"
        return (
            "Drag a Handle: Move the Line There   Drag the Line, Ctrl: Whole Line   Drag Blue or Red Ones: Falloff   "
            "Ctrl Wheel: Whole Falloff   Ctrl Z: Back   H: Colors   Enter, Space: Confirm   Esc, Right Click: Cancel"
        )

    def describe(self) -> str:
        at = self._shown.grip or self._shown.hover
        joint = self._lines.joints[at.joint if at is not None else self._shown.joint]
        names = self._lines.names
        where = f"{names[joint.parent]} → {names[joint.bone]}"
        if at is None:
            moved = f"Moved {joint.offsets.mean():.4g}   Falloff {joint.widths.mean():.2f} x"
        else:
            moved = f"Moved {joint.offsets[at.place]:.4g}   Falloff {joint.widths[at.place]:.2f} x"
        return f"{where}   {moved}"

    def react(self, context: bpy.types.Context, event: bpy.types.Event, mouse: np.ndarray) -> set[str]:
        if event.type in ("ESC", "RIGHTMOUSE") and event.value == "PRESS":
            return self._go_back(context)
        if event.type in ("RET", "NUMPAD_ENTER", "SPACE") and event.value == "PRESS":
            return self._finish(context)
        if event.type in ("WHEELUPMOUSE", "WHEELDOWNMOUSE") and (event.ctrl or self._shown.grip is not None):
            self._widen(context, STEP if event.type == "WHEELUPMOUSE" else 1.0 / STEP)
            return {"RUNNING_MODAL"}
        if event.type == "H" and event.value == "PRESS":
            context.window_manager.supple_show_weights = not context.window_manager.supple_show_weights
            return {"RUNNING_MODAL"}
        if event.type == "Z" and event.ctrl and event.value == "PRESS":
            self._undo(context)
            return {"RUNNING_MODAL"}
        if event.type == "LEFTMOUSE" and not event.alt:
            return self._press(context, event, mouse) if event.value in PRESSED else self._release(context)
        if event.type == "MOUSEMOVE":
            if self._shown.grip is not None:
                self._drag(context, mouse, event.shift)
                return {"RUNNING_MODAL"}
            self._look(context, mouse)
            return {"PASS_THROUGH"}
        if event.type.startswith(NAVIGATION) or event.alt:
            return {"PASS_THROUGH"}
        return {"RUNNING_MODAL"}

    def _look(self, context: bpy.types.Context, mouse: np.ndarray) -> None:
        """Light up what is under the mouse."""
        view = find_view(context.screen, *mouse.astype(int))
        found = None if view is None or view.is_flat else self._shown.find_grip(view, mouse)
        if found != self._shown.hover:
            self._shown.hover = found
            if found is not None:
                self._shown.joint = found.joint
            self.tell(context)
            self.redraw(context)

    def _press(self, context: bpy.types.Context, event: bpy.types.Event, mouse: np.ndarray) -> set[str]:
        view = find_view(context.screen, *mouse.astype(int))
        grip = None if view is None or view.is_flat else self._shown.find_grip(view, mouse)
        if grip is None:
            return {"RUNNING_MODAL"}
        grip.is_whole = grip.is_whole or event.ctrl
        self._view, self._shown.grip, self._shown.joint = view, grip, grip.joint
        self._at, self._virtual = mouse, mouse.copy()
        joint = self._lines.joints[grip.joint]
        self._remember()
        self._first = joint.offsets.copy(), joint.widths.copy()
        self._start, self._lag = self._find_distance(context, mouse), 0.0
        self._beside = self._shown.read_distance() - self._start
        self.redraw(context)
        return {"RUNNING_MODAL"}

    def _find_distance(self, context: bpy.types.Context, mouse: np.ndarray, last: float | None = None) -> float:
        return self._shown.find_distance(cast(View, self._view), context.evaluated_depsgraph_get(), mouse, last)

    def _remember(self) -> None:
        self._past.append([(one.offsets.copy(), one.widths.copy()) for one in self._lines.joints])

    def _drag(self, context: bpy.types.Context, mouse: np.ndarray, precise: bool) -> None:
        grip = cast(Grip, self._shown.grip)
        joint = self._lines.joints[grip.joint]
        self._virtual += (mouse - self._at) * (PRECISE if precise else 1.0)
        self._at = mouse
        line, handle = grip.place
        now = self._find_distance(context, self._virtual, None if grip.line else float(joint.offsets[line, handle]))
        which = slice(None) if grip.is_whole else slice(handle, handle + 1)
        offsets, widths = self._first
        if grip.line == 0:
            limit = FARTHEST * joint.field.reach
            way = now - self._start + self._lag
            joint.offsets[line, which] = np.clip(offsets[line, which] + way, -limit, limit)
        else:
            first, middle = self._start - offsets[line, handle], now - offsets[line, handle]
            if abs(first) > 0 and middle / first > SHORTEST:
                joint.widths[line, which] = np.clip(widths[line, which] * middle / first, 1 / WIDEST, WIDEST)
        self._change(context, joint)
        if grip.line == 0 and not grip.is_whole:  # weights of large triangles do not follow to the point
            behind = now + self._beside - self._shown.read_distance()
            self._lag = float(np.clip(self._lag + 0.5 * behind, *(CATCH_UP * joint.field.reach * np.array((-1, 1)))))

    def _widen(self, context: bpy.types.Context, factor: float) -> None:
        """Wider falloff of the line that is held or under the mouse, or of the one last dragged."""
        at = self._shown.grip or self._shown.hover
        if self._shown.grip is None:
            self._remember()
        joint = self._lines.joints[at.joint if at is not None else self._shown.joint]
        which = (slice(None), slice(None)) if at is None else (at.place[0], slice(None))
        if self._shown.grip is not None and not self._shown.grip.is_whole:
            which = self._shown.grip.place
        joint.widths[which] = np.clip(joint.widths[which] * factor, 1.0 / WIDEST, WIDEST)
        if self._shown.grip is not None:
            self._first[1][which] = joint.widths[which]
        self._change(context, joint)

    def _change(self, context: bpy.types.Context, joint: Joint) -> None:
        """Show how a joint's lines have been moved, on the other side too where that is wanted."""
        if self.mirror:
            mirror_moves(self._lines, joint, cast(bpy.types.Object, find_armature(context.active_object)))
        self._show(context)

    def _show(self, context: bpy.types.Context) -> None:
        self._lines.write()
        self._shown.read()
        self.redraw(context)

    def _release(self, context: bpy.types.Context) -> set[str]:
        if self._shown.grip is not None:
            self._shown.grip = None
            self.redraw(context)
        return {"RUNNING_MODAL"}

    def _undo(self, context: bpy.types.Context) -> None:
        """Back to before the latest drag."""
        if not self._past:
            return
        for joint, (offsets, widths) in zip(self._lines.joints, self._past.pop(), strict=True):
            joint.offsets, joint.widths = offsets, widths
        self._shown.grip = None
        self._show(context)

    def _go_back(self, context: bpy.types.Context) -> set[str]:
        if self._shown.grip is not None:
            self._undo(context)
            return {"RUNNING_MODAL"}
        self.restore()
        return {"CANCELLED"}

    def restore(self) -> None:
        self._lines.restore()

    def _finish(self, context: bpy.types.Context) -> set[str]:
        """Keep what was done, also for the panel that does it again."""
        if not any(joint.is_moved for joint in self._lines.joints):
            self.restore()
            return {"CANCELLED"}
        for joint in self._lines.joints:
            for line in np.flatnonzero(joint.offsets.any(axis=1) | (joint.widths != 1.0).any(axis=1)).tolist():
                move = self.moves.add()
                move.bone, move.line = self._lines.names[joint.bone], line
                move.offsets, move.widths = joint.offsets[line], joint.widths[line]
        self.report({"INFO"}, describe_result(self._lines))
        return {"FINISHED"}


def read_any_lines(meshes: list[bpy.types.Object], armature: bpy.types.Object, bones: list[str]) -> WeightLines:
    """The lines of bones on the first mesh that has any; raises SkinningError where none has."""
    problem = SkinningError("Select a mesh that has an Armature modifier, or its armature")
    for number, obj in enumerate(meshes):
        try:
            return read_lines(obj, armature, bones)
        except SkinningError as error:
            problem = problem if number else error
    raise problem


def describe_result(lines: WeightLines) -> str:
    """What was done, in words."""
    names = ", ".join(lines.names[joint.bone] for joint in lines.joints if joint.is_moved)
    return f"Moved the line of {names}: {lines.changed_count} vertices of '{lines.obj.name}' have other weights"


register, unregister = bpy.utils.register_classes_factory((WeightLineMove, SUPPLE_OT_weight_lines))
