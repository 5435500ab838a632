"""Evaluation by Blender: an object's own Armature modifier deforms it, and one more blends linearly where limbs begin.

Python only sets it up, and follows changes of weights and bones. A frame needs none of it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.animation.curves import list_animated
from ...bridge.arrays import read_array
from ...bridge.meshes.data import mesh_of, read_vertex_groups
from ...bridge.meshes.weights import write_weights
from ...bridge.modifiers import LINEAR_GROUP, LINEAR_NAME, add_modifier, is_from_library, move_modifier, remove_modifier
from ...bridge.per_object import PerObject
from ...bridge.rigs.armatures import Skeleton
from ...deformers import Rest, SkinningError
from ...deformers.method import BLENDER
from ...deformers.skinning import dlb, ssd
from ...deformers.skinning.limb_roots import measure_linear_gain, with_linear_roots
from ...settings.choices import find_method
from ...settings.objects import settings_of
from ..subject.character import check_bound_groups, read_character
from ..subject.stack import (
    BoundObject,
    SkinnedObject,
    check_has_no_copies,
    either,
    is_switched,
    list_blending,
    list_copies,
    list_own_armatures,
    read_toggles,
    resolve,
    stands_in,
    write_toggles,
)
from .model import Choices, SkinSource
from .poses import find_skeleton
from .segments import write_rolls
from .step import Step, rough

# The methods that an object's own Armature modifier has, and its Preserve Volume
PRESERVES_VOLUME = {ssd.INFO.key: False, dlb.INFO.key: True}

# Millimeters, on a character 1.8 m tall, that linear blending moves a vertex by where it is worth a modifier
LEAST_GAIN = 1.0

# Difference of a vertex's share of linear blending that is none
SAME_SHARE = 1e-4

# The bones of each object's armature, and their rotation modes, when they were last followed
_followed: PerObject[tuple[Skeleton, bytes]] = PerObject()


@dataclass(frozen=True)
class NativeSetup:
    """The settings for Blender's own modifiers.

    Attributes
    ----------
    groups : list of str
        Vertex groups that deforming bones are named after.
    bound_space : Matrix
        From object to armature space at Bind.
    rest : Rest
        The object at rest.
    linear : float array, shape (V,), or None
        Shares of linear blending near limb roots; None if they move no vertex visibly.
    """

    choices: Choices
    skeleton: Skeleton
    groups: list[str]
    bound_space: Matrix
    rest: Rest
    linear: np.ndarray | None


def prepare(skinned: SkinnedObject, method: str) -> NativeSetup:
    """Prepare an object for a method; nothing is changed.

    Parameters
    ----------
    method : str
        Key of `PRESERVES_VOLUME`.

    Raises
    ------
    SkinningError
        If its weights or bones do not allow it, or Blender has no such method.
    """
    if find_method(method).key not in PRESERVES_VOLUME:
        raise SkinningError(f"Blender's own modifiers do not deform by {method}: choose {', '.join(PRESERVES_VOLUME)}")
    source = replace(SkinSource.of(skinned, Choices.read(skinned, method)), is_bound_anew=True)
    character = read_character(skinned, source.skeleton, source.space)
    rest = replace(character.rest, object_to_armature=np.array(source.bound_space, np.float64))
    linear = _find_linear(skinned, source, rest)
    return NativeSetup(source.choices, source.skeleton, character.groups, character.space, rest, linear)


def _find_linear(skinned: SkinnedObject, source: SkinSource, rest: Rest) -> np.ndarray | None:
    """How linearly an object is blended where limbs begin, by a group of Supple's own; None for not at all."""
    choices, replaced = source.choices, skinned.replaced
    if not PRESERVES_VOLUME[choices.method] or choices.vertex_group or choices.linear_group:
        return None
    if replaced.use_multi_modifier or list_blending(skinned.obj, replaced):
        return None  # others blend with what this one is given
    if is_switched(replaced, list_animated(skinned.obj)):
        return None  # nothing could be switched with it
    linear = with_linear_roots(rest, choices.params.limb_roots).linear
    return None if linear is None or measure_linear_gain(rest, linear) < LEAST_GAIN else linear


def install(skinned: SkinnedObject, setup: NativeSetup) -> None:
    """Have an object's own Armature modifier deform it by the method that was prepared."""
    skinned.replaced.use_deform_preserve_volume = PRESERVES_VOLUME[setup.choices.method]
    _write_linear(skinned, setup.choices.linear_group, setup.linear)


def remove(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier | None) -> None:
    """Remove the additions of `install`, and restore an object's own modifier if it still exists."""
    if replaced is not None:
        replaced.use_deform_preserve_volume = settings_of(obj).had_preserve_volume
    remove_armatures(obj)
    rough.forget(obj)
    _followed.forget(obj)


def _write_linear(bound: SkinnedObject, linear_group: str, linear: np.ndarray | None) -> None:
    """Give an object the modifier that blends linearly, by a group that was chosen or by shares; or take it away."""
    obj, replaced = bound.obj, bound.replaced
    is_own = mesh_of(obj).library is None
    if is_own and not linear_group:
        write_linear_group(obj, linear)
    group = linear_group or (LINEAR_GROUP if linear is not None and LINEAR_GROUP in obj.vertex_groups else "")
    if not group or not PRESERVES_VOLUME[bound.settings.method]:
        _take_out_own(obj)
        return
    modifier = _ensure_linear(obj, replaced)
    values: dict[str, Any] = {name: getattr(replaced, name) for name in ("use_vertex_groups", "use_bone_envelopes")}
    values |= {"show_in_editmode": replaced.show_in_editmode, "show_on_cage": replaced.show_on_cage}
    values |= {"object": bound.armature, "use_multi_modifier": True, "vertex_group": group}
    for name, value in values.items():
        if getattr(modifier, name) != value:
            setattr(modifier, name, value)
    bound.settings.own_modifiers = modifier.persistent_uid, 0
    write_toggles(replaced, read_toggles(replaced))


def _ensure_linear(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier) -> bpy.types.ArmatureModifier:
    """The modifier that blends linearly, right below an object's own."""
    own, index = list_own_armatures(obj), obj.modifiers.find(replaced.name) + 1
    if not own:
        return cast(bpy.types.ArmatureModifier, add_modifier(obj, LINEAR_NAME, "ARMATURE", index))
    return own[0] if is_from_library(own[0]) else cast(bpy.types.ArmatureModifier, move_modifier(obj, own[0], index))


def mute(bound: BoundObject, is_muted: bool) -> None:
    """Have an object's own modifier do as before Bind, or as its method does."""
    settings, replaced = bound.settings, bound.replaced
    wanted = settings.had_preserve_volume if is_muted else PRESERVES_VOLUME[settings.method]
    if replaced.use_deform_preserve_volume != wanted:
        replaced.use_deform_preserve_volume = wanted
    for modifier in list_own_armatures(bound.obj):
        modifier.show_viewport, modifier.show_render = (not is_muted and is_on for is_on in read_toggles(replaced))


def remove_armatures(obj: bpy.types.Object) -> None:
    """Remove the Armature modifiers that Bind has added to an object, and the linear group."""
    _take_out_own(obj)
    if mesh_of(obj).library is None:
        _remove_linear_group(obj)


def _take_out_own(obj: bpy.types.Object) -> None:
    _take_out(obj, list_own_armatures(obj))
    if not list_own_armatures(obj):
        settings_of(obj).property_unset("own_modifiers")


def remove_copies(obj: bpy.types.Object, replaced: bpy.types.Modifier | None) -> None:
    """Remove modifiers copied from other objects: if they deform an object, its own modifier takes over."""
    copies = [modifier for modifier in list_copies(obj) if modifier != replaced]
    if copies and replaced is not None and not (stands_in(obj) and any(map(read_toggles, list_own_armatures(obj)))):
        write_toggles(replaced, either(*map(read_toggles, (replaced, *copies))))
    _take_out(obj, copies)


def _take_out(obj: bpy.types.Object, taken: Sequence[bpy.types.Modifier]) -> None:
    for modifier in taken:
        if is_from_library(modifier):
            modifier.show_viewport = modifier.show_render = False
        else:
            remove_modifier(obj, modifier, None)


def write_linear_group(obj: bpy.types.Object, linear: np.ndarray | None) -> None:
    """Write how linearly vertices are blended, shape (V,) or None, to a vertex group of Supple's own."""
    if linear is None:
        _remove_linear_group(obj)
        return
    active = obj.vertex_groups.active.name if obj.vertex_groups.active else ""
    write_weights(obj, [LINEAR_GROUP], linear.astype(np.float32)[:, None])
    group = obj.vertex_groups[LINEAR_GROUP]
    if not group.lock_weight:
        group.lock_weight = True  # Blender's tools that normalize weights leave it alone
    if active and obj.vertex_groups.active.name != active:
        obj.vertex_groups.active_index = obj.vertex_groups.find(active)


def _remove_linear_group(obj: bpy.types.Object) -> None:
    """Remove the linear group, unless another object with the same mesh uses it."""
    group = obj.vertex_groups.get(LINEAR_GROUP)
    used = {modifier.vertex_group for other in _list_sharers(obj) for modifier in list_own_armatures(other)}
    if group is None or LINEAR_GROUP in used:
        return
    active = obj.vertex_groups.active.name if obj.vertex_groups.active else ""
    obj.vertex_groups.remove(group)
    if active in obj.vertex_groups:
        obj.vertex_groups.active_index = obj.vertex_groups.find(active)


def _list_sharers(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Other objects with the same mesh that Blender's own modifiers deform by Bind."""
    if mesh_of(obj).users < 2:
        return []
    others = [other for other in bpy.data.objects if other.data == obj.data and other != obj and other.is_editable]
    return [other for other in others if settings_of(other).is_bound and settings_of(other).evaluate == BLENDER]


def follow(obj: bpy.types.Object, step: Step) -> bool:
    """Follow changes of weights and bones: whether there were any. A pose by itself needs nothing.

    Raises
    ------
    SkinningError
        If the object cannot be deformed, or modifiers were removed, or came from another object.
    """
    is_rough = rough.find(obj) is not None
    if step.is_render or (step.is_pose_alone and not is_rough):
        return False
    bound = resolve(obj)
    check_has_no_copies(bound)
    if not (_has_changed(bound, step.changed) or (is_rough and not step.is_dragging)):
        return False
    if step.is_dragging:
        rough.keep(obj, True)
        return False
    refresh(bound)
    return True


def _has_changed(bound: BoundObject, changed: Set[bpy.types.ID]) -> bool:
    """Whether an object's mesh or the bones of its armature have changed, or its message may be outdated.

    Blender also reports armatures of which only the pose has changed.
    """
    obj, armature = bound.obj, bound.armature
    if bound.settings.message or obj.data in changed:
        return True
    if armature.data not in changed or armature.mode == "EDIT":
        return False
    known, skeleton, modes = _followed.find(obj), find_skeleton(armature), _read_modes(armature)
    if known is None or known[0] is not skeleton:
        return True
    if known[1] != modes:  # rolls alone depend on them
        _followed.keep(obj, (skeleton, modes))
        write_rolls(armature)
    return False


def _read_modes(armature: bpy.types.Object) -> bytes:
    return read_array(cast(Any, armature.pose).bones, "rotation_mode", kind=np.int32).tobytes()


def refresh(bound: BoundObject) -> None:
    """Bring the linear group of an object up to its weights and bones.

    Raises
    ------
    SkinningError
        If the object cannot be deformed; it is left as it is.
    """
    obj, settings = bound.obj, bound.settings
    if mesh_of(obj).is_editmode or bound.armature.mode == "EDIT":
        return
    rough.forget(obj)
    write_rolls(bound.armature)
    setup = prepare(bound, settings.method)
    check_bound_groups(bound, setup.skeleton)
    if not (settings.is_muted or _is_same(obj, bound.replaced, setup)):
        _write_linear(bound, setup.choices.linear_group, setup.linear)
    _followed.keep(obj, (setup.skeleton.rolled, _read_modes(bound.armature)))


def _is_same(obj: bpy.types.Object, replaced: bpy.types.Modifier, setup: NativeSetup) -> bool:
    """Whether the linear group is still right; the first object of a mesh decides."""
    group, own = obj.vertex_groups.get(LINEAR_GROUP), list_own_armatures(obj)
    if own and read_toggles(own[0]) != read_toggles(replaced):
        return False
    if setup.choices.linear_group:
        return [each.vertex_group for each in own] == [setup.choices.linear_group]
    if setup.linear is None or group is None:
        return setup.linear is None and group is None and not own
    if any(other.name < obj.name for other in _list_sharers(obj)):
        return True
    present = read_vertex_groups(mesh_of(obj)).read_group(group.index, len(setup.linear))
    return bool(own) and bool(np.abs(present - setup.linear).max(initial=0.0) < SAME_SHARE)


def bring_to_pose(obj: bpy.types.Object, _step: Step) -> None:
    """A pose by itself needs nothing; raises SkinningError if a modifier was removed."""
    resolve(obj)
