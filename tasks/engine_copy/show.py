"""Show a copy beside its original, in the frame in which both differ most."""

from __future__ import annotations

import bpy
from mathutils import Vector

from ...bridge.rigs.actions import find_player, go_to_time
from ...deformers import SkinningError
from ..subject.stack import check_not_linked
from .copies import list_baked, read_copy
from .report import Report, read_report

# How far beside the character a copy is shown, in widths of the character
BESIDE = 1.2


def show_copy(armature: bpy.types.Object, target: str, layer: bpy.types.ViewLayer) -> None:
    """Show a copy beside the character.

    `armature` is the original's, `target` a key of `TARGETS`. Raises SkinningError if the copy does not exist, or its
    collection is not in the view layer.
    """
    copy, _ = read_copy(armature, target)
    if not set_hidden(copy.collection, layer, False):
        raise SkinningError(f"'{copy.collection.name}' is not in this view layer: enable its collection")
    corners = [(obj.matrix_world @ Vector(corner)).x for obj in copy.meshes for corner in obj.bound_box]
    copy.armature.delta_location.x = BESIDE * (max(corners) - min(corners))


def hide_copy(armature: bpy.types.Object, target: str, layer: bpy.types.ViewLayer) -> None:
    """Hide a copy, and make the character's armature active if the copy's was."""
    copy, _ = read_copy(armature, target)
    is_active = layer.objects.active in list(copy.collection.objects)
    copy.armature.delta_location.x = 0.0
    set_hidden(copy.collection, layer, True)
    if is_active and armature in layer.objects.values():
        layer.objects.active = armature
        armature.select_set(True)


def set_hidden(collection: bpy.types.Collection, layer: bpy.types.ViewLayer, hides: bool) -> bool:
    """Close or open the eye of a collection; whether it is in a view layer."""
    found = [layer.layer_collection]
    for one in found:
        found += one.children
    own = [one for one in found if one.collection == collection and not one.exclude]
    for one in own:
        one.hide_viewport = hides
    layer.update()
    return bool(own)


def is_hidden(collection: bpy.types.Collection, layer: bpy.types.ViewLayer) -> bool:
    """Whether no object of a collection is seen in a view layer."""
    return not any(obj.visible_get(view_layer=layer) for obj in collection.objects)


def go_to_worst(armature: bpy.types.Object, scene: bpy.types.Scene) -> Report:
    """Have a character and its copy play the action in which they differ most, and go to the frame.

    Raises SkinningError if the frame, the action or the copy is gone, or a linked character plays another action.
    """
    report = read_report(armature)
    if report is None or not report.apart.action:
        raise SkinningError("The copy was fitted only to a range of motion, which has no frames: add an action")
    copy = read_copy(armature, report.target)[0].armature
    action = bpy.data.actions.get(report.apart.action)
    baked = next((baked for track, baked in list_baked(copy) if track == report.apart.action), None)
    if action is None or baked is None:
        raise SkinningError(f"Action '{report.apart.action}' was deleted or renamed: make a new engine copy")
    player = find_player(armature, action)
    if player.animation_data is None or player.animation_data.action != action:
        check_not_linked(player)
    for owner, played in ((player, action), (copy, baked)):
        data = owner.animation_data or owner.animation_data_create()
        if data.action != played:
            data.action = played
            if hasattr(data, "action_slot") and data.action_slot is None:  # 4.4 and later
                data.action_slot = played.slots[0]
    go_to_time(scene, report.apart.frame)
    return report
