"""Keys and drivers that switch modifiers on and off: they go along to what deforms, and come back by Unbind."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from scenes import (
    TOLERANCE,
    add_tube,
    armature_modifier,
    bind,
    distance,
    evaluated_points,
    rest_points,
    save,
    select,
    turn,
)
from supple.bridge.animation.curves import list_animated
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind_each as bind_task
from supple.tasks.subject.stack import find_supple_modifier

pytestmark = pytest.mark.usefixtures("silent_handlers")

WAYS = (("DLB", "BLENDER"), ("DLBNT", "BLENDER"), ("SSD", "PYTHON"))
"""Methods, and whether Python or what each is for evaluates them."""

KINDS = ("driver", "keys", "track")
TOGGLES = ("show_viewport", "show_render")


def animate(modifier: bpy.types.Modifier, kind: str, toggle: str) -> None:
    """Have a modifier be on in frames 1 to 9, and off from frame 10 on."""
    obj, path = modifier.id_data, modifier.path_from_id(toggle)
    if kind == "driver":
        obj.driver_add(path).driver.expression = "frame < 10"
        return
    for frame in (1, 10):
        setattr(modifier, toggle, frame == 1)
        obj.keyframe_insert(path, frame=frame)
    if kind == "track":
        data = obj.animation_data
        data.nla_tracks.new().strips.new("Toggle", 1, data.action)
        data.action = None


def at(frame: int, obj: bpy.types.Object) -> np.ndarray:
    bpy.context.scene.frame_set(frame)
    return evaluated_points(obj)


def toggles_of(modifier: bpy.types.Modifier) -> tuple[bool, bool]:
    return modifier.show_viewport, modifier.show_render


def posed() -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, armature = add_tube()
    turn(armature, "bone.1", (0.9, 0.3, 0.2))
    turn(armature, "bone.2", (0.7, 0.0, 0.4))
    return obj, armature


@pytest.mark.versions
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("toggle", TOGGLES)
def test_those_of_the_armature_modifier_switch_supples(
    kind: str, toggle: str, subtests: pytest.Subtests, tmp_path: Path
):
    obj, _ = posed()
    rest = rest_points(obj)
    for method, evaluate in WAYS:
        bind(obj, method=method, evaluate=evaluate)
        wanted = evaluated_points(obj)
        bpy.ops.supple.unbind()
        animate(armature_modifier(obj), kind, toggle)
        bpy.context.scene.frame_set(1)
        before, plain = list_animated(obj), at(1, obj)
        with subtests.test(f"{method} {evaluate}"):
            bind(obj, method=method, evaluate=evaluate)
            assert list_animated(obj) == {find_supple_modifier(obj).path_from_id(toggle)}
            for _ in range(2):
                off = at(10, obj)
                assert not getattr(find_supple_modifier(obj), toggle)
                assert distance(at(1, obj), wanted) < TOLERANCE
                assert distance(off, rest if toggle == "show_viewport" else wanted) < TOLERANCE
                assert toggles_of(find_supple_modifier(obj)) == (True, True)
                if find_supple_modifier(obj) != armature_modifier(obj):
                    assert toggles_of(armature_modifier(obj)) == (False, False)
                assert settings_of(obj).message == ""
                save(tmp_path / "file.blend")
            bpy.ops.supple.flip()
            assert distance(at(1, obj), plain) < TOLERANCE
            bpy.ops.supple.flip()
            assert distance(at(1, obj), wanted) < TOLERANCE
            select(obj)
            bpy.ops.supple.unbind()
            assert list_animated(obj) == before
            assert distance(at(1, obj), plain) < TOLERANCE
            at(10, obj)
            assert not getattr(armature_modifier(obj), toggle)
        obj.animation_data_clear()
        armature_modifier(obj).show_viewport = armature_modifier(obj).show_render = True
        bpy.context.scene.frame_set(1)


@pytest.mark.parametrize("kind", KINDS)
def test_those_of_supples_modifier_are_left_to_the_armature_modifier(kind: str, subtests: pytest.Subtests):
    for method, evaluate in WAYS:
        obj, _ = posed()
        bind(obj, method=method, evaluate=evaluate)
        animate(find_supple_modifier(obj), kind, "show_viewport")
        bpy.context.scene.frame_set(1)
        with subtests.test(f"{method} {evaluate}"):
            select(obj)
            bpy.ops.supple.unbind()
            assert list_animated(obj) == {armature_modifier(obj).path_from_id("show_viewport")}
            assert distance(at(10, obj), rest_points(obj)) < TOLERANCE


@pytest.mark.parametrize("kind", KINDS)
def test_a_modifier_above_that_is_off_for_now_counts(kind: str, subtests: pytest.Subtests):
    for method in ("SSD", "DLBNT"):
        obj, _ = posed()
        above = obj.modifiers.new("Subdivision", "SUBSURF")
        obj.modifiers.move(1, 0)
        for toggle in TOGGLES:
            animate(above, kind, toggle)
        before, found = list_animated(obj), []
        for frame in (1, 10):
            bpy.context.scene.frame_set(frame)
            bind(obj, method=method, evaluate="BLENDER")
            found.append(at(1, obj))
            bpy.context.scene.frame_set(1)
            bpy.ops.supple.unbind()
        with subtests.test(method):
            assert len(found[0]) > len(obj.data.vertices)
            assert distance(*found) < TOLERANCE
            assert list_animated(obj) == before
        bpy.context.scene.frame_set(10)
        with subtests.test(f"{method}, Python"), pytest.raises(SkinningError, match="changes the number of vertices"):
            bind_task([obj], method, "PYTHON")


def test_an_action_that_another_object_plays_is_named():
    obj, _ = posed()
    animate(armature_modifier(obj), "keys", "show_viewport")
    bpy.context.scene.frame_set(1)
    other, _ = posed()
    other.animation_data_create().action = obj.animation_data.action
    if hasattr(other.animation_data, "action_slot"):
        other.animation_data.action_slot = obj.animation_data.action_slot
    before = list_animated(other)
    with pytest.raises(SkinningError, match="which is linked or that others play, too, switches modifier 'Armature'"):
        bind_task([obj], "SSD")
    assert list_animated(obj) == list_animated(other) == before
