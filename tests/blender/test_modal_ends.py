"""Every operator that goes on between two drawings of the window redraws the 3D View and its sidebar when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import bpy
import pytest

from supple.deformers import SkinningError
from supple.operators.computing import ComputingOperator
from supple.operators.mouse_tools import ModalTool

ENDS = ("done", "wrong", "Esc")

closed: list[str] = []
"""Ends that steps have seen: what they have begun is taken back then."""


def list_modal() -> list[type]:
    """The registered classes of Supple's operators that have a `modal`."""
    return sorted(
        (cls for cls in bpy.types.Operator.__subclasses__() if hasattr(cls, "modal") and is_own(cls)),
        key=lambda cls: cls.__name__,
    )


def is_own(cls: type) -> bool:
    return cls.__name__.startswith("SUPPLE_OT_") and hasattr(bpy.types, cls.__name__)


class Window:
    """A window with a 3D View that notes when it is redrawn, as a context for operators."""

    def __init__(self) -> None:
        self.drawn = 0
        area = SimpleNamespace(type="VIEW_3D", tag_redraw=self.draw, header_text_set=ignore)
        self.window = SimpleNamespace(
            screen=SimpleNamespace(areas=[area]), cursor_modal_restore=ignore, cursor_modal_set=ignore
        )
        self.area, self.workspace = area, SimpleNamespace(status_text_set=ignore)
        self.view_layer = SimpleNamespace(update=ignore)
        self.window_manager = SimpleNamespace(
            windows=[self.window], event_timer_add=lambda *_, **__: None, modal_handler_add=ignore,
            event_timer_remove=ignore, progress_begin=ignore, progress_update=ignore, progress_end=ignore,
        )  # fmt: skip

    def draw(self) -> None:
        self.drawn += 1


def ignore(*_: object) -> None:
    pass


def make(cls: type, **methods: Any) -> Any:
    """An operator as Blender makes it, which only Blender can: the same class without Blender's own base."""
    own = [base for base in cls.__mro__[1:] if base not in bpy.types.Operator.__mro__]
    given = SimpleNamespace(bl_rna=SimpleNamespace(properties=()))
    ended = {
        "properties": given,
        "report": ignore,
        "stop": lambda _self: {"CANCELLED"},
        "restore": ignore,
        "describe": lambda *_: "",
    }
    return type(cls.__name__, tuple(own), {**vars(cls), **ended, **methods})()


def take_steps(end: str) -> Iterator[float]:
    """Steps that end by themselves, with an error, or never."""
    try:
        yield 0.5
        while end == "Esc":
            yield 0.5
        if end == "wrong":
            raise SkinningError("Something is wrong")
    finally:
        closed.append(end)


def begin(cls: type, end: str, window: Window) -> Any:
    """An operator of a class that has begun, and will end so."""
    if issubclass(cls, ComputingOperator):
        operator = make(cls, finish=lambda *_: {"FINISHED"}, computes=False)
        operator.is_interactive = True
        assert operator.take(window, take_steps(end)) == {"RUNNING_MODAL"}
    else:
        assert issubclass(cls, ModalTool), f"How does {cls.__name__} end?"
        operator = make(cls, prepare=ignore, react=lambda *_: {"FINISHED" if end == "done" else "CANCELLED"})
        operator.keys = lambda: ""
        event = SimpleNamespace(type="LEFTMOUSE", value="PRESS", mouse_x=0, mouse_y=0)
        base = ModalTool.invoke(operator, window, event)  # the tools' own ask what is under the mouse
        assert base == {"RUNNING_MODAL"}
    return operator


@pytest.mark.parametrize("end", ENDS)
def test_each_end_redraws_the_sidebar(subtests, end):
    classes = list_modal()
    assert len(classes) > 20
    for cls in classes:
        with subtests.test(cls.__name__):
            window = Window()
            closed.clear()
            operator, result = begin(cls, end, window), {"RUNNING_MODAL"}
            for kind in ("TIMER", "ESC" if end == "Esc" else "TIMER", *["TIMER"] * 4):
                window.drawn = 0
                result = operator.modal(window, SimpleNamespace(type=kind, value="PRESS", mouse_x=0, mouse_y=0))
                if "RUNNING_MODAL" not in result:
                    break
            assert result == {"FINISHED" if end == "done" else "CANCELLED"}
            assert window.drawn > 0
            assert closed == ([] if issubclass(cls, ModalTool) else [end])


def test_what_a_window_has_started_is_repeated_in_one_go():
    """Blender executes the same instance again on Repeat Last, and ends where that runs on."""
    cls = next(cls for cls in list_modal() if issubclass(cls, ComputingOperator))
    operator, window = begin(cls, "done", Window()), Window()
    assert operator.take(window, take_steps("done")) == {"FINISHED"}
    operator.end(window)


def test_a_tool_ends_where_somebody_else_edits_the_file(subtests):
    for cls in (cls for cls in list_modal() if issubclass(cls, ModalTool)):
        with subtests.test(cls.__name__):
            mesh = bpy.data.meshes.new("Edited")
            mesh.vertices.add(3)
            obj = bpy.data.objects.new("Edited", mesh)
            window = Window()
            operator = begin(cls, "done", window)
            obj.data.vertices.add(1)
            reacted: list[object] = []
            operator.react = lambda *_, reacted=reacted: reacted.append(1)
            event = SimpleNamespace(type="MOUSEMOVE", value="NOTHING", mouse_x=0, mouse_y=0)
            assert operator.modal(window, event) == {"CANCELLED"}
            assert not reacted
            assert window.drawn > 0
