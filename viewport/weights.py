"""Weights of chosen bones in the 3D View, as colors on the posed skin: in Object and Pose Mode.

The overlay draws the meshes that the active armature deforms, or the active and selected meshes. It reads shape and
weights separately, each only after the depsgraph has reported a change: a pose changes no weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import bpy
import gpu
import numpy as np
from bpy.app.handlers import persistent
from gpu_extras.batch import batch_for_shader

from ..bridge.meshes.data import VertexGroups
from ..bridge.meshes.shown_weights import ShownShape, read_shown_groups, read_shown_shape
from ..bridge.per_object import PerObject
from ..tasks.subject.chosen_bones import find_active_armature, find_chosen_bones, find_deformed_meshes
from .drawing import (
    TO_VIEW,
    LazyShader,
    Overlay,
    after_changes,
    at_object,
    color_joints,
    compile_shader,
    draw_frontmost,
    drawing_state,
    list_visible,
    write_rows,
)

# Colors are drawn this much nearer to the eye than the skin, as a fraction of the distance: clothes are farther away.
COLOR_SHIFT = 5e-4

MODES = ("OBJECT", "POSE")

# Value of vertices without weights
UNWEIGHTED = -1.0

VERTEX_SOURCE = """
void main()
{
  shade = value;
  tint = color;
  facing = vec3(dot(toViewX.xyz, normal), dot(toViewY.xyz, normal), dot(toViewZ.xyz, normal));
  gl_Position = ModelViewProjectionMatrix * vec4(pos, 1.0);
}
"""

# Blender's own colors of weights, from blue through green to red; vertices without weights have magenta stripes.
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


@dataclass
class DrawnWeights:
    """An object's weights as they were drawn last; fields are None if they must be made again.

    Attributes
    ----------
    key : tuple
        Everything besides the groups that the colors depend on.
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
    """A tool that changes weights while it runs, and knows them sooner than the mesh.

    Attributes
    ----------
    read : callable
        Returns the entries of the mesh's vertex groups.
    choose : callable
        Returns names of the bones whose weights are colored.
    """

    read: Callable[[], VertexGroups]
    choose: Callable[[], list[str]]


cache: PerObject[DrawnWeights] = PerObject(survives_undo=False)
tools: PerObject[WeightsTool] = PerObject(survives_undo=False)


def make_shader() -> gpu.types.GPUShader:
    """Compile the shader of colored skin."""
    return compile_shader(
        "supple_weights",
        passed={"facing": "VEC3", "tint": "VEC3", "shade": "FLOAT"},
        constants={"byBone": "BOOL"},
        inputs={"pos": "VEC3", "normal": "VEC3", "value": "FLOAT", "color": "VEC3"},
        rows=TO_VIEW,
        sources=(VERTEX_SOURCE, FRAGMENT_SOURCE),
    )


def color_weights(groups: VertexGroups, count: int, bones: list[int], chosen: list[int]) -> tuple:
    """Compute the values and tints that the shader colors vertices by.

    Parameters
    ----------
    groups : VertexGroups
        Entries of the evaluated mesh.
    count : int
        Number of vertices.
    bones, chosen : lists of int
        Indices of the groups of deforming bones, and of the chosen bones.

    Returns
    -------
    values : float32 array, shape (V',)
        Sum of the weights of the chosen bones, at most 1; `UNWEIGHTED` for vertices without weights.
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
    """Draw an object's weights as a tool knows them, until the returned function is called."""
    uid = obj.session_uid
    tools[uid] = tool
    return lambda: tools.pop(uid, None) and None


def find_shown(context: bpy.types.Context) -> list[bpy.types.Object]:
    """Meshes to draw: the active and selected meshes, or those that the active armature deforms."""
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
    shown = find_shown(context)
    cache.keep_only(shown)
    visible = list_visible(shown)
    shader = lazy_shader.get() if visible else None
    if shader is None:
        return
    by_bone = context.window_manager.supple_weight_colors == "BONES"
    tool = next((tools[obj.session_uid] for obj in shown if obj.session_uid in tools), None)
    chosen = tool.choose() if tool else find_chosen_bones(context.active_object)
    with drawing_state("LESS_EQUAL", mask=True):
        for obj in visible:
            batch = update_drawn(obj, context.view_layer.depsgraph, chosen, shader).batch
            if batch is not None:
                with at_object(obj, COLOR_SHIFT):
                    draw_colored(batch, shader, by_bone)


def draw_colored(batch: gpu.types.GPUBatch, shader: gpu.types.GPUShader, by_bone: bool) -> None:
    """Draw colored skin with the current matrices, in object space."""
    shader.bind()
    write_rows(shader, TO_VIEW, gpu.matrix.get_model_view_matrix())
    shader.uniform_bool("byBone", by_bone)
    draw_frontmost(batch, shader)


def update_drawn(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, chosen: list[str], shader: gpu.types.GPUShader
) -> DrawnWeights:
    """The batch of an object, made again if its shape, weights or the chosen bones have changed."""
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
    """Forget shapes that may have changed; weights only if a mesh itself has changed."""
    for update in depsgraph.updates if cache else ():
        if not update.is_updated_geometry:
            continue
        for drawn in cache.values():
            drawn.shape = None
            if isinstance(update.id, bpy.types.Mesh):
                drawn.groups = None


lazy_shader = LazyShader(make_shader)
HANDLERS = after_changes(_on_change)
overlay = Overlay(((bpy.types.SpaceView3D, draw),), HANDLERS, lazy_shader)
register, unregister = overlay.register, overlay.unregister
