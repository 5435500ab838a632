"""Corrections of a tube by the buttons, as a user makes them: steps, and what is there after them."""

from __future__ import annotations

import bpy
import numpy as np
from scenes_corrections import sculpt, shown

from scenes import distance, select, turn, update
from supple.settings.objects import settings_of
from supple.tasks.corrected import list_under_way

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


def make(rotation=(1.2, 0.0, 0.0), **options) -> np.ndarray:
    """Correct a pose: what it was sculpted to."""
    pose(rotation)
    target = sculpt(begin(), ELBOW, 0.8, OFFSET)
    keep(**options)
    return target


def names() -> list[str]:
    return [entry.name for entry in settings_of(tube()).corrections]


def assert_shown(target: np.ndarray, within: float = 1e-5) -> None:
    assert distance(target, shown(tube())) < within


def assert_nothing_under_way() -> None:
    obj = tube()
    assert not list_under_way(bpy.context)
    assert settings_of(obj).posed_copy is None
    assert obj.visible_get()
    assert not [other for other in bpy.data.objects if settings_of(other).corrected is not None]
