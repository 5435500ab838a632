"""What all overlays share: the state of the GPU, shaders, colors, and what is installed and cached while they draw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import bpy
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader
from mathutils import Matrix

from ..bridge.handlers import Handlers, install, uninstall

LINE_SHIFT = 4e-3
"""How much nearer to the eye lines are drawn than the skin, as a fraction of the distance."""

GOLDEN_RATIO = 0.618034
"""Step in hue from one joint to the next, in full circles: neighbors differ, and so do all joints of a hand."""

CORNERS = 24
"""Of a disc."""

HIDDEN_OPACITY = 0.3
"""Of what lies behind the skin."""

TOWARD_EYE = 0.015
"""How much nearer to the eye discs are drawn than their points, as a fraction of the distance: round skin would bury
them else."""


class LazyShader:
    """A shader that is compiled when first drawn with: there is no GPU while Blender registers extensions."""

    def __init__(self, make: Callable[[], gpu.types.GPUShader]) -> None:
        self._make = make
        self.forget()

    def get(self) -> gpu.types.GPUShader | None:
        """The shader; None where it could not be compiled, which raises once and not at every redraw."""
        if not self._is_tried:
            self._is_tried = True
            self._shader = self._make()
        return self._shader

    def forget(self) -> None:
        """Compile anew when asked next."""
        self._shader: gpu.types.GPUShader | None = None
        self._is_tried = False


class Overlay:
    """What an overlay installs while Supple is enabled.

    Parameters
    ----------
    draw : sequence of (type of Space, callable) or (type of Space, callable, str)
        Functions that draw, and the editors that they draw in; and when, if not "POST_VIEW": "POST_PIXEL" for text.
    handlers : sequence of (str, callable)
        Names of lists in `bpy.app.handlers`, and what they are given.
    shader : LazyShader, optional
        Forgotten when the overlay is removed.

    Attributes
    ----------
    handles : list of (type of Space, handle)
        Of the functions that draw now.
    """

    def __init__(
        self,
        draw: Sequence[tuple[Any, Callable[[], None]] | tuple[Any, Callable[[], None], str]],
        handlers: Handlers = (),
        shader: LazyShader | None = None,
    ) -> None:
        self.handles: list[tuple[Any, Any]] = []
        self._draw, self._handlers, self._shader = draw, handlers, shader

    def register(self) -> None:
        install(self._handlers)
        for space, draw, *moment in self._draw:
            handle = space.draw_handler_add(draw, (), "WINDOW", *(moment or ["POST_VIEW"]))
            self.handles.append((space, handle))

    def unregister(self) -> None:
        while self.handles:
            space, handle = self.handles.pop()
            space.draw_handler_remove(handle, "WINDOW")
        uninstall(self._handlers)
        if self._shader is not None:
            self._shader.forget()


def find_view(context: bpy.types.Context) -> bpy.types.SpaceView3D | None:
    """The 3D View that is drawn now; None where it shows no overlays, or another editor is drawn."""
    space = context.space_data
    return space if isinstance(space, bpy.types.SpaceView3D) and space.overlay.show_overlays else None


@contextmanager
def drawing_state(depth: str | None = None, mask: bool | None = None) -> Iterator[None]:
    """Blend colors for a while, with this depth test and with or without writing depth; None leaves it as it is."""
    before = gpu.state.depth_test_get(), gpu.state.depth_mask_get(), gpu.state.blend_get()
    if depth is not None:
        gpu.state.depth_test_set(depth)
    if mask is not None:
        gpu.state.depth_mask_set(mask)
    gpu.state.blend_set("ALPHA")
    try:
        yield
    finally:
        gpu.state.depth_test_set(before[0])
        gpu.state.depth_mask_set(before[1])
        gpu.state.blend_set(before[2])


def shift_toward_eye(view: bpy.types.RegionView3D, share: float = LINE_SHIFT) -> None:
    """Draw what follows nearer to the eye, by a fraction of the distance: on the same pixels, but before the skin."""
    if view.is_perspective:
        nearer = Matrix.Scale(1.0 - share, 4)
    else:
        nearer = Matrix.Translation((0.0, 0.0, share * view.view_distance))
    gpu.matrix.load_matrix(nearer @ gpu.matrix.get_model_view_matrix())


def declare_rows(info: gpu.types.GPUShaderCreateInfo, names: Sequence[str]) -> None:
    """Give a shader the first three rows of a matrix: the 128 bytes that all graphics cards have hold no second one."""
    for name in names:
        info.push_constant("VEC4", name)


def write_rows(shader: gpu.types.GPUShader, names: Sequence[str], matrix: Matrix) -> None:
    """Set the rows that `declare_rows` has declared."""
    for index, name in enumerate(names):
        shader.uniform_float(name, matrix[index])


def draw_frontmost(batch: gpu.types.GPUBatch, shader: gpu.types.GPUShader) -> None:
    """Draw a batch by its depth first, then in color: what lies behind its front does not shine through."""
    gpu.state.color_mask_set(False, False, False, False)
    batch.draw(shader)
    gpu.state.color_mask_set(True, True, True, True)
    batch.draw(shader)


def bind_line_shader() -> gpu.types.GPUShader:
    """Blender's own shader for lines of any width, ready for `draw_lines`."""
    shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
    shader.bind()
    shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
    return shader


def make_line_batch(pieces: np.ndarray) -> gpu.types.GPUBatch:
    """Pieces of lines, float array, shape (S, 2, 2 or 3), as a batch; in the plane at height 0 where they are flat."""
    points = np.zeros((2 * len(pieces), 3), np.float32)
    points[:, : pieces.shape[2]] = pieces.reshape(-1, pieces.shape[2])
    return batch_for_shader(gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR"), "LINES", {"pos": points})


def draw_lines(shader: gpu.types.GPUShader, batch: gpu.types.GPUBatch, color: tuple[float, ...], width: float) -> None:
    """Draw a batch of lines.

    Parameters
    ----------
    shader : GPUShader
        As `bind_line_shader` gives it.
    color : tuple of 4 floats
        RGBA.
    width : float
        Pixels.
    """
    shader.uniform_float("color", color)
    shader.uniform_float("lineWidth", width)
    batch.draw(shader)


def build_disc(
    center: np.ndarray, radius: float, color: tuple, corners: int = CORNERS
) -> tuple[np.ndarray, np.ndarray]:
    """A disc with a soft rim about a center (2,), as triangles: points (N, 2), pixels, and colors (N, 4)."""
    angles = np.linspace(0.0, 2.0 * np.pi, corners + 1)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    inner, outer = center + (radius - 0.6) * ring, center + (radius + 0.6) * ring
    middle = np.broadcast_to(center, inner[:-1].shape)
    points = np.stack(
        [middle, inner[:-1], inner[1:], inner[:-1], outer[:-1], outer[1:], inner[:-1], outer[1:], inner[1:]], axis=1
    )
    tints = np.tile(np.array(color, float), (*points.shape[:2], 1))
    tints[:, [4, 5, 7], 3] = 0.0
    return points.reshape(-1, 2), tints.reshape(-1, 4)


def place_disc(
    context: bpy.types.Context, point: np.ndarray, pixels: float, color: tuple[float, ...], corners: int = CORNERS
) -> tuple[np.ndarray, np.ndarray]:
    """A disc that faces the eye, as triangles: points (N, 3), world space, and colors (N, 4)."""
    view: Any = context.region_data
    to_view = np.array(view.view_matrix)
    depth = float((np.array(view.perspective_matrix) @ np.append(point, 1.0))[3])
    pixel = 2.0 * abs(depth) / (context.region.width * view.window_matrix[0][0])
    eye = np.linalg.inv(to_view)[:3, 3]
    nearer = point + TOWARD_EYE * ((eye - point) if view.is_perspective else view.view_distance * to_view[2, :3])
    size = pixel * ((1.0 - TOWARD_EYE) if view.is_perspective else 1.0)
    flat, tints = build_disc(np.zeros(2), pixels, (*color, 1.0), corners)
    return nearer + size * flat @ to_view[:2, :3], tints


def draw_discs(
    discs: Sequence[tuple[np.ndarray, np.ndarray]],
    depths: Sequence[tuple[str, float]] = (("GREATER", HIDDEN_OPACITY), ("LESS_EQUAL", 1.0)),
) -> None:
    """Draw discs as `place_disc` gives them, at least one.

    Parameters
    ----------
    depths : sequence of (str, float)
        Depth tests, and how opaque what passes them is: what lies behind a surface shines through faintly.
    """
    points = np.concatenate([points for points, _ in discs]).astype(np.float32)
    colors = np.concatenate([colors for _, colors in discs]).astype(np.float32)
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    for depth, opacity in depths:
        with drawing_state(depth, mask=False):
            tints = colors * np.array((1.0, 1.0, 1.0, opacity), np.float32)
            batch_for_shader(shader, "TRIS", {"pos": points, "color": tints}).draw(shader)


def color_joints(joints: np.ndarray) -> np.ndarray:
    """A color for each joint, index array of shape (P,), the same in every file: RGB, float array, shape (P, 3)."""
    hues = (np.asarray(joints)[:, None] * GOLDEN_RATIO) % 1.0
    steps = (6.0 * hues + np.array((5.0, 3.0, 1.0))) % 6.0
    return 0.95 - 0.6 * np.clip(np.minimum(steps, 4.0 - steps), 0.0, 1.0)
