"""What overlays share: caches of objects, shaders that are compiled once, handlers that come and go."""

from typing import Any

import bpy
import pytest

from scenes import add_tube
from supple.viewport.drawing import LazyShader, ObjectCache, Overlay, forget_on_load

pytestmark = pytest.mark.python_only("nothing is evaluated")


def test_a_cache_keeps_only_what_is_shown():
    first, second = add_tube()
    cache: ObjectCache[str] = ObjectCache({first.session_uid: "first", second.session_uid: "second"})
    cache.keep_only([second])
    assert cache == {second.session_uid: "second"}
    cache.keep_only([])
    assert cache == {}


def test_a_shader_is_compiled_once_and_again_when_forgotten():
    made: list[Any] = []
    shader = LazyShader(lambda: made.append("shader") or made[-1])
    assert made == []
    assert shader.get() == shader.get() == "shader"
    assert len(made) == 1
    shader.forget()
    shader.get()
    assert len(made) == 2


def test_a_shader_that_fails_is_raised_once():
    def fail() -> Any:
        raise RuntimeError("no GPU")

    shader = LazyShader(fail)
    with pytest.raises(RuntimeError, match="no GPU"):
        shader.get()
    assert shader.get() is None


@pytest.mark.parametrize("name", ["load_post", "undo_post", "redo_post"])
def test_caches_are_emptied_with_the_file_and_by_undo(name: str):
    first, second = {1: "one"}, {2: "two"}
    handlers = dict(forget_on_load(first, second))
    assert hasattr(handlers[name], "_bpy_persistent"), "or it is gone once a file was opened"
    handlers[name](None)
    assert first == second == {}


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

    cache: ObjectCache[str] = ObjectCache({7: "kept"})
    shader = LazyShader(lambda: "shader")  # type: ignore[arg-type, return-value]
    shader.get()
    overlay = Overlay(((Space, draw),), (("load_post", on_load),), (cache,), shader)
    overlay.register()
    assert Space.drawn == [(draw, (), "WINDOW", "POST_VIEW")]
    assert on_load in bpy.app.handlers.load_post
    overlay.unregister()
    assert Space.drawn == overlay.handles == []
    assert on_load not in bpy.app.handlers.load_post
    assert cache == {}
    monkeypatch.setattr(shader, "_make", lambda: "another")
    assert shader.get() == "another"
