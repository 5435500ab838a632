"""The base of all operators: they refuse, report and translate in one place."""

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

# From 4.5 on, Blender warns of a path relative to the file unless its property says that it supports it.
RELATIVE_PATH: set[Any] = {"PATH_SUPPORTS_BLEND_RELATIVE"} if bpy.app.version >= (4, 5, 0) else set()

# A button starts from the property's default each time.
SKIP: set[Any] = {"SKIP_SAVE"}

# Returns a sentence on how to meet the requirement, "" if it is met.
Requirement = Callable[[bpy.types.Context], str]


class SuppleOperator:
    """Mix-in: an operator that reports missing requirements, errors and results."""

    bl_options = {"REGISTER", "UNDO"}
    requires: tuple[Requirement, ...] = ()

    def __init_subclass__(cls, **more: Any) -> None:
        """Derive the id that scripts call, `supple.bind`, from the class name that Blender asks for, SUPPLE_OT_bind."""
        super().__init_subclass__(**more)
        prefix, is_operator, name = cls.__name__.partition("_OT_")
        if is_operator:
            cls.bl_idname = f"{prefix.lower()}.{name}"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        missing = next(filter(None, (requirement(context) for requirement in cls.requires)), "")
        if missing:
            cls.poll_message_set(translate(missing))
        return not missing

    def execute(self, context: bpy.types.Context) -> set[str]:
        return self.attempt(lambda: self.run(context))

    def run(self, context: bpy.types.Context) -> Any:
        """Run the operator, and return what `attempt` reports.

        Raises
        ------
        SkinningError
            Reported as an error: what is wrong, and what to do about it. The operator is canceled.
        """
        raise AssertionError("each operator has its own")

    def attempt(self, step: Callable[[], Any]) -> set[str]:
        """Run a step and report what it returns or raises.

        `step` (callable): returns a text, sentences without full stops (a list, or a report with `describe`), the
        operator's own result (a set), or None for nothing to report.
        """
        try:
            self._check_numbers()
            result = step()
        except SkinningError as error:
            self.tell(str(error), "ERROR")
            return {"CANCELLED"}
        if isinstance(result, set):
            return result
        if hasattr(result, "describe"):
            result = ". ".join(result.describe())
        if result:
            self.tell(result if isinstance(result, str) else " ".join(result))
        return {"FINISHED"}

    def _check_numbers(self) -> None:
        """Raise SkinningError for a number that a script gave as NaN."""
        if found := find_nan(cast(bpy.types.Operator, self).properties):
            owner, wrong = found
            value = getattr(owner, wrong.identifier)
            shown = ", ".join(f"{each:g}" for each in value) if wrong.array_length else f"{value:g}"
            raise SkinningError(f"{wrong.name} is {shown}: choose {wrong.hard_min:g} to {wrong.hard_max:g}")

    def is_set(self, name: str) -> bool:
        """Whether a property was set by a script, a button or the user."""
        return cast(bpy.types.Operator, self).properties.is_property_set(name)

    def ask(self, context: bpy.types.Context, button: str = "", **shown: Any) -> set[str]:
        """Open a dialog with what `draw` draws; Enter, or its button, executes. `shown` goes to Blender's dialog."""
        operator = cast(bpy.types.Operator, self)
        text = translate(button or operator.bl_label)
        dialog = {"width": 400, "confirm_text": text} | shown
        return cast(set[str], context.window_manager.invoke_props_dialog(operator, **dialog))

    def start_columns(self) -> bpy.types.UILayout:
        """The layout, with names and values in two columns."""
        layout = cast(bpy.types.Operator, self).layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        return layout

    def tell(self, text: str, level: str = "INFO") -> None:
        """Report a text in the language of the interface; an error with its code."""
        code = find_code(text) if level == "ERROR" else ""
        self.report({level}, f"{translate(text)} ({code})" if code else translate(text))

    def tell_left_out(self, left_out: LeftOut) -> None:
        """Report which objects were left out, and why."""
        for line in describe_left_out(left_out):
            self.tell(line, "WARNING")


class Waiting:
    """Progress of an operator that continues between two redraws of the window, and actions to take at its end."""

    def __init__(self, context: bpy.types.Context, seconds: float, most: int) -> None:
        self.ends = ExitStack()
        self._timer = context.window_manager.event_timer_add(seconds, window=context.window)
        context.window_manager.progress_begin(0, most)
        _under_way.append(self)

    def end(self, context: bpy.types.Context) -> None:
        """Remove the progress, and redraw 3D Views and their panels."""
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
    """End all operators in progress: Blender calls no function of an operator that is not registered any more."""
    for waiting in _under_way[:]:
        waiting.end(bpy.context)


class WaitingOperator(SuppleOperator):
    """Mix-in: continues between two redraws of the window, with progress; panels are redrawn at the end."""

    def begin_waiting(self, context: bpy.types.Context, seconds: float, most: int) -> None:
        """Let Blender call `modal` every so many seconds, and show progress from 0 to `most`."""
        self._waiting = Waiting(context, seconds, most)

    def show_waiting(self, context: bpy.types.Context, done: int, status: str) -> None:
        """Show progress at the mouse pointer, and a text in the status bar."""
        context.window_manager.progress_update(done)
        context.workspace.status_text_set(translate(f"Supple: {status}"))

    def end_waiting(self, context: bpy.types.Context) -> None:
        """Remove the progress, and redraw 3D Views and their panels."""
        self._waiting.end(context)
