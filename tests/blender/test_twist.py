"""Twists along limbs of bound characters: what is chosen for meshes and bones, and what is read of actions."""

from __future__ import annotations

from math import radians

import bpy
import numpy as np
import pytest

from scenes import add_tube, bind, evaluated_points, rest_points, select, turn, update
from supple.bridge.animation.curves import list_curves
from supple.bridge.rigs.segments import read_rolls
from supple.bridge.rigs.twists import list_actions, measure_largest_twists
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers")

SIDES = 16


def add_bound(method: str = "DLB", evaluate: str = "BLENDER") -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube whose second bone takes up the twist of the third."""
    obj, armature = add_tube()
    armature.data.bones["bone.2"].supple.spread_twist = "ON"
    bind(obj, method=method, evaluate=evaluate)
    return obj, armature


def twist(armature: bpy.types.Object, degrees: float) -> None:
    turn(armature, "bone.2", (0.0, radians(degrees), 0.0))


def find_angle(obj: bpy.types.Object, share: float = 1.0) -> float:
    """How far a ring of the tube is twisted against the first, degrees, by way of those between."""
    rings = evaluated_points(obj)[: len(rest_points(obj)) // SIDES * SIDES].reshape(-1, SIDES, 3)
    offsets = rings[:, 0] - rings.mean(axis=1)
    angles = np.unwrap(np.arctan2(offsets[:, 0], offsets[:, 2]))
    return float(np.degrees(angles[round(share * (len(rings) - 1))] - angles[0]))


def is_rolled(armature: bpy.types.Object) -> bool:
    return bool(read_rolls(armature))


def test_choices_are_followed_while_bound(subtests: pytest.Subtests):
    obj, armature = add_bound()
    twist(armature, 120.0)
    spread = armature.data.bones["bone.2"].supple
    for name, change, expected in (
        ("bone off", lambda: setattr(spread, "spread_twist", "OFF"), False),
        ("bone on", lambda: setattr(spread, "spread_twist", "ON"), True),
        ("mesh off", lambda: setattr(settings_of(obj), "twist", "OFF"), False),
        ("mesh on", lambda: setattr(settings_of(obj), "twist", "AUTO"), True),
        ("As Blender", lambda: bpy.ops.supple.make(look="BLENDER"), False),
        ("bone off and on, As Blender", lambda: setattr(spread, "spread_twist", "ON"), False),
        ("Fast", lambda: bpy.ops.supple.make(look="FAST"), True),
        ("As Published", lambda: bpy.ops.supple.make(look="PUBLISHED"), False),
        ("Fast again", lambda: bpy.ops.supple.make(look="FAST"), True),
        ("unbound", lambda: bpy.ops.supple.unbind(), False),
    ):
        with subtests.test(name):
            select(obj)
            change()
            update()
            assert find_angle(obj) == pytest.approx(120.0, abs=1.0)
            assert (find_angle(obj, 0.5) > 30.0) == expected
            assert settings_of(obj).message == settings_of(obj).evaluate_problem == ""


def test_ticked_meshes_are_given_a_twist_together():
    obj, armature = add_bound()
    select(armature)
    bpy.context.scene.supple_character.twist = "OFF"
    assert settings_of(obj).twist == "OFF"
    assert not is_rolled(armature)


@pytest.mark.versions
def test_twists_are_found_whatever_a_bone_is_called():
    _, armature = add_tube()
    name = 'bone ["2"] \\ ]'
    bone = armature.pose.bones["bone.2"]
    bone.name = name
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (8, 4.0)):
        bone.rotation_euler.y = angle
        bone.keyframe_insert("rotation_euler", frame=frame)

    def find_twist() -> float:
        return measure_largest_twists(armature, list_actions(armature))[name]

    assert find_twist() == pytest.approx(4.0)
    list_curves(armature)[0].keyframe_points.clear()  # of the angle about x, as where a user has deleted them all
    armature.keyframe_insert("location", frame=1)
    assert find_twist() == pytest.approx(4.0)
    assert list(list_actions(armature)) == [armature.animation_data.action]
