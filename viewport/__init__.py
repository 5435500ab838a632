"""What Supple draws over the 3D View and the UV editor.

`particles`, `weights` and `outlines` are overlays: each follows its objects once it is registered. `view` is what
lies under the mouse. `weight_lines` and `weight_line_view` draw and pick lines of weight for their tool.
"""

from . import outlines, particles, weights

PARTS = (particles, weights, outlines)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
