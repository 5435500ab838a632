"""Settings of an object's particles."""

from __future__ import annotations

import bpy

from ..deformers import METHODS
from .choices import options_of, properties_of
from .events import show_change
from .properties import BoolProperty, EnumProperty, IntProperty, StringProperty

COLOR_ITEMS = (
    ("BONE", "Bone", "A color for each bone that particles follow"),
    ("RADIUS", "Radius", "A color for each size of particles"),
)


class ParticleSettings(bpy.types.PropertyGroup):
    """`object.supple.particles`"""

    count: IntProperty(
        name="Particles", description="Number of particles in the mesh", get=lambda settings: settings.bound_count
    )
    iterations_dragging: IntProperty(
        name="Dragging",
        description="Iterations while you drag a bone; on release the viewport goes back to Iterations",
        default=4,
        min=1,
        max=1000,
        soft_max=32,
        update=show_change,
    )
    iterations_bake: IntProperty(
        name="Bake", description="Iterations of each baked frame", default=16, min=1, max=1000, soft_max=64
    )
    group: StringProperty(
        name="Solid Group",
        description="Vertex group that limits the particles: 0 follows only the bones, 1 only the particles",
        update=show_change,
    )
    show: BoolProperty(name="Show Particles", description="Draw the particles as spheres in the viewport")
    color: EnumProperty(name="Color", description="Coloring of the spheres", items=COLOR_ITEMS, default="BONE")
    show_rest: BoolProperty(name="At Rest", description="Draw the particles in the rest pose")
    bound_count: IntProperty(options={"HIDDEN"})


CHOICES = properties_of(options_of(method for method in METHODS.values() if method.fills_solid))
ParticleSettings.__annotations__ |= {name: f"CHOICES[{name!r}]" for name in CHOICES}
