"""Amounts of patterns that Python computes, beside those of the drivers."""

from __future__ import annotations

import math
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_maps import TOLERANCE, add_body, add_overlapping, add_pattern, evaluate, hills, turn_at_random

from scenes import animate_tube
from supple.bridge.charts import PREFIX
from supple.bridge.images import new_image
from supple.tasks.patterns.maps import bind_points, read_amounts
from supple.tasks.patterns.show import update

pytestmark = pytest.mark.python_only("patterns are shown alike, whatever evaluates the skin under them")


def driven_amounts(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[float]:
    """What the drivers have written, in the order of the patterns that are shown."""
    evaluated = obj.evaluated_get(depsgraph)
    start = f"{PREFIX}{obj.supple.pattern_key}_amounts_"
    names = sorted(
        (name for name in evaluated.keys() if name.startswith(start)), key=lambda name: int(name.split("_")[-1])
    )
    return [value for name in names for value in evaluated[name]]


def assert_driven(obj: bpy.types.Object) -> list[float]:
    """Python's amounts are the drivers'; returns them."""
    depsgraph = evaluate()
    laid = bind_points(obj)
    amounts = read_amounts(obj, laid, depsgraph)
    driven = driven_amounts(obj, depsgraph)
    assert len(amounts) == len(obj.supple.patterns)
    assert driven[: len(amounts)] == pytest.approx(amounts, abs=TOLERANCE)
    return amounts


def add_measured(obj: bpy.types.Object) -> None:
    """A pattern for each axis, law and direction, and one between two bones by each law."""
    common: dict[str, Any] = {"kind": "BULGE", "image": new_image("Hills", hills()), "full": 2.9}
    for axis in "XYZ":
        for law in ("RANGE", "LOG"):
            for direction in ("POSITIVE", "NEGATIVE", "BOTH"):
                add_pattern(obj, axis=axis, law=law, direction=direction, start=-0.2, gain=0.8, **common)
    between = {"axis": "BETWEEN", "bone": "bone.2", "other_bone": "bone.0", "direction": "BOTH", "start": -0.1}
    for law in ("RANGE", "LOG"):
        add_pattern(obj, law=law, **between, **common)
    obj.supple.pattern_display = "BUMP"
    update(obj)


@pytest.fixture
def measured() -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, armature = add_body()
    add_measured(obj)
    return obj, armature


@pytest.mark.parametrize("seed", range(8))
def test_amounts_are_those_of_the_drivers(measured, seed):
    turn_at_random(measured[1], seed)
    amounts = assert_driven(measured[0])
    assert max(amounts) > 0.1


def test_amounts_at_rest_are_those_of_the_drivers(measured):
    amounts = assert_driven(measured[0])
    # counted from 0.2 before rest: 0.8 log(1.2); between bones from 0.1, with gain 1: log(1.1)
    assert amounts[3:6] == pytest.approx([0.8 * math.log(1.2)] * 3, abs=TOLERANCE)
    assert amounts[-1] == pytest.approx(math.log(1.1), abs=1e-3)  # a cosine near 1 tells little


@pytest.mark.parametrize("scale", ((1.5, 0.4, 2.0), (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (-2.0, -2.0, -2.0)))
@pytest.mark.parametrize("number", (0, 1))
def test_scaled_and_mirrored_bones(measured, scale, number):
    obj, armature = measured
    turn_at_random(armature, 20 + number)
    armature.pose.bones[number].scale = scale
    assert_driven(obj)


@pytest.mark.parametrize("scale", ((1.0, 1.0, 1.0), (0.3, 2.0, 1.0), (-1.0, 1.0, 1.0)))
def test_moved_and_mirrored_armatures(measured, scale):
    obj, armature = measured
    turn_at_random(armature, 30)
    before = assert_driven(obj)
    armature.location, armature.rotation_euler, armature.scale = (1.0, 2.0, 3.0), (0.4, -1.0, 2.0), scale
    assert assert_driven(obj) == pytest.approx(before, abs=1e-4)


@pytest.mark.parametrize("scales", ("NONE", "AVERAGE", "ALIGNED", "FIX_SHEAR", "NONE_LEGACY", "FULL"))
@pytest.mark.parametrize("rotation", (True, False))
def test_what_bones_inherit(measured, scales, rotation):
    obj, armature = measured
    for bone in armature.data.bones:
        bone.inherit_scale, bone.use_inherit_rotation = scales, rotation
    turn_at_random(armature, 40)
    armature.pose.bones[0].scale = (1.3, 0.6, 0.9)
    assert_driven(obj)


def add_ik(armature: bpy.types.Object, target: bpy.types.Object) -> None:
    armature.pose.bones["bone.2"].constraints.new("IK").target = target


def add_copy(armature: bpy.types.Object, target: bpy.types.Object) -> None:
    armature.pose.bones["bone.1"].constraints.new("COPY_ROTATION").target = target


def add_limit(armature: bpy.types.Object, _target: bpy.types.Object) -> None:
    limit = armature.pose.bones["bone.1"].constraints.new("LIMIT_ROTATION")
    limit.use_limit_x, limit.min_x, limit.max_x, limit.owner_space = True, 0.6, 0.7, "LOCAL"


@pytest.mark.parametrize("add", (add_ik, add_copy, add_limit))
def test_constraints(measured, add):
    obj, armature = measured
    turn_at_random(armature, 50, 0.9)
    plain = assert_driven(obj)
    target = bpy.data.objects.new("Target", None)
    target.location, target.rotation_euler = (1.2, 1.5, 0.4), (1.1, 0.5, -0.7)
    bpy.context.scene.collection.objects.link(target)
    add(armature, target)
    assert np.abs(np.subtract(assert_driven(obj), plain)).max() > 0.01


def test_amounts_follow_the_frame_of_the_depsgraph(scene):
    obj, armature = add_body()
    animate_tube(armature)
    add_overlapping(obj, axis="X", full=1.0)
    obj.supple.pattern_display = "BUMP"
    laid = bind_points(obj)
    seen = []
    for frame in (1, 4, 8):
        scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        seen.append(read_amounts(obj, laid, depsgraph))
        assert driven_amounts(obj, depsgraph)[:3] == pytest.approx(seen[-1], abs=TOLERANCE)
    assert len({tuple(one) for one in seen}) == 3
