"""The Supple tab of the 3D View's sidebar."""

from __future__ import annotations

from collections.abc import Container
from itertools import groupby
from typing import Any

import bpy

from ..settings.character import SHARED, find_shown, is_mixed, list_meshes, list_ticked, listed_once
from ..settings.choices import METHODS, Method
from ..settings.objects import BAKE_ITEMS, PARTICLE_METHODS, ObjectSettings, needs_supple, settings_of
from ..settings.particles import ParticleSettings
from ..settings.side_by_side import find_compared, has_ghosts
from ..tasks.reports import ParticleReport, farm_reports, measure_reports, particle_reports
from ..tasks.subject.stack import find_independent, is_flipped
from ..translations import translate
from .buttons import draw_button
from .character import draw_meshes
from .reports import draw_hint, draw_message

SLOW = "Slow, for study only: each pose takes seconds. For everyday work, choose Particles"
MOMENTS = ("", "_dragging", "_bake")
"""Endings of the properties of one choice: each moment that has a value of its own."""


class SupplePanel:
    """Mix-in: where Supple's panels are."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Supple"


def shown_settings(context: bpy.types.Context) -> ObjectSettings | None:
    """Settings of the mesh that is shown: the active one, or that of the active armature's list."""
    obj = find_shown(context)
    return settings_of(obj) if obj is not None else None


def draw_evaluate(
    layout: bpy.types.UILayout, context: bpy.types.Context, settings: ObjectSettings, store: bpy.types.PropertyGroup
) -> None:
    """Nodes or Python, and why not nodes."""
    row = layout.row()
    row.enabled = settings.id_data.mode != "EDIT"
    row.prop(store, "evaluate", expand=True)
    if needs_supple(settings) and settings.evaluate_problem and not settings.is_problem_closed:
        closes = settings.id_data, "evaluate_problem"
        draw_message(layout, context, settings.evaluate_problem, icon="INFO", closes=closes)


def draw_choices(
    layout: bpy.types.UILayout, store: bpy.types.PropertyGroup, method: Method, mixed: Container[str] = ()
) -> None:
    """What a method lets choose, in its order: a column for each group of choices; `mixed` are said to be so."""
    for group, choices in groupby(method.choices, key=lambda choice: choice.group):
        column = layout.column(align=True) if group else layout
        for choice in choices:
            row = column.row() if choice.overruled_by else column
            if choice.overruled_by:
                row.enabled = getattr(store, choice.overruled_by) == 0
            for moment in MOMENTS:
                name = choice.property_name + moment
                if hasattr(store, name):
                    draw_setting(row, store, name, name in mixed)


REMEDIES: dict[str, tuple[str, Any]] = {
    "WEIGHTS": ("Automatic Weights", "MOD_VERTEX_WEIGHT"),
    "SWITCH_ON": ("Enable", "HIDE_OFF"),
    "OBJECT_MODE": ("Object Mode", "OBJECT_DATAMODE"),
}
"""Label and icon of what can be done about a message, by `SkinningError.remedy`."""


def draw_problem(layout: bpy.types.UILayout, context: bpy.types.Context, obj: bpy.types.Object) -> None:
    """Draw what is wrong with a mesh, and the button that does something about it."""
    settings = settings_of(obj)
    if not settings.message:
        return
    draw_message(layout, context, settings.message, closes=None if settings.is_bound else (obj, "message"))
    if settings.remedy in REMEDIES:
        label, icon = REMEDIES[settings.remedy]
        layout.operator("supple.remedy", text=translate(f"{label}, and Bind"), icon=icon).mesh = obj.name


def draw_independent(layout: bpy.types.UILayout, context: bpy.types.Context, obj: bpy.types.Object) -> None:
    """Draw what deforms a mesh that was made independent."""
    found = find_independent(obj)
    if found is not None:
        modifier, key = found
        method = METHODS[key].label if key in METHODS else key
        text = (
            f"Modifier '{modifier.name}' deforms '{obj.name}' on its own, by {method}: it follows the pose, but not "
            "changes to weights, bones and settings. Use Bind to let Supple update it again"
        )
        draw_message(layout, context, text, icon="INFO")


def draw_setting(layout: bpy.types.UILayout, store: bpy.types.PropertyGroup, name: str, is_mixed: bool) -> None:
    """Draw a setting, and whether the ticked meshes differ in it."""
    label = store.bl_rna.properties[name].name
    layout.prop(store, name, text=translate(f"{label} (mixed)") if is_mixed else label)


def is_whole(context: bpy.types.Context) -> bool:
    """Whether the panels are for all ticked meshes of a character, instead of one mesh."""
    return len(list_meshes(context)) > 1 or context.active_object.type == "ARMATURE"


def count_meshes(meshes: list[bpy.types.Object]) -> str:
    return f"{len(meshes)} Mesh" if len(meshes) == 1 else f"{len(meshes)} Meshes"


class VIEW3D_PT_supple_skin(SupplePanel, bpy.types.Panel):
    """Method and Bind"""

    bl_label = "Skin"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.active_object is None or settings_of(context.active_object).corrected is None

    def draw(self, context: bpy.types.Context) -> None:
        with listed_once(context):
            self.draw_character(context)

    def draw_character(self, context: bpy.types.Context) -> None:
        """The list, the settings, the buttons, and what is wrong."""
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = shown_settings(context)
        if settings is None:
            hint = "Select a mesh that has an Armature modifier, or meshes and their armature"
            if bpy.ops.supple.make.poll():
                hint = (
                    "Make Supple adds automatic weights from the selected armature to the selected meshes, and binds "
                    "the meshes"
                )
            draw_hint(layout, context, hint)
            draw_button(layout, "supple.make")
            return
        whole = is_whole(context)
        ticked = list_ticked(context) if whole else [settings.id_data]
        if whole:
            draw_meshes(layout, context, len(list_meshes(context)))
        self.draw_settings(context, settings, ticked)
        self.draw_bind(context, settings, ticked, whole)
        for obj in ticked:
            draw_problem(layout, context, obj)
            draw_independent(layout, context, obj)

    def draw_settings(
        self, context: bpy.types.Context, settings: ObjectSettings, ticked: list[bpy.types.Object]
    ) -> None:
        """Settings of the shown mesh, or of all that are ticked."""
        several = len(ticked) > 1
        store = context.scene.supple_character if several else settings_of(ticked[0]) if ticked else settings
        mixed = [name for name in SHARED if several and is_mixed(context, name)]
        column = self.layout.column()
        draw_setting(column, store, "method", "method" in mixed)
        method = METHODS.get(store.method)  # a later version may have stored another
        if method is not None:
            draw_hint(column, context, method.tooltip)
        if method is not None and not method.fills_solid:
            draw_choices(column, store, method, mixed)
            draw_setting(column, store, "twist", "twist" in mixed)
        draw_evaluate(column, context, settings, store)
        column.prop_search(settings, "linear_group", settings.id_data, "vertex_groups")

    def draw_bind(
        self, context: bpy.types.Context, settings: ObjectSettings, ticked: list[bpy.types.Object], whole: bool
    ) -> None:
        """Bind, Unbind, Make Independent, and Flip."""
        row = self.layout.row(align=True)
        row.scale_y = 1.4
        is_bound = [settings_of(obj).is_bound for obj in ticked]
        text = "Bind Again" if ticked and all(is_bound) else "Bind"
        if whole:
            draw_button(row, "supple.bind", text=translate(f"{text}: {count_meshes(ticked)}")).whole = True
        else:
            button = draw_button(row, "supple.bind", text=text)
            if settings.method in METHODS:
                button.method = settings.method
        if any(is_bound):
            draw_button(row, "supple.unbind", text="").whole = whole
        else:
            draw_button(self.layout, "supple.make")
        if any(settings_of(obj).is_bound for obj in (*ticked, settings.id_data)):
            is_back = any(is_flipped(obj) for obj in list_meshes(context))
            text = "Flip Back to Supple" if is_back else "Flip to Blender"
            draw_button(self.layout, "supple.flip", text=text, depress=is_back)
        if settings.is_bound and not needs_supple(settings):
            draw_button(self.layout, "supple.make_independent")


class VIEW3D_PT_supple_side_by_side(SupplePanel, bpy.types.Panel):
    """Methods to show next to the character"""

    bl_label = "Side by Side"
    bl_parent_id = "VIEW3D_PT_supple_skin"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return has_ghosts() or shown_settings(context) is not None

    def draw_header(self, context: bpy.types.Context) -> None:
        icon = "CHECKBOX_HLT" if has_ghosts(find_compared(context)) else "CHECKBOX_DEHLT"
        self.layout.operator("supple.side_by_side", text="", icon=icon, emboss=False)

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.column(align=True).prop(context.window_manager, "supple_ghosts", expand=True)


class VIEW3D_PT_supple_particles(SupplePanel, bpy.types.Panel):
    """Settings and results of the particle methods"""

    bl_label = "Particles"
    bl_parent_id = "VIEW3D_PT_supple_skin"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = shown_settings(context)
        return settings is not None and settings.method in PARTICLE_METHODS

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = shown_settings(context)
        self.draw_result(context)
        method = METHODS[settings.method]
        if method.is_slow:
            draw_message(layout, context, SLOW, icon="INFO")
        draw_choices(layout, settings.particles, method)
        layout.prop_search(settings.particles, "group", settings.id_data, "vertex_groups")
        self.draw_overlay(settings.particles)

    def draw_result(self, context: bpy.types.Context) -> None:
        """How many particles there are, what they cost and keep, and what could not be filled."""
        report = particle_reports.find(shown_settings(context).id_data)
        if not shown_settings(context).is_bound:
            self.layout.label(text="Bind to fill the mesh", icon="INFO")
            return
        self.layout.label(
            text=describe(report or ParticleReport(shown_settings(context).particles.count)), translate=False
        )
        if report is not None and report.messages:
            closes = shown_settings(context).id_data, "particles"
            draw_message(self.layout, context, "\n".join(report.messages), icon="INFO", closes=closes)

    def draw_overlay(self, particles: ParticleSettings) -> None:
        """Whether and how the particles are drawn."""
        column = self.layout.column()
        column.prop(particles, "show")
        column = column.column()
        column.enabled = particles.show
        column.prop(particles, "color")
        column.prop(particles, "show_rest")


def describe(report: ParticleReport) -> str:
    """A line such as "1,303 particles · 12.3 ms · volume +0.3 %"."""
    words = [f"{report.count:,} particles"]
    if report.milliseconds is not None:
        words.append(f"{report.milliseconds:,.1f} ms")
    if report.volume is not None:
        words.append(f"volume {100.0 * (report.volume - 1.0):+.1f} %")
    return " · ".join(map(translate, words))


class VIEW3D_PT_supple_measure(SupplePanel, bpy.types.Panel):
    """How well the skin keeps its shape in a pose"""

    bl_label = "Measure"
    bl_parent_id = "VIEW3D_PT_supple_skin"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = shown_settings(context)
        return settings is not None and settings.is_bound

    def draw(self, context: bpy.types.Context) -> None:
        draw_button(self.layout, "supple.measure")
        obj = shown_settings(context).id_data
        report = measure_reports.find(obj)
        if report:
            draw_message(self.layout, context, report, icon="INFO", closes=(obj, "measure"))


class VIEW3D_PT_supple_bake(SupplePanel, bpy.types.Panel):
    """Bakes"""

    bl_label = "Bake"
    bl_order = 2
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = shown_settings(context)
        return settings is not None and (settings.is_bound or settings.bake != "NONE")

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        settings = shown_settings(context)
        column = layout.column(align=True)
        whole = is_whole(context)
        draw_button(column, "supple.bake_cache").whole = whole
        draw_button(column, "supple.bake_shape_keys").whole = whole
        draw_button(column, "supple.send_to_farm").whole = whole
        report = farm_reports.find(settings.id_data)
        if report:
            draw_message(layout, context, report, icon="INFO", closes=(settings.id_data, "farm"))
        if settings.bake != "NONE":
            kinds = {kind: label for kind, label, _ in BAKE_ITEMS}
            kind = kinds.get(settings.bake, "a bake unknown to this version")
            layout.label(text=translate(f"Deformed by: {kind}"))
            draw_button(layout, "supple.clear_bake").whole = whole


register, unregister = bpy.utils.register_classes_factory(
    (
        VIEW3D_PT_supple_skin,
        VIEW3D_PT_supple_side_by_side,
        VIEW3D_PT_supple_particles,
        VIEW3D_PT_supple_measure,
        VIEW3D_PT_supple_bake,
    )
)
