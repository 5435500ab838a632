"""Corrections of a tube by the buttons, as a user makes them: steps, and what is there after them."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from scenes_corrections import sculpt, shown

from scenes import distance, select, turn, update
from supple.settings.objects import settings_of
from supple.tasks.subject.corrected import list_under_way

ELBOW, OFFSET = np.array([0.0, 1.0, 0.0]), np.array([0.1, 0.05, -0.2])
POSES = {"ANGLE": [(1.2, 0.0, 0.0), (0.6, 0.0, 0.0)], "RBF": [(1.2, 0.0, 0.0), (0.0, 0.4, 1.0)]}


def tube() -> bpy.types.Object:
    return bpy.data.objects["Tube"]


def rig() -> bpy.types.Object:
    return bpy.data.objects["Rig"]


def pose(rotation=(1.2, 0.0, 0.0), bone: str = "bone.1") -> None:
    turn(rig(), bone, rotation)


def begin() -> bpy.types.Object:
    select(tube())
    assert bpy.ops.supple.correct_pose(mode="OBJECT") == {"FINISHED"}
    return bpy.context.active_object


def keep(**options) -> None:
    assert bpy.ops.supple.correction_keep(**options) == {"FINISHED"}
    update()


def reshape(copy: bpy.types.Object, radius: float = 0.8) -> np.ndarray:
    """Sculpt a posed copy at the elbow: all its points then."""
    return sculpt(copy, ELBOW, radius, OFFSET)


def begin_sculpted(rotation=(1.2, 0.0, 0.0)) -> tuple[bpy.types.Object, np.ndarray]:
    """A posed copy, and what it was sculpted to."""
    pose(rotation)
    copy = begin()
    return copy, reshape(copy)


def make(rotation=(1.2, 0.0, 0.0), **options) -> np.ndarray:
    """Correct a pose: what it was sculpted to."""
    _, target = begin_sculpted(rotation)
    keep(**options)
    return target


def make_all(reader: str) -> dict[tuple, np.ndarray]:
    """Correct each of a reader's poses: what they were sculpted to."""
    return {rotation: make(rotation, reader=reader) for rotation in POSES[reader]}


def names() -> list[str]:
    return [entry.name for entry in settings_of(tube()).corrections]


def assert_shown(target: np.ndarray, within: float = 1e-5) -> None:
    assert distance(target, shown(tube())) < within


def assert_all_shown(targets: dict[tuple, np.ndarray], bone: str = "bone.1") -> None:
    for rotation, target in targets.items():
        pose(rotation, bone)
        assert_shown(target)


def assert_not_kept(copy: bpy.types.Object, target: np.ndarray, message: str) -> None:
    """What is sculpted stays where Keep says what is wrong."""
    select(copy)
    with pytest.raises(RuntimeError, match=message):
        bpy.ops.supple.correction_keep()
    assert distance(target, shown(copy)) < 1e-6


def discard() -> None:
    bpy.ops.supple.correction_discard()
    assert_nothing_under_way()


def assert_nothing_under_way() -> None:
    obj = tube()
    assert not list_under_way(bpy.context)
    assert settings_of(obj).posed_copy is None
    assert obj.visible_get()
    assert not [other for other in bpy.data.objects if settings_of(other).corrected is not None]
