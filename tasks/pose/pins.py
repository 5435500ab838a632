"""Pins: points of the skin that stay in place while another point is dragged."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.meshes.skin_points import SkinPoint, locate_point
from ...deformers import SkinningError
from ...settings.dragging import SkinPin
from ...settings.objects import settings_of
from ..subject.stack import check_not_linked


@dataclass(frozen=True)
class Pin:
    """A point of a skin that is held, and whether its rotation is."""

    point: SkinPoint
    holds_rotation: bool


def list_pins(armature: bpy.types.Object, layer: bpy.types.ViewLayer) -> list[Pin]:
    """The pins of an armature on meshes that are visible in a view layer: Blender evaluates no others."""
    pins = settings_of(armature).pins
    shown = [pin for pin in pins if pin.mesh is not None and _is_shown(pin.mesh, layer)]
    return [Pin(_to_point(pin), pin.holds_rotation) for pin in shown]


def _is_shown(mesh: bpy.types.Object, layer: bpy.types.ViewLayer) -> bool:
    return mesh.name in layer.objects and mesh.visible_get(view_layer=layer)


def _to_point(pin: SkinPin) -> SkinPoint:
    return SkinPoint(pin.mesh, tuple(pin.vertices), tuple(pin.shares), pin.count)


def locate_pins(
    armature: bpy.types.Object, layer: bpy.types.ViewLayer, depsgraph: bpy.types.Depsgraph
) -> list[tuple[Pin, np.ndarray]]:
    """Pins with their positions, shape (3,), world space; without those whose meshes have other vertices now."""
    located = [(pin, locate_point(pin.point, depsgraph)) for pin in list_pins(armature, layer)]
    return [(pin, location) for pin, location in located if location is not None]


def locate_known(point: SkinPoint, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """The position of a point, shape (3,), world space; raises SkinningError if its mesh has other vertices now."""
    location = locate_point(point, depsgraph)
    if location is None:
        raise SkinningError(f"'{point.obj.name}' has changed in the meantime: click again")
    return location


def toggle_pin(armature: bpy.types.Object, wanted: Pin, depsgraph: bpy.types.Depsgraph, reach: float) -> bool:
    """Pin a point of the skin, or take off the pin that is there; whether it is pinned now.

    Raises SkinningError if the armature cannot be changed.

    Parameters
    ----------
    reach : float
        How near a pin must be to be the one that is meant, world space.
    """
    check_not_linked(armature)
    pins, point = settings_of(armature).pins, wanted.point
    near = _find_near(pins, locate_known(point, depsgraph), depsgraph, reach)
    if near is not None:
        pins.remove(near)
        return False
    pin = pins.add()
    pin.mesh, pin.vertices, pin.shares, pin.count = point.obj, point.vertices, point.shares, point.count
    pin.holds_rotation = wanted.holds_rotation
    return True


def _find_near(pins: bpy.types.bpy_prop_collection, here: np.ndarray, depsgraph: bpy.types.Depsgraph, reach: float):
    distances = {}
    for index, pin in enumerate(pins):
        location = None if pin.mesh is None else locate_point(_to_point(pin), depsgraph)
        if location is not None and np.linalg.norm(location - here) <= reach:
            distances[index] = float(np.linalg.norm(location - here))
    return min(distances, key=distances.__getitem__, default=None)


def clear_pins(armature: bpy.types.Object) -> int:
    """Take all pins off an armature; how many there were."""
    check_not_linked(armature)
    pins = settings_of(armature).pins
    count = len(pins)
    pins.clear()
    return count
