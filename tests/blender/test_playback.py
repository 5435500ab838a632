"""A bound character in frames of any order, and with its modifier muted."""

import bpy
import numpy as np
import pytest
from scenes_twins import add_puff, animate, assert_follows, bend, bound_tube

from scenes import clear, distance, evaluated_points, rest_points, update
from supple.tasks.skin import by_blender
from supple.tasks.skin import live as skin
from supple.tasks.skin.model import PosableSkin
from supple.tasks.subject.stack import find_supple_modifier

pytestmark = pytest.mark.usefixtures("silent_handlers", "evaluator")


# Playback


@pytest.fixture
def binds(monkeypatch) -> list[str]:
    """Grows by the name of each object that is bound anew."""
    names = []

    def count(prepare, name):
        return lambda source, *arguments: names.append(name(source)) or prepare(source, *arguments)

    monkeypatch.setattr(PosableSkin, "of", count(PosableSkin.of, lambda source: source.skinned.obj.name))
    monkeypatch.setattr(by_blender, "prepare", count(by_blender.prepare, lambda skinned: skinned.obj.name))
    return names


def test_playback_does_not_bind_again(binds: list[str], subtests: pytest.Subtests):
    for name, values in (("no key", ()), ("held key", (0.0, 0.0)), ("animated key", (0.0, 1.0))):
        with subtests.test(name):
            clear()
            binds.clear()
            obj, armature, _ = bound_tube()
            animate(armature)
            if values:
                add_puff(obj, values=values)
            bpy.context.scene.frame_set(1)
            update()
            binds.clear()
            before = evaluated_points(obj)
            for frame in range(2, 8):
                bpy.context.scene.frame_set(frame)
                update()
            assert distance(before, evaluated_points(obj)) > 0.01
            assert not binds


def test_a_face_key_that_moves_does_not_bind_again(
    binds: list[str], monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
):
    monkeypatch.setattr(skin, "_has_timers", lambda: True)  # as with a window
    for driven in (False, True):
        with subtests.test(driven=driven):
            clear()
            binds.clear()
            obj, armature, twin = bound_tube()
            keys = add_puff(obj, twin)
            for key in keys if driven else ():
                driver = key.driver_add("value").driver
                variable = driver.variables.new()
                variable.targets[0].id = armature
                variable.targets[0].data_path = 'pose.bones["bone.1"].rotation_euler[0]'
                driver.expression = variable.name
            bend(armature, 10)
            update()
            binds.clear()
            before = evaluated_points(obj)
            for step in range(2, 6):
                if driven:
                    bend(armature, 10 * step)
                else:
                    for key in keys:
                        key.value = 0.1 * step
                assert_follows(obj, twin)
            assert distance(before, evaluated_points(obj)) > 0.01
            assert not binds


# Toggles


def test_muted_in_the_viewport_the_mesh_is_at_rest_and_unmuted_follows():
    obj, armature, twin = bound_tube()
    bend(armature, 60)
    supple = find_supple_modifier(obj)
    supple.show_viewport = False
    update()
    assert np.array_equal(evaluated_points(obj), rest_points(obj))
    bend(armature, 90)
    assert np.array_equal(evaluated_points(obj), rest_points(obj))
    supple.show_viewport = True
    assert_follows(obj, twin)
    supple.show_render = False
    bend(armature, 30)
    assert_follows(obj, twin)
