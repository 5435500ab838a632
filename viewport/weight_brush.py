"""A brush that follows the mouse over the posed skin, and smooths weights there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import bpy
import numpy as np

from ..bridge.meshes.rays import read_posed_skin
from ..deformers.patterns.picking import carry_ray, cast_ray
from ..tasks.weights.strokes import SmoothStroke
from .view import Mouse, View

# Distance between two touches of the brush, in its radii
SPACING = 0.25


@dataclass(frozen=True)
class Touch:
    """A touch of the brush: its position on the skin, shape (3,), and its radius; world space."""

    location: np.ndarray
    radius: float


class BrushOnSkin:
    """A stroke of the brush on the skin as it was posed when the stroke began.

    Parameters
    ----------
    stroke : SmoothStroke
        Of the same object.
    radius : float
        Of the brush, pixels.
    """

    def __init__(
        self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, stroke: SmoothStroke, radius: float
    ) -> None:
        skin = read_posed_skin(obj, depsgraph)
        self._skin = replace(skin, rest=skin.points)  # what is at rest under the brush does not matter
        self._to_world = np.array(obj.evaluated_get(depsgraph).matrix_world)
        self._stroke, self._radius = stroke, radius
        self._last: Mouse | None = None

    def follow(self, view: View, mouse: Mouse, strength: float) -> list[Touch]:
        """Touch the skin along the mouse's path since the last call, and write the weights; returns the touches."""
        touches = []
        for position in self._walk(mouse):
            touch = self._find_touch(view, position)
            if touch is not None:
                self._stroke.touch(touch.location, touch.radius, strength)
                touches.append(touch)
        if touches:
            self._stroke.write(is_last=False)
        return touches

    def _walk(self, mouse: Mouse) -> Iterator[Mouse]:
        if self._last is None:
            self._last = mouse
            yield mouse
            return
        start = self._last
        steps = int(np.linalg.norm(mouse - start) / (SPACING * self._radius))
        for step in range(1, steps + 1):
            self._last = start + (mouse - start) * (step / steps)
            yield self._last

    def _find_touch(self, view: View, mouse: Mouse) -> Touch | None:
        origin, direction = (np.array(part) for part in view.ray(mouse))
        hit = cast_ray(self._skin, *carry_ray(np.linalg.inv(self._to_world), origin, direction))
        if hit is None:
            return None
        location = self._to_world[:3, :3] @ hit.point + self._to_world[:3, 3]
        return Touch(location, view.measure(mouse, location, self._radius))
