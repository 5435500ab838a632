"""Heights of patterns that Python computes, beside those of the nodes."""

from __future__ import annotations

import numpy as np
import pytest
from scenes_maps import (
    TOLERANCE,
    add_body,
    add_overlapping,
    add_pattern,
    compare_displacement,
    evaluate,
    turn_at_random,
)

from scenes import diagonal, evaluated_points, turn
from supple.deformers.patterns.heights import KINDS
from supple.tasks.patterns.maps import bind_points, draw_points, read_amounts
from supple.tasks.patterns.node_setup import find_modifier
from supple.tasks.patterns.show import update

pytestmark = pytest.mark.python_only("patterns are shown alike, whatever evaluates the skin under them")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("softness", (0.0, 0.4, 1.0))
@pytest.mark.parametrize("bend", (0.25, 0.6, 1.3))
def test_nodes_displace_by_the_heights_of_python(kind, softness, bend):
    obj, armature = add_body()
    add_pattern(obj, kind, axis="X", full=1.0, softness=softness)
    update(obj)
    obj.supple.pattern_display = "DISPLACEMENT"
    turn(armature, "bone.1", (bend, 0.2, -0.1))
    assert compare_displacement(obj) > 1e-4


@pytest.mark.parametrize("seed", range(4))
def test_nodes_displace_by_patterns_over_one_another(seed):
    obj, armature = add_body()
    add_overlapping(
        obj, axis="X", full=1.2, softness=0.3, depth=(1.0, 0.0, 0.5, 0.8)[seed], strength=(-1) ** seed * 0.1
    )
    obj.supple.pattern_display = "DISPLACEMENT"
    turn_at_random(armature, seed, 1.5)
    turn(armature, "bone.1", (0.7, 0.3, 0.2))
    assert compare_displacement(obj) > 1e-3


@pytest.mark.parametrize("gain", (4.0, -1.5))
def test_nodes_clip_as_python_does(gain):
    obj, armature = add_body()
    add_overlapping(obj, axis="X", law="LOG", gain=gain, depth=0.3)
    obj.supple.pattern_display = "DISPLACEMENT"
    turn(armature, "bone.1", (1.4, 0.0, 0.0))
    laid = bind_points(obj)
    assert np.abs(read_amounts(obj, laid, evaluate())).min() > 1.0
    assert compare_displacement(obj) > 1e-4


def test_nodes_displace_what_lies_on_the_surface():
    obj, armature = add_body()
    for kind, x in zip(KINDS, (0.0, 0.1, -0.1), strict=True):
        add_pattern(
            obj, kind, axis="X", full=1.0, space="SURFACE", placed_in="SURFACE", location=(x, 1.5, 0.4), size=(1.0, 0.7)
        )
    update(obj)
    obj.supple.pattern_display = "DISPLACEMENT"
    turn(armature, "bone.1", (0.7, 0.0, 0.0))
    assert compare_displacement(obj) > 1e-3


def test_only_bulges_are_displaced_by_kind():
    obj, armature = add_body()
    add_overlapping(obj, axis="X", full=1.0)
    obj.supple.pattern_display = "KIND"
    turn(armature, "bone.1", (0.7, 0.0, 0.0))
    depsgraph = evaluate()
    laid = bind_points(obj, ["BULGE"])
    drawn = draw_points(obj, laid.heights, read_amounts(obj, laid, depsgraph))
    moved, modifier = evaluated_points(obj), find_modifier(obj)
    modifier.show_viewport = False
    evaluate()
    away = np.linalg.norm(moved - evaluated_points(obj), axis=1)
    assert away == pytest.approx(np.abs(drawn), abs=TOLERANCE * diagonal(moved))


def test_the_skin_is_flat_at_rest():
    obj, _ = add_body()
    add_overlapping(obj, axis="X", full=1.0)
    obj.supple.pattern_display = "DISPLACEMENT"
    assert compare_displacement(obj) <= 1e-7
