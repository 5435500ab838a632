"""The preferences of the extension: the key of the pie menu, which has none at first, and the asset library."""

from __future__ import annotations

import bpy

from ..tasks.patterns.assets import find_registered
from .buttons import draw_button
from .menus import VIEW3D_MT_supple_pie

KEYMAP, CALL = "3D View", "wm.call_menu_pie"


class SupplePreferences(bpy.types.AddonPreferences):
    """What a user sets once for all files"""

    bl_idname = __package__.rpartition(".")[0]

    def draw(self, context: bpy.types.Context) -> None:
        row = self.layout.row()
        row.label(text="Key of the Pie Menu")
        item = find_key(context.window_manager.keyconfigs.user)
        if item is None:
            row.label(text="Restart Blender to set a key", icon="INFO")
        else:
            row.prop(item, "type", text="", full_event=True)
        draw_button(self.layout, f"supple.asset_library_{'remove' if find_registered() else 'add'}")


def find_key(configuration: bpy.types.KeyConfig | None) -> bpy.types.KeyMapItem | None:
    """The key of the pie menu in a set of keymaps, if it is there."""
    keymap = None if configuration is None else configuration.keymaps.get(KEYMAP)
    items = [] if keymap is None else keymap.keymap_items
    name = VIEW3D_MT_supple_pie.__name__
    return next((one for one in items if one.idname == CALL and getattr(one.properties, "name", "") == name), None)


def add_key(manager: bpy.types.WindowManager) -> None:
    """Add a key of the pie menu that is not set."""
    configuration = manager.keyconfigs.addon
    if configuration is not None:  # there is none without a window
        keymap = configuration.keymaps.new(name=KEYMAP, space_type="VIEW_3D")
        keymap.keymap_items.new(CALL, "NONE", "PRESS").properties.name = VIEW3D_MT_supple_pie.__name__


def remove_key(manager: bpy.types.WindowManager) -> None:
    """Remove the key again."""
    configuration = manager.keyconfigs.addon
    item = find_key(configuration)
    if item is not None:
        configuration.keymaps[KEYMAP].keymap_items.remove(item)


_register_class, _unregister_class = bpy.utils.register_classes_factory((SupplePreferences,))


def register() -> None:
    _register_class()
    add_key(bpy.context.window_manager)


def unregister() -> None:
    remove_key(bpy.context.window_manager)
    _unregister_class()
