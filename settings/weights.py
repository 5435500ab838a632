"""Settings of automatic weights, in the panel and of the operator."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty

from ..deformers import Choice
from ..deformers.automatic_weights import METHODS

METHOD_ITEMS = tuple((method.key, method.label, method.tooltip) for method in METHODS.values())
MODE_ITEMS = (
    ("REPLACE", "Replace", "Replace existing weights"),
    ("ADD", "Add", "Add new weights to the existing ones, and normalize the sum"),
    ("UNWEIGHTED", "Fill", "Compute weights only for vertices that have none"),
)


class WeightOptions:
    """Mix-in: the settings of automatic weights; those of single methods are added below."""

    method: EnumProperty(name="Method", description="How weights are computed", items=METHOD_ITEMS)
    mode: EnumProperty(name="Mode", description="How new weights combine with existing ones", items=MODE_ITEMS)
    only_selected_bones: BoolProperty(
        name="Selected Bones",
        description="Compute weights only for the selected bones: other bones keep their weights",
    )
    limit: IntProperty(
        name="Bones per Vertex",
        description="Maximum number of bones that influence a vertex; 0 for no limit. Most game engines support 4",
        default=0,
        min=0,
        soft_max=8,
    )
    prune: FloatProperty(
        name="Prune Below",
        description="Remove smaller weights, and normalize the others",
        default=0.001,
        min=0.0,
        max=0.5,
        subtype="FACTOR",
        precision=3,
        step=1,
    )


def _make_property(choice: Choice) -> Any:
    return IntProperty(
        name=choice.label,
        description=choice.tooltip,
        default=0,
        min=0,
        soft_max=int(choice.slider[1] or choice.highest),
        max=int(choice.highest),
    )


CHOICES = {choice.property_name: _make_property(choice) for method in METHODS.values() for choice in method.choices}
"""Properties of the methods' choices: 0 stands for the method's default. See `choices.choice_properties`."""

WeightOptions.__annotations__ |= {name: f"CHOICES[{name!r}]" for name in CHOICES}


class WeightSettings(WeightOptions, bpy.types.PropertyGroup):
    """`scene.supple_weights`"""

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


_register_classes, _unregister_classes = bpy.utils.register_classes_factory((WeightSettings,))


def register() -> None:
    _register_classes()
    bpy.types.Scene.supple_weights = PointerProperty(
        type=WeightSettings, name="Supple Weights", description="Settings of automatic weights"
    )


def unregister() -> None:
    del bpy.types.Scene.supple_weights
    _unregister_classes()
