"""A mesh that nodes deform beside its twin, which Python deforms by the same method."""

from __future__ import annotations

from math import radians
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_methods import choose

from scenes import (
    TOLERANCE,
    add_tube,
    add_twin,
    bind,
    distance,
    evaluated_points,
    rest_points,
    snapshot,
    supple_modifier,
    turn,
    update,
)
from supple.bridge.modifiers import read_input
from supple.deformers import METHODS
from supple.nodes.groups import is_deformation
from supple.nodes.skin import JOINTS_INPUT
from supple.settings.objects import settings_of


def bend(armature: bpy.types.Object, angle: float) -> None:
    """Bend, twist and shear; by the order of the bones, whatever they are called."""
    names = armature.pose.bones.keys()
    turn(armature, names[1], (radians(angle), radians(0.3 * angle), 0), (1.2, 0.9, 1.1))
    turn(armature, names[-1], (radians(angle), 0, 0.2), (0.9, 1.3, 1.0))


def bind_both(
    obj: bpy.types.Object, method: str = "DLBNT", params: Any = None, **settings: str | float
) -> bpy.types.Object:
    """Bind an object by nodes and a twin by Python, with these settings of both; returns the twin."""
    twin = add_twin(obj)
    twin.name = "Twin"
    for one in (obj, twin):
        choose(one, method, params or METHODS[method].params())
        for name, value in settings.items():
            setattr(settings_of(one), name, value)
    bind(twin, method=method, evaluate="PYTHON")
    bind(obj, method=method, evaluate="NODES")
    assert is_deformation(supple_modifier(obj).node_group)
    assert not is_deformation(supple_modifier(twin).node_group)
    return twin


def bound_tube(
    method: str = "DLBNT", params: Any = None, **settings: str | float
) -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """A tube bound by nodes, its armature, and a twin that Python deforms by the same method."""
    obj, armature = add_tube()
    return obj, armature, bind_both(obj, method, params, **settings)


def joints_of(obj: bpy.types.Object) -> bpy.types.Object:
    """The joints object that a mesh reads."""
    return read_input(supple_modifier(obj), JOINTS_INPUT)


def assert_alike(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    """Both are deformed, alike, and neither has anything to complain about."""
    update()
    assert [settings_of(one).message for one in (obj, twin)] == ["", ""]
    expected = evaluated_points(twin)
    assert np.isfinite(expected).all()
    assert distance(expected, evaluated_points(obj)) <= TOLERANCE
    assert distance(expected, rest_points(obj)) > 0.01


def assert_tube_alike(obj: str = "Tube", twin: str = "Twin") -> None:
    """By name: undo and opening a file make new Python objects of all data."""
    assert_alike(bpy.data.objects[obj], bpy.data.objects[twin])


def assert_refused_by_nodes(obj: bpy.types.Object, words: str) -> None:
    """Bind by nodes says these words, and changes nothing."""
    before = snapshot(obj)
    with pytest.raises(RuntimeError, match=words):
        bind(obj, evaluate="NODES")
    assert snapshot(obj) == before
    assert not settings_of(obj).is_bound
