"""The base of all lists in panels."""

from __future__ import annotations

from typing import Any

import bpy


class SuppleList:
    """Mix-in: a list that draws its items by `draw_row`."""

    # Blender counts the arguments, also of a list that needs two of them.
    def draw_item(
        self, context: bpy.types.Context, layout: bpy.types.UILayout, _data: Any, item: Any, _icon: int,
        _active_data: Any, _active_property: str, index: int,
    ) -> None:  # fmt: skip
        self.draw_row(context, layout, item, index)

    def draw_row(self, context: bpy.types.Context, layout: bpy.types.UILayout, item: Any, index: int) -> None:
        """Draw an item of the list."""
        raise AssertionError("each list has its own")
