"""Evaluation by Python: the cache of each bound object between frames, and one step of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge import modifiers
from ...bridge.meshes.data import mesh_of, read_key_values
from ...bridge.per_object import PerObject
from ...bridge.rigs import carriers
from ...deformers import Pose, SkinningError
from ...deformers.method import PYTHON
from ...nodes.carrier import TRANSFORMS_SOCKET, ensure_carrier_group
from ...settings.choices import BAKING, DRAGGING, find_method
from ...settings.objects import PARTICLE_METHODS, settings_of
from ..reports import ParticleReport, particle_reports, pose_times
from ..subject.character import (
    check_bound_groups,
    check_modifiers_above,
    check_modifiers_below,
    modifiers_above,
    object_to_armature,
)
from ..subject.stack import (
    BoundObject,
    SkinnedObject,
    check_blends,
    check_deformed_once,
    is_deformed_by_parent,
    pass_animation,
    pass_on,
    read_toggles,
    resolve,
    swap,
    write_toggles,
)
from ..subject.surfaces import is_one_changed
from .hidden import give_hidden, lock_interface, remove_hidden
from .model import VALUES, Choices, FollowingSkin, PosableSkin, SkinSource, find_space
from .poses import PosedArmature
from .step import Step, is_baking, rough

# Object modes in which the user edits the rest shape
RESHAPING_MODES = {"EDIT", "SCULPT"}


@dataclass(eq=False)
class LiveObject(FollowingSkin):
    """The cached state of a bound object between frames.

    Attributes
    ----------
    shown : tuple
        Content of the carrier: its `session_uid`, the kind, the result.
    """

    shown: tuple = ()


# The bound objects that Python deforms
_live: PerObject[LiveObject] = PerObject()


def prepare(skinned: SkinnedObject, method: str) -> PosableSkin:
    """Bind an object to its skeleton, as both are in the file; nothing of it is changed.

    Parameters
    ----------
    method : str
        Key of `DEFORMERS`.

    Raises
    ------
    SkinningError
        If its modifiers, weights or bones do not allow it.
    """
    check_modifiers_above(skinned, modifiers_above(skinned.obj, skinned.deforming))
    check_modifiers_below(skinned)
    check_blends(skinned.obj, skinned.replaced)
    return PosableSkin.of(replace(SkinSource.of(skinned, Choices.read(skinned, method)), is_bound_anew=True))


def install(skinned: SkinnedObject, setup: PosableSkin) -> None:
    """Have Python deform an object, through a carrier, in the place of its Armature modifier."""
    obj, settings, replaced = skinned.obj, skinned.settings, skinned.replaced
    supple = next(filter(modifiers.is_supple_modifier, obj.modifiers), None)
    toggles, is_new = read_toggles(replaced), supple is None
    if supple is None:
        supple = modifiers.add_supple_modifier(obj, obj.modifiers.find(replaced.name))
        supple.show_in_editmode = replaced.show_in_editmode
    if is_new or any(toggles):
        write_toggles(supple, toggles if any(toggles) else settings.live_toggles)
    supple.node_group = ensure_carrier_group()
    carrier = settings.carrier
    if not carriers.is_own(carrier) or len(mesh_of(carrier).vertices) != len(mesh_of(obj).vertices):
        remove_hidden(settings)
    give_hidden(resolve(obj))
    pass_animation(replaced, supple)
    write_toggles(replaced, (False, False))
    keep(obj, setup)
    lock_interface(obj)


def remove(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier | None) -> None:
    """Remove the node modifier, the carrier and the watcher: the object's own modifier deforms it again."""
    settings = settings_of(obj)
    pass_on(obj)
    if replaced is not None and not settings.is_handed_over and settings.bake == "NONE":
        write_toggles(replaced, settings.live_toggles)  # Supple's own was removed, and could not hand over
    settings.property_unset("is_handed_over")
    for modifier in list(filter(modifiers.is_supple_modifier, obj.modifiers)):
        modifiers.remove_modifier(obj, modifier, replaced)
    forget(obj)
    remove_hidden(settings)
    settings.particles.property_unset("bound_count")


def mute(bound: BoundObject, is_muted: bool) -> None:
    """Have an object's own modifier deform it, or Python again."""
    swap(bound.obj, to_armature=is_muted)


def forget(obj: bpy.types.Object) -> None:
    """Drop an object from the cache, with its reports: it is bound anew when it is next shown."""
    for known in (_live, rough, particle_reports, pose_times):
        known.forget(obj)


def keep(obj: bpy.types.Object, bound: PosableSkin) -> LiveObject:
    """Put what `prepare` has made of an object into the cache, with its report on particles."""
    known, binding = _live.find(obj), bound.binding
    is_same = known is not None and known.bound.binding is binding
    live = _live.keep(obj, LiveObject(bound))
    if known is not None and is_same and not (known.written and known.written[VALUES]):  # nor have keys other shapes
        live.written, live.shown = known.written, known.shown
    else:
        rough.forget(obj)
    if bound.choices.method not in PARTICLE_METHODS:
        particle_reports.forget(obj)
        _store_count(obj, 0)
    elif not is_same:
        report = ParticleReport(binding.count, getattr(binding, "solid_share", None), binding.messages)
        particle_reports.keep(obj, report)
        _store_count(obj, report.count)
    return live


def _store_count(obj: bpy.types.Object, count: int) -> None:
    particles = settings_of(obj).particles
    if particles.bound_count != count:
        particles.bound_count = count


def find(obj: bpy.types.Object) -> LiveObject | None:
    """The cached state of an object; None before it was first shown."""
    return _live.find(obj)


def expect_undo() -> None:
    """Have every carrier written again, as after undo, which takes carriers back to an earlier pose."""
    for live in _live.values():
        live.written = live.shown = ()
        live.armature_is_stale = True


def keep_only(objects: Iterable[bpy.types.Object]) -> None:
    """Drop all but these objects from the cache, such as those that undo has unbound."""
    for known in (_live, rough, particle_reports, pose_times):
        known.keep_only(objects)


def has_other_evaluation(obj: bpy.types.Object) -> bool:
    """Whether a bound object's settings ask for a method that Python does not evaluate."""
    live, settings = _live.find(obj), settings_of(obj)
    has_other_method = live is None or live.bound.choices.method != settings.method
    return has_other_method and find_method(settings.method).evaluation != PYTHON and obj.mode != "EDIT"


def follow(obj: bpy.types.Object, step: Step) -> bool:
    """Bring a bound object up to a step, unless a bake does so: whether it was looked at."""
    if is_baking(obj):
        _note_changes(obj, step.changed)
        return False
    bring_to_pose(obj, step)
    return True


def _note_changes(obj: bpy.types.Object, changed: Set[bpy.types.ID]) -> None:
    """Mark changed data, to be compared or read again at the next pose."""
    live = _live.find(obj)
    if not changed or live is None:
        return
    live.armature_is_stale |= any(isinstance(data, bpy.types.Armature) for data in changed)
    if obj.mode not in RESHAPING_MODES:
        live.mesh_is_stale |= obj.data in changed or is_one_changed(obj, changed)


def bring_to_pose(obj: bpy.types.Object, step: Step) -> None:
    """Bring a bound object's carrier up to a step.

    Parameters
    ----------
    obj : Object
        Original, bound.

    Raises
    ------
    SkinningError
        If the object cannot be deformed; its carrier is left as it was.
    """
    _note_changes(obj, step.changed)
    bound, depsgraph = resolve(obj), step.depsgraph
    supple = bound.supple
    if not (supple.show_render if step.is_render else supple.show_viewport):
        return
    check_deformed_once(bound)
    check_blends(bound.obj, bound.replaced)
    if bound.armature.mode == "EDIT":
        return  # the bones are about to change, and have no pose
    posed = step.poses.of(bound.armature)
    evaluated = obj.evaluated_get(depsgraph)
    if not (posed.obj.is_evaluated and evaluated.is_evaluated):
        return  # not in this scene or view layer

    space = object_to_armature(evaluated, posed.obj)
    above = modifiers_above(obj, supple)
    check_modifiers_above(bound, above)
    live = _bring_up_to_date(bound, posed, space)
    pose, transforms = posed.read_pose(live.bound.skeleton), bool(above) or _needs_transforms(obj)
    values = read_key_values(mesh_of(obj), depsgraph)
    params = _choose_quality(bound, live, step.is_dragging)
    written = (params, values, pose, space, transforms, bound.settings.carrier.session_uid)
    if written == live.written:
        return
    live.bring_to(obj, params, live.values if transforms else values)
    _write(bound, live, pose.seen_from(find_space(space)), transforms)
    live.written = written
    rough.forget(obj)
    if step.is_dragging and params != _choose_quality(bound, live, False):
        rough.keep(obj, True)


def _choose_quality(bound: BoundObject, live: LiveObject, is_dragging: bool) -> Any:
    """The Params that an object is deformed with at this moment."""
    moment = BAKING if is_baking(bound.obj) else DRAGGING if is_dragging else ""
    return live.bound.choices.read_quality(bound.settings, moment)


def _write(bound: BoundObject, live: LiveObject, pose: Pose, transforms: bool) -> None:
    """Deform, and write the result to the carrier unless it already holds it."""
    carrier = bound.settings.carrier
    start = time.perf_counter()
    result = live.skin.transforms(pose) if transforms else live.skin.pose(pose)
    milliseconds = pose_times.keep(bound.obj, 1e3 * (time.perf_counter() - start))
    _report_pose(bound.obj, live, milliseconds, None if transforms else result)
    shown = (carrier.session_uid, transforms)
    is_changed = live.shown[:2] != shown
    if not is_changed and live.shown[2] is result:
        return
    if transforms:
        carriers.write_transforms(carrier.data, result)
    else:
        carriers.write_points(carrier.data, result)
    if is_changed and bool(modifiers.read_input(bound.supple, TRANSFORMS_SOCKET)) != transforms:
        modifiers.write_input(bound.supple, TRANSFORMS_SOCKET, transforms)
    live.shown = (*shown, result)


def _report_pose(obj: bpy.types.Object, live: LiveObject, milliseconds: float, points: np.ndarray | None) -> None:
    """Report, for the panel, how long a pose of particles took and its volume."""
    report = particle_reports.find(obj)
    if report is None:
        return
    _store_count(obj, report.count)  # undo may have taken it back
    report.milliseconds = milliseconds
    measure = getattr(live.skin.deformer, "measure_volume", None)
    report.volume = None if measure is None or points is None else measure(live.skin.binding, points)


def _needs_transforms(obj: bpy.types.Object) -> bool:
    """Whether vertices may reach the first modifier at other positions than those of the mesh or its relative keys."""
    keys = mesh_of(obj).shape_keys
    if obj.mode in RESHAPING_MODES or is_deformed_by_parent(obj):
        return True
    return keys is not None and (obj.show_only_shape_key or not keys.use_relative)


def _bring_up_to_date(bound: BoundObject, posed: PosedArmature, space: Matrix) -> LiveObject:
    """The cached state of an object, bound anew if settings, mesh, or the armature in `posed` have changed."""
    _check_hidden(bound)
    live, choices = _live.find(bound.obj), Choices.read(bound, bound.settings.method)
    known = live.bound if live is not None else None
    is_stale = live is None or live.armature_is_stale or live.bound.choices.armature != choices.armature
    plain = posed.find_skeleton(known.skeleton if known else None, is_stale)
    source = SkinSource.of(bound, choices, plain, space)
    is_current = live is not None and live.is_current(source)
    if live is not None and live.armature_is_stale and live.bound.bound_space != source.bound_space:
        is_current = False  # undo of another Bind
    if live is None or not is_current:
        skin = PosableSkin.of(source, known)
        check_bound_groups(bound, source.skeleton)
        live = keep(bound.obj, skin)
    elif live.armature_is_stale:
        live.armature_is_stale = False
    else:
        return live
    carriers.watch(bound.settings.watcher, bound.armature)
    return live


def _check_hidden(bound: BoundObject) -> None:
    """Have a modifier that was copied from another object read this one's carrier and watcher.

    Raises
    ------
    SkinningError
        If one of them is missing, or does not fit the mesh, or the modifier has no use for it.
    """
    obj, settings = bound.obj, bound.settings
    if not (carriers.is_own(settings.carrier) and carriers.is_own(settings.watcher)):
        raise SkinningError(f"A hidden object that '{obj.name}' needs was deleted: bind again")
    vertex_count, bound_count = len(obj.data.vertices), len(settings.carrier.data.vertices)
    if vertex_count != bound_count:
        raise SkinningError(f"'{obj.name}' has {vertex_count} vertices but was bound with {bound_count}: bind again")
    give_hidden(bound)
