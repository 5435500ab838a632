"""What is done to the character as a whole: make it supple, flip it to Blender's own modifier, remedy what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
from bpy.props import BoolProperty, StringProperty

from ..bridge.rigs.carriers import is_hidden_object
from ..deformers import DEFAULT_METHOD, METHODS, SkinningError
from ..options import WeightOptions
from ..settings.character import find_armature, list_meshes, list_ticked
from ..settings.objects import settings_of
from ..tasks.corrections.flesh import add_flesh
from ..tasks.skin.bind import Prepared, prepare_each, prepare_supple
from ..tasks.skin.step import without_changes
from ..tasks.steps import take_all
from ..tasks.subject.character import has_armature_modifier, lacks_weights
from ..tasks.subject.stack import find_armature_modifier, flip, is_flipped
from ..tasks.weights.automatic import Result
from .base import SuppleOperator
from .bind import bind_now
from .weights import WeightsOperator, chosen_armature

DRAWN = 0.1
"""Seconds in which a window shows what was done."""


def needs_bound_character(context: bpy.types.Context) -> str:
    is_there = any(settings_of(obj).is_bound for obj in list_meshes(context))
    return "" if is_there else "Select a mesh that is bound, or its armature"


def needs_what_is_not_bound(context: bpy.types.Context) -> str:
    if list_to_make(context):
        return ""
    return "Select a mesh that has an Armature modifier and is not bound, or meshes and an armature"


def needs_refused(context: bpy.types.Context) -> str:
    if any(settings_of(obj).remedy for obj in list_meshes(context)):
        return ""
    return "Select a mesh that has an Armature modifier and that Bind could not bind, or its armature"


class SUPPLE_OT_flip(SuppleOperator, bpy.types.Operator):
    """Switch between Blender's own Armature modifiers and Supple in the viewport. Renders always use Supple"""

    bl_idname = "supple.flip"
    bl_label = "Flip to Blender"
    requires = (needs_bound_character,)

    def run(self, context: bpy.types.Context) -> None:
        bound = [obj for obj in list_meshes(context) if settings_of(obj).is_bound]
        to_armature = not any(map(is_flipped, bound))
        with without_changes():
            for obj in bound:
                flip(obj, to_armature)
            context.view_layer.update()


class SUPPLE_OT_make(WeightsOperator, bpy.types.Operator):
    """Add automatic weights to the character's meshes that have none, and bind unbound meshes with the best method"""

    bl_idname = "supple.make"
    bl_label = "Make Supple"
    requires = (needs_what_is_not_bound,)
    subject = "the meshes"
    canceled = "Make Supple canceled: nothing was changed"

    flesh: BoolProperty(
        name="Flesh",
        description="Add Flesh, too: bound meshes show at once, the shape keys follow. Esc leaves these out",
        default=True,
    )

    def run(self, context: bpy.types.Context) -> Any:
        self._is_watched = self.is_interactive
        armature, meshes = find_armature(context) or chosen_armature(context), list_to_make(context)
        assert armature is not None  # as `poll` has seen
        unweighted = [obj for obj in meshes if lacks_weights(obj, armature)]
        self._names, self._weighted = ([obj.name for obj in chosen] for chosen in (meshes, unweighted))
        if unweighted:
            return self.weight(context, unweighted, WeightOptions(), armature)
        context.view_layer.update()  # objects may have moved
        return self.take(context, prepare_supple(meshes))

    def finish(self, context: bpy.types.Context, results: list[Result] | Prepared) -> str:
        """Write the weights, bind all meshes, and say what was done with each."""
        if isinstance(results, Prepared):
            prepared = results
        else:
            super().finish(context, results)
            meshes = [bpy.data.objects[name] for name in self._names]
            context.view_layer.update()
            prepared = take_all(prepare_supple(meshes))
        bound = bind_now(context, prepared)
        count = len(bound)
        if bound and self.flesh:
            self.add_flesh(context, bound)
        for _, error in prepared.failed:
            self.tell(str(error), "WARNING")
        parts = [f"{count} of {len(self._names)} meshes are bound by {METHODS[DEFAULT_METHOD].label}"]
        if self._weighted:
            parts.append(f"weights were made for {', '.join(self._weighted)}")
        return "; ".join(parts)

    def add_flesh(self, context: bpy.types.Context, bound: list[bpy.types.Object]) -> None:
        """Add flesh: where a user waits, as an operator of its own, with its own progress, Esc and step of undo."""
        if self._is_watched:
            window = context.window

            def begin() -> None:
                with bpy.context.temp_override(window=window):
                    if bpy.ops.supple.flesh_add.poll():
                        bpy.ops.supple.flesh_add("INVOKE_DEFAULT")

            bpy.app.timers.register(begin, first_interval=DRAWN)  # what is bound is seen first
            return
        try:
            for line in take_all(add_flesh(bound)).describe():
                self.tell(line)
        except SkinningError as error:
            self.tell(str(error))


def list_to_make(context: bpy.types.Context) -> list[bpy.types.Object]:
    """Ticked meshes that are not bound, and beside a selected armature selected ones that nothing deforms yet."""
    found = [obj for obj in list_ticked(context) if not settings_of(obj).is_bound]
    armature = find_armature(context) or chosen_armature(context)
    if armature is not None and armature in context.selected_objects:
        free = [obj for obj in context.selected_objects if obj.type == "MESH" and not has_armature_modifier(obj)]
        free = [obj for obj in free if not settings_of(obj).is_handle]
        found += [obj for obj in free if obj not in found and not is_hidden_object(obj)]
    return found


class SUPPLE_OT_remedy(WeightsOperator, bpy.types.Operator):
    """Fix the problem that prevents binding this mesh, and bind it"""

    bl_idname = "supple.remedy"
    bl_label = "Remedy"
    requires = (needs_refused,)

    mesh: StringProperty(name="Mesh", description="Name of the mesh object", options={"SKIP_SAVE"})

    def run(self, context: bpy.types.Context) -> Any:
        obj = next((obj for obj in list_meshes(context) if obj.name == self.mesh), None)
        remedy = settings_of(obj).remedy if obj is not None else ""
        if obj is None or not remedy:
            raise SkinningError(f"'{self.mesh}' has nothing to fix: press Bind")
        if remedy == "WEIGHTS":
            return self.weight(context, [obj], WeightOptions(), find_armature(context))
        try:
            REMEDIES[remedy](context, obj)
        except RuntimeError as error:  # an operator that fails has said why
            raise SkinningError(str(error)) from error
        return self.bind(context)

    def finish(self, context: bpy.types.Context, results: list[Result]) -> Any:
        """Write the weights, and bind."""
        super().finish(context, results)
        return self.bind(context)

    def bind(self, context: bpy.types.Context) -> Any:
        """Bind the mesh, unless something else is in the way."""
        context.view_layer.update()
        prepared = take_all(prepare_each([bpy.data.objects[self.mesh]]))
        bind_now(context, prepared)
        for _, error in prepared.failed:
            self.tell(str(error), "WARNING")
        return None if prepared.failed else f"Bound {self.mesh}"


def _switch_on(_context: bpy.types.Context, obj: bpy.types.Object) -> None:
    modifier = find_armature_modifier(obj)
    modifier.show_viewport = modifier.show_render = True


def _leave_edit_mode(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    with context.temp_override(active_object=obj, object=obj):
        bpy.ops.object.mode_set(mode="OBJECT")


REMEDIES: dict[str, Callable[[bpy.types.Context, bpy.types.Object], None]] = {
    "SWITCH_ON": _switch_on,
    "OBJECT_MODE": _leave_edit_mode,
}
"""By `SkinningError.remedy`, but for weights."""

register, unregister = bpy.utils.register_classes_factory((SUPPLE_OT_flip, SUPPLE_OT_make, SUPPLE_OT_remedy))
