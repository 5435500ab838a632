"""The Fine Tune panel: meshes, their method and settings, and Bind for the ticked meshes."""

from __future__ import annotations

import bpy

from ..settings.character import SHARED, find_shown, is_mixed, list_meshes, listed_once
from ..settings.choices import METHODS, Method
from ..settings.objects import ObjectSettings, needs_supple, settings_of
from ..settings.particles import ParticleSettings
from ..tasks.features import LAYERS
from ..tasks.reports import ParticleReport, particle_reports
from ..translations import translate
from .buttons import draw_button
from .character import draw_meshes
from .panels import (
    PartPanel,
    draw_choices,
    draw_setting,
    is_any_bound,
    is_whole,
    list_chosen,
    shown_settings,
)
from .reports import draw_hint, draw_message, draw_notice

SLOW = "Slow, for study only: each pose takes seconds. For everyday work, choose Particles"


class VIEW3D_PT_supple_fine_tune(PartPanel, bpy.types.Panel):
    """Method and settings of each mesh"""

    bl_label = "Fine Tune"
    bl_order = 1
    page = "overview.html#methods"

    def draw(self, context: bpy.types.Context) -> None:
        with listed_once(context):
            self.draw_character(context)

    def draw_character(self, context: bpy.types.Context) -> None:
        """The list, the settings, and Bind."""
        layout, settings = self.start(), shown_settings(context)
        if settings is None:
            return
        chosen = list_chosen(context)
        if is_whole(context):
            draw_meshes(layout, context, len(list_meshes(context)))
        several = len(chosen) > 1
        store = context.scene.supple_character if several else settings_of(chosen[0]) if chosen else settings
        mixed = [name for name in SHARED if several and is_mixed(context, name)]
        column = layout.column()
        draw_setting(column, store, "method", "method" in mixed)
        method = METHODS.get(store.method)  # a later version may have stored another
        if method is not None:
            draw_hint(column, context, method.tooltip)
            if not method.fills_solid:
                draw_choices(column, store, method, mixed)
                draw_setting(column, store, "twist", "twist" in mixed)
        if needs_supple(settings) and settings.evaluate_problem and not settings.is_problem_closed:
            closes = settings.id_data, "evaluate_problem"
            draw_message(column, context, settings.evaluate_problem, icon="INFO", closes=closes)
        column.prop_search(settings, "linear_group", settings.id_data, "vertex_groups")
        shown = METHODS.get(settings.method)
        if shown is not None and shown.fills_solid:
            self.draw_particles(context, settings, shown)
        self.draw_bind(context, settings, chosen)
        if is_whole(context):
            self.draw_layers(context)

    def draw_particles(self, context: bpy.types.Context, settings: ObjectSettings, method: Method) -> None:
        """Draw the number of particles, the choices of the method, and how particles are shown."""
        layout = self.layout
        report = particle_reports.find(settings.id_data)
        if not settings.is_bound:
            layout.label(text="Bind to fill the mesh", icon="INFO")
        else:
            layout.label(text=describe(report or ParticleReport(settings.particles.count)), translate=False)
            if report is not None and report.messages:
                closes = settings.id_data, "particles"
                draw_message(layout, context, "\n".join(report.messages), icon="INFO", closes=closes)
        if method.is_slow:
            draw_message(layout, context, SLOW, icon="INFO")
        draw_choices(layout, settings.particles, method)
        layout.prop_search(settings.particles, "group", settings.id_data, "vertex_groups")
        self.draw_overlay(settings.particles)

    def draw_overlay(self, particles: ParticleSettings) -> None:
        """Whether and how the particles are drawn."""
        column = self.layout.column()
        column.prop(particles, "show")
        column = column.column()
        column.enabled = particles.show
        column.prop(particles, "color")
        column.prop(particles, "show_rest")

    def draw_bind(self, context: bpy.types.Context, settings: ObjectSettings, chosen: list[bpy.types.Object]) -> None:
        """Draw Bind and Unbind for the ticked meshes."""
        whole = is_whole(context)
        row = self.layout.row(align=True)
        text = "Bind Again" if chosen and all(settings_of(obj).is_bound for obj in chosen) else "Bind"
        if whole:
            count = len(list_meshes(context))
            few = translate(f"Bind {len(chosen)} of {count}")
            draw_button(row, "supple.bind", text=text if len(chosen) == count else few).whole = True
        else:
            button = draw_button(row, "supple.bind", text=text)
            if settings.method in METHODS:
                button.method = settings.method
        if is_any_bound([*chosen, *([] if find_shown(context) is None else [settings.id_data])]):
            draw_button(row, "supple.unbind").whole = whole

    def draw_layers(self, context: bpy.types.Context) -> None:
        """Draw the menu of Stay Outside, and its problems."""
        self.layout.menu("VIEW3D_MT_supple_layers", icon="MOD_CLOTH")
        draw_notice(self.layout, context, LAYERS)


def describe(report: ParticleReport) -> str:
    """A line such as "1,303 particles · 12.3 ms · volume +0.3 %"."""
    words = [f"{report.count:,} particles"]
    if report.milliseconds is not None:
        words.append(f"{report.milliseconds:,.1f} ms")
    if report.volume is not None:
        words.append(f"volume {100.0 * (report.volume - 1.0):+.1f} %")
    return " · ".join(map(translate, words))


register, unregister = bpy.utils.register_classes_factory((VIEW3D_PT_supple_fine_tune,))
