"""Markers on the joints of a fit, and lines between them, while they are dragged."""

from __future__ import annotations

from contextlib import AbstractContextManager

import bpy
import numpy as np
from mathutils import Matrix

from ..deformers import SkinningError
from ..deformers.fit.joints import Fit, mirror_name
from .drawing import (
    Overlay,
    bind_line_shader,
    draw_discs,
    draw_lines,
    drawing_state,
    find_view,
    listed,
    make_line_batch,
    place_disc,
)
from .view import Mouse, View

# Pixels: the mouse grabs a marker within the grab radius
RADIUS, RIM_WIDTH, LINE_WIDTH, GRAB_RADIUS = 6.0, 1.8, 2.0, 14.0

COLOR, DOUBTFUL_COLOR, ACTIVE_COLOR = (0.25, 0.8, 1.0), (1.0, 0.45, 0.1), (1.0, 0.95, 0.5)
RIM_COLOR, LINE_COLOR = (0.02, 0.02, 0.02), (0.25, 0.8, 1.0, 0.6)


class FitMarkers:
    """A fit with markers on its joints.

    Attributes
    ----------
    fit : Fit
    active : str
        The joint under the mouse, or "".
    """

    def __init__(self, fit: Fit) -> None:
        self.fit, self.active = fit, ""

    def find(self, view: View, mouse: Mouse) -> str:
        """The joint whose marker is under the mouse, or ""."""
        distances = {name: self._measure(view, mouse, name) for name in self.fit.list_markers()}
        name = min(distances, key=lambda joint: distances[joint])
        return name if distances[name] <= GRAB_RADIUS * bpy.context.preferences.system.ui_scale else ""

    def _measure(self, view: View, mouse: Mouse, name: str) -> float:
        try:
            return float(np.linalg.norm(view.project(self.fit.locate(name), Matrix.Identity(4)) - mouse))
        except SkinningError:  # behind the eye
            return np.inf


_shown: list[FitMarkers] = []


def shown_markers(markers: FitMarkers) -> AbstractContextManager[None]:
    """Show markers for a while."""
    return listed(_shown, markers)


def find_shown() -> FitMarkers | None:
    """The markers that are shown now, if any."""
    return _shown[-1] if _shown else None


def draw_markers() -> None:
    """Draw the markers in a 3D View."""
    context = bpy.context
    markers = find_shown()
    if markers is None or find_view(context) is None:
        return
    fit, active = markers.fit, markers.active
    ends = np.array([[fit.locate(name) for name in pair] for pair in fit.list_lines()])
    with drawing_state("NONE"):
        draw_lines(bind_line_shader(), make_line_batch(ends), LINE_COLOR, LINE_WIDTH)
    scale = context.preferences.system.ui_scale
    discs = []
    for name in fit.list_markers():
        fill = DOUBTFUL_COLOR if name in fit.doubtful else COLOR
        fill = ACTIVE_COLOR if active and name in (active, mirror_name(active)) else fill
        for size, color in ((RADIUS + RIM_WIDTH, RIM_COLOR), (RADIUS, fill)):
            discs.append(place_disc(context, fit.locate(name), size * scale, color))
    draw_discs(discs, (("NONE", 1.0),))


overlay = Overlay(((bpy.types.SpaceView3D, draw_markers),))
register, unregister = overlay.register, overlay.unregister
