"""The Corrections panel: shape keys driven by poses, by joint; and in the first panel, the pose being corrected."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..options import BEST, SHAPES
from ..settings.corrections import READER_ITEMS
from ..settings.objects import settings_of
from ..tasks.subject.corrected import (
    FLESH,
    describe_problem,
    find_corrected,
    find_deforming_armature,
    find_key,
    list_bones,
    list_under_way,
    measure_angle,
)
from ..tasks.subject.shown_joint import ShownJoint, find_icon, find_shown
from ..translations import translate
from .buttons import draw_button
from .lists import SuppleList
from .menus import VIEW3D_MT_supple_correct
from .panels import PartPanel
from .reports import draw_hint, draw_message

HINT = (
    "Pose the character where the skin looks wrong, and choose Sculpt This Pose below: what you sculpt appears "
    "whenever the joint takes this pose"
)
TOOLS = "Use any tool of Sculpt Mode and Edit Mode that keeps the number of vertices"
GONE = "The posed copy of '{}' was deleted: press Discard to show the character again"
READERS: dict[str, str] = {key: label for key, label, _ in READER_ITEMS}


def describe_pose(correction: bpy.types.PropertyGroup) -> str:
    """The driver of a correction, such as "forearm.L at 80°, Automatic"."""
    bones = ", ".join(list_bones(correction))
    reader = translate(READERS.get(correction.reader, ""))
    return f"{bones} at {measure_angle(correction):.0f}°, {reader}"


class SUPPLE_UL_corrections(SuppleList, bpy.types.UIList):
    """The corrections of a mesh, by joint and angle"""

    def draw_row(self, _context: bpy.types.Context, layout: bpy.types.UILayout, item: Any, _index: int) -> None:
        obj = cast(bpy.types.Object, item.id_data)
        key = find_key(obj, item.name)
        row = layout.row(align=True)
        row.active = key is not None and not key.mute
        parts = row.split(factor=0.7, align=True)
        parts.label(text=item.name, icon="ERROR" if describe_problem(obj, item) else "SHAPEKEY_DATA", translate=False)
        values = parts.row(align=True)
        values.alignment = "RIGHT"
        if key is not None:
            values.prop(key, "value", text="", emboss=False)
            values.prop(key, "mute", text="", emboss=False)

    def filter_items(
        self, _context: bpy.types.Context, data: bpy.types.PropertyGroup, name: str
    ) -> tuple[list[int], list[int]]:
        items = list(getattr(data, name))
        by_joint = sorted(range(len(items)), key=lambda index: (list_bones(items[index]), measure_angle(items[index])))
        order = [0] * len(items)
        for position, index in enumerate(by_joint):
            order[index] = position
        return bpy.types.UI_UL_list.filter_items_by_name(self.filter_name, self.bitflag_filter_item, items), order


def draw_under_way(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """The pose that is being corrected, with Keep and Discard."""
    for obj in list_under_way(context):
        copy = settings_of(obj).posed_copy
        if copy is None or not copy.users_scene:
            draw_message(layout, context, GONE.format(obj.name))
            continue
        key = settings_of(copy).corrected_key
        text = f"'{key}' of '{obj.name}'" if key else f"'{obj.name}' in this pose"
        layout.label(text=translate(text), icon="SHAPEKEY_DATA", translate=False)
    draw_hint(layout, context, TOOLS)
    row = layout.row(align=True)
    row.scale_y = 1.4
    draw_button(row, "supple.correction_keep")
    draw_button(row, "supple.correction_discard")


def draw_shapes(layout: bpy.types.UILayout, shown: ShownJoint) -> None:
    """The shapes of a joint as pictures, two beside each other, for each way in which it bends: a click takes one."""
    box = layout.box()
    row = box.row()
    row.label(text=shown.bone, icon="BONE_DATA", translate=False)
    row.operator("supple.flesh_close", text="", icon="X", emboss=False)
    for way, chosen in enumerate(shown.chosen):
        grid = box.grid_flow(row_major=True, columns=2, even_columns=True, align=True)
        for number, (shape, label) in enumerate(SHAPES.items()):
            column = grid.column(align=True)
            column.template_icon(find_icon(way, shape), scale=5.0)
            take = column.operator(
                "supple.flesh_take", text=translate(label).capitalize(), translate=False, depress=number == chosen
            )
            take.bone, take.way, take.shape, take.quality = shown.bone, way, shape, shown.quality
    take = box.operator("supple.flesh_take", text="Best", icon="LOOP_BACK")
    take.bone, take.way, take.shape, take.quality = shown.bone, -1, BEST, shown.quality


class VIEW3D_PT_supple_corrections(PartPanel, bpy.types.Panel):
    """Shape keys driven by poses"""

    bl_label = "Corrections"
    bl_order = 4
    page = "corrections.html"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return super().poll(context) and find_corrected(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, cast(bpy.types.Object, find_corrected(context))
        settings = settings_of(obj)
        if obj != context.active_object:
            layout.label(text=obj.name, icon="OUTLINER_OB_MESH", translate=False)
        if settings.corrections:
            layout.template_list(
                SUPPLE_UL_corrections.__name__, "", settings, "corrections", settings, "active_correction",
                rows=4, maxrows=12,
            )  # fmt: skip
            self.draw_active(context, obj)
        else:
            draw_hint(layout, context, HINT)
        layout.menu(VIEW3D_MT_supple_correct.__name__, icon="ADD")
        if (shown := find_shown(find_deforming_armature(obj))) is not None:
            draw_shapes(layout, shown)

    def draw_active(self, context: bpy.types.Context, obj: bpy.types.Object) -> None:
        """Draw the problem and the buttons of the active correction."""
        settings = settings_of(obj)
        active = settings.corrections[min(settings.active_correction, len(settings.corrections) - 1)]
        problem = describe_problem(obj, active)
        if problem:
            draw_message(self.layout, context, problem)
        else:
            draw_hint(self.layout, context, describe_pose(active))
        if active.source == FLESH:
            draw_button(self.layout, "supple.flesh_pick")
        row = self.layout.row(align=True)
        row.operator("supple.correction_edit", icon="SCULPTMODE_HLT")
        draw_button(row, "supple.correction_pose", text="Pose")
        draw_button(row, "supple.correction_select", text="")
        draw_button(row, "supple.correction_remove", text="")


register, unregister = bpy.utils.register_classes_factory((SUPPLE_UL_corrections, VIEW3D_PT_supple_corrections))
