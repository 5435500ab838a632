"""Drag weight lines with the mouse and its wheel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np

from ..deformers.weight_editing.line_moves import MAX_OFFSET, HandleMoves
from ..deformers.weight_editing.lines import JointLines
from ..tasks.weights.line_mirror import LineMirror
from ..tasks.weights.lines import WeightLines
from .view import View
from .weight_line_view import LinePick, LinesInView
from .weights import WeightsTool, show_tool

# Share of the mouse's movement that counts while Shift is held
PRECISE_SHARE = 0.1

# A handle is pushed farther than the mouse by up to this share of the reach, because lines on large triangles lag.
LARGEST_LAG = 0.03

# A step of the wheel makes the falloff wider by this factor.
WHEEL_FACTOR = 1.1

# A handle of the falloff keeps at least this share of its first distance from the line.
SMALLEST_FALLOFF = 0.05


@dataclass
class LineDrag:
    """A handle or line while it is dragged.

    Attributes
    ----------
    view : View
        The view in which the drag began.
    moves : HandleMoves
        Moves of the joint at the beginning of the drag, with later changes of the falloff by the wheel.
    mouse, pointer : float arrays, shape (2,)
        The last position of the mouse, and the same slowed down by Shift; pixels of the window.
    start : float
        Position of the mouse along the limb at the beginning, relative to the unmoved line, object units.
    ahead : float
        Distance of the handle ahead of the mouse at the beginning.
    lag : float
        Distance that the handle is pushed ahead of the mouse, object units.
    """

    picked: LinePick
    view: View
    moves: HandleMoves
    mouse: np.ndarray
    pointer: np.ndarray
    start: float
    ahead: float
    lag: float = 0.0

    @property
    def handles(self) -> tuple[int, Any]:
        """The handles that go along, as an index of `HandleMoves.offsets`."""
        line, handle = self.picked.indices
        return line, slice(None) if self.picked.is_whole else handle


class WeightLineTool:
    """Weight lines in 3D Views that follow the mouse, from when this is made until `remove`.

    `is_mirrored`: whether the lines of the other side move alike.
    """

    def __init__(self, lines: WeightLines, context: bpy.types.Context, is_mirrored: bool) -> None:
        self._lines = lines
        self._mirror = LineMirror(lines) if is_mirrored else None
        self._past: list[dict[int, HandleMoves]] = []
        self._drag: LineDrag | None = None
        self._view = LinesInView(lines, context.evaluated_depsgraph_get(), _find_active_joint(lines))
        self._stop_listening = show_tool(lines.obj, WeightsTool(lines.read_groups, self._find_side))

    def remove(self) -> None:
        self._stop_listening()
        self._view.remove()

    def _find_side(self) -> list[str]:
        """The bones beyond the active joint, whose weight its lines show."""
        side = self._lines.joints[self._view.joint].side
        return [name for name, is_beyond in zip(self._lines.names, side, strict=True) if is_beyond]

    @property
    def is_dragging(self) -> bool:
        return self._drag is not None

    def describe(self) -> str:
        """The joint, and how far the handle under the mouse is moved."""
        picked = self._view.picked
        joint = self._lines.joints[picked.joint if picked is not None else self._view.joint]
        moves, handles = self._lines.moves[joint.bone], (picked.indices if picked is not None else ...)
        names = self._lines.names
        return (
            f"{names[joint.parent]} → {names[joint.bone]}   Moved {moves.offsets[handles].mean():.4g}   "
            f"Falloff {moves.widths[handles].mean():.2f} x"
        )

    def hover(self, view: View | None, mouse: np.ndarray) -> bool:
        """Highlight the handle or line under the mouse, pixels of the window, shape (2,); returns whether it is new."""
        found = self._pick(view, mouse)
        if found == self._view.hovered:
            return False
        self._view.hovered = found
        if found is not None:
            self._view.joint = found.joint
        return True

    def _pick(self, view: View | None, mouse: np.ndarray) -> LinePick | None:
        return None if view is None or view.is_flat else self._view.pick(view, mouse)

    def press(self, context: bpy.types.Context, view: View | None, mouse: np.ndarray, is_whole: bool) -> bool:
        """Begin to drag the handle under the mouse, or the whole line; returns whether there is one."""
        picked = self._pick(view, mouse)
        if picked is None or view is None:
            return False
        picked = replace(picked, is_whole=picked.is_whole or is_whole)
        moves = self._lines.moves[self._lines.joints[picked.joint].bone]
        start = self._view.find_distance(picked, view, context.evaluated_depsgraph_get(), mouse, None)
        ahead = self._view.read_distance(picked) - start
        self._remember()
        self._view.dragged, self._view.joint = picked, picked.joint
        self._drag = LineDrag(picked, view, moves, mouse, mouse.copy(), start, ahead)
        return True

    def _remember(self) -> None:
        self._past.append(dict(self._lines.moves))

    def drag(self, context: bpy.types.Context, mouse: np.ndarray, is_precise: bool) -> None:
        """Drag the pressed handle to the mouse."""
        drag = self._drag
        if drag is None:
            return
        joint = self._lines.joints[drag.picked.joint]
        drag.pointer += (mouse - drag.mouse) * (PRECISE_SHARE if is_precise else 1.0)
        drag.mouse = mouse
        moves = self._lines.moves[joint.bone]
        is_falloff = drag.picked.line > 0
        last = None if is_falloff else float(moves.offsets[drag.picked.indices])
        depsgraph = context.evaluated_depsgraph_get()
        now = self._view.find_distance(drag.picked, drag.view, depsgraph, drag.pointer, last)
        if is_falloff:
            middle = drag.moves.offsets[drag.picked.indices]
            first = drag.start - middle
            if abs(first) > 0 and (now - middle) / first > SMALLEST_FALLOFF:
                moves = replace(moves, widths=drag.moves.scale_widths(drag.handles, (now - middle) / first).widths)
        else:
            limit = MAX_OFFSET * joint.field.reach
            moved = drag.moves.add_offset(drag.handles, now - drag.start + drag.lag, limit)
            moves = replace(moves, offsets=moved.offsets)
        self._change(joint, moves)
        if not is_falloff and not drag.picked.is_whole:  # on large triangles weights do not follow all the way
            behind = now + drag.ahead - self._view.read_distance(drag.picked)
            limit = LARGEST_LAG * joint.field.reach
            drag.lag = float(np.clip(drag.lag + 0.5 * behind, -limit, limit))

    def turn_wheel(self, is_up: bool) -> None:
        """Widen or narrow the falloff of the dragged handles, or the line under the mouse, or the joint."""
        picked, drag = self._view.picked, self._drag
        joint = self._lines.joints[picked.joint if picked is not None else self._view.joint]
        handles: Any = ...
        if drag is not None:
            handles = drag.handles
        elif picked is not None:
            handles = picked.indices[0]
        if drag is None:
            self._remember()
        moves = self._lines.moves[joint.bone].scale_widths(handles, WHEEL_FACTOR if is_up else 1.0 / WHEEL_FACTOR)
        if drag is not None:
            drag.moves = replace(drag.moves, widths=moves.widths)
        self._change(joint, moves)

    def _change(self, joint: JointLines, moves: HandleMoves) -> None:
        """Move a joint's lines, and their mirror image if Mirror is on."""
        self._lines.moves[joint.bone] = moves
        if self._mirror is not None:
            self._mirror.mirror_moves(joint)
        self._show()

    def _show(self) -> None:
        self._lines.write()
        self._view.update_lines()

    def release(self) -> bool:
        """End the drag; whether there was one."""
        was_dragging = self.is_dragging
        self._drag = self._view.dragged = None
        return was_dragging

    def undo(self) -> None:
        """Go back to before the latest drag or step of the wheel."""
        if not self._past:
            return
        self._lines.moves = self._past.pop()
        self.release()
        self._show()


def _find_active_joint(lines: WeightLines) -> int:
    """Index of the joint of the armature's active bone; 0 if it has no line."""
    active = lines.armature.data.bones.active
    names = [lines.names[joint.bone] for joint in lines.joints]
    return names.index(active.name) if active is not None and active.name in names else 0
