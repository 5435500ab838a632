"""Kinds of properties that a library override stores: without being told, Blender drops them when the file is saved."""

from functools import partial

import bpy

(
    BoolProperty, BoolVectorProperty, EnumProperty, FloatProperty, FloatVectorProperty, IntProperty, IntVectorProperty,
    PointerProperty, StringProperty,
) = (
    partial(kind, override={"LIBRARY_OVERRIDABLE"})
    for kind in (
        bpy.props.BoolProperty, bpy.props.BoolVectorProperty, bpy.props.EnumProperty, bpy.props.FloatProperty,
        bpy.props.FloatVectorProperty, bpy.props.IntProperty, bpy.props.IntVectorProperty, bpy.props.PointerProperty,
        bpy.props.StringProperty,
    )
)  # fmt: skip

CollectionProperty = partial(bpy.props.CollectionProperty, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"})
