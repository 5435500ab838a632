"""Drawings over the 3D View and the UV editor.

`particles`, `weights`, `heat`, `outlines`, `ghosts`, `pins` and `fit_markers` are overlays: each follows its objects
once it is registered, by means of `drawing`. For tools that follow the mouse, `view` converts its position to rays and
UVs, `pattern_view` and `weight_line_view` find things under it; `weight_lines` draws.
"""

from . import fit_markers, ghosts, heat, outlines, particles, pins, weights

PARTS = (particles, weights, heat, outlines, ghosts, pins, fit_markers)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
