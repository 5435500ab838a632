"""Buttons of operators: each has one icon, in panels and in menus."""

from __future__ import annotations

from typing import Any

import bpy

FIRST = {
    "supple.make": "OUTLINER_OB_ARMATURE", "supple.flip": "UV_SYNC_SELECT", "supple.side_by_side": "MOD_ARRAY",
    "supple.update": "FILE_REFRESH",
}  # fmt: skip
FINE_TUNE = {"supple.bind": "LINKED", "supple.unbind": "UNLINKED", "supple.measure": "DRIVER_DISTANCE"}
CHECKS = {
    "supple.check": "VIEWZOOM", "supple.check_show": "HIDE_OFF", "supple.check_fix": "TOOL_SETTINGS",
    "supple.check_fix_all": "TOOL_SETTINGS", "supple.check_dismiss": "HIDE_ON", "supple.check_close": "X",
}  # fmt: skip
CORRECTIONS = {
    "supple.correction_keep": "CHECKMARK", "supple.correction_discard": "X",
    "supple.correction_edit": "SHAPEKEY_DATA", "supple.correction_pose": "POSE_HLT",
    "supple.correction_select": "BONE_DATA", "supple.correction_remove": "TRASH",
}  # fmt: skip
FLESH = {"supple.flesh_add": "MOD_PHYSICS", "supple.flesh_pick": "RENDERLAYERS", "supple.flesh_remove": "TRASH"}
COPIES = {
    "supple.engine_copy": "DUPLICATE", "supple.engine_copy_export": "EXPORT",
    "supple.engine_copy_show": "HIDE_OFF", "supple.engine_copy_frame": "TIME",
}  # fmt: skip
BAKES = {
    "supple.bake_cache": "FILE_CACHE", "supple.bake_shape_keys": "SHAPEKEY_DATA", "supple.clear_bake": "LOOP_BACK",
}  # fmt: skip
OTHERS = {"supple.send_to_farm": "NETWORK_DRIVE", "supple.make_independent": "UNLINKED"}
MOTIONS = {
    "supple.motion_compare": "VIEWZOOM", "supple.motion_loop": "FILE_REFRESH", "supple.motion_join": "NLA",
}  # fmt: skip
SWINGS = {"supple.swing_add": "FORCE_HARMONIC", "supple.swing_update": "FILE_REFRESH", "supple.swing_remove": "TRASH"}
LAYERS = {
    "supple.layers_add": "MOD_CLOTH", "supple.layers_limbs": "MOD_PHYSICS", "supple.layers_mend": "MOD_SHRINKWRAP",
    "supple.layers_remove": "TRASH",
}  # fmt: skip
PLACES = {
    "supple.pattern_add": "ADD", "supple.pattern_set_add": "PRESET", "supple.pattern_place": "RESTRICT_SELECT_OFF",
    "supple.pattern_stroke": "GREASEPENCIL", "supple.pattern_remove": "REMOVE",
}  # fmt: skip
PATTERNS = {
    "supple.pattern_mirror": "MOD_MIRROR", "supple.pattern_save": "FILE_TICK", "supple.pattern_maps": "EXPORT",
    "supple.pattern_remove_all": "TRASH",
}  # fmt: skip
WEIGHTS = {"supple.weights_auto": "MOD_VERTEX_WEIGHT", "supple.weight_lines": "CURVE_BEZCIRCLE"}
WEIGHT_EDITS = {
    "supple.weights_sharpen": "SHARPCURVE", "supple.weights_normalize": "NORMALIZE_FCURVES",
    "supple.weights_limit": "FILTER", "supple.weights_prune": "X", "supple.weights_stiffen": "CUBE",
    "supple.weights_mirror": "MOD_MIRROR", "supple.weights_transfer": "MOD_DATA_TRANSFER",
    "supple.weights_clean": "TRASH",
}  # fmt: skip
# Operators of each menu, and their icons
HANDLES = {"supple.handles_add": "MESH_CUBE", "supple.handles_remove": "X"}

# Operators that menus draw with options, or apart from the others; the last two are in the preferences
ALONE = {
    "supple.correct_pose": "SCULPTMODE_HLT", "supple.corrections_from": "PARTICLES",
    "supple.example_add": "ARMATURE_DATA", "supple.fit_skeleton": "BONE_DATA", "supple.weights_smooth": "MOD_SMOOTH",
    "supple.weights_check": "VIEWZOOM", "supple.clear_pins": "UNPINNED", "supple.update": "FILE_REFRESH",
    "supple.asset_library_add": "ASSET_MANAGER", "supple.asset_library_remove": "TRASH",
}  # fmt: skip

ICONS: dict[str, Any] = (
    FIRST | FINE_TUNE | CHECKS | CORRECTIONS | FLESH | COPIES | BAKES | OTHERS | MOTIONS | SWINGS | LAYERS | PLACES
    | PATTERNS | WEIGHTS | WEIGHT_EDITS | HANDLES | ALONE
)  # fmt: skip


def draw_button(layout: bpy.types.UILayout, name: str, **shown: Any) -> bpy.types.OperatorProperties:
    """Draw the button of an operator; returns its properties, to be set."""
    return layout.operator(name, icon=ICONS[name], **shown)
