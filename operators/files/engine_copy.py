"""A copy of the character for game engines: make, show and export it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import bpy
from bpy.props import StringProperty

from ...bridge.changes import without_changes
from ...options import CopyOptions, rows_of
from ...settings.character import list_meshes
from ...settings.checks import check_settings
from ...settings.engine_copy import copy_settings, find_source
from ...settings.objects import settings_of
from ...settings.properties import copy_options, draw_option, read_options, with_options
from ...tasks.engine_copy.hung import list_hung
from ...tasks.engine_copy.report import Report
from ...tasks.engine_copy.run import BonePlan, export_copy, make_engine_copy, plan_bones
from ...tasks.engine_copy.show import go_to_worst, hide_copy, show_copy
from ...tasks.engine_copy.targets import SUFFIXES
from ...tasks.subject.actions import list_seen_actions
from ...translations import translate
from ..base import SKIP, SuppleOperator
from ..computing import ComputingOperator

SELECT = "Select a mesh that is bound, or its armature"
MAX_ROWS = 6
DRAWN_ALONE = ("target", "use_bends", "angle")


def list_copied(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The ticked meshes of the active character, even if its copy is active."""
    return [obj for obj in list_meshes(context, find_source(context)) if settings_of(obj).is_ticked]


def list_to_copy(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The ticked meshes, and objects parented to bones."""
    return [*list_copied(context), *list_hung(context.view_layer, find_source(context))]


def source_of(context: bpy.types.Context) -> bpy.types.Object:
    """The armature to copy, which `requires` has made sure of."""
    return cast(bpy.types.Object, find_source(context))


def needs_bound_character(context: bpy.types.Context) -> str:
    return "" if any(settings_of(obj).is_bound for obj in list_copied(context)) else SELECT


def needs_copy(context: bpy.types.Context) -> str:
    armature = find_source(context)
    is_there = armature is not None and copy_settings(armature).figures
    return "" if is_there else "Select a mesh that is bound and has an engine copy, or make a copy first"


@with_options(CopyOptions)
class SUPPLE_OT_engine_copy(ComputingOperator, bpy.types.Operator):
    """Copy the character with bones, weights and shape keys that game engines support, and measure how close the copy
    is"""

    bl_label = "Make Engine Copy"
    requires = (needs_bound_character,)

    filepath: StringProperty(name="File", description="File to write; none if empty", subtype="FILE_PATH", options=SKIP)

    # The dialog's lines on bones; read when it opens, as reading takes long
    plan: BonePlan | None = None

    computes = True
    subject = "the engine copy"
    canceled = "Engine copy canceled: nothing was changed"

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        return self.attempt(lambda: self._ask(context))

    def _ask(self, context: bpy.types.Context) -> set[str]:
        copy_options(CopyOptions, copy_settings(source_of(context)), self, only_unset=True)
        with without_changes():
            self.plan = plan_bones(list_to_copy(context))
        self.watch(context)
        return self.ask(context)

    def draw(self, context: bpy.types.Context) -> None:
        layout, armature = self.layout, find_source(context)
        for line in self.plan.describe(self.helpers) if self.plan is not None else ():
            layout.label(text=translate(line), icon="BONE_DATA", translate=False)
        self.start_columns()
        row = layout.row()
        row.use_property_split = False
        row.prop(self, "target", expand=True)
        column = layout.column(align=True)
        for option in rows_of(CopyOptions):
            if option.name not in DRAWN_ALONE:
                draw_option(column, self, option)
        row = layout.row(align=True, heading="Range of Motion")
        row.prop(self, "use_bends", text="")
        angle = row.row(align=True)
        angle.enabled = self.use_bends
        angle.prop(self, "angle", text="")
        actions = list_seen_actions(armature) if armature is not None else []
        if armature is None or not actions:
            layout.label(text="No action moves its bones", icon="INFO")
            return
        rows = min(max(len(actions), 2), MAX_ROWS)
        layout.template_list(
            "SUPPLE_UL_actions", "", bpy.data, "actions", copy_settings(armature), "active",
            rows=rows, maxrows=MAX_ROWS,
        )  # fmt: skip

    def run(self, context: bpy.types.Context) -> Any:
        armature = source_of(context)
        copy_options(CopyOptions, copy_settings(armature), self, only_unset=True)
        actions = tuple(action.name for action in list_seen_actions(armature) if action.supple_is_copied)
        options = read_options(CopyOptions, self, actions=actions)
        output = Path(bpy.path.abspath(self.filepath)) if self.filepath else None
        return self.take(context, make_engine_copy(list_to_copy(context), options, output))

    def finish(self, context: bpy.types.Context, report: Report) -> str:
        """Store the settings, and report the copy."""
        for line in report.left_out:
            self.tell(line, "WARNING")
        copy_options(CopyOptions, self, copy_settings(bpy.data.objects[report.character]))
        return ". ".join(report.describe()[:2])


class SUPPLE_OT_engine_copy_export(ComputingOperator, bpy.types.Operator):
    """Write the current engine copy to a file"""

    bl_label = "Export Engine Copy"
    bl_options = {"REGISTER"}
    requires = (needs_copy,)

    filepath: StringProperty(name="File", description="File to write", subtype="FILE_PATH")
    filter_glob: StringProperty(default="*.glb;*.gltf;*.fbx;*.usd;*.usda;*.usdc", options={"HIDDEN"})

    subject = "the export"
    canceled = "Export canceled: nothing was written"

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        armature = source_of(context)
        target = copy_settings(armature).target.lower()
        folder = Path(bpy.data.filepath).parent if bpy.data.filepath else Path.home()
        self.filepath = str(folder / f"{bpy.path.clean_name(armature.name)}{SUFFIXES.get(target, [''])[0]}")
        self.watch(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context: bpy.types.Context) -> Any:
        armature = source_of(context)
        options = read_options(CopyOptions, copy_settings(armature))
        path = Path(bpy.path.abspath(self.filepath))
        return self.take(context, export_copy(armature, options.target, options.influences, path))

    def finish(self, _context: bpy.types.Context, _result: None) -> str:
        """Report the location of the file."""
        return f"Written: '{self.filepath}'"


class CopyOperator(SuppleOperator):
    """Mix-in: shows the copy of the active character in some way."""

    requires = (needs_copy,)

    def run(self, context: bpy.types.Context) -> None:
        with without_changes():
            self.show(context, source_of(context))

    def show(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        raise AssertionError("each operator has its own")


class SUPPLE_OT_engine_copy_show(CopyOperator, bpy.types.Operator):
    """Show the engine copy next to the character, colored by its distance from the character's skin; press again to
    hide it"""

    bl_label = "Show Difference"

    def show(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        settings = check_settings(context)
        target = copy_settings(armature).target.lower()
        if settings.heat == "COPY":
            settings.heat = "NONE"
            hide_copy(armature, target, context.view_layer)
            return
        show_copy(armature, target, context.view_layer)
        settings.full = copy_settings(armature).tolerance or settings.full
        settings.heat = "COPY"


class SUPPLE_OT_engine_copy_frame(CopyOperator, bpy.types.Operator):
    """Go to the action and frame where the engine copy differs most from the character"""

    bl_label = "Go to Frame"

    def show(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        go_to_worst(armature, context.scene)
