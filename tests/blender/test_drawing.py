"""What overlays share: shaders that are compiled once, handlers that come and go."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import bpy
import pytest

from supple.viewport import drawing
from supple.viewport.drawing import LazyShader, Overlay


def test_a_shader_is_compiled_once_and_again_when_forgotten():
    made: list[Any] = []
    shader = LazyShader(lambda: made.append("shader") or made[-1])
    assert made == []
    assert shader.get() == shader.get() == "shader"
    assert len(made) == 1
    shader.forget()
    shader.get()
    assert len(made) == 2


def test_the_state_of_drawing_is_as_it_was(monkeypatch: pytest.MonkeyPatch):
    """There is no GPU without a window: a table stands in for its state."""
    state = {"depth_test": "LESS", "depth_mask": True, "blend": "NONE"}
    functions = {f"{name}_get": partial(state.get, name) for name in state}
    functions |= {f"{name}_set": partial(state.__setitem__, name) for name in state}
    monkeypatch.setattr(drawing, "gpu", SimpleNamespace(state=SimpleNamespace(**functions)))
    before = dict(state)
    with drawing.drawing_state("LESS_EQUAL", mask=False):
        assert state == {"depth_test": "LESS_EQUAL", "depth_mask": False, "blend": "ALPHA"}
    assert state == before


def test_a_shader_that_fails_is_raised_once():
    def fail() -> Any:
        raise RuntimeError("no GPU")

    shader = LazyShader(fail)
    with pytest.raises(RuntimeError, match="no GPU"):
        shader.get()
    assert shader.get() is None


@pytest.mark.versions
def test_an_overlay_is_installed_and_removed(monkeypatch: pytest.MonkeyPatch):
    class Space:
        drawn: list[Any] = []

        @classmethod
        def draw_handler_add(cls, *given: Any) -> Any:
            cls.drawn.append(given)
            return given

        @classmethod
        def draw_handler_remove(cls, handle: Any, _region: str) -> None:
            cls.drawn.remove(handle)

    def draw() -> None: ...
    def on_load(*_: Any) -> None: ...

    shader = LazyShader(lambda: "shader")  # type: ignore[arg-type, return-value]
    shader.get()
    overlay = Overlay(((Space, draw),), (("load_post", on_load),), shader)
    overlay.register()
    assert Space.drawn == [(draw, (), "WINDOW", "POST_VIEW")]
    assert on_load in bpy.app.handlers.load_post
    overlay.unregister()
    assert Space.drawn == overlay.handles == []
    assert on_load not in bpy.app.handlers.load_post
    monkeypatch.setattr(shader, "_make", lambda: "another")
    assert shader.get() == "another"
