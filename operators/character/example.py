"""An example to try Supple with."""

from __future__ import annotations

import bpy

from ...tasks.example import add_example
from ..base import SuppleOperator


def needs_object_mode(context: bpy.types.Context) -> str:
    return "" if context.mode == "OBJECT" else "Leave the mode first: objects are added in Object Mode"


class SUPPLE_OT_example_add(SuppleOperator, bpy.types.Operator):
    """Add a dressed, animated human, at the 3D cursor"""

    bl_label = "Supple Example"
    requires = (needs_object_mode,)

    def run(self, context: bpy.types.Context) -> str:
        armature = add_example(context)
        return f"Added '{armature.name}': press Make Supple in the Supple tab"
