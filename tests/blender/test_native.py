"""Characters that Blender's own modifiers deform: equal to NumPy, through files, copies, undo, looks and Unbind."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from test_rolls import turn_randomly

from scenes import (
    TOLERANCE,
    add_tube,
    animate_tube,
    armature_modifier,
    distance,
    evaluated_points,
    rest_points,
    save,
    select,
    skinned_meshes,
    turn,
    update,
)
from supple import live
from supple.bridge import changes
from supple.bridge.modifiers import LINEAR_NAME
from supple.bridge.rigs.armatures import read_pose
from supple.bridge.rigs.segments import read_rolls
from supple.settings.objects import settings_of
from supple.tasks.skin import by_blender
from supple.tasks.skin import live as skin
from supple.tasks.skin.model import Choices, PosableSkin, SkinSource
from supple.tasks.subject.stack import resolve

pytestmark = pytest.mark.usefixtures("silent_handlers")

MESH, RIG = "human_male", "Armature"
SEED = 2

Character = tuple[bpy.types.Object, bpy.types.Object]


def take(obj: bpy.types.Object) -> Character:
    return obj, armature_modifier(obj).object


def bind(*objects: bpy.types.Object) -> None:
    select(*objects)
    assert bpy.ops.supple.bind() == {"FINISHED"}
    update()


@pytest.fixture
def plain(asset: Callable[..., Path]) -> Character:
    """A mesh and its armature, posed."""
    bpy.ops.wm.open_mainfile(filepath=str(asset("human_male")))
    obj, armature = take(*skinned_meshes())
    obj.name, armature.name = MESH, RIG
    armature.animation_data_clear()
    pose(armature)
    return obj, armature


@pytest.fixture
def human(plain: Character) -> Character:
    """The same, bound: with Supple Linear, and limbs that roll."""
    bind(plain[0])
    assert [each.name for each in plain[0].modifiers] == ["Armature", LINEAR_NAME]
    return plain


def pose(armature: bpy.types.Object, seed: int = SEED) -> None:
    turn_randomly(armature, seed)
    update()


def pose_by_numpy(obj: bpy.types.Object) -> np.ndarray:
    bound = resolve(obj)
    skin = PosableSkin.of(SkinSource.of(bound, Choices.read(bound)))
    evaluated = bound.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    space = np.array(bound.armature.matrix_world.inverted() @ obj.matrix_world)
    return skin.pose(read_pose(evaluated, skin.skeleton).seen_from(space))


def test_numpy_gives_the_same(human):
    obj, armature = human
    assert len(read_rolls(armature)) >= 4
    for seed in (1, 2, 3):
        pose(armature, seed)
        assert distance(evaluated_points(obj), pose_by_numpy(obj)) <= TOLERANCE


# Files and copies


@pytest.mark.parametrize("kind", ["mesh", "rig"])
def test_what_is_linked_is_left_as_it_is(plain, kind: str, tmp_path, capfd):
    obj, armature = plain
    path = save(tmp_path / "library.blend", copy=True)
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        setattr(wanted, "objects" if kind == "rig" else "meshes", [RIG if kind == "rig" else obj.data.name])
    if kind == "mesh":
        obj.data = wanted.meshes[0]
        bind(obj)
        assert [each.name for each in obj.modifiers] == ["Armature"], "a group can not be written"
        assert read_rolls(armature)
    else:
        bpy.context.scene.collection.objects.link(wanted.objects[0])
        armature_modifier(obj).object = wanted.objects[0]
        bind(obj)
        assert "is linked from another file: bind the character in its own file" in capfd.readouterr().out
        assert not read_rolls(wanted.objects[0])
    assert armature_modifier(obj).use_deform_preserve_volume
    assert settings_of(obj).message == ""


# There and back


def test_as_blender_and_back_computes_nothing(plain, monkeypatch):
    obj, _ = plain
    before = evaluated_points(obj)
    bind(obj)
    bound = evaluated_points(obj)
    assert distance(before, bound) > 1e-3
    monkeypatch.setattr(by_blender, "prepare", lambda *_: pytest.fail("it is computed"))
    for wanted in (before, bound, before, bound):
        assert bpy.ops.supple.flip() == {"FINISHED"}
        update()
        assert distance(wanted, evaluated_points(obj)) <= TOLERANCE


# Switched, and above and below others


def test_switched_off_by_hand(human):
    obj, _ = human
    own, shown = armature_modifier(obj), evaluated_points(obj)
    for is_on in (False, True):
        own.show_viewport = is_on
        update()
        update()
        assert distance(shown if is_on else rest_points(obj), evaluated_points(obj)) <= TOLERANCE


# Handlers


MOST_HANDLED = 2e-4
"""Seconds of a call of a handler on a busy machine: .02 ms where nothing else runs."""


@pytest.mark.parametrize("is_drag", [False, True])
def test_handlers_do_nothing_at_play_and_drag(monkeypatch, is_drag: bool):
    obj, armature = add_tube(bones=5, rings=1500)
    animate_tube(armature)
    bind(obj)
    taken, follow = [], live._follow  # noqa: SLF001

    def measure(*given: Any, **named: Any) -> None:
        start = time.thread_time()
        follow(*given, **named)
        taken.append(time.thread_time() - start)

    monkeypatch.setattr(live, "_follow", measure)
    monkeypatch.setattr(changes, "is_dragging", lambda: is_drag)
    for number in range(40):
        if is_drag:
            turn(armature, "bone.1", (0.05 * number, 0.0, 0.0))
        else:
            bpy.context.scene.frame_set(1 + number % 8)
        if number == 10:
            monkeypatch.setattr(skin, "bound_objects", lambda: pytest.fail("it looks at objects"))
    assert min(taken) <= MOST_HANDLED
    assert settings_of(obj).message == ""
