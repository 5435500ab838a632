"""Amounts and heights of patterns that Python computes, beside those of the drivers and the nodes."""

from __future__ import annotations

import itertools
import math
from typing import Any

import bpy
import numpy as np
import pytest
import scenes_maps

from scenes import animate_tube, turn
from supple.bridge.images.data import new_image
from supple.bridge.meshes.charts import PREFIX
from supple.deformers.patterns.heights import KINDS
from supple.tasks.patterns.maps import bind_points, read_amounts
from supple.tasks.patterns.write import update


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
    depsgraph = scenes_maps.evaluate()
    laid = bind_points(obj)
    amounts = read_amounts(obj, laid, depsgraph)
    driven = driven_amounts(obj, depsgraph)
    assert len(amounts) == len(obj.supple.patterns)
    assert driven[: len(amounts)] == pytest.approx(amounts, abs=scenes_maps.TOLERANCE)
    return amounts


@pytest.fixture
def measured() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A body with a pattern for each axis, law and direction, and one between two bones by each law; its armature."""
    obj, armature = scenes_maps.add_body()
    common: dict[str, Any] = {"kind": "BULGE", "image": new_image("Hills", scenes_maps.hills()), "full": 2.9}
    for axis, law, direction in itertools.product("XYZ", ("RANGE", "LOG"), ("POSITIVE", "NEGATIVE", "BOTH")):
        scenes_maps.add_pattern(obj, axis=axis, law=law, direction=direction, start=-0.2, gain=0.8, **common)
    between = {"axis": "BETWEEN", "bone": "bone.2", "other_bone": "bone.0", "direction": "BOTH", "start": -0.1}
    for law in ("RANGE", "LOG"):
        scenes_maps.add_pattern(obj, law=law, **between, **common)
    obj.supple.pattern_display = "BUMP"
    update(obj)
    return obj, armature


SCALES = ((1.5, 0.4, 2.0), (-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (-2.0, -2.0, -2.0))
INHERITED = ("NONE", "AVERAGE", "ALIGNED", "FIX_SHEAR", "NONE_LEGACY", "FULL")


def test_amounts_are_those_of_the_drivers(measured, subtests):
    obj, armature = measured
    with subtests.test("at rest"):
        amounts = assert_driven(obj)
        # counted from 0.2 before rest: 0.8 log(1.2); between bones from 0.1, with gain 1: log(1.1)
        assert amounts[3:6] == pytest.approx([0.8 * math.log(1.2)] * 3, abs=scenes_maps.TOLERANCE)
        assert amounts[-1] == pytest.approx(math.log(1.1), abs=1e-3)  # a cosine near 1 tells little
    for seed in range(8):
        with subtests.test("turned", seed=seed):
            scenes_maps.turn_at_random(armature, seed)
            assert max(assert_driven(obj)) > 0.1
    for scale, number in itertools.product(SCALES, (0, 1)):
        with subtests.test("scaled and mirrored bones", scale=scale, number=number):
            scenes_maps.turn_at_random(armature, 20 + number)
            armature.pose.bones[number].scale = scale
            assert_driven(obj)
        armature.pose.bones[number].scale = (1.0, 1.0, 1.0)
    armature.pose.bones[0].scale = (1.3, 0.6, 0.9)
    scenes_maps.turn_at_random(armature, 40)
    for scales, rotation in itertools.product(INHERITED, (True, False)):
        with subtests.test("what bones inherit", scales=scales, rotation=rotation):
            for bone in armature.data.bones:
                bone.inherit_scale, bone.use_inherit_rotation = scales, rotation
            assert_driven(obj)


def test_moved_and_mirrored_armatures(measured):
    obj, armature = measured
    scenes_maps.turn_at_random(armature, 30)
    before = assert_driven(obj)
    armature.location, armature.rotation_euler = (1.0, 2.0, 3.0), (0.4, -1.0, 2.0)
    for armature.scale in ((1.0, 1.0, 1.0), (0.3, 2.0, 1.0), (-1.0, 1.0, 1.0)):
        assert assert_driven(obj) == pytest.approx(before, abs=1e-4)


def add_ik(armature: bpy.types.Object, target: bpy.types.Object) -> None:
    armature.pose.bones["bone.2"].constraints.new("IK").target = target


def add_copy(armature: bpy.types.Object, target: bpy.types.Object) -> None:
    armature.pose.bones["bone.1"].constraints.new("COPY_ROTATION").target = target


def add_limit(armature: bpy.types.Object, _target: bpy.types.Object) -> None:
    limit = armature.pose.bones["bone.1"].constraints.new("LIMIT_ROTATION")
    limit.use_limit_x, limit.min_x, limit.max_x, limit.owner_space = True, 0.6, 0.7, "LOCAL"


def test_constraints(measured, scene, subtests):
    obj, armature = measured
    scenes_maps.turn_at_random(armature, 50, 0.9)
    plain = assert_driven(obj)
    target = bpy.data.objects.new("Target", None)
    target.location, target.rotation_euler = (1.2, 1.5, 0.4), (1.1, 0.5, -0.7)
    scene.collection.objects.link(target)
    for add in (add_ik, add_copy, add_limit):
        with subtests.test(add.__name__):
            add(armature, target)
            assert np.abs(np.subtract(assert_driven(obj), plain)).max() > 0.01
        for bone in armature.pose.bones:
            for constraint in list(bone.constraints):
                bone.constraints.remove(constraint)


def test_amounts_follow_the_frame_of_the_depsgraph(scene):
    obj, armature = scenes_maps.add_body()
    animate_tube(armature)
    scenes_maps.add_overlapping(obj, axis="X", full=1.0)
    obj.supple.pattern_display = "BUMP"
    laid = bind_points(obj)
    seen = []
    for frame in (1, 4, 8):
        scene.frame_set(frame)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        seen.append(read_amounts(obj, laid, depsgraph))
        assert driven_amounts(obj, depsgraph)[:3] == pytest.approx(seen[-1], abs=scenes_maps.TOLERANCE)
    assert len({tuple(one) for one in seen}) == 3


# Heights


def test_nodes_displace_by_the_heights_of_python(subtests):
    obj, armature = scenes_maps.add_body()
    pattern = scenes_maps.add_pattern(obj, KINDS[0], axis="X", full=1.0)
    obj.supple.pattern_display = "DISPLACEMENT"
    for kind, softness, bend in itertools.product(KINDS, (0.0, 0.4, 1.0), (0.25, 0.6, 1.3)):
        with subtests.test(kind=kind, softness=softness, bend=bend):
            pattern.kind, pattern.softness = kind, softness
            turn(armature, "bone.1", (bend, 0.2, -0.1))
            assert scenes_maps.compare_displacement(obj) > 1e-4


@pytest.mark.versions
def test_nodes_displace_by_patterns_over_one_another(subtests):
    obj, armature = scenes_maps.add_body()
    scenes_maps.add_overlapping(obj, axis="X", full=1.2, softness=0.3)
    obj.supple.pattern_display = "DISPLACEMENT"
    for seed, depth in enumerate((1.0, 0.0, 0.5, 0.8)):
        with subtests.test(depth=depth):
            for pattern in obj.supple.patterns:
                pattern.depth, pattern.strength = depth, (-1) ** seed * 0.1
            scenes_maps.turn_at_random(armature, seed, 1.5)
            turn(armature, "bone.1", (0.7, 0.3, 0.2))
            assert scenes_maps.compare_displacement(obj) > 1e-3


def test_nodes_clip_as_python_does(subtests):
    obj, armature = scenes_maps.add_body()
    scenes_maps.add_overlapping(obj, axis="X", law="LOG", depth=0.3)
    obj.supple.pattern_display = "DISPLACEMENT"
    turn(armature, "bone.1", (1.4, 0.0, 0.0))
    for gain in (4.0, -1.5):
        with subtests.test(gain=gain):
            for pattern in obj.supple.patterns:
                pattern.gain = gain
            laid = bind_points(obj)
            assert np.abs(read_amounts(obj, laid, scenes_maps.evaluate())).min() > 1.0
            assert scenes_maps.compare_displacement(obj) > 1e-4


def test_nodes_displace_what_lies_on_the_surface():
    obj, armature = scenes_maps.add_body()
    for kind, x in zip(KINDS, (0.0, 0.1, -0.1), strict=True):
        scenes_maps.add_pattern(
            obj, kind, axis="X", full=1.0, space="SURFACE", placed_in="SURFACE", location=(x, 1.5, 0.4), size=(1.0, 0.7)
        )
    update(obj)
    obj.supple.pattern_display = "DISPLACEMENT"
    turn(armature, "bone.1", (0.7, 0.0, 0.0))
    assert scenes_maps.compare_displacement(obj) > 1e-3


def test_only_bulges_are_displaced_by_kind_and_nothing_at_rest():
    obj, armature = scenes_maps.add_body()
    scenes_maps.add_overlapping(obj, axis="X", full=1.0)
    obj.supple.pattern_display = "DISPLACEMENT"
    assert scenes_maps.compare_displacement(obj) <= 1e-7
    obj.supple.pattern_display = "KIND"
    turn(armature, "bone.1", (0.7, 0.0, 0.0))
    assert scenes_maps.compare_displacement(obj, ["BULGE"]) > 1e-3
