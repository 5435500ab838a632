"""Bind and unbind: replace a character's Armature modifier by Supple's, and bring it back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import bpy

from ...bridge import modifiers
from ...bridge.animation.correction_drivers import release_keys
from ...bridge.held import find_again
from ...bridge.meshes.data import mesh_of
from ...bridge.removal import outside_handlers
from ...bridge.rigs import carriers
from ...bridge.rigs.carriers import is_hidden_object
from ...bridge.rigs.joints import remove_unused_joints_objects
from ...bridge.rigs.twist_drivers import stop_driving, stop_driving_removed
from ...deformers import DEFAULT_METHOD, SkinningError
from ...deformers.method import EVALUATIONS
from ...nodes.groups import ensuring_groups_once, remove_unused_groups
from ...settings.events import muted
from ...settings.objects import SETTINGS_VERSION, ObjectSettings, needs_supple, settings_of
from ..left_out import LeftOut, check_any, choose_usable
from ..reports import particle_reports
from ..steps import Steps, take_all
from ..subject.character import is_rigid
from ..subject.looks import RIGID, list_defaults
from ..subject.stack import (
    BoundObject,
    SkinnedObject,
    check_animation,
    check_has_vertices,
    check_not_baked,
    check_not_linked,
    either,
    find_armature_modifier,
    find_replaced_modifier,
    flip,
    is_flipped,
    pass_animation,
    pass_on,
    read_toggles,
    resolve_skinned,
    take_over,
    write_toggles,
)
from ..subject.surfaces import reading_meshes_once
from . import by_nodes, changes
from .baked import check_clearable, clear_bake
from .by_armature import remove_armatures, remove_copied_armatures
from .evaluators import EVALUATORS, find_installed
from .hidden import remove_hidden, unlock_interfaces

_changes = 0


def count_changes() -> int:
    """Another number each time that an object was bound or unbound."""
    return _changes


def _note_change() -> None:
    global _changes
    _changes += 1


def remove_unused() -> None:
    """Remove joints objects, influences, node groups and locks of the interface that no object uses any more."""
    by_nodes.remove_unused_influences()
    outside_handlers(remove_unused_joints_objects)
    outside_handlers(remove_unused_groups)
    unlock_interfaces()


@dataclass(frozen=True)
class Setup:
    """What binds an object.

    Attributes
    ----------
    evaluate : str
        Key of `EVALUATORS`.
    made : object
        What that has prepared.
    problem : str
        Why the object is not evaluated as was wanted; "" where it is.
    """

    evaluate: str
    made: Any
    problem: str = ""


@dataclass(frozen=True)
class Prepared:
    """What `prepare_each` has found: what binds each object, and why others can not be bound."""

    ready: list[tuple[SkinnedObject, Setup]]
    states: list[tuple]
    """Of what is ready, its mesh: what `changes.note_followed` takes."""
    failed: LeftOut


def prepare_each(objects: Iterable[bpy.types.Object], method: str | None = None, evaluate: str | None = None) -> Steps:
    """Steps that find out what binds some objects, and that return `Prepared`; nothing is changed.

    Parameters
    ----------
    objects : Objects
        Meshes with an Armature modifier.
    method : str, optional
        Key of `DEFORMERS`; if not given, what each object's settings say.
    evaluate : str, optional
        "NODES" or "PYTHON". If not given, what each object's settings say, and Python where nodes can not do it.
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
    return found


def prepare_supple(objects: Sequence[bpy.types.Object], method: str = DEFAULT_METHOD) -> Steps:
    """The same for characters that are given a look: by its method with its defaults, rigid meshes as `RIGID` says.

    The settings are set before, and are as they were where the steps do not come to their end.
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
    """Bind what can be bound, and give the others the reason as their message; those that were bound."""
    with ensuring_groups_once():
        for (skinned, setup), state in zip(prepared.ready, prepared.states, strict=True):
            _bind_one(skinned, setup)
            changes.note_followed(skinned.obj, state)
    for obj, error in prepared.failed:
        with suppress(AttributeError):  # what is linked can not be written to
            settings_of(obj).message, settings_of(obj).remedy = str(error), error.remedy
    if prepared.ready:
        remove_unused()
    return [skinned.obj for skinned, *_ in prepared.ready]


def bind(objects: Iterable[bpy.types.Object], method: str, evaluate: str | None = None) -> None:
    """Deform characters by Supple instead of by their Armature modifiers.

    Where one of the objects can not be bound, none is. A bound object is bound anew.

    Parameters
    ----------
    objects, method, evaluate
        See `prepare_each`.

    Raises
    ------
    SkinningError
        Where an object can not be bound; nothing is changed then.
    """
    prepared = _prepare_all(objects, method, evaluate)
    for _, error in prepared.failed:
        raise error
    bind_prepared(prepared)


def bind_each(
    objects: Iterable[bpy.types.Object], method: str | None = None, evaluate: str | None = None
) -> tuple[list[bpy.types.Object], LeftOut]:
    """The same, but what can not be bound is left out: those that were bound, and the others.

    Raises
    ------
    SkinningError
        Where no object can be bound; nothing is changed then.
    """
    prepared = _prepare_all(objects, method, evaluate)
    check_any(prepared.ready, prepared.failed)
    return bind_prepared(prepared), prepared.failed


def _prepare_all(objects: Iterable[bpy.types.Object], method: str | None, evaluate: str | None) -> Prepared:
    if not (objects := list(objects)):
        raise SkinningError("Nothing to bind: select a mesh that has an Armature modifier")
    return take_all(prepare_each(objects, method, evaluate))


def describe_particles(obj: bpy.types.Object) -> str:
    """What Bind has filled an object with, in sentences; empty where its method uses no particles."""
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
        Key of `EVALUATORS`; if None, what the settings say, and what goes instead where that can not do it.

    Raises
    ------
    SkinningError
        Where the object can not be bound.
    """
    key = evaluate or skinned.settings.evaluate
    if key not in EVALUATORS:  # what a later version has stored
        key = next(iter(EVALUATORS))
    try:
        return Setup(key, EVALUATORS[key].prepare(skinned, method))
    except SkinningError as error:
        instead = EVALUATIONS[key].instead
        if evaluate is not None or not instead:
            raise
        problem = str(error)
    return Setup(instead, EVALUATORS[instead].prepare(skinned, method), problem)


def check_bindable(obj: bpy.types.Object) -> SkinnedObject:
    """An object that can be bound; what `prepare` can still find is in its weights and bones.

    Raises
    ------
    SkinningError
        With what is in the way and what to do.
    """
    if obj.type != "MESH":
        raise SkinningError(f"'{obj.name}' is not a mesh: select a mesh that has an Armature modifier")
    if is_hidden_object(obj):
        raise SkinningError(f"'{obj.name}' is a hidden helper object of Supple: select the character")
    check_not_linked(obj)
    if obj.mode == "EDIT":
        raise SkinningError(f"'{obj.name}' is in Edit Mode: leave it first", remedy="OBJECT_MODE")
    check_has_vertices(obj)
    has_supple = settings_of(obj).is_bound or any(map(modifiers.is_supple_modifier, obj.modifiers))
    replaced = find_replaced_modifier(obj) if has_supple else find_armature_modifier(obj)
    if not has_supple and not (replaced.show_viewport or replaced.show_render):
        check_not_baked(obj)
        raise SkinningError(
            f"Armature modifier '{replaced.name}' of '{obj.name}' is disabled: enable it first",
            remedy="SWITCH_ON",
        )
    check_animation(obj, replaced)
    return resolve_skinned(obj, replaced)


def _bind_one(skinned: SkinnedObject, setup: Setup) -> None:
    """Bind one object by what `prepare` has found; where that fails, an object that was not bound is as it was."""
    obj, settings, replaced = skinned.obj, skinned.settings, skinned.replaced
    supple = next(filter(modifiers.is_supple_modifier, obj.modifiers), None)
    is_new = supple is None and not settings.is_bound
    is_deforming = supple is not None and settings.is_bound
    if is_flipped(obj):
        flip([obj], to_armature=False)
    with muted():
        try:
            if not settings.is_bound:
                settings.live_toggles = either(*map(read_toggles, (replaced, *((supple,) if supple else ()))))
            supple = supple or _add_modifier(skinned)
            if not is_deforming:
                write_toggles(supple, settings.live_toggles)
            bound = BoundObject(obj, settings, replaced, skinned.armature, supple)
            settings.version = SETTINGS_VERSION
            settings.armature_modifier = replaced.name
            settings.is_bound = True
            remove_copied_armatures(obj, replaced)
            _install(bound, setup)
            take_over(obj)
            pass_animation(replaced, supple)
            write_toggles(replaced, (False, False))
        except BaseException:
            if is_new:
                _unbind_one(obj)
                remove_unused()
            raise
        settings.is_handed_over = False
        settings.evaluate_problem, settings.is_problem_closed = setup.problem, False
        settings.message = settings.remedy = ""
    _note_change()


def _add_modifier(skinned: SkinnedObject) -> bpy.types.Modifier:
    """Put Supple's modifier into the place of the Armature modifier."""
    replaced = skinned.replaced
    supple = modifiers.add_supple_modifier(skinned.obj, skinned.obj.modifiers.find(replaced.name))
    supple.show_in_editmode = replaced.show_in_editmode
    return supple


def _install(bound: BoundObject, setup: Setup) -> None:
    """Have what was prepared deform an object, and nothing else of Supple's."""
    settings, made = bound.settings, setup.made
    settings.method, settings.evaluate = made.choices.method, setup.evaluate
    settings.bound_groups = "\n".join(made.groups)
    settings.bound_space = made.bound_space
    EVALUATORS[setup.evaluate].install(bound, made)
    _forget(bound.obj, setup.evaluate)


def _forget(obj: bpy.types.Object, evaluate: str = "") -> None:
    """Have all evaluators but one drop what they remember of an object, and remove what that one does not need."""
    settings = settings_of(obj)
    for key, evaluator in EVALUATORS.items():
        if key != evaluate:
            evaluator.forget(obj)
    stop_driving_removed(obj)
    if mesh_of(obj).shape_keys is None and mesh_of(obj).is_editable:
        release_keys(obj, ())  # Convert and Apply remove keys alone
    if evaluate and EVALUATIONS[evaluate].needs_supple:
        remove_armatures(obj)
    else:
        remove_hidden(settings)
        settings.particles.property_unset("bound_count")


def follow_settings(obj: bpy.types.Object) -> None:
    """Bring a bound object to what its settings have become; where nodes can not do it, Python goes on."""
    settings = settings_of(obj)
    if not settings.is_bound or obj.library is not None:
        return
    before = find_installed(obj)
    if settings.evaluate == before:
        if EVALUATORS[before].follows_settings(obj):
            return
        if settings.evaluate_problem:  # what was wanted may do the other method
            _set_evaluate(settings, next(each.key for each in EVALUATIONS.values() if each.instead == before))
    try:
        skinned = check_bindable(obj)
        setup = prepare(skinned, settings.method, None)
    except SkinningError:
        _set_evaluate(settings, before)
        raise
    _bind_one(skinned, setup)
    remove_unused()


def _set_evaluate(settings: ObjectSettings, evaluate: str) -> None:
    """Choose what evaluates; nothing follows yet."""
    with muted():
        settings.evaluate = evaluate


KEPT = {"name", "rna_type", "own_modifiers"}
"""Settings of objects that are made independent: what blends their joints goes on."""


def make_independent(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Detach characters from Supple: the settings are dropped, and the node modifier goes on deforming them.

    Returns
    -------
    list of Object
        Those that were detached.

    Raises
    ------
    SkinningError
        Where one of the objects is not evaluated by nodes; nothing is changed then.
    """
    bound = [obj for obj in objects if obj.type == "MESH" and settings_of(obj).is_bound]
    if not bound:
        raise SkinningError("Nothing to make independent: select a mesh that is bound")
    for obj in bound:
        if needs_supple(settings_of(obj)):
            raise SkinningError(
                f"'{obj.name}' is deformed by Python, which needs Supple: choose Deform With: Nodes first"
            )
        check_not_baked(obj)
    for obj in bound:
        _forget(obj)
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
        Where none of the objects is bound, or all are left out.
    """
    bound = [obj for obj in objects if obj.type == "MESH" and settings_of(obj).is_bound]
    if not bound:
        raise SkinningError("Nothing to unbind: select a mesh that is bound")
    free, left_out = choose_usable(bound, check_not_linked, check_clearable)
    for obj in free:
        _unbind_one(obj)
    remove_unused()
    return left_out


def _unbind_one(obj: bpy.types.Object) -> None:
    settings = settings_of(obj)
    clear_bake(obj)
    pass_on(obj)
    replaced = None
    with suppress(SkinningError):  # the user may have removed it
        replaced = find_replaced_modifier(obj)
        if not settings.is_handed_over:  # Supple's own was removed, and could not hand over
            write_toggles(replaced, settings.live_toggles)
    remove_copied_armatures(obj, replaced)
    remove_armatures(obj)
    for modifier in [modifier for modifier in obj.modifiers if modifiers.is_supple_modifier(modifier)]:
        stop_driving(modifier)
        modifiers.remove_modifier(obj, modifier, replaced)
    _forget(obj)
    _note_change()
    for name in (
        "is_bound", "is_handed_over", "armature_modifier", "bound_groups", "bound_space", "live_toggles", "message",
        "offers_layers", "remedy", "evaluate_problem", "is_problem_closed",
    ):  # fmt: skip
        settings.property_unset(name)


def migrate(obj: bpy.types.Object) -> None:
    """Bring settings that an older Supple has saved up to date."""
    settings = settings_of(obj)
    with muted():
        if settings.version < 2:
            settings.evaluate = "PYTHON"  # there were no nodes yet
        if settings.version < 3:
            for hidden in (settings.carrier, settings.watcher):  # they bore no mark yet
                carriers.mark_former(hidden)
        if settings.version < 4:
            settings.twist = "OFF"  # joints had no fractions yet
        if settings.version < 5 and not settings.is_property_set("centers_contact"):
            settings.centers_contact = 1.0  # was the default
        if settings.version < 6 and not settings.is_property_set("limb_roots"):
            settings.limb_roots = 0.0  # limbs began as all joints did
        if settings.version < 7 and settings.method == "CENTERS":  # it had these for itself
            settings.bulge_limit, settings.contact = settings.centers_bulge_limit, settings.centers_contact
            settings.defaults_of = settings.method
    if settings.version < SETTINGS_VERSION:
        settings.version = SETTINGS_VERSION
