"""Side by Side: a character's meshes deformed by other methods, drawn next to it in the 3D View, with their names.

Ghosts stand to the right of the character, whatever the view's angle, each as far from the next as the character is
wide. They are drawn over the view and exist nowhere else: no render, no file and no undo step has them. They are made
again only if something has moved.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

import bpy
import blf
import gpu
import numpy as np
from bpy.app.handlers import persistent
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Matrix, Vector

from ..bridge.meshes.data import read_evaluated_points
from ..bridge.per_object import PerObject
from ..deformers.geometry.ring_normals import estimate_normals
from ..settings.character import list_objects
from ..settings.side_by_side import GHOST_LABELS, find_shown_armature, has_ghosts, hide_ghosts
from ..tasks.side_by_side.ghosts import (
    Ghost,
    GhostShape,
    choose_ghosts,
    describe_shown,
    expect_changes,
    find_ghosted,
    keep_only,
    note_changes,
    pose_ghost,
)
from ..tasks.skin.poses import Poses
from ..translations import translate
from .drawing import (
    TO_VIEW,
    LazyShader,
    Overlay,
    after_changes,
    color_joints,
    compile_shader,
    drawing_state,
    find_view,
    list_visible,
    write_rows,
)

# Gap between two ghosts, as a fraction of the character's width
GAP = 0.12

# About this many points of each mesh measure the width of the character.
WIDTH_SAMPLES = 1000

# Labels: font size and margin in pixels at a scale of 1, height of a line in font sizes
FONT_SIZE, LINE_HEIGHT, MARGIN = 14.0, 1.4, 10.0

# The color of skins is clay, with a little of the method's color.
CLAY, TINGE_WEIGHT = (0.64, 0.64, 0.64), 0.14

OWN_LABEL_COLOR = (0.92, 0.92, 0.92)

VERTEX_SOURCE = """
void main()
{
  facing = vec3(dot(toViewX.xyz, normal), dot(toViewY.xyz, normal), dot(toViewZ.xyz, normal));
  seen = vec3(dot(toViewX, vec4(pos, 1.0)), dot(toViewY, vec4(pos, 1.0)), dot(toViewZ, vec4(pos, 1.0)));
  gl_Position = ModelViewProjectionMatrix * vec4(pos, 1.0);
}
"""

# Lit from the eye's upper left; flat faces have the normal of their visible surface.
FRAGMENT_SOURCE = """
void main()
{
  vec3 normal = tint.a > 0.5 ? facing : cross(dFdx(seen), dFdy(seen));
  normal /= max(length(normal), 1e-30);
  normal = normal.z < 0.0 ? -normal : normal;
  float light = 0.3 + 0.55 * max(dot(normal, normalize(vec3(-0.35, 0.5, 0.8))), 0.0);
  light += 0.15 * max(dot(normal, normalize(vec3(0.7, 0.1, 0.7))), 0.0);
  fragColor = vec4(pow(tint.rgb * light, vec3(2.2)), 1.0);  // 3D Views take linear color
}
"""


@dataclass
class DrawnGhost:
    """A ghost as it was drawn last.

    Attributes
    ----------
    elements : GPUIndexBuf
        Triangles.
    points : float32 array, shape (V, 3)
        Points of the batch.
    """

    shape: GhostShape
    elements: gpu.types.GPUIndexBuf
    points: np.ndarray
    batch: gpu.types.GPUBatch


@dataclass(frozen=True)
class Column:
    """The label of one method next to the character, or of the character itself.

    Attributes
    ----------
    lines : list of str
        The label, followed by messages.
    color : tuple of 3 floats
        sRGB.
    top : Vector
        Position of the label, world space.
    """

    lines: list[str]
    color: tuple[float, ...]
    top: Vector


cache: WeakKeyDictionary[Ghost, DrawnGhost] = WeakKeyDictionary()

# The largest width of the character so far, by armature and by the direction to the right in the view: ghosts that
# followed the current width would shake in playback.
_widths: PerObject[dict[tuple, float]] = PerObject()

# The columns of the current view: found when skins are drawn, and labeled later.
_columns: list[Column] = []


def make_shader() -> gpu.types.GPUShader:
    """Compile the shader of lit skin."""
    return compile_shader(
        "supple_ghosts",
        passed={"facing": "VEC3", "seen": "VEC3"},
        constants={"tint": "VEC4"},
        inputs={"pos": "VEC3", "normal": "VEC3"},
        rows=TO_VIEW,
        sources=(VERTEX_SOURCE, FRAGMENT_SOURCE),
    )


def color_ghost(key: str) -> tuple[float, ...]:
    """A method's color, sRGB: the same in every character."""
    return tuple(color_joints(np.array([2 + list(GHOST_LABELS).index(key)]))[0].tolist())


def draw() -> None:
    """Draw the ghosts in a 3D View."""
    _columns.clear()
    context = bpy.context
    layer = context.view_layer
    armature = find_shown_armature(list_objects(layer))
    if not has_ghosts():
        forget()
    if armature is None or find_view(context) is None or layer.depsgraph is None:
        return
    meshes = find_ghosted(armature, layer)
    own_label = describe_shown(meshes)
    keys = choose_ghosts(context.window_manager, own_label)
    keep_only(keys)
    visible = list_visible(meshes)
    shader = lazy_shader.get()
    if not visible or shader is None:
        return
    view, poses = context.region_data, Poses(layer.depsgraph)
    step, top = place_ghosts(armature, visible, layer.depsgraph, view)
    _columns.append(Column([own_label], OWN_LABEL_COLOR, top))
    with drawing_state("LESS_EQUAL", mask=True):
        for number, key in enumerate(keys, 1):
            offset = number * step
            ghosts = [pose_ghost(obj, key, layer.depsgraph, poses) for obj in visible]
            for obj, ghost in zip(visible, ghosts, strict=True):
                to_world = Matrix.Translation(offset) @ obj.evaluated_get(layer.depsgraph).matrix_world
                _draw_ghost(ghost, to_world, shader)
            said = dict.fromkeys(ghost.message for ghost in ghosts if ghost.message)
            color = tuple((0.4 + 0.6 * np.array(color_ghost(key))).tolist())
            _columns.append(Column([GHOST_LABELS[key], *said], color, top + offset))


def forget() -> None:
    """Drop all batches and measures of ghosts."""
    keep_only(())
    cache.clear()
    _widths.clear()


def place_ghosts(
    armature: bpy.types.Object,
    meshes: Sequence[bpy.types.Object],
    depsgraph: bpy.types.Depsgraph,
    view: bpy.types.RegionView3D,
) -> tuple[Vector, Vector]:
    """Place ghosts in a view.

    `meshes`: the visible meshes of the character.

    Returns
    -------
    step : Vector
        From each ghost to the next, world space.
    top : Vector
        Above the middle of the character in the view, world space.
    """
    points = np.concatenate([_sample_points(obj, depsgraph) for obj in meshes])
    right, up, toward = np.array(view.view_rotation.to_matrix()).T
    seen = points @ np.stack([right, up, toward], axis=1)
    low, high = seen.min(axis=0), seen.max(axis=0)
    widths = _widths.setdefault(armature.session_uid, {})
    seen_from = tuple(np.round(right, 2).tolist())
    width = widths[seen_from] = max(widths.get(seen_from, 0.0), float(high[0] - low[0]))
    middle = 0.5 * (low + high)
    above = middle[0] * right + high[1] * up + middle[2] * toward
    return Vector(((1.0 + GAP) * width * right).tolist()), Vector(above.tolist())


def _sample_points(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> np.ndarray:
    """Some points of an evaluated mesh, or its origin if it has none; world space, shape (N, 3)."""
    points = read_evaluated_points(obj, depsgraph)
    points = points[:: 1 + len(points) // WIDTH_SAMPLES] if len(points) else np.zeros((1, 3))
    to_world = np.array(obj.evaluated_get(depsgraph).matrix_world)
    return points @ to_world[:3, :3].T + to_world[:3, 3]


def _draw_ghost(ghost: Ghost, to_world: Matrix, shader: gpu.types.GPUShader) -> None:
    drawn = update_drawn(ghost)
    if drawn is None:
        return
    with gpu.matrix.push_pop():
        gpu.matrix.multiply_matrix(to_world)
        shader.bind()
        write_rows(shader, TO_VIEW, gpu.matrix.get_model_view_matrix())
        tint = np.array(CLAY) + TINGE_WEIGHT * np.array(color_ghost(ghost.key))
        shader.uniform_float("tint", (*tint.tolist(), float(drawn.shape.is_smooth)))
        drawn.batch.draw(shader)


def update_drawn(ghost: Ghost) -> DrawnGhost | None:
    """The batch of a ghost, made again if it has moved; None for nothing to draw."""
    points, shape, known = ghost.points, ghost.shape, cache.get(ghost)
    if points is None or shape is None or not len(shape.triangles):
        return None
    if known is not None and known.points is points and known.shape is shape:
        return known
    is_same = known is not None and known.shape is shape
    types = cast(Any, gpu.types)  # its stubs know no arguments
    elements = known.elements if is_same else types.GPUIndexBuf(type="TRIS", seq=shape.triangles)
    arrays = {"pos": points, "normal": estimate_normals(shape.rings, points)}
    layout = types.GPUVertFormat()
    for name in arrays:
        layout.attr_add(id=name, comp_type="F32", len=3, fetch_mode="FLOAT")
    vertices = types.GPUVertBuf(layout, len(points))
    for name, array in arrays.items():
        vertices.attr_fill(name, array)
    batch = types.GPUBatch(type="TRIS", buf=vertices, elem=elements)
    drawn = cache[ghost] = DrawnGhost(shape, elements, points, batch)
    return drawn


def draw_labels() -> None:
    """Draw labels above the character and its ghosts."""
    if not _columns or find_view(bpy.context) is None:
        return
    context = bpy.context
    region, scale = context.region, context.preferences.system.ui_scale
    tops = [location_3d_to_region_2d(region, context.region_data, column.top) for column in _columns]
    apart = abs(tops[1].x - tops[0].x) if len(tops) > 1 and None not in tops[:2] else region.width
    blf.size(0, FONT_SIZE * scale)
    blf.enable(0, blf.SHADOW)
    blf.shadow(0, 5, 0.0, 0.0, 0.0, 0.9)
    headers = (other.height for other in context.area.regions if other.type in ("HEADER", "TOOL_HEADER"))
    highest = region.height - sum(headers) - (MARGIN + FONT_SIZE) * scale
    letters = max(10, int(apart / (0.55 * FONT_SIZE * scale)))
    for column, top in zip(_columns, tops, strict=True):
        if top is not None:
            lines = [line for text in column.lines for line in textwrap.wrap(translate(text), letters)]
            _draw_lines(lines, column.color, top, highest, scale)
    blf.disable(0, blf.SHADOW)


def _draw_lines(lines: list[str], color: tuple[float, ...], top: Vector, highest: float, scale: float) -> None:
    """Draw lines of text that end above a position, but do not begin above the highest position."""
    step = LINE_HEIGHT * FONT_SIZE * scale
    first = min(top.y + MARGIN * scale + step * (len(lines) - 1), highest)
    blf.color(0, color[0], color[1], color[2], 1.0)
    for number, line in enumerate(lines):
        width, _ = blf.dimensions(0, line)
        blf.position(0, top.x - 0.5 * width, first - step * number, 0.0)
        blf.draw(0, line)


@persistent
def _on_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    note_changes(depsgraph)


@persistent
def _on_undo(*_) -> None:
    expect_changes()


@persistent
def _on_load(*_) -> None:
    """Another file has other characters."""
    hide_ghosts()
    forget()


lazy_shader = LazyShader(make_shader)
HANDLERS = (
    *after_changes(_on_change),
    ("load_post", _on_load),
    ("undo_post", _on_undo),
    ("redo_post", _on_undo),
)
_views = bpy.types.SpaceView3D
overlay = Overlay(((_views, draw), (_views, draw_labels, "POST_PIXEL")), HANDLERS, shader=lazy_shader)
register = overlay.register


def unregister() -> None:
    overlay.unregister()
    forget()
    _columns.clear()
