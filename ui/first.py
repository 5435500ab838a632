"""The first panel of the Supple tab: one button for a new character, and then its everyday tools."""

from __future__ import annotations

import bpy

from ..options import LOOKS
from ..settings.character import find_armature, list_meshes, listed_once
from ..settings.objects import settings_of
from ..settings.side_by_side import find_compared, has_ghosts
from ..tasks.layers.present import list_layered
from ..tasks.reports import version_reports
from ..tasks.subject.corrected import list_under_way
from ..tasks.subject.looks import CUSTOM, FORMER, MIXED, read_look
from ..tasks.subject.notices import list_notices
from ..tasks.subject.stack import list_former
from ..translations import translate
from .buttons import draw_button
from .character import describe_character, find_trouble
from .checks import draw_check, draw_findings
from .compare import VIEW3D_PT_supple_compare
from .corrections import draw_under_way
from .panels import SupplePanel, count_meshes, draw_problem, has_armature, is_any_bound, list_chosen, list_shown
from .reports import draw_hint, draw_message
from .tools import DragSkin

LABELS = {key: look.label for key, look in LOOKS.items()}
LABELS |= {CUSTOM: "Custom", MIXED: "Mixed", FORMER: "Earlier Version"}
EARLIER = "An earlier version of Supple deforms this character. It plays on as it was saved until it is updated"
NOTHING = "Select the armature of a character, or one of its meshes"
NO_MESHES = "This armature moves no mesh yet. Select its meshes, too"
BARE = "A skeleton for the selected meshes: a human, or an animal on four legs, in a rest pose"
NOT_BOUND_YET = "Weights for the selected meshes from the selected armature, and skin that bends well"


class VIEW3D_PT_supple(SupplePanel, bpy.types.Panel):
    """The character: what it looks like, and what is wrong with it"""

    bl_label = ""
    bl_order = 0

    def draw_header(self, context: bpy.types.Context) -> None:
        with listed_once(context):
            row = self.layout.row()
            row.alert = bool(find_trouble(list_shown(context)))
            row.label(text=describe_character(context), translate=False)

    def draw(self, context: bpy.types.Context) -> None:
        with listed_once(context):
            if list_under_way(context):
                draw_under_way(self.layout, context)
                return
            meshes = list_shown(context)
            if list_former(meshes):
                draw_hint(self.layout, context, EARLIER)
                row = self.layout.row()
                row.scale_y = 1.5
                draw_button(row, "supple.update")
            elif is_any_bound(meshes):
                self.draw_bound(context, meshes)
            elif meshes:
                self.draw_make()
                row = self.layout.row(align=True)
                draw_check(row, context)
                draw_side_by_side(row, context)
            else:
                self.draw_nothing(context)
                return
            for text in list_notices(meshes):
                draw_message(self.layout, context, text, "INFO")
            for obj in list_meshes(context) or meshes:
                draw_problem(self.layout, context, obj)
            armature = find_armature(context)
            if armature is not None and (report := version_reports.find(armature)):
                draw_message(self.layout, context, report, "INFO", closes=(armature, "version"))
            self.draw_offer(context)
            draw_findings(self.layout, context)

    def draw_offer(self, context: bpy.types.Context) -> None:
        """Stay Outside, where Make Supple has found layers that nothing keeps apart yet."""
        meshes = list_meshes(context)
        outermost = next((obj for obj in meshes if settings_of(obj).offers_layers), None)
        if outermost is None or list_layered(meshes):
            return
        row = self.layout.row(align=True)
        draw_button(row, "supple.layers_add")
        button = row.operator("supple.close_report", text="", icon="X")
        button.owner, button.kind = outermost.name, "offers_layers"

    def draw_nothing(self, context: bpy.types.Context) -> None:
        """Draw a hint on what to select, and an example."""
        if bpy.ops.supple.make.poll():
            draw_hint(self.layout, context, NOT_BOUND_YET)
            self.draw_make()
            return
        if bpy.ops.supple.fit_skeleton.poll():
            draw_hint(self.layout, context, BARE)
            row = self.layout.row(align=True)
            row.scale_y = 1.5
            draw_button(row, "supple.fit_skeleton")
            row.operator_menu_enum("supple.fit_skeleton", "rig", text="", icon="DOWNARROW_HLT")
            return
        draw_hint(self.layout, context, NO_MESHES if has_armature(context) else NOTHING)
        draw_button(self.layout, "supple.example_add", text="Add an Example")

    def draw_make(self) -> None:
        """The first button, and beside it the looks to choose from."""
        row = self.layout.row(align=True)
        row.scale_y = 1.5
        draw_button(row, "supple.make")
        row.operator_menu_enum("supple.make", "look", text="", icon="DOWNARROW_HLT")

    def draw_bound(self, context: bpy.types.Context, meshes: list[bpy.types.Object]) -> None:
        """Draw the look and the tools of a bound character."""
        layout, chosen = self.layout, list_chosen(context)
        row = layout.row()
        row.scale_y = 1.5
        label = translate(LABELS[read_look(chosen)])
        is_posed = context.mode == "POSE"
        text = label if is_posed else translate(f"Look: {label}")
        row.operator_menu_enum("supple.make", "look", text=text, icon="OUTLINER_OB_ARMATURE")
        if is_posed:
            row.operator("wm.tool_set_by_id", text="Drag Skin").name = DragSkin.bl_idname
        left = [obj for obj in chosen if not settings_of(obj).is_bound and not settings_of(obj).message]
        if left:
            draw_button(layout, "supple.make", text=translate(f"Make Supple: {count_meshes(left)}"))
        row = layout.row(align=True)
        is_back = any(settings_of(obj).is_muted for obj in meshes)
        draw_button(row, "supple.flip", text="Flip Back" if is_back else "Flip to Blender", depress=is_back)
        draw_side_by_side(row, context)
        row = layout.row(align=True)
        draw_check(row, context)
        draw_button(row, "supple.correct_pose", text="Correct Pose")


def draw_side_by_side(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """Draw Side by Side, and the button of its popover."""
    row = layout.row(align=True)
    draw_button(row, "supple.side_by_side", depress=has_ghosts(find_compared(context)))
    row.popover(VIEW3D_PT_supple_compare.__name__, text="", icon="DOWNARROW_HLT")


register, unregister = bpy.utils.register_classes_factory((VIEW3D_PT_supple,))
