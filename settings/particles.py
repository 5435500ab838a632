"""What Supple keeps of an object's particles."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty

from .events import show_change

FILL_ITEMS = (
    ("UNIFORM", "Uniform", "Particles of one size"),
    ("TWO_LEVEL", "Two Levels", "Particles of three times the radius in the core"),
)
COLOR_ITEMS = (
    ("BONE", "Bone", "A color for each bone that particles follow"),
    ("RADIUS", "Radius", "A color for each size of particles"),
)


class ParticleSettings(bpy.types.PropertyGroup):
    """`object.supple.particles`"""

    count: IntProperty(
        name="Particles",
        description="How many particles fill the mesh",
        get=lambda settings: settings.bound_count,
    )
    stiffness: FloatProperty(
        name="Stiffness",
        description="How much the flesh keeps to its bones: 1 is flesh, less is softer",
        default=1.0,
        min=0.01,
        max=100.0,
        soft_min=0.1,
        soft_max=10.0,
        update=show_change,
    )
    iterations: IntProperty(
        name="Iterations",
        description="More let the particles come nearer to rest and take longer; in the viewport and in renders",
        default=8,
        min=1,
        max=1000,
        soft_max=32,
        update=show_change,
    )
    iterations_dragging: IntProperty(
        name="Dragging",
        description="Iterations while something is being dragged: once it is let go, those of the viewport follow",
        default=4,
        min=1,
        max=1000,
        soft_max=32,
        update=show_change,
    )
    iterations_bake: IntProperty(
        name="Bake", description="Iterations of each baked frame", default=16, min=1, max=1000, soft_max=64
    )
    target_count: IntProperty(
        name="Particles",
        description="How many particles there should be, about, where Smallest Radius is 0",
        default=2000,
        min=20,
        max=50_000,
        soft_max=10_000,
        update=show_change,
    )
    smallest_radius: FloatProperty(
        name="Smallest Radius",
        description="Radius of the smallest particles: thinner parts follow the joints. 0 finds it by the number",
        default=0.0,
        min=0.0,
        soft_max=1.0,
        precision=4,
        step=1,
        subtype="DISTANCE",
        update=show_change,
    )
    volume: FloatProperty(
        name="Keep Volume",
        description="Share of the lost or gained volume that is made good",
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        update=show_change,
    )
    group: StringProperty(
        name="Solid Group",
        description="Vertex group that limits the particles: 0 follows the joints, 1 the particles",
        update=show_change,
    )
    fill: EnumProperty(
        name="Fill",
        description="How the mesh is filled",
        items=FILL_ITEMS,
        default="TWO_LEVEL",
        update=show_change,
    )
    radius: FloatProperty(
        name="Radius",
        description="Radius of the small particles. 0 finds one that gives some 1000",
        default=0.0,
        min=0.0,
        soft_max=1.0,
        precision=4,
        step=1,
        subtype="DISTANCE",
        update=show_change,
    )
    show: BoolProperty(name="Show Particles", description="Draw the particles as spheres in the viewport")
    color: EnumProperty(name="Color", description="What the spheres are colored by", items=COLOR_ITEMS, default="BONE")
    show_rest: BoolProperty(name="At Rest", description="Draw the particles where they are at rest")
    bound_count: IntProperty(options={"HIDDEN"})


def choices_of(particles: ParticleSettings) -> dict[str, Any]:
    """What binds a mesh by a method of particles, by the names that Params has for it."""
    named = {name: getattr(particles, name) for name in ("stiffness", "smallest_radius", "fill", "radius")}
    return named | {"count": particles.target_count}
