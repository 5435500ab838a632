"""Settings of automatic weights, in the panel and of the operator."""

from __future__ import annotations

from dataclasses import replace

import bpy
from bpy.props import IntProperty, PointerProperty

from ..deformers.automatic_weights import METHODS
from ..options import WeightOptions, rows_of
from .properties import FloatProperty, make_property, with_options

CHOICES = {
    choice.name: make_property(replace(choice, default=0, lowest=0))
    for method in METHODS.values()
    for choice in method.choices
}
"""Properties of the methods' choices: 0 stands for the method's default."""

CLICKED_MODE = "UNWEIGHTED"
"""Mode of a click that chooses none: painted weights stay, and a mesh without weights gets all. Scripts replace."""

(_MODE,) = (option for option in rows_of(WeightOptions) if option.name == "mode")


@with_options(WeightOptions)
class WeightSettings(bpy.types.PropertyGroup):
    """`scene.supple_weights`"""

    mode: make_property(replace(_MODE, default=CLICKED_MODE))

    brush_radius: IntProperty(
        name="Radius", description="Radius of the brush", subtype="PIXEL", default=50, min=1, max=5000, soft_max=500
    )
    brush_strength: FloatProperty(
        name="Strength",
        description="How much each touch of the brush smooths",
        default=0.5,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
    )
    brush_repeats: IntProperty(
        name="Repeats", description="Maximum smoothing distance of a stroke", default=16, min=1, soft_max=100, max=1000
    )


WeightSettings.__annotations__ |= CHOICES

_register_classes, _unregister_classes = bpy.utils.register_classes_factory((WeightSettings,))


def register() -> None:
    _register_classes()
    bpy.types.Scene.supple_weights = PointerProperty(
        type=WeightSettings, name="Supple Weights", description="Settings of automatic weights"
    )


def unregister() -> None:
    del bpy.types.Scene.supple_weights
    _unregister_classes()
