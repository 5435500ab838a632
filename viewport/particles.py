"""The particles in the 3D View: spheres in front of the skin, colored by bone or by radius, at rest or posed.

Each particle is a square that faces the eye, on which a shader paints a sphere: a few thousand cost little, and a new
pose is four corners for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import bpy
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader

from ..bridge.per_object import PerObject
from ..deformers import SkinningError
from ..settings.objects import settings_of
from ..tasks.skin.particles import PlacedParticles, find_shown_objects, read_particles
from .drawing import (
    LazyShader,
    Overlay,
    color_joints,
    declare_rows,
    draw_frontmost,
    drawing_state,
    find_view,
    write_rows,
)

CORNERS = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], np.float32)
"""Corners of the square that a sphere is painted on."""

TRIANGLES = np.array([(0, 1, 2), (0, 2, 3)], np.int32)

OPACITY = 0.7
"""Opacity of the spheres nearest to the eye: bones behind them can be seen."""

RAMP = np.array(
    [(0.84, 0.19, 0.15), (0.99, 0.68, 0.38), (1.0, 1.0, 0.75), (0.57, 0.77, 0.87), (0.27, 0.46, 0.71)], np.float32
)
"""Colors from the smallest radius to the largest, even steps to the eye."""

VIEW_TO_OBJECT = ("viewToX", "viewToY", "viewToZ")
"""Names in the shader of the rows of the matrix from view to object space."""

VERTEX_SOURCE = """
void main()
{
  vec3 toward = -vec3(viewToX.z, viewToY.z, viewToZ.z);
  float size = ball.w;
  if (isPerspective) {
    toward = ball.xyz - vec3(viewToX.w, viewToY.w, viewToZ.w);
    float away = dot(toward, toward);
    size *= sqrt(away / max(away - size * size, 1e-6 * away));
  }
  toward = normalize(toward);
  vec3 side = abs(toward.z) < 0.8 ? vec3(0.0, 0.0, 1.0) : vec3(1.0, 0.0, 0.0);
  side = normalize(cross(toward, side));
  position = ball.xyz + size * (corner.x * side + corner.y * cross(toward, side));
  sphere = ball;
  tint = color;
  gl_Position = ModelViewProjectionMatrix * vec4(position, 1.0);
  gl_Position.z = FRONT * gl_Position.z - (1.0 - FRONT) * gl_Position.w;
}
"""
"""Puts the square where it just covers the sphere, in a thin slice of depth in front of all else.

All in object space, where spheres are round whatever the scale of the object.
"""

FRAGMENT_SOURCE = """
void main()
{
  vec3 toward = -vec3(viewToX.z, viewToY.z, viewToZ.z);
  if (isPerspective) {
    toward = position - vec3(viewToX.w, viewToY.w, viewToZ.w);
  }
  toward = normalize(toward);
  vec3 offset = position - sphere.xyz;
  float middle = dot(offset, toward);
  float inside = middle * middle - dot(offset, offset) + sphere.w * sphere.w;
  if (inside < 0.0) {
    discard;
  }
  vec3 out_of = offset - (middle + sqrt(inside)) * toward;
  vec3 normal = normalize(viewToX.xyz * out_of.x + viewToY.xyz * out_of.y + viewToZ.xyz * out_of.z);
  float light = 0.3 + 0.7 * max(dot(normal, vec3(0.3, 0.45, 0.84)), 0.0);
  fragColor = vec4(pow(tint.rgb * light, vec3(2.2)), tint.a);  // 3D Views take linear color
#ifdef WRITES_DEPTH
  vec4 hit = ModelViewProjectionMatrix * vec4(sphere.xyz + out_of, 1.0);
  gl_FragDepth = clamp(FRONT * (0.5 + 0.5 * hit.z / hit.w), 0.0, 1.0);
#endif
}
"""
"""Where the ray through a pixel meets the sphere, lit from the eye's upper right."""


@dataclass
class DrawnParticles:
    """What was made of an object's particles when last drawn."""

    particles: PlacedParticles
    color: str
    batch: gpu.types.GPUBatch


def make_shader() -> gpu.types.GPUShader:
    """Compile the shader of the spheres."""
    between = cast(Any, gpu.types.GPUStageInterfaceInfo)("supple_sphere")
    between.smooth("VEC3", "position")
    between.flat("VEC4", "sphere")
    between.flat("VEC4", "tint")
    info = gpu.types.GPUShaderCreateInfo()
    info.define("FRONT", "0.01")
    if hasattr(info, "depth_write"):  # from Blender 4.3 on; before, spheres that meet have no seam
        info.depth_write("ANY")
        info.define("WRITES_DEPTH", "1")
    info.push_constant("MAT4", "ModelViewProjectionMatrix")
    declare_rows(info, VIEW_TO_OBJECT)
    info.push_constant("BOOL", "isPerspective")
    info.vertex_in(0, "VEC4", "ball")
    info.vertex_in(1, "VEC4", "color")
    info.vertex_in(2, "VEC2", "corner")
    info.vertex_out(between)
    info.fragment_out(0, "VEC4", "fragColor")
    info.vertex_source(VERTEX_SOURCE)
    info.fragment_source(FRAGMENT_SOURCE)
    return gpu.shader.create_from_info(info)


def build_squares(particles: PlacedParticles, colors: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """What the shader draws.

    Parameters
    ----------
    colors : float array, shape (P, 3)

    Returns
    -------
    attributes : dict of float32 arrays
        For the four corners of each particle: "ball" (4 P, 4), its center and radius; "color" (4 P, 4); "corner"
        (4 P, 2).
    triangles : int32 array, shape (2 P, 3)
    """
    count = len(particles.radii)
    balls, tints = np.empty((count, 4), np.float32), np.full((count, 4), OPACITY, np.float32)
    balls[:, :3], balls[:, 3], tints[:, :3] = particles.points, particles.radii, colors
    attributes = {
        "ball": np.repeat(balls, 4, axis=0),
        "color": np.repeat(tints, 4, axis=0),
        "corner": np.tile(CORNERS, (count, 1)),
    }
    triangles = 4 * np.arange(count, dtype=np.int32)[:, None, None] + TRIANGLES
    return attributes, triangles.reshape(-1, 3)


def choose_colors(particles: PlacedParticles, color: str) -> np.ndarray:
    """A color for each particle, float, shape (P, 3): `color` is "BONE" or "RADIUS"."""
    return color_radii(particles.radii) if color == "RADIUS" else color_joints(particles.joints)


def color_radii(radii: np.ndarray) -> np.ndarray:
    """A color for each radius, float array (P,), from warm for the smallest to cool for the largest: shape (P, 3)."""
    sizes = np.log(np.asarray(radii, float))
    low, high = (sizes.min(), sizes.max()) if len(sizes) else (0.0, 0.0)
    shares = (sizes - low) / (high - low) if high - low > 1e-6 else np.zeros(len(sizes))
    steps = np.linspace(0.0, 1.0, len(RAMP))
    return np.stack([np.interp(shares, steps, channel) for channel in RAMP.T], axis=1)


def draw() -> None:
    """Draw the particles of all objects that show them in this 3D View."""
    shown = find_shown_objects()
    cache.keep_only(shown)
    space, layer = find_view(bpy.context), bpy.context.view_layer
    if not shown or space is None:
        return
    compiled, depsgraph = lazy_shader.get(), layer.depsgraph
    if compiled is None or depsgraph is None:
        return
    with drawing_state("LESS_EQUAL", mask=True):
        for obj in shown:
            if obj.visible_get(view_layer=layer, viewport=space):
                _draw_object(obj, depsgraph, compiled)


def _draw_object(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, shader: gpu.types.GPUShader) -> None:
    drawn = update_drawn(obj, depsgraph, shader)
    if drawn is None:
        return
    with gpu.matrix.push_pop():
        gpu.matrix.multiply_matrix(obj.evaluated_get(depsgraph).matrix_world)
        draw_spheres(drawn.batch, shader)


def draw_spheres(batch: gpu.types.GPUBatch, shader: gpu.types.GPUShader) -> None:
    """Draw squares with the matrices that are set: the model's is that of the object."""
    shader.bind()
    write_rows(shader, VIEW_TO_OBJECT, gpu.matrix.get_model_view_matrix().inverted_safe())
    shader.uniform_bool("isPerspective", gpu.matrix.get_projection_matrix()[3][3] == 0.0)
    draw_frontmost(batch, shader)


def update_drawn(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, shader: gpu.types.GPUShader
) -> DrawnParticles | None:
    """What to draw of an object, made again where its particles or their colors have changed."""
    drawn = cache.find(obj)
    color = settings_of(obj).particles.color
    try:
        particles = read_particles(obj, depsgraph, None if drawn is None else drawn.particles)
    except SkinningError:
        return None  # the panel has the message
    if particles is None or not len(particles.radii):
        return None
    if drawn is None or drawn.particles is not particles or drawn.color != color:
        attributes, triangles = build_squares(particles, choose_colors(particles, color))
        drawn = DrawnParticles(particles, color, batch_for_shader(shader, "TRIS", attributes, indices=triangles))
        cache.keep(obj, drawn)
    return drawn


cache: PerObject[DrawnParticles] = PerObject()
lazy_shader = LazyShader(make_shader)
overlay = Overlay(((bpy.types.SpaceView3D, draw),), shader=lazy_shader)
register, unregister = overlay.register, overlay.unregister
