"""The Supple tab of the 3D View's sidebar."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import Literal

import bpy

from ..settings.choices import METHODS, Method
from ..settings.objects import BAKE_ITEMS, PARTICLE_METHODS, ObjectSettings, settings_of
from ..settings.particles import ParticleSettings
from ..settings.reports import ParticleReport, measure_reports, particle_reports

SLOW = "For study, and slow: each pose takes seconds. To go on working, choose Particles"
MOMENTS = ("", "_dragging", "_bake")
"""Endings of the properties of one choice: each moment that has a value of its own."""


class SupplePanel:
    """Mix-in: where Supple's panels are."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Supple"


def active_settings(context: bpy.types.Context) -> ObjectSettings | None:
    """Settings of the active object where it is a mesh."""
    obj = context.active_object
    return settings_of(obj) if obj is not None and obj.type == "MESH" else None


def draw_message(
    layout: bpy.types.UILayout, context: bpy.types.Context, text: str, icon: Literal["ERROR", "INFO"] = "ERROR"
) -> None:
    """Draw a text, of one line or more, over as many lines as the sidebar's width needs."""
    width = max(20, int(context.region.width / (7.0 * context.preferences.system.ui_scale)) - 6)
    column = layout.box().column(align=True)
    for number, line in enumerate(line for part in text.splitlines() for line in textwrap.wrap(part, width)):
        column.label(text=line, icon="NONE" if number else icon)


def draw_evaluate(layout: bpy.types.UILayout, context: bpy.types.Context, settings: ObjectSettings) -> None:
    """Nodes or Python, and why not nodes."""
    row = layout.row()
    row.enabled = settings.id_data.mode != "EDIT"
    row.prop(settings, "evaluate", expand=True)
    if settings.evaluate == "PYTHON" and settings.evaluate_problem:
        draw_message(layout, context, settings.evaluate_problem, icon="INFO")


def draw_choices(layout: bpy.types.UILayout, store: bpy.types.PropertyGroup, method: Method) -> None:
    """What a method lets choose, in its order: a column for each group of choices."""
    for group, choices in groupby(method.choices, key=lambda choice: choice.group):
        column = layout.column(align=True) if group else layout
        for choice in choices:
            row = column.row() if choice.overruled_by else column
            if choice.overruled_by:
                row.enabled = getattr(store, choice.overruled_by) == 0
            for moment in MOMENTS:
                if hasattr(store, choice.property_name + moment):
                    row.prop(store, choice.property_name + moment)


class VIEW3D_PT_supple_skin(SupplePanel, bpy.types.Panel):
    """Method and Bind"""

    bl_label = "Skin"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = active_settings(context)
        if settings is None:
            self.draw_without_mesh(context)
            return
        column = layout.column()
        column.prop(settings, "method")
        method = METHODS.get(settings.method)  # a later version may have stored another
        if method is not None and not method.fills_solid:
            draw_choices(column, settings, method)
        draw_evaluate(column, context, settings)
        column.prop_search(settings, "linear_group", context.active_object, "vertex_groups")
        row = layout.row(align=True)
        row.scale_y = 1.4
        button = row.operator("supple.bind", text="Bind Again" if settings.is_bound else "Bind", icon="LINKED")
        if method is not None:
            button.method = settings.method
        if settings.is_bound or settings.patterns:
            row.operator("supple.unbind", text="", icon="UNLINKED")
            if settings.is_bound and settings.evaluate == "NODES":
                layout.operator("supple.make_independent", icon="DUPLICATE")
        if settings.message:
            draw_message(layout, context, settings.message)

    def draw_without_mesh(self, context: bpy.types.Context) -> None:
        """An armature stands for the meshes it deforms; for anything else, say what to select."""
        column = self.layout.column(align=True)
        obj = context.active_object
        if obj is None or obj.type != "ARMATURE":
            column.label(text="Select a mesh that has")
            column.label(text="an Armature modifier")
            return
        column.label(text="All meshes of this armature:")
        row = column.row(align=True)
        row.scale_y = 1.4
        row.operator("supple.bind", icon="LINKED")
        row.operator("supple.unbind", text="", icon="UNLINKED")


class VIEW3D_PT_supple_particles(SupplePanel, bpy.types.Panel):
    """What the methods of particles have to choose, and what came of it"""

    bl_label = "Particles"
    bl_parent_id = "VIEW3D_PT_supple_skin"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = active_settings(context)
        return settings is not None and settings.method in PARTICLE_METHODS

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = active_settings(context)
        self.draw_result(context)
        method = METHODS[settings.method]
        if method.is_slow:
            draw_message(layout, context, SLOW, icon="INFO")
        draw_choices(layout, settings.particles, method)
        layout.prop_search(settings.particles, "group", context.active_object, "vertex_groups")
        self.draw_overlay(settings.particles)

    def draw_result(self, context: bpy.types.Context) -> None:
        """How many particles there are, what they cost and keep, and what could not be filled."""
        report = particle_reports.get(context.active_object.session_uid)
        if not active_settings(context).is_bound:
            self.layout.label(text="Bind to fill the mesh", icon="INFO")
            return
        self.layout.label(text=describe(report or ParticleReport(active_settings(context).particles.count)))
        for message in report.messages if report else ():
            draw_message(self.layout, context, message, icon="INFO")

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
    return " · ".join(words)


class VIEW3D_PT_supple_measure(SupplePanel, bpy.types.Panel):
    """What a pose keeps of the skin"""

    bl_label = "Measure"
    bl_parent_id = "VIEW3D_PT_supple_skin"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = active_settings(context)
        return settings is not None and settings.is_bound

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.operator("supple.measure", icon="DRIVER_DISTANCE")
        report = measure_reports.get(context.active_object.session_uid)
        if report:
            draw_message(self.layout, context, report, icon="INFO")


class VIEW3D_PT_supple_bake(SupplePanel, bpy.types.Panel):
    """Bakes"""

    bl_label = "Bake"
    bl_order = 2
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = active_settings(context)
        return settings is not None and settings.is_bound

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        settings = active_settings(context)
        column = layout.column(align=True)
        column.operator("supple.bake_cache", icon="FILE_CACHE")
        column.operator("supple.bake_shape_keys", icon="SHAPEKEY_DATA")
        if settings.bake != "NONE":
            kinds = {kind: label for kind, label, _ in BAKE_ITEMS}
            layout.label(text=f"Deformed by: {kinds.get(settings.bake, 'a bake that this version does not know')}")
            layout.operator("supple.clear_bake", icon="LOOP_BACK")


register, unregister = bpy.utils.register_classes_factory(
    (VIEW3D_PT_supple_skin, VIEW3D_PT_supple_particles, VIEW3D_PT_supple_measure, VIEW3D_PT_supple_bake)
)
