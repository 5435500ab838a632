"""What is chosen for weights in the panel, and offered by operators."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty

METHOD_ITEMS = (
    (
        "SOLID",
        "Solid Heat",
        "Heat spreads from the bones through the body: any mesh, any number of parts, none left out",
    ),
    ("SURFACE", "Surface Heat", "Heat spreads over the skin, from the bones it sees: for one clean, closed skin"),
    ("BIHARMONIC", "Bounded Biharmonic", "The smoothest weights through the body: takes some seconds, for final work"),
)
MODE_ITEMS = (
    ("REPLACE", "Replace", "Weights that are there make way for the new ones"),
    ("ADD", "Add", "New weights are added to those that are there, and both brought to the sum 1"),
    ("UNWEIGHTED", "Fill", "Only vertices without any weight get new ones"),
)


class WeightOptions:
    """Mix-in: what automatic weights offer to choose."""

    method: EnumProperty(name="Method", description="How weights are found", items=METHOD_ITEMS)
    mode: EnumProperty(name="Mode", description="What becomes of weights that are there", items=MODE_ITEMS)
    only_selected_bones: BoolProperty(
        name="Selected Bones", description="Leave the weights of bones that are not selected as they are"
    )
    limit: IntProperty(
        name="Limit",
        description="Largest number of bones at a vertex; 0 for as many as there are. Games mostly take 4",
        default=0,
        min=0,
        soft_max=8,
    )
    prune: FloatProperty(
        name="Prune Below",
        description="Smaller weights are left out, and the others take their share",
        default=0.001,
        min=0.0,
        max=0.5,
        precision=3,
        step=1,
    )
    resolution: IntProperty(
        name="Resolution",
        description="Cells along the longest side of the body. 0 finds it by itself; more tell thin parts apart",
        default=0,
        min=0,
        soft_max=256,
        max=1024,
    )
    cells: IntProperty(
        name="Cells",
        description="About how many cells the body is cut into. 0 takes 5000; more are finer and take longer",
        default=0,
        min=0,
        soft_max=50_000,
        max=1_000_000,
    )


class WeightSettings(WeightOptions, bpy.types.PropertyGroup):
    """`scene.supple_weights`"""


_register_classes, _unregister_classes = bpy.utils.register_classes_factory((WeightSettings,))


def register() -> None:
    _register_classes()
    bpy.types.Scene.supple_weights = PointerProperty(
        type=WeightSettings, name="Supple Weights", description="How automatic weights are found"
    )


def unregister() -> None:
    del bpy.types.Scene.supple_weights
    _unregister_classes()
