"""What all operators have in common: they refuse, report and translate in one place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, cast

import bpy

from ..deformers import SkinningError
from ..settings.events import redraw
from ..settings.properties import find_nan
from ..tasks.left_out import LeftOut, describe_left_out
from ..translations import find_code, translate

Requirement = Callable[[bpy.types.Context], str]
"""What has to be there: it says what to do where it is not, else ""."""


class SuppleOperator:
    """Mix-in: an operator that says what is missing, what is wrong, and what it has done."""

    bl_options = {"REGISTER", "UNDO"}
    requires: tuple[Requirement, ...] = ()

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        missing = next(filter(None, (requirement(context) for requirement in cls.requires)), "")
        if missing:
            cls.poll_message_set(translate(missing))
        return not missing

    def execute(self, context: bpy.types.Context) -> set[str]:
        return self.attempt(lambda: self.run(context))

    def run(self, context: bpy.types.Context) -> Any:
        """Do it: a text is reported, a set is what the operator returns.

        Raises
        ------
        SkinningError
            What is wrong, and what to do about it: reported as an error; the operator is canceled.
        """
        raise AssertionError("each operator has its own")

    def attempt(self, step: Callable[[], Any]) -> set[str]:
        """Take a step as `run` does, and report what it returns, or what is wrong."""
        try:
            self._check_numbers()
            result = step()
        except SkinningError as error:
            self.tell(str(error), "ERROR")
            return {"CANCELLED"}
        if isinstance(result, set):
            return result
        if result:
            self.tell(result)
        return {"FINISHED"}

    def _check_numbers(self) -> None:
        """Raise SkinningError for a number that scripts have given and that is none."""
        if found := find_nan(cast(bpy.types.Operator, self).properties):
            owner, wrong = found
            value = getattr(owner, wrong.identifier)
            shown = ", ".join(f"{each:g}" for each in value) if wrong.array_length else f"{value:g}"
            raise SkinningError(f"{wrong.name} is {shown}: choose {wrong.hard_min:g} to {wrong.hard_max:g}")

    def ask(self, context: bpy.types.Context, button: str = "") -> set[str]:
        """Open a dialog of the operator, as `draw` draws it; Enter, or its button, executes."""
        operator = cast(bpy.types.Operator, self)
        text = translate(button or operator.bl_label)
        return cast(set[str], context.window_manager.invoke_props_dialog(operator, width=400, confirm_text=text))

    def tell(self, text: str, level: str = "INFO") -> None:
        """Report a text in the language of the interface; an error with its code."""
        code = find_code(text) if level == "ERROR" else ""
        self.report({level}, f"{translate(text)} ({code})" if code else translate(text))

    def tell_left_out(self, left_out: LeftOut) -> None:
        """Report which objects were left out, and why."""
        for line in describe_left_out(left_out):
            self.tell(line, "WARNING")


class Waiting:
    """Progress of an operator that goes on between two drawings of the window, and what ends with it."""

    def __init__(self, context: bpy.types.Context, seconds: float, most: int) -> None:
        self.ends = ExitStack()
        self._timer = context.window_manager.event_timer_add(seconds, window=context.window)
        context.window_manager.progress_begin(0, most)
        _under_way.append(self)

    def end(self, context: bpy.types.Context) -> None:
        """Take progress away, and draw 3D Views and their panels again."""
        if self not in _under_way:  # the extension was disabled
            return
        _under_way.remove(self)
        with self.ends:
            context.window_manager.event_timer_remove(self._timer)
            context.window_manager.progress_end()
            if context.workspace is not None:  # a window is closed
                context.workspace.status_text_set(None)
            redraw(context.window_manager, context)


_under_way: list[Waiting] = []


def unregister() -> None:
    """End what is under way: of an operator that is no longer registered, Blender calls nothing."""
    for waiting in _under_way[:]:
        waiting.end(bpy.context)


class WaitingOperator(SuppleOperator):
    """Mix-in: goes on between two drawings of the window, with progress; once it ends, panels show what has come."""

    def begin_waiting(self, context: bpy.types.Context, seconds: float, most: int) -> None:
        """Have `modal` called again and again, so many seconds apart, and show progress from 0 to `most`."""
        self._waiting = Waiting(context, seconds, most)

    def show_waiting(self, context: bpy.types.Context, done: int, status: str) -> None:
        """Show progress under the mouse, and a text in the status bar."""
        context.window_manager.progress_update(done)
        context.workspace.status_text_set(translate(f"Supple: {status}"))

    def end_waiting(self, context: bpy.types.Context) -> None:
        """Take progress away, and draw 3D Views and their panels again."""
        self._waiting.end(context)
