"""The character as a whole: make it supple, flip it to Blender's own modifier, fix the problems of its meshes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
from bpy.props import EnumProperty, StringProperty

from ...bridge.held import find_again
from ...bridge.rigs.carriers import is_hidden_object
from ...deformers import METHODS, SkinningError
from ...options import LOOKS, FleshOptions, Look, WeightOptions
from ...settings.character import find_armature, find_holder, list_meshes, list_ticked
from ...settings.objects import settings_of
from ...tasks.flesh.add import add_flesh
from ...tasks.layers.add import offer_layers
from ...tasks.skin.bind import prepare_each, prepare_supple
from ...tasks.skin.former import update_former
from ...tasks.skin.muting import mute
from ...tasks.steps import Steps, take_all, within
from ...tasks.subject.character import has_armature_modifier, lacks_weights
from ...tasks.subject.corrected import list_flesh
from ...tasks.subject.looks import has_settings_of_look, shows_flesh
from ...tasks.subject.stack import armature_modifiers, find_armature_modifier, list_former
from ...tasks.weights import automatic as weights
from ...tasks.weights.checks import list_doubts
from ...tasks.weights.reports import Report
from ..base import SKIP, SuppleOperator
from ..computing import ComputingOperator
from ..corrections.sculpted import out_of_mode
from ..selection import chosen_armature
from ..skin.bind import bind_now
from ..weights.automatic import WeightsOperator, weigh


def needs_bound_character(context: bpy.types.Context) -> str:
    is_there = any(settings_of(obj).is_bound for obj in list_meshes(context))
    return "" if is_there else "Select a mesh that is bound, or its armature"


def needs_character(context: bpy.types.Context) -> str:
    are_there = any(character.unbound or character.bound for character in list_characters(context)[0])
    return "" if are_there else "Select a mesh that has an Armature modifier, its armature, or meshes and an armature"


def needs_refused(context: bpy.types.Context) -> str:
    are_there = any(settings_of(obj).remedy for obj in list_meshes(context))
    return (
        "" if are_there else "Select a mesh that has an Armature modifier and that Bind could not bind, or its armature"
    )


class SUPPLE_OT_flip(SuppleOperator, bpy.types.Operator):
    """Switch between Blender's own deformation, as before Bind, and Supple's, in viewport and renders"""

    bl_label = "Flip to Blender"
    requires = (needs_bound_character,)

    def run(self, context: bpy.types.Context) -> None:
        bound = [obj for obj in list_meshes(context) if settings_of(obj).is_bound]
        is_muted = not any(settings_of(obj).is_muted for obj in bound)
        self.tell_left_out(mute(bound, is_muted, has_flesh=not is_muted))


def needs_former(context: bpy.types.Context) -> str:
    return "" if list_former(list_meshes(context)) else "Select a mesh that an earlier version of Supple has bound"


class SUPPLE_OT_update(SuppleOperator, bpy.types.Operator):
    """Replace what an earlier version of Supple has put into this character by what Bind makes now"""

    bl_label = "Update Character"
    requires = (needs_former,)

    def run(self, context: bpy.types.Context) -> None:
        context.view_layer.update()  # objects may have moved
        updated = update_former(list_former(list_meshes(context)))
        self.tell_left_out(updated.left_out)
        for note in updated.notes:
            self.tell(note, "WARNING")
        for change in updated.changes:
            self.tell(change.describe())


LOOK_ITEMS = tuple((look.key, look.label, look.tooltip) for look in LOOKS.values())


class SUPPLE_OT_make(ComputingOperator, bpy.types.Operator):
    """Add automatic weights to the character's meshes that have none, and bind unbound meshes so that they bend well"""

    bl_label = "Make Supple"
    requires = (needs_character,)
    subject = "the meshes"
    canceled = "Make Supple canceled: nothing was changed"

    look: EnumProperty(
        name="Look",
        description="How the character deforms. If it is bound already, all of its ticked meshes get the look",
        items=LOOK_ITEMS,
        options=SKIP,
    )

    def run(self, context: bpy.types.Context) -> Any:
        self._is_watched, self._bound, self._has_weights = self.is_interactive, 0, False
        look = LOOKS[self.look]
        characters, left = list_characters(context)
        if not self.is_set("look"):  # bound meshes with other settings stay as they are
            for character in characters:
                bound = character.bound if character.unbound else []
                character.bound = [obj for obj in bound if is_of_look(obj) and shows_flesh(obj)]
        if left:
            self.tell(f"Left as they are: {', '.join(obj.name for obj in left)}")
        if not look.method:
            self.is_interactive = False  # Redo executes this instance
            return self.mute([obj for character in characters for obj in character.bound])
        if not any(character.unbound or character.bound for character in characters):
            raise SkinningError("All ticked meshes are bound: choose a look for them")
        self.computes = look.has_flesh
        context.view_layer.update()  # objects may have moved
        return self.take(context, self.make_all(characters, look))

    def make_all(self, characters: Sequence[Character], look: Look) -> Steps[str]:
        """Make one character after the other; returns a message on all of them."""
        messages = []
        for number, character in enumerate(characters):
            if character.unbound or character.bound:
                steps = self.make_character(character, look)
                try:
                    message = yield from within(steps, number / len(characters), 1.0 / len(characters))
                except SkinningError as error:
                    if len(characters) == 1:
                        raise
                    message = str(error)
                messages.append(message if len(characters) == 1 else f"{character.armature.name}: {message}")
        return ". ".join(messages)

    def make_character(self, character: Character, look: Look) -> Steps[str]:
        """Weight, bind and add flesh; returns a message. Esc undoes all before Bind."""
        armature, bound = character.armature, character.bound
        to_bind = [*character.unbound, *(obj for obj in bound if not is_of_look(obj, look))]
        parts, uids = [], [obj.session_uid for obj in to_bind]
        unweighted = [obj for obj in to_bind if lacks_weights(obj, armature)]
        if unweighted:
            made_for = yield from self.weight(unweighted, armature, len(to_bind) + len(bound) > len(unweighted))
            uids = [obj.session_uid for obj in to_bind if obj not in unweighted or obj.name in made_for]
            parts += [f"weights were made for {', '.join(made_for)}"] if made_for else []
            bpy.context.view_layer.update()
        objects = [obj for uid in uids if (obj := find_again(uid)) is not None]
        for doubt in list_doubts([obj for obj in objects if obj not in unweighted]):
            self.tell(doubt)
        prepared = yield from prepare_supple(objects, look.method)
        made = bind_now(bpy.context, prepared)
        self._bound += len(made)
        for _, error in prepared.failed:
            self.tell(str(error), "WARNING")
        kept = [obj for obj in bound if obj not in to_bind]
        if made or kept:
            self.tell_left_out(mute([*made, *kept], is_muted=False, has_flesh=look.has_flesh))
        bare = [obj for obj in (*made, *kept) if not list_flesh([obj])]
        if look.has_flesh and (made or bare):
            parts += yield from self.add_flesh([*made, *kept])
        ticked = [obj for obj in list_meshes(bpy.context, armature) if settings_of(obj).is_ticked]
        if made and (offer := offer_layers(armature, ticked)):
            self.tell(offer)
        done, all_of_them, method = len(made) + len(kept), len(to_bind) + len(kept), METHODS[look.method].label
        return "; ".join([describe_bound(done, all_of_them, method), *parts])

    def weight(self, meshes: list[bpy.types.Object], armature: bpy.types.Object, has_others: bool) -> Steps[list[str]]:
        """Make weights; returns the names of the meshes that got some. With other meshes, failing is a warning."""
        try:
            jobs = weights.prepare(meshes, WeightOptions(), armature)
        except SkinningError as error:
            if not has_others:
                raise
            self.tell(str(error), "WARNING")
            return []
        made_for = [obj.name for job in jobs for part in job.skin.parts for obj in (part.obj, *part.sharers)]
        for report in (yield from weigh(jobs)):
            self.tell(" ".join(report.summarize()), "WARNING" if report.left_out else "INFO")
        self._has_weights = True
        return made_for

    def add_flesh(self, meshes: list[bpy.types.Object]) -> Steps[list[str]]:
        """Add flesh, after the window shows the bound meshes; returns parts of the message."""
        self.subject, self._start = "the flesh", time.monotonic()
        if self._is_watched:
            yield None
        try:
            steps = add_flesh(meshes, FleshOptions("QUICK"))
            report = yield from (out_of_mode(bpy.context, steps) if self._is_watched else steps)
        except SkinningError as error:
            self.tell(str(error))
            return []
        for line in report.describe() if report.keys else (*report.notes, *report.left_out):
            self.tell(line)
        return [] if report.keys else ["no flesh was needed"]

    def mute(self, bound: list[bpy.types.Object]) -> str:
        """Let Blender's own modifier deform meshes, without flesh, and keep all that Supple has stored."""
        shown = [obj for obj in bound if not settings_of(obj).is_muted]
        if not shown:
            return "Blender's own Armature modifier deforms these meshes already"
        left_out = mute(shown, is_muted=True, has_flesh=False)
        self.tell_left_out(left_out)
        count = len(shown) - len(left_out)
        if count == 1:
            return "1 mesh is deformed by Blender's own Armature modifier"
        return f"{count} meshes are deformed by Blender's own Armature modifier"

    def stop(self) -> Any:
        if not self._bound and self._has_weights:
            self.tell("Make Supple canceled: weights were made, no mesh was bound")
            return {"FINISHED"}
        if not self._bound:
            return super().stop()
        self.tell("Flesh canceled: the meshes are bound without it")
        return {"FINISHED"}


def describe_bound(done: int, count: int, method: str) -> str:
    """A message on how many meshes are bound."""
    if count == 1:
        return f"{done} mesh is bound by {method}" if done else "No mesh is bound"
    return f"{done} of {count} meshes are bound by {method}"


def is_of_look(obj: bpy.types.Object, look: Look | None = None) -> bool:
    """Whether a mesh is bound with the method and settings of a look, or of any look; flesh and muting do not count."""
    settings = settings_of(obj)
    is_of_method = look is None or settings.method == look.method
    return settings.is_bound and is_of_method and has_settings_of_look(obj)


@dataclass
class Character:
    """An armature, and its meshes that Make Supple binds or changes."""

    armature: bpy.types.Object
    unbound: list[bpy.types.Object]
    bound: list[bpy.types.Object]


def list_characters(context: bpy.types.Context) -> tuple[list[Character], list[bpy.types.Object]]:
    """The active and the selected characters, and selected meshes that belong to none, such as props.

    A selected armature also gets selected meshes that nothing deforms yet: all of them if it is the only selected
    armature, otherwise those parented to it.
    """
    meshes = [obj for obj in context.selected_objects if obj.type == "MESH" and not is_hidden_object(obj)]
    selected = [obj for obj in context.selected_objects if obj.type == "ARMATURE"]
    chosen = [find_armature(context), chosen_armature(context), *selected]
    chosen += [modifier.object for obj in meshes for modifier in armature_modifiers(obj)]
    armatures = [armature for armature in dict.fromkeys(chosen) if armature is not None]
    free = [obj for obj in meshes if not has_armature_modifier(obj) and not settings_of(obj).is_handle]
    hanging = {obj for obj in free if find_holder(obj) is not None}
    characters, left = [], list(free)
    for armature in armatures:
        ticked = list_ticked(context, armature)
        own = [obj for obj in free if obj not in hanging and (len(selected) == 1 or obj.parent == armature)]
        own = own if armature in selected else []
        left = [obj for obj in left if obj not in own]
        unbound = [obj for obj in ticked if not settings_of(obj).is_bound]
        bound = [obj for obj in ticked if settings_of(obj).is_bound]
        characters.append(Character(armature, [*unbound, *own], bound))
    return characters, left


class SUPPLE_OT_remedy(WeightsOperator, bpy.types.Operator):
    """Fix the problem that prevents binding this mesh, and bind it"""

    bl_label = "Remedy"
    requires = (needs_refused,)

    mesh: StringProperty(name="Mesh", description="Name of the mesh object", options=SKIP)

    def run(self, context: bpy.types.Context) -> Any:
        obj = next((obj for obj in list_meshes(context) if obj.name == self.mesh), None)
        remedy = settings_of(obj).remedy if obj is not None else ""
        if obj is None or not remedy:
            raise SkinningError(f"'{self.mesh}' has no problem that can be fixed: press Bind")
        if remedy == "WEIGHTS":
            return self.take(context, weigh(weights.prepare([obj], WeightOptions(), find_armature(context))))
        try:
            REMEDIES[remedy](context, obj)
        except RuntimeError as error:  # an operator that fails has said why
            raise SkinningError(str(error)) from error
        return self.bind(context)

    def finish(self, context: bpy.types.Context, reports: list[Report]) -> Any:
        """Report the weights, and bind."""
        super().finish(context, reports)
        return self.bind(context)

    def bind(self, context: bpy.types.Context) -> Any:
        """Bind the mesh, unless it has another problem."""
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


# By `SkinningError.remedy`; weights take steps, and are not here
REMEDIES: dict[str, Callable[[bpy.types.Context, bpy.types.Object], Any]] = {
    "UPDATE": lambda _context, obj: update_former([obj]),
    "SWITCH_ON": _switch_on,
    "OBJECT_MODE": _leave_edit_mode,
}
