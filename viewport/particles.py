"""The particles in the 3D View: spheres in front of the skin, colored by bone or by radius, at rest or posed.

Each particle is a square that faces the eye, on which a shader paints a sphere: a few thousand cost little, and a new
pose is four corners for each.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    at_object,
    color_joints,
    compile_shader,
    draw_frontmost,
    drawing_state,
    list_visible,
    write_rows,
)

# The square that a sphere is painted on
CORNERS = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], np.float32)
TRIANGLES = np.array([(0, 1, 2), (0, 2, 3)], np.int32)

# Bones can be seen through the spheres.
OPACITY = 0.7

# Colors from the smallest radius to the largest, in even steps to the eye
RAMP = np.array(
    [(0.84, 0.19, 0.15), (0.99, 0.68, 0.38), (1.0, 1.0, 0.75), (0.57, 0.77, 0.87), (0.27, 0.46, 0.71)], np.float32
)
# Rows of the matrix from view to object space, as the shader names them
VIEW_TO_OBJECT = ("viewToX", "viewToY", "viewToZ")

# Puts the square where it just covers the sphere, in a thin slice of depth in front of everything else. Both shaders
# work in object space, where spheres are round whatever the scale of the object.
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

# Finds where the ray through a pixel meets the sphere, lit from the eye's upper right.
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


@dataclass
class DrawnParticles:
    """An object's particles as they were drawn last."""

    particles: PlacedParticles
    color: str
    batch: gpu.types.GPUBatch


def make_shader() -> gpu.types.GPUShader:
    """Compile the shader of the spheres."""
    return compile_shader(
        "supple_sphere",
        passed={"position": "VEC3"},
        flat={"sphere": "VEC4", "tint": "VEC4"},
        constants={"isPerspective": "BOOL"},
        inputs={"ball": "VEC4", "color": "VEC4", "corner": "VEC2"},
        rows=VIEW_TO_OBJECT,
        sources=(VERTEX_SOURCE, FRAGMENT_SOURCE),
        front="0.01",
    )


def build_squares(particles: PlacedParticles, colors: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Vertex attributes and triangles for the shader.

    `colors`, float array, shape (P, 3).

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
    visible = list_visible(shown)
    shader = lazy_shader.get() if visible else None
    if shader is None:
        return
    with drawing_state("LESS_EQUAL", mask=True):
        for obj in visible:
            drawn = update_drawn(obj, bpy.context.view_layer.depsgraph, shader)
            if drawn is not None:
                with at_object(obj):
                    draw_spheres(drawn.batch, shader)


def draw_spheres(batch: gpu.types.GPUBatch, shader: gpu.types.GPUShader) -> None:
    """Draw spheres with the current matrices, in object space."""
    shader.bind()
    write_rows(shader, VIEW_TO_OBJECT, gpu.matrix.get_model_view_matrix().inverted_safe())
    shader.uniform_bool("isPerspective", gpu.matrix.get_projection_matrix()[3][3] == 0.0)
    draw_frontmost(batch, shader)


def update_drawn(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, shader: gpu.types.GPUShader
) -> DrawnParticles | None:
    """The batch of an object, made again if its particles or their colors have changed; None for nothing to draw."""
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
