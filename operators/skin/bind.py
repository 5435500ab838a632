"""Bind and unbind."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ...bridge.changes import without_changes
from ...deformers import METHODS, SkinningError
from ...settings.character import list_ticked
from ...settings.objects import METHOD_ITEMS, needs_supple, settings_of
from ...tasks.skin.bind import (
    Prepared,
    bind_prepared,
    describe_particles,
    make_independent,
    prepare_each,
    unbind,
)
from ...translations import translate
from ..base import SKIP, SuppleOperator
from ..computing import ComputingOperator
from ..selection import chosen_meshes


def bind_now(context: bpy.types.Context, prepared: Prepared) -> list[bpy.types.Object]:
    """Bind the prepared meshes; returns those that were bound."""
    context.view_layer.update()
    with without_changes():  # or the preview would read all that Bind has changed, and prepare it again
        bound = bind_prepared(prepared)
        context.view_layer.update()
    return bound


def describe_bind(meshes: list[bpy.types.Object], method: str) -> str:
    """A message on bound meshes and, with a method of particles, on their particles."""
    reports = {obj.name: report for obj in meshes if (report := describe_particles(obj))}
    if len(reports) > 1:
        reports = {name: f"{name}: {report}" for name, report in reports.items()}
    bound = f"Bound {', '.join(obj.name for obj in meshes)} by {METHODS[method].label}"
    return f"{bound}: {' '.join(reports.values())}" if reports else bound


def needs_meshes(context: bpy.types.Context) -> str:
    return "" if chosen_meshes(context) else "Select a mesh that has an Armature modifier"


def needs_bound(context: bpy.types.Context) -> str:
    meshes = {*chosen_meshes(context), *list_ticked(context)}
    return "" if any(settings_of(obj).is_bound for obj in meshes) else "Select a mesh that is bound"


def needs_native(context: bpy.types.Context) -> str:
    bound = [obj for obj in chosen_meshes(context) if settings_of(obj).is_bound]
    is_there = not all(needs_supple(settings_of(obj)) for obj in bound)
    return "" if is_there else "Select a mesh that is bound, and deformed without Supple"


class SUPPLE_OT_bind(ComputingOperator, bpy.types.Operator):
    """Deform the selected characters with Supple instead of their Armature modifiers"""

    bl_label = "Bind"
    requires = (needs_meshes,)
    subject = "the meshes"
    canceled = "Bind canceled: nothing was changed"

    method: EnumProperty(name="Method", description="How the skin is deformed", items=METHOD_ITEMS)
    evaluate: StringProperty(
        name="Deform With",
        description="Of scripts for earlier versions: the method now decides what deforms the skin",
        options={"HIDDEN", *SKIP},
    )
    whole: BoolProperty(
        name="Whole Character",
        description="Bind all ticked meshes of the character that can be bound, each with its own settings",
        options=SKIP,
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if not self.is_set("method"):
            self.method = settings_of(chosen_meshes(context)[0]).method
        return super().invoke(context, event)

    def run(self, context: bpy.types.Context) -> Any:
        meshes = list_ticked(context) if self.whole else chosen_meshes(context)
        method = self.method if self.is_set("method") or self.whole else settings_of(meshes[0]).method
        if self.evaluate:
            self.tell("Deform With is not used any more: the method decides what deforms the skin")
        if not meshes:
            raise SkinningError("No mesh is ticked: tick the meshes to bind in the list in the Supple tab")
        context.view_layer.update()  # objects may have moved
        return self.take(context, prepare_each(meshes, None if self.whole else method))

    def finish(self, context: bpy.types.Context, prepared: Prepared) -> Any:
        """Bind all meshes that can be bound, and report the others."""
        bound = bind_now(context, prepared)
        for _, error in prepared.failed:
            self.tell(str(error), "WARNING" if bound else "ERROR")
        for note in prepared.notes:
            self.tell(note, "WARNING")
        if not bound:
            return {"CANCELLED"}
        count = len(bound) + len(prepared.failed)
        if self.whole and count > 1:
            return f"Bound {len(bound)} of {count} meshes"
        return describe_bind(bound, settings_of(bound[0]).method)


class SUPPLE_OT_unbind(SuppleOperator, bpy.types.Operator):
    """Return the selected characters to their Armature modifiers, and remove bakes; patterns stay"""

    bl_label = "Unbind"
    requires = (needs_bound,)

    whole: BoolProperty(name="Whole Character", description="Unbind all ticked meshes of the character", options=SKIP)

    def run(self, context: bpy.types.Context) -> None:
        self.tell_left_out(unbind(list_ticked(context) if self.whole else chosen_meshes(context)))


class SUPPLE_OT_make_independent(SuppleOperator, bpy.types.Operator):
    """Detach the character from Supple: Blender's own modifiers continue to deform it"""

    bl_label = "Make Independent"
    requires = (needs_native,)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> Any:
        question = translate("Supple drops its settings and no longer follows changes of weights and bones")
        return context.window_manager.invoke_confirm(
            self, event, title="Make Independent?", message=question, confirm_text="Make Independent", icon="WARNING"
        )

    def run(self, context: bpy.types.Context) -> str:
        names = ", ".join(obj.name for obj in make_independent(chosen_meshes(context)))
        return f"Independent of Supple: {names}. Blender's own modifiers continue to deform them"
