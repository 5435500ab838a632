"""Drawing that overlays share: the state of the GPU, shaders, lines, discs, colors, and the handlers that draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, TypeVar, cast

import bpy
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader
from mathutils import Matrix

from ..bridge.handlers import Handlers, install, uninstall

T = TypeVar("T")

# Lines are drawn this much nearer to the eye than the skin, as a fraction of the distance.
LINE_SHIFT = 4e-3

# Discs are drawn this much nearer to the eye than their points, or round skin would hide them.
DISC_SHIFT = 0.015

# Step in hue from one joint to the next, in full circles: neighbors differ, and so do all joints of a hand.
HUE_STEP = 0.618034

DISC_CORNERS = 24
HIDDEN_OPACITY = 0.3

# Rows of the matrix from object to view space, as shaders name them
TO_VIEW = ("toViewX", "toViewY", "toViewZ")


class LazyShader:
    """A shader that is compiled when it first draws: there is no GPU while Blender registers extensions."""

    def __init__(self, make: Callable[[], gpu.types.GPUShader]) -> None:
        self._make = make
        self.forget()

    def get(self) -> gpu.types.GPUShader | None:
        """The shader; None if it could not be compiled, which raises once and not at every redraw."""
        if not self._is_tried:
            self._is_tried = True
            self._shader = self._make()
        return self._shader

    def forget(self) -> None:
        """Compile again on the next `get`."""
        self._shader: gpu.types.GPUShader | None = None
        self._is_tried = False


def compile_shader(
    name: str,
    passed: dict[str, str],
    constants: dict[str, str],
    inputs: dict[str, str],
    rows: Sequence[str],
    sources: tuple[str, str],
    flat: Mapping[str, str] = MappingProxyType({}),
    front: str = "",
) -> gpu.types.GPUShader:
    """Compile a shader that has `ModelViewProjectionMatrix` and writes `fragColor`.

    Parameters
    ----------
    passed, flat : dict of str to str
        Names and types of values passed from the vertex to the fragment shader: interpolated, and not.
    constants, inputs : dict of str to str
        Names and types of push constants and of vertex attributes.
    rows : sequence of str
        Names of the first three rows of a matrix, for `write_rows`.
    sources : (str, str)
        Source of the vertex and of the fragment shader.
    front : str
        If given, the share of the depth range that the shader writes its depth to, as `FRONT`.
    """
    between = cast(Any, gpu.types.GPUStageInterfaceInfo)(name)
    for passed_name, kind in passed.items():
        between.smooth(kind, passed_name)
    for passed_name, kind in flat.items():
        between.flat(kind, passed_name)
    info = gpu.types.GPUShaderCreateInfo()
    if front:
        info.define("FRONT", front)
        if hasattr(info, "depth_write"):  # only from Blender 4.3 on; before, spheres that intersect have no seam
            info.depth_write("ANY")
            info.define("WRITES_DEPTH", "1")
    # Graphics cards guarantee 128 bytes of constants: there is no room for a second whole matrix.
    kinds = {"ModelViewProjectionMatrix": "MAT4"} | dict.fromkeys(rows, "VEC4") | constants
    for constant, kind in kinds.items():
        info.push_constant(kind, constant)
    for slot, (attribute, kind) in enumerate(inputs.items()):
        info.vertex_in(slot, kind, attribute)
    info.vertex_out(between)
    info.fragment_out(0, "VEC4", "fragColor")
    info.vertex_source(sources[0])
    info.fragment_source(sources[1])
    return gpu.shader.create_from_info(info)


class Overlay:
    """Functions that draw, and handlers, installed while Supple is enabled.

    Parameters
    ----------
    draw : sequence of (type of Space, callable) or (type of Space, callable, str)
        Editors, functions that draw in them, and the moment if it is not "POST_VIEW": "POST_PIXEL" for text.
    handlers : sequence of (str, callable)
        Names of lists in `bpy.app.handlers`, and functions to append.
    shader : LazyShader, optional
        Forgotten when the overlay is removed.

    Attributes
    ----------
    handles : list of (type of Space, handle)
        Blender's handles of the functions that draw.
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


def after_changes(function: Callable[..., None]) -> Handlers:
    """Handlers that call a persistent function after changes of the frame or of data."""
    return ("frame_change_post", function), ("depsgraph_update_post", function)


@contextmanager
def listed(shown: list[T], item: T) -> Iterator[None]:
    """Keep an item in a list for a while, such as while a tool shows it."""
    shown.append(item)
    try:
        yield
    finally:
        shown.remove(item)


def find_view(context: bpy.types.Context) -> bpy.types.SpaceView3D | None:
    """The 3D View that is drawn now; None if it shows no overlays, or another editor is drawn."""
    space = context.space_data
    return space if isinstance(space, bpy.types.SpaceView3D) and space.overlay.show_overlays else None


def list_visible(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """The objects that are visible in the 3D View that is drawn now; none if it shows no overlays."""
    space, layer = find_view(bpy.context), bpy.context.view_layer
    if space is None or layer.depsgraph is None:
        return []
    return [obj for obj in objects if obj.visible_get(view_layer=layer, viewport=space)]


@contextmanager
def at_object(obj: bpy.types.Object, shift: float = 0.0) -> Iterator[None]:
    """Draw in an evaluated object's space for a while, nearer to the eye by a fraction of the distance."""
    with gpu.matrix.push_pop():
        if shift:
            shift_toward_eye(bpy.context.region_data, shift)
        gpu.matrix.multiply_matrix(obj.evaluated_get(bpy.context.view_layer.depsgraph).matrix_world)
        yield


@contextmanager
def drawing_state(depth: str | None = None, mask: bool | None = None) -> Iterator[None]:
    """Blend colors for a while, with a depth test and with or without writing depth; None changes nothing."""
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
    """Draw nearer to the eye from here on, by a fraction of the distance: on the same pixels, but before the skin."""
    if view.is_perspective:
        nearer = Matrix.Scale(1.0 - share, 4)
    else:
        nearer = Matrix.Translation((0.0, 0.0, share * view.view_distance))
    gpu.matrix.load_matrix(nearer @ gpu.matrix.get_model_view_matrix())


def write_rows(shader: gpu.types.GPUShader, names: Sequence[str], matrix: Matrix) -> None:
    """Set the rows of a matrix that `compile_shader` has declared."""
    for index, name in enumerate(names):
        shader.uniform_float(name, matrix[index])


def draw_frontmost(batch: gpu.types.GPUBatch, shader: gpu.types.GPUShader) -> None:
    """Draw a batch by its depth first, then in color, so that its back does not shine through."""
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
    """A batch of line segments, shape (S, 2, 2 or 3); flat segments are drawn at height 0."""
    points = np.zeros((2 * len(pieces), 3), np.float32)
    points[:, : pieces.shape[2]] = pieces.reshape(-1, pieces.shape[2])
    return batch_for_shader(gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR"), "LINES", {"pos": points})


def draw_lines(shader: gpu.types.GPUShader, batch: gpu.types.GPUBatch, color: tuple[float, ...], width: float) -> None:
    """Draw a batch of lines.

    Parameters
    ----------
    shader : GPUShader
        From `bind_line_shader`.
    color : tuple of 4 floats
        RGBA.
    width : float
        Pixels.
    """
    shader.uniform_float("color", color)
    shader.uniform_float("lineWidth", width)
    batch.draw(shader)


def build_disc(
    center: np.ndarray, radius: float, color: tuple, corners: int = DISC_CORNERS
) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of a disc with a soft rim about a center (2,): points (N, 2), pixels, and colors (N, 4)."""
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
    context: bpy.types.Context, point: np.ndarray, pixels: float, color: tuple[float, ...], corners: int = DISC_CORNERS
) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of a disc that faces the eye: points (N, 3), world space, and colors (N, 4)."""
    view: Any = context.region_data
    to_view = np.array(view.view_matrix)
    depth = float((np.array(view.perspective_matrix) @ np.append(point, 1.0))[3])
    pixel = 2.0 * abs(depth) / (context.region.width * view.window_matrix[0][0])
    eye = np.linalg.inv(to_view)[:3, 3]
    nearer = point + DISC_SHIFT * ((eye - point) if view.is_perspective else view.view_distance * to_view[2, :3])
    size = pixel * ((1.0 - DISC_SHIFT) if view.is_perspective else 1.0)
    flat, tints = build_disc(np.zeros(2), pixels, (*color, 1.0), corners)
    return nearer + size * flat @ to_view[:2, :3], tints


def draw_discs(
    discs: Sequence[tuple[np.ndarray, np.ndarray]],
    depths: Sequence[tuple[str | None, float]] = (("GREATER", HIDDEN_OPACITY), ("LESS_EQUAL", 1.0)),
    mask: bool | None = False,
) -> None:
    """Draw discs from `place_disc` or `build_disc`, at least one.

    `depths`: depth tests, each with an opacity: by default, discs behind a surface shine through faintly.
    """
    points = np.concatenate([points for points, _ in discs]).astype(np.float32)
    colors = np.concatenate([colors for _, colors in discs]).astype(np.float32)
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    for depth, opacity in depths:
        with drawing_state(depth, mask):
            tints = colors * np.array((1.0, 1.0, 1.0, opacity), np.float32)
            batch_for_shader(shader, "TRIS", {"pos": points, "color": tints}).draw(shader)


def color_joints(joints: np.ndarray) -> np.ndarray:
    """A color for each joint index, shape (P,), the same in every file: RGB, shape (P, 3)."""
    hues = (np.asarray(joints)[:, None] * HUE_STEP) % 1.0
    steps = (6.0 * hues + np.array((5.0, 3.0, 1.0))) % 6.0
    return 0.95 - 0.6 * np.clip(np.minimum(steps, 4.0 - steps), 0.0, 1.0)
