"""What tests of corrections share: what is sculpted, and what is shown."""

from __future__ import annotations

import bpy
import numpy as np

from scenes import evaluated_points, update
from supple.settings.corrections import find_posed_copies
from supple.tasks.corrections.keep import Kept, keep
from supple.tasks.corrections.posed_copy import begin


def copy_points(copy: bpy.types.Object) -> np.ndarray:
    """Points of a posed copy, float64, shape (V, 3)."""
    points = np.empty((len(copy.data.vertices), 3), np.float32)
    copy.data.vertices.foreach_get("co", points.ravel())
    return points.astype(np.float64)


def sculpt(copy: bpy.types.Object, center: np.ndarray, radius: float, offset: np.ndarray) -> np.ndarray:
    """Move vertices of a posed copy that are near a center by an offset that fades; returns all points."""
    points = copy_points(copy)
    distances = np.linalg.norm(points - center, axis=1)
    points += np.maximum(0.0, 1.0 - distances / radius)[:, None] ** 2 * np.asarray(offset, float)
    copy.data.vertices.foreach_set("co", points.astype(np.float32).ravel())
    copy.data.update()
    return points


def correct(obj: bpy.types.Object, center: np.ndarray, radius: float, offset: np.ndarray, **options) -> np.ndarray:
    """Correct the pose that is shown, and return what it was sculpted to."""
    layer = bpy.context.view_layer
    begin([obj], layer)
    (copy,) = find_posed_copies(obj)
    target = sculpt(copy, center, radius, offset)
    correct.kept = keep([copy], layer, **options)
    update()
    return target


correct.kept = Kept((), (), 0, ())


def shown(obj: bpy.types.Object) -> np.ndarray:
    """Points as they are shown, float64."""
    return evaluated_points(obj).astype(np.float64)


def key_value(obj: bpy.types.Object, name: str) -> float:
    """Value of a shape key as it is evaluated."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return obj.data.shape_keys.evaluated_get(depsgraph).key_blocks[name].value
