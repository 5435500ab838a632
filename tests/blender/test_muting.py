"""Settings that Supple itself changes call no listener, and what fails midway leaves no half bound object."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import pytest

from scenes import (
    add_tube,
    armature_modifier,
    bind,
    distance,
    evaluated_points,
    reset,
    rest_points,
    snapshot,
    turn,
    update,
)
from supple.bridge.rigs import carriers
from supple.settings import events
from supple.settings.objects import settings_of
from supple.tasks.skin import bind as binding
from supple.tasks.skin import by_blender, by_python, by_stretch
from supple.tasks.skin.bind import unbind

pytestmark = pytest.mark.usefixtures("silent_handlers")


@pytest.fixture
def calls() -> Iterator[list[str]]:
    """What the listeners were called with: names of objects."""
    found = []

    def listen(obj: bpy.types.Object) -> None:
        found.append(obj.name)

    events.listeners.append(listen)
    events.pattern_listeners.append(listen)
    yield found
    events.listeners.remove(listen)
    events.pattern_listeners.remove(listen)


def change_method(obj: bpy.types.Object) -> None:
    settings_of(obj).method = "SSD"


def change_particles(obj: bpy.types.Object) -> None:
    settings_of(obj).particles.stiffness = 2.0


def change_pattern_display(obj: bpy.types.Object) -> None:
    settings_of(obj).pattern_display = "BUMP"


def test_muted_changes_call_no_listener(calls: list[str], subtests: pytest.Subtests):
    obj, _ = add_tube()
    for change in (change_method, change_particles, change_pattern_display):
        with subtests.test(change.__name__):
            calls.clear()
            with events.muted():
                assert events.are_muted()
                with events.muted():
                    change(obj)
                change(obj)
                assert events.are_muted()
            assert not calls
            change(obj)
            assert calls == ["Tube"]


def test_listeners_hear_again_after_an_error(calls):
    obj, _ = add_tube()
    with pytest.raises(ZeroDivisionError), events.muted():
        _ = 1 / 0
    assert not events.are_muted()
    change_method(obj)
    assert calls == ["Tube"]


@pytest.mark.usefixtures("evaluator")
def test_bind_calls_no_listener(calls: list[str]):
    obj, _ = add_tube()
    for method in ("SSD", "DLB"):
        bind(obj, method=method)
    assert not calls


# What fails midway


class FailureInTheMiddleError(Exception):
    """Not one of Supple's own: a bug, or Blender's."""


def fail(*_args: object, **_keywords: object) -> None:
    raise FailureInTheMiddleError


STEPS = {
    "PYTHON": ((by_python, "ensure_carrier_group"), (carriers, "new_carrier"), (by_python, "keep")),
    "BLENDER": ((by_blender, "_write_linear"),),
    "STRETCH": ((by_stretch, "make_armatures"), (by_stretch, "hold")),
}
"""By what evaluates."""

METHODS = {"PYTHON": "DLBNT", "BLENDER": "DLB", "STRETCH": "DLBNT"}


@pytest.mark.parametrize("is_bound", [False, True])
@pytest.mark.parametrize("evaluate", STEPS)
def test_a_bind_that_fails_midway_leaves_the_object_as_it_was(
    evaluate: str, is_bound: bool, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
):
    for step in STEPS[evaluate]:
        with subtests.test(step[1]):
            reset()
            obj, armature = add_tube()
            if is_bound:
                by = ("SSD", "BLENDER") if evaluate == "STRETCH" else (METHODS[evaluate], evaluate)
                binding.bind_each([obj], *by)
                with events.muted():
                    settings_of(obj).linear_group = "" if evaluate == "STRETCH" else "bone.1"
                if step == (carriers, "new_carrier"):
                    settings_of(obj).carrier = None
            turn(armature, "bone.1", (1.0, 0.3, 0.0))
            before, posed = snapshot(obj), evaluated_points(obj)
            with monkeypatch.context() as patch:
                patch.setattr(*step, fail)
                with pytest.raises(FailureInTheMiddleError):
                    binding.bind_each([obj], METHODS[evaluate], evaluate)
            assert settings_of(obj).is_bound == is_bound
            assert not events.are_muted()
            if not is_bound:
                update()
                assert snapshot(obj) == before
                assert distance(posed, evaluated_points(obj)) < 1e-6
            binding.bind_each([obj], METHODS[evaluate], evaluate)
            update()
            assert settings_of(obj).message == ""
            assert distance(rest_points(obj), evaluated_points(obj)) > 0.01
            unbind([obj])
            assert not settings_of(obj).is_bound
            assert armature_modifier(obj).show_viewport
