"""Weights of chosen bones in the 3D View, as colors on the posed skin: in Object and Pose Mode.

Drawn are the meshes that the active armature deforms, or the active mesh. Shape and weights are read apart, each only
when the depsgraph says that it has changed: a pose changes no weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import bpy
import gpu
import numpy as np
from bpy.app.handlers import persistent
from gpu_extras.batch import batch_for_shader
from mathutils import Matrix

from ..bridge.meshes.data import VertexGroups
from ..bridge.meshes.shown_weights import ShownShape, read_shown_groups, read_shown_shape
from ..bridge.per_object import PerObject
from ..tasks.subject.chosen_bones import find_active_armature, find_chosen_bones, find_deformed_meshes
from .drawing import (
    LazyShader,
    Overlay,
    color_joints,
    declare_rows,
    draw_frontmost,
    drawing_state,
    find_view,
    shift_toward_eye,
    write_rows,
)

COLOR_SHIFT = 5e-4
"""How much nearer to the eye colors are drawn than the skin, as a fraction of the distance: less than clothes are."""

MODES = ("OBJECT", "POSE")
"""Modes of the active object in which weights are drawn."""

UNWEIGHTED = -1.0
"""Value of vertices without weights."""

TO_VIEW = ("toViewX", "toViewY", "toViewZ")
"""Names in the shader of the rows of the matrix from object to view space."""

VERTEX_SOURCE = """
void main()
{
  shade = value;
  tint = color;
  facing = vec3(dot(toViewX.xyz, normal), dot(toViewY.xyz, normal), dot(toViewZ.xyz, normal));
  gl_Position = ModelViewProjectionMatrix * vec4(pos, 1.0);
}
"""

FRAGMENT_SOURCE = """
vec3 heat(float weight)
{
  float four = 4.0 * clamp(weight, 0.0, 1.0);
  vec3 color = clamp(vec3(four - 2.0, min(four, 4.0 - four), 2.0 - four), 0.0, 1.0);
  return color * (0.55 + 0.45 * clamp(weight, 0.0, 1.0));
}

void main()
{
  vec3 normal = normalize(facing);
  normal = normal.z < 0.0 ? -normal : normal;
  float light = 0.35 + 0.65 * max(dot(normal, normalize(vec3(0.25, 0.4, 0.9))), 0.0);
  vec3 color = byBone ? tint : heat(shade);
  float opacity = byBone ? 0.9 : mix(0.45, 0.9, smoothstep(0.0, 0.08, shade));
  if (shade < 0.0) {
    float stripe = fract((gl_FragCoord.x + gl_FragCoord.y) / 12.0);
    color = stripe < 0.5 ? vec3(0.9, 0.0, 0.8) : vec3(0.1, 0.0, 0.1);
    opacity = 0.9;
  }
  fragColor = vec4(pow(color * light, vec3(2.2)), opacity);  // 3D Views take linear color
}
"""
"""Blender's own colors of weights, from blue through green to red; no weight at all is striped in magenta."""


@dataclass
class DrawnWeights:
    """What was made of an object when last drawn.

    Attributes
    ----------
    groups : VertexGroups or None
        Each is None where it has to be read again.
    key : tuple
        All else that colors depend on.
    colors : tuple of float32 arrays
        Values, shape (V',), and tints, shape (V', 3).
    """

    shape: ShownShape | None = None
    groups: VertexGroups | None = None
    key: tuple = ()
    colors: tuple[np.ndarray, np.ndarray] | None = None
    batch: gpu.types.GPUBatch | None = None


@dataclass(frozen=True)
class WeightsTool:
    """A tool that changes weights while it runs, and has them sooner than the mesh.

    Attributes
    ----------
    read : callable
        Gives the entries of the mesh's vertex groups.
    choose : callable
        Gives the names of the bones whose weights count.
    """

    read: Callable[[], VertexGroups]
    choose: Callable[[], list[str]]


cache: PerObject[DrawnWeights] = PerObject(survives_undo=False)
tools: PerObject[WeightsTool] = PerObject(survives_undo=False)
"""Tools that change weights now, by the `session_uid` of their objects."""


def make_shader() -> gpu.types.GPUShader:
    """Compile the shader of colored skin."""
    between = cast(Any, gpu.types.GPUStageInterfaceInfo)("supple_weights")
    between.smooth("VEC3", "facing")
    between.smooth("VEC3", "tint")
    between.smooth("FLOAT", "shade")
    info = gpu.types.GPUShaderCreateInfo()
    info.push_constant("MAT4", "ModelViewProjectionMatrix")
    declare_rows(info, TO_VIEW)
    info.push_constant("BOOL", "byBone")
    info.vertex_in(0, "VEC3", "pos")
    info.vertex_in(1, "VEC3", "normal")
    info.vertex_in(2, "FLOAT", "value")
    info.vertex_in(3, "VEC3", "color")
    info.vertex_out(between)
    info.fragment_out(0, "VEC4", "fragColor")
    info.vertex_source(VERTEX_SOURCE)
    info.fragment_source(FRAGMENT_SOURCE)
    return gpu.shader.create_from_info(info)


def color_weights(groups: VertexGroups, count: int, bones: list[int], chosen: list[int]) -> tuple:
    """Find the values and tints by which the shader colors vertices.

    Parameters
    ----------
    groups : VertexGroups
        Of the mesh as it is shown.
    count : int
        Vertices.
    bones, chosen : lists of int
        Groups of deforming bones, and of the chosen bones.

    Returns
    -------
    values : float32 array, shape (V',)
        Sum of the weights of the chosen bones, at most 1; `UNWEIGHTED` where no bone has any.
    tints : float32 array, shape (V', 3)
        The bones' own colors, mixed by their weights.
    """
    is_bone, is_chosen = (np.isin(groups.groups, indices) for indices in (bones, chosen))
    values = np.bincount(groups.vertices[is_chosen], groups.values[is_chosen], count)
    total = np.bincount(groups.vertices[is_bone], groups.values[is_bone], count)
    hues = color_joints(groups.groups[is_bone]) * groups.values[is_bone][:, None]
    tints = np.stack([np.bincount(groups.vertices[is_bone], channel, count) for channel in hues.T], axis=1)
    tints /= np.where(total > 0, total, 1.0)[:, None]
    values = np.where(total > 0, np.minimum(values, 1.0), UNWEIGHTED)
    return values.astype(np.float32), tints.astype(np.float32)


def show_tool(obj: bpy.types.Object, tool: WeightsTool) -> Callable[[], None]:
    """Draw an object's weights as a tool has them, until what is returned is called."""
    uid = obj.session_uid
    tools[uid] = tool
    return lambda: tools.pop(uid, None) and None


def find_shown(context: bpy.types.Context) -> list[bpy.types.Object]:
    """Meshes whose weights are to be drawn: the active one and the selected ones, or those of the active armature."""
    active = context.active_object
    if not context.window_manager.supple_show_weights or active is None or active.mode not in MODES:
        return []
    layer = context.view_layer
    meshes = find_deformed_meshes(active, layer)
    if active.type == "MESH":
        others = [obj for obj in context.selected_objects if obj.type == "MESH" and obj != active]
        meshes = [obj for obj in (active, *others) if obj.vertex_groups]
    return [obj for obj in meshes if obj.mode == "OBJECT"]


def draw() -> None:
    """Draw weights in a 3D View."""
    context = bpy.context
    space, layer = find_view(context), context.view_layer
    shown = find_shown(context)
    cache.keep_only(shown)
    if not shown or space is None or layer.depsgraph is None:
        return
    by_bone = context.window_manager.supple_weight_colors == "BONES"
    tool = next((tools[obj.session_uid] for obj in shown if obj.session_uid in tools), None)
    chosen = tool.choose() if tool else find_chosen_bones(context.active_object)
    compiled = lazy_shader.get()
    if compiled is None:
        return
    with drawing_state("LESS_EQUAL", mask=True):
        for obj in shown:
            if obj.visible_get(view_layer=layer, viewport=space):
                batch = update_drawn(obj, layer.depsgraph, chosen, compiled).batch
                if batch is not None:
                    _draw_batch(batch, obj.evaluated_get(layer.depsgraph).matrix_world, compiled, by_bone)


def _draw_batch(batch: gpu.types.GPUBatch, to_world: Matrix, shader: gpu.types.GPUShader, by_bone: bool) -> None:
    with gpu.matrix.push_pop():
        shift_toward_eye(bpy.context.region_data, COLOR_SHIFT)
        gpu.matrix.multiply_matrix(to_world)
        draw_colored(batch, shader, by_bone)


def draw_colored(batch: gpu.types.GPUBatch, shader: gpu.types.GPUShader, by_bone: bool) -> None:
    """Draw colored skin with the matrices that are set: the model's is that of the object."""
    shader.bind()
    write_rows(shader, TO_VIEW, gpu.matrix.get_model_view_matrix())
    shader.uniform_bool("byBone", by_bone)
    draw_frontmost(batch, shader)


def update_drawn(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, chosen: list[str], shader: gpu.types.GPUShader
) -> DrawnWeights:
    """What to draw of an object, made again where shape, weights or choice have changed."""
    drawn = cache.setdefault(obj.session_uid, DrawnWeights())
    if drawn.shape is None:
        drawn.shape, drawn.batch = read_shown_shape(obj, depsgraph), None
    count = len(drawn.shape.points)
    if drawn.groups is None:
        tool = tools.get(obj.session_uid) if count == len(obj.data.vertices) else None
        drawn.groups, drawn.colors = tool.read() if tool else read_shown_groups(obj, depsgraph), None
    armature = find_active_armature(obj)
    names = [group.name for group in obj.vertex_groups]
    is_bone = names if armature is None else {bone.name for bone in armature.data.bones if bone.use_deform}
    bones = [index for index, name in enumerate(names) if name in is_bone]
    picked = [index for index, name in enumerate(names) if name in set(chosen)]
    key = (tuple(bones), tuple(picked), count)
    if drawn.colors is None or drawn.key != key:
        drawn.key, drawn.batch = key, None
        fits = not drawn.groups.vertices.size or int(drawn.groups.vertices.max()) < count
        drawn.colors = color_weights(drawn.groups, count, bones, picked) if fits and count else None
    if drawn.batch is None and drawn.colors is not None:
        values, tints = drawn.colors
        data = {"pos": drawn.shape.points, "normal": drawn.shape.normals, "value": values, "color": tints}
        drawn.batch = batch_for_shader(shader, "TRIS", data, indices=drawn.shape.triangles)
    return drawn


@persistent
def _on_change(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
    """Forget shapes that may have changed, and weights where a mesh itself has."""
    for update in depsgraph.updates if cache else ():
        if not update.is_updated_geometry:
            continue
        for drawn in cache.values():
            drawn.shape = None
            if isinstance(update.id, bpy.types.Mesh):
                drawn.groups = None


lazy_shader = LazyShader(make_shader)
HANDLERS = (
    ("frame_change_post", _on_change),
    ("depsgraph_update_post", _on_change),
)
overlay = Overlay(((bpy.types.SpaceView3D, draw),), HANDLERS, lazy_shader)
register, unregister = overlay.register, overlay.unregister
