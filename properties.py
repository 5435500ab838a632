"""What Supple keeps on an object, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable

import bpy
from bpy.props import BoolProperty, BoolVectorProperty, EnumProperty, IntProperty, PointerProperty, StringProperty

SETTINGS_VERSION = 2

METHOD_ITEMS = (
    ("SSD", "SSD", "Linear blending: fast, collapses at bent elbows and twisted wrists"),
    ("DLB", "DLB", "Dual quaternion blending: keeps volume, as Preserve Volume does, without its tears"),
    ("DLBNT", "DLBNT", "Dual quaternion blending with non-rigid transforms: keeps volume and follows scaled bones"),
)
NODES_PROBLEM = (
    ""
    if hasattr(bpy.types, "GeometryNodeBoneInfo") and hasattr(bpy.types, "FunctionNodeMatrixSVD")
    else "Nodes that read bones need Blender 5.1 or later"
)
"""Why this Blender can not evaluate by nodes; empty where it can."""

EVALUATE_ITEMS = (
    ("NODES", "Nodes", "The node modifier deforms the skin: also where Supple is not installed (Blender 5.1 or later)"),
    (
        "PYTHON",
        "Python",
        "Supple deforms the skin, while it is installed: in every Blender, with B-Bones and envelopes",
    ),
)
ORDER_ITEMS = (
    ("GH", "Stretch First", "M = G H: the skin is stretched at rest, then turned with the bones"),
    ("HG", "Turn First", "M = H G: the skin is turned with the bones, then stretched where it is"),
)
BAKE_ITEMS = (
    ("NONE", "Live", "The skin is deformed by Supple"),
    ("PC2", "Point Cache", "The skin is deformed by a baked point cache"),
    ("SHAPE_KEYS", "Shape Keys", "The skin is deformed by baked shape keys"),
)


listeners: list[Callable[[bpy.types.Object], None]] = []
"""Called with an object whose settings were changed."""


def _show_change(settings: ObjectSettings, _context: bpy.types.Context) -> None:
    """Pass a change on, and have the depsgraph run: the live preview compares settings with those it has bound."""
    settings.id_data.update_tag()
    for listener in listeners:
        listener(settings.id_data)


class ObjectSettings(bpy.types.PropertyGroup):
    """`object.supple`"""

    method: EnumProperty(
        name="Method",
        description="How the joints' transforms are blended over the skin",
        items=METHOD_ITEMS,
        default="DLBNT",
        update=_show_change,
    )
    order: EnumProperty(
        name="Order",
        description="Which comes first where bones are scaled",
        items=ORDER_ITEMS,
        default="GH",
        update=_show_change,
    )
    evaluate: EnumProperty(
        name="Evaluate",
        description="What computes the deformation",
        items=EVALUATE_ITEMS,
        default="PYTHON" if NODES_PROBLEM else "NODES",
        update=_show_change,
    )
    linear_group: StringProperty(
        name="Linear Group",
        description="Vertex group that mixes in linear blending: 0 follows the method, 1 is linear",
        update=_show_change,
    )
    evaluate_problem: StringProperty(name="Why Not Nodes", options={"HIDDEN"})
    version: IntProperty(default=SETTINGS_VERSION, options={"HIDDEN"})
    is_bound: BoolProperty(name="Bound", options={"HIDDEN"})
    armature_modifier: StringProperty(name="Armature Modifier", options={"HIDDEN"})
    carrier: PointerProperty(type=bpy.types.Object, options={"HIDDEN"})
    watcher: PointerProperty(type=bpy.types.Object, options={"HIDDEN"})
    bound_groups: StringProperty(name="Bound Groups", options={"HIDDEN"})
    is_handed_over: BoolProperty(name="Handed Over", options={"HIDDEN"})
    bake: EnumProperty(name="Bake", items=BAKE_ITEMS, options={"HIDDEN"})
    cache_modifier: StringProperty(name="Cache Modifier", options={"HIDDEN"})
    baked_keys: StringProperty(name="Baked Keys", options={"HIDDEN"})
    live_toggles: BoolVectorProperty(size=2, default=(True, True), options={"HIDDEN"})
    message: StringProperty(name="Message", options={"HIDDEN", "SKIP_SAVE"})


def settings_of(obj: bpy.types.Object) -> ObjectSettings:
    """Supple's settings of an object."""
    return obj.supple


_register_classes, _unregister_classes = bpy.utils.register_classes_factory((ObjectSettings,))


def register() -> None:
    _register_classes()
    bpy.types.Object.supple = PointerProperty(type=ObjectSettings, name="Supple", description="Skin deformation")


def unregister() -> None:
    del bpy.types.Object.supple
    _unregister_classes()
