"""Bind and unbind."""

from __future__ import annotations

from typing import Any, cast

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..bridge.rigs.carriers import is_hidden_object
from ..deformers import METHODS, SkinningError
from ..settings.character import list_meshes, list_ticked
from ..settings.objects import METHOD_ITEMS, needs_supple, settings_of
from ..tasks.skin.bind import (
    Prepared,
    bind_prepared,
    describe_particles,
    make_independent,
    prepare_each,
    unbind,
)
from ..tasks.skin.step import without_changes
from ..translations import translate
from .base import SuppleOperator
from .computing import ComputingOperator


def chosen_meshes(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The meshes that an operator is for: selected and active ones, or those that the active armature deforms."""
    active = context.active_object
    if active is not None and active.type == "ARMATURE":
        return list_meshes(context)
    meshes = [obj for obj in context.selected_objects if obj.type == "MESH"]
    if active is not None and active.type == "MESH" and active not in meshes:
        meshes.append(active)
    return [obj for obj in meshes if not is_hidden_object(obj) and not _is_free_handle(obj)]


def _is_free_handle(obj: bpy.types.Object) -> bool:
    """Whether an object is a cage, and no skin that has anything of Supple to take off."""
    settings = settings_of(obj)
    return settings.is_handle and not settings.is_bound and not settings.patterns


def bind_now(context: bpy.types.Context, prepared: Prepared) -> list[bpy.types.Object]:
    """Bind what can be bound: the preview would read all that Bind has changed, and prepare it once more."""
    context.view_layer.update()
    with without_changes():
        bound = bind_prepared(prepared)
        context.view_layer.update()
    return bound


def describe_bind(meshes: list[bpy.types.Object], method: str) -> str:
    """What was bound and, by a method of particles, what it was filled with."""
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

    bl_idname = "supple.bind"
    bl_label = "Bind"
    requires = (needs_meshes,)
    subject = "the meshes"
    canceled = "Bind canceled: nothing was changed"

    method: EnumProperty(name="Method", description="How the skin is deformed", items=METHOD_ITEMS)
    evaluate: StringProperty(
        name="Deform With",
        description="Of scripts for earlier versions: the method now decides what deforms the skin",
        options={"HIDDEN", "SKIP_SAVE"},
    )
    whole: BoolProperty(
        name="Whole Character",
        description="Bind all ticked meshes of the character that can be bound, each with its own settings",
        options={"SKIP_SAVE"},
    )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if not self.properties.is_property_set("method"):
            self.method = settings_of(chosen_meshes(context)[0]).method
        return super().invoke(context, event)

    def run(self, context: bpy.types.Context) -> Any:
        if self.whole:
            meshes, choices = list_ticked(context), ()
        else:
            meshes = chosen_meshes(context)
            method = self.method if self.properties.is_property_set("method") else settings_of(meshes[0]).method
            choices = (method,)
        if self.evaluate:
            self.tell("Deform With is not used any more: the method decides what deforms the skin")
        if not meshes:
            raise SkinningError("No mesh is ticked: tick the meshes to bind in the list in the Supple tab")
        context.view_layer.update()  # objects may have moved
        return self.take(context, prepare_each(meshes, *choices))

    def finish(self, context: bpy.types.Context, prepared: Prepared) -> Any:
        """Bind what can be bound, and say what could not."""
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

    bl_idname = "supple.unbind"
    bl_label = "Unbind"
    requires = (needs_bound,)

    whole: BoolProperty(
        name="Whole Character", description="Unbind all ticked meshes of the character", options={"SKIP_SAVE"}
    )

    def run(self, context: bpy.types.Context) -> None:
        self.tell_left_out(unbind(list_ticked(context) if self.whole else chosen_meshes(context)))


class SUPPLE_OT_make_independent(SuppleOperator, bpy.types.Operator):
    """Detach the character from Supple: Blender's own modifiers continue to deform it"""

    bl_idname = "supple.make_independent"
    bl_label = "Make Independent"
    requires = (needs_native,)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        question = translate("Supple drops its settings and no longer follows changes of weights and bones")
        manager = context.window_manager
        answer = manager.invoke_confirm(
            self, event, title="Make Independent?", message=question, confirm_text="Make Independent", icon="WARNING"
        )
        return cast(set[str], answer)

    def run(self, context: bpy.types.Context) -> str:
        names = ", ".join(obj.name for obj in make_independent(chosen_meshes(context)))
        return f"Independent of Supple: {names}. Blender's own modifiers continue to deform them"


register, unregister = bpy.utils.register_classes_factory(
    (SUPPLE_OT_bind, SUPPLE_OT_unbind, SUPPLE_OT_make_independent)
)
