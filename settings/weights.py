"""Settings of automatic weights, in the panel and of the operator."""

from __future__ import annotations

from dataclasses import replace

import bpy
from bpy.props import IntProperty

from ..deformers.automatic_weights import METHODS
from ..options import WeightOptions, rows_of
from .properties import factor, make_property, with_options

# Properties of the methods' choices: 0 stands for the method's default.
CHOICES = {
    choice.name: make_property(replace(choice, default=0, lowest=0))
    for method in METHODS.values()
    for choice in method.choices
}

# Mode of a click on the button: painted weights stay, and a mesh without weights gets all. Scripts replace by default.
CLICKED_MODE = "UNWEIGHTED"

# Of the brush's operator too, which takes the values of the scene
BRUSH_STRENGTH = factor(0.5, "Strength", "How much each touch of the brush smooths")
BRUSH_REPEATS = IntProperty(
    name="Repeats", description="Maximum smoothing distance of a stroke", default=16, min=1, soft_max=100, max=1000
)

(_MODE,) = (option for option in rows_of(WeightOptions) if option.name == "mode")


@with_options(WeightOptions)
class WeightSettings(bpy.types.PropertyGroup):
    """`scene.supple_weights`"""

    mode: make_property(replace(_MODE, default=CLICKED_MODE))

    brush_radius: IntProperty(
        name="Radius", description="Radius of the brush", subtype="PIXEL", default=50, min=1, max=5000, soft_max=500
    )
    brush_strength: BRUSH_STRENGTH
    brush_repeats: BRUSH_REPEATS


WeightSettings.__annotations__ |= CHOICES
