"""Bind and unbind: install the modifiers, bones and drivers of a method on a character, and remove them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import bpy

from ...bridge.animation.correction_drivers import release_keys
from ...bridge.changes import without_changes
from ...bridge.held import find_again
from ...bridge.meshes.data import mesh_of
from ...bridge.removal import outside_handlers
from ...bridge.rigs.carriers import is_hidden_object
from ...bridge.rigs.joints import remove_unused_joints_objects
from ...bridge.rigs.segments import Roll
from ...deformers import DEFAULT_METHOD, Rest, SkinningError
from ...deformers.method import BLENDER, PYTHON
from ...nodes.groups import ensuring_groups_once, remove_unused_groups
from ...settings.choices import find_method
from ...settings.events import muted
from ...settings.objects import SETTINGS_VERSION, needs_supple, settings_of
from ..left_out import LeftOut, check_any, choose_usable
from ..reports import particle_reports
from ..steps import Steps, take_all
from ..subject.character import is_rigid, read_character
from ..subject.corrected import find_deforming_armature
from ..subject.looks import RIGID, list_defaults
from ..subject.stack import (
    SkinnedObject,
    check_animation,
    check_has_vertices,
    check_not_baked,
    check_not_linked,
    either,
    find_armature_modifier,
    find_replaced_modifier,
    is_former,
    list_copies,
    read_toggles,
    resolve_skinned,
    take_over,
)
from ..subject.surfaces import reading_meshes_once
from . import by_python, changes
from .baked import check_clearable, clear_bake
from .by_blender import remove_copies
from .evaluators import EVALUATORS
from .hidden import unlock_interfaces
from .muting import follow_muted, mute
from .poses import find_skeleton
from .segments import list_wanting, plan_rolls, release_rolls, wants_rolls, write_rolls

_changes = 0


def count_changes() -> int:
    """Another number each time that an object was bound or unbound."""
    return _changes


def _note_change() -> None:
    global _changes
    _changes += 1


def remove_unused() -> None:
    """Remove joints objects, node groups and locks of the interface that no object uses any more."""
    outside_handlers(remove_unused_joints_objects)
    outside_handlers(remove_unused_groups)
    unlock_interfaces()


@dataclass(frozen=True)
class Setup:
    """The prepared installation of an object.

    Attributes
    ----------
    evaluate : str
        Key of `EVALUATORS`.
    made : object
        Its result of `prepare`.
    problem : str
        Why the object is not evaluated as requested; "" if it is.
    """

    evaluate: str
    made: Any
    problem: str = ""


@dataclass(frozen=True)
class Prepared:
    """The result of `prepare_each`: setups of objects, and errors of the others."""

    ready: list[tuple[SkinnedObject, Setup]]
    states: list[tuple]
    """Mesh states of the ready objects, for `changes.note_followed`."""
    failed: LeftOut
    rolls: dict[int, tuple[bpy.types.Object, tuple[Roll, ...]]] = field(default_factory=dict)
    """Rolls of each armature, by `session_uid`."""
    notes: list[str] = field(default_factory=list)
    """Further messages after binding."""


def prepare_each(objects: Iterable[bpy.types.Object], method: str | None = None, evaluate: str | None = None) -> Steps:
    """Steps that prepare to bind objects, and return `Prepared`; nothing is changed.

    Parameters
    ----------
    objects : Objects
        Meshes with an Armature modifier.
    method : str, optional
        Key of `DEFORMERS`; by default that of each object's settings.
    evaluate : str, optional
        Key of `EVALUATORS`. By default that of the method, or Python if that fails.
    """
    objects, found = list(objects), Prepared([], [], [])
    with reading_meshes_once():
        for number, obj in enumerate(objects):
            yield number / len(objects)
            try:
                skinned = check_bindable(obj)
                found.ready.append((skinned, prepare(skinned, method or skinned.settings.method, evaluate)))
                found.states.append(changes.read_state(obj))
            except SkinningError as error:
                found.failed.append((obj, error))
        for armature in dict.fromkeys(skinned.armature for skinned, _ in found.ready):
            yield 1.0
            found.rolls[armature.session_uid] = armature, _plan_rolls(armature, found.ready)
    return found


def _plan_rolls(armature: bpy.types.Object, ready: list[tuple[SkinnedObject, Setup]]) -> tuple[Roll, ...]:
    """The bones of an armature that are to roll, by all meshes that are bound, or are to be bound, to it."""
    setups = {skinned.obj: setup for skinned, setup in ready if skinned.armature == armature}
    rests = [
        setup.made.rest
        for obj, setup in setups.items()
        if wants_rolls(settings_of(obj), setup.made.choices.method) and setup.made.rest is not None
    ]
    for obj in list_wanting(armature):
        if obj not in setups:
            with suppress(SkinningError):
                rests.append(read_bound_rest(obj))
    return plan_rolls(armature, rests) if rests else ()


def read_bound_rest(obj: bpy.types.Object) -> Rest:
    """A bound object at rest, as `prepare` reads it; raises SkinningError as that does."""
    skinned = resolve_skinned(obj, find_replaced_modifier(obj))
    return read_character(skinned, find_skeleton(skinned.armature)).rest


def prepare_supple(objects: Sequence[bpy.types.Object], method: str = DEFAULT_METHOD) -> Steps:
    """Steps that prepare to give characters a look: by its method with the defaults, rigid meshes by `RIGID`.

    The settings are written first, and restored if the steps do not reach their end.
    """
    former = []
    try:
        with muted():
            for obj in objects:
                if obj.is_editable:
                    settings = settings_of(obj)
                    chosen = list_defaults(method) | (RIGID if is_rigid(obj) else {})
                    former += [(obj.session_uid, name, getattr(settings, name)) for name in chosen]
                    for name, value in chosen.items():
                        setattr(settings, name, value)
        return (yield from prepare_each(objects, method))
    except BaseException:
        with muted():
            for uid, name, value in former:
                if (obj := find_again(uid)) is not None:  # it may have been deleted between two steps
                    setattr(settings_of(obj), name, value)
        raise


def bind_prepared(prepared: Prepared) -> list[bpy.types.Object]:
    """Bind the ready objects, and give the others the reason as their message; returns the bound objects."""
    with ensuring_groups_once(), without_changes():  # armatures that are edited meanwhile call handlers
        for (skinned, setup), state in zip(prepared.ready, prepared.states, strict=True):
            _bind_one(skinned, setup)
            changes.note_followed(skinned.obj, state)
    for armature, rolls in prepared.rolls.values():
        if problem := write_rolls(armature, rolls):
            prepared.notes.append(problem)
    for obj, error in prepared.failed:
        with suppress(AttributeError):  # what is linked can not be written to
            settings_of(obj).message, settings_of(obj).remedy = str(error), error.remedy
    if prepared.ready:
        remove_unused()
    return [skinned.obj for skinned, *_ in prepared.ready]


def bind_each(
    objects: Iterable[bpy.types.Object], method: str | None = None, evaluate: str | None = None
) -> tuple[list[bpy.types.Object], LeftOut]:
    """Have Supple deform characters by a method, those that are bound anew: the bound ones, and those left out.

    Parameters
    ----------
    objects, method, evaluate
        See `prepare_each`.

    Raises
    ------
    SkinningError
        If no object can be bound; nothing is changed then.
    """
    if not (objects := list(objects)):
        raise SkinningError("Nothing to bind: select a mesh that has an Armature modifier")
    prepared = take_all(prepare_each(objects, method, evaluate))
    check_any(prepared.ready, prepared.failed)
    return bind_prepared(prepared), prepared.failed


def describe_particles(obj: bpy.types.Object) -> str:
    """Sentences about an object's particles; empty if its method uses none."""
    report = particle_reports.find(obj)
    if report is None:
        return ""
    parts = [f"{report.count:,} particles"]
    if report.solid_share is not None:
        parts.append(f"{report.solid_share:.0%} of the skin is solid".replace("%", " %"))
    return " ".join(f"{sentence.removesuffix('.')}." for sentence in (", ".join(parts), *report.messages))


def prepare(skinned: SkinnedObject, method: str, evaluate: str | None) -> Setup:
    """What binds an object.

    Parameters
    ----------
    method : str
        Key of `DEFORMERS`.
    evaluate : str or None
        Key of `EVALUATORS`; None for that of the method, or Python if that fails.

    Raises
    ------
    SkinningError
        If the object cannot be bound.
    """
    key = evaluate or find_method(method).evaluation
    try:
        return Setup(key, EVALUATORS[key].prepare(skinned, method))
    except SkinningError as error:
        if evaluate is not None or key in (BLENDER, PYTHON):
            raise
        problem = str(error)
    return Setup(PYTHON, EVALUATORS[PYTHON].prepare(skinned, method), problem)


def check_bindable(obj: bpy.types.Object) -> SkinnedObject:
    """Check that an object can be bound, apart from its weights and bones, which `prepare` checks.

    Raises
    ------
    SkinningError
        With what is in the way and what to do.
    """
    if is_former(obj):
        raise SkinningError(
            f"'{obj.name}' was bound by an earlier version of Supple: press Update Character", remedy="UPDATE"
        )
    return check_skinned(obj)


def check_skinned(obj: bpy.types.Object) -> SkinnedObject:
    """Check as `check_bindable` does, whatever deforms the object now."""
    if obj.type != "MESH":
        raise SkinningError(f"'{obj.name}' is not a mesh: select a mesh that has an Armature modifier")
    if is_hidden_object(obj):
        raise SkinningError(f"'{obj.name}' is a hidden helper object of Supple: select the character")
    check_not_linked(obj)
    if obj.mode == "EDIT":
        raise SkinningError(f"'{obj.name}' is in Edit Mode: leave it first", remedy="OBJECT_MODE")
    check_has_vertices(obj)
    is_replaced = settings_of(obj).is_bound or is_former(obj)
    replaced = find_replaced_modifier(obj) if is_replaced else find_armature_modifier(obj)
    if not is_replaced and not any(either(*map(read_toggles, (replaced, *list_copies(obj))))):
        check_not_baked(obj)
        raise SkinningError(
            f"Armature modifier '{replaced.name}' of '{obj.name}' is disabled: enable it first",
            remedy="SWITCH_ON",
        )
    check_animation(obj, replaced)
    return resolve_skinned(obj, replaced)


def _bind_one(skinned: SkinnedObject, setup: Setup) -> None:
    """Bind one object by its setup; on failure, an object that was not bound is as before."""
    obj, settings, replaced = skinned.obj, skinned.settings, skinned.replaced
    is_new, made = not settings.is_bound, setup.made
    if settings.is_muted:
        mute([obj], is_muted=False, has_flesh=True)
    with muted():
        try:
            remove_copies(obj, replaced)
            if is_new:
                settings.live_toggles = read_toggles(replaced)
                settings.had_preserve_volume = replaced.use_deform_preserve_volume
            else:
                take_over(obj)
                if settings.evaluate != setup.evaluate:
                    _take_off(obj, replaced)
            settings.version, settings.is_bound = SETTINGS_VERSION, True
            settings.armature_modifier = replaced.name
            settings.method, settings.evaluate = made.choices.method, setup.evaluate
            settings.bound_groups = "\n".join(made.groups)
            settings.bound_space = made.bound_space
            EVALUATORS[setup.evaluate].install(skinned, made)
        except BaseException:
            if is_new:
                _unbind_one(obj)
                remove_unused()
            raise
        settings.is_handed_over = False
        settings.evaluate_problem, settings.is_problem_closed = setup.problem, False
        settings.message = settings.remedy = ""
    if mesh_of(obj).shape_keys is None and mesh_of(obj).is_editable:
        release_keys(obj, ())  # Convert and Apply remove keys alone
    _note_change()


def follow_settings(obj: bpy.types.Object) -> None:
    """Bring a bound object up to its changed settings."""
    settings = settings_of(obj)
    if not settings.is_bound or obj.library is not None:
        return
    if settings.evaluate == PYTHON and not by_python.has_other_evaluation(obj):
        return  # compared at each step
    prepared = take_all(prepare_each([obj]))
    bind_prepared(prepared)
    for _, error in prepared.failed:
        raise error


def follow_spread(data: bpy.types.Armature) -> None:
    """Have limbs of bound meshes take up twists as was chosen for bones, unless the armature is linked."""
    for armature in [obj for obj in bpy.data.objects if obj.data == data]:
        if list_wanting(armature):
            write_rolls(armature, _plan_rolls(armature, []))
            follow_muted(armature)


# Settings of objects that are made independent: what blends their joints goes on
KEPT = {"name", "rna_type", "own_modifiers"}


def make_independent(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Detach characters from Supple: the settings are dropped, and Blender's own modifiers go on deforming them.

    Returns
    -------
    list of Object
        Those that were detached.

    Raises
    ------
    SkinningError
        If one of the objects is evaluated by Python; nothing is changed then.
    """
    bound = [obj for obj in objects if obj.type == "MESH" and settings_of(obj).is_bound]
    if not bound:
        raise SkinningError("Nothing to make independent: select a mesh that is bound")
    for obj in bound:
        if needs_supple(settings_of(obj)):
            raise SkinningError(
                f"'{obj.name}' is deformed by Python, which needs Supple: choose another method first, or bake it"
            )
        check_not_baked(obj)
    for obj in bound:
        settings = settings_of(obj)
        with muted():
            for name in settings.bl_rna.properties.keys():
                if name not in KEPT and "pattern" not in name:  # patterns do without Bind
                    settings.property_unset(name)
    _note_change()
    return bound


def unbind(objects: Iterable[bpy.types.Object]) -> LeftOut:
    """Let Armature modifiers deform characters again, as before Bind. Bakes are removed; patterns do without Bind.

    Returns
    -------
    LeftOut
        Objects that are linked, or whose bake is not to be removed: they stay as they are.

    Raises
    ------
    SkinningError
        If none of the objects is bound, or all are left out.
    """
    bound = [obj for obj in objects if obj.type == "MESH" and settings_of(obj).is_bound]
    if not bound:
        raise SkinningError("Nothing to unbind: select a mesh that is bound")
    free, left_out = choose_usable(bound, check_not_linked, check_clearable)
    armatures = [find_deforming_armature(obj) for obj in free]
    for obj in free:
        _unbind_one(obj)
    release_rolls(armatures)
    remove_unused()
    return left_out


def _unbind_one(obj: bpy.types.Object) -> None:
    settings = settings_of(obj)
    clear_bake(obj)
    replaced = None
    with suppress(SkinningError):  # the user may have removed it
        replaced = find_replaced_modifier(obj)
    with muted():
        settings.is_muted = False
    _take_off(obj, replaced)
    remove_copies(obj, replaced)
    if mesh_of(obj).shape_keys is None and mesh_of(obj).is_editable:
        release_keys(obj, ())  # Convert and Apply remove keys alone
    _note_change()
    for name in (
        "is_bound", "is_handed_over", "is_muted", "armature_modifier", "bound_groups", "bound_space", "live_toggles",
        "message", "offers_layers", "remedy", "evaluate", "evaluate_problem", "is_problem_closed",
        "had_preserve_volume",
    ):  # fmt: skip
        settings.property_unset(name)


def _take_off(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier | None) -> None:
    """Remove everything that deforms an object; if a later version has chosen its evaluator, everything this one
    knows."""
    evaluator = EVALUATORS.get(settings_of(obj).evaluate)
    for each in EVALUATORS.values() if evaluator is None else (evaluator,):
        each.remove(obj, replaced)
