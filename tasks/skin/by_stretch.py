"""DLBNT as published by Blender alone: two Armature modifiers, of hidden armatures, in place of the object's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import bpy
from mathutils import Matrix

from ...bridge.animation.curves import list_animated
from ...bridge.meshes.weights import read_weights
from ...bridge.modifiers import add_modifier, is_from_library, move_modifier, remove_modifier
from ...bridge.owned import Tag, read_mark
from ...bridge.rigs.armatures import Skeleton, read_skeleton
from ...bridge.rigs.scaled_bones import find_problem
from ...bridge.rigs.stretch_armatures import (
    LABELS,
    RIGID,
    StretchPair,
    copy_armatures,
    find_armatures,
    find_held,
    hold,
    is_stretch_modifier,
    let_go,
    make_armatures,
    needs_new,
    plan_stretch,
    remove_unused,
)
from ...deformers import SkinningError
from ...settings.choices import read_params
from ..subject.character import read_character, uses_envelopes
from ..subject.stack import (
    BoundObject,
    SkinnedObject,
    either,
    is_switched,
    list_blending,
    pass_animation,
    read_toggles,
    resolve,
    swap,
    write_toggles,
)
from .model import Choices, SkinSource
from .poses import find_skeleton
from .step import Step

# What both modifiers take from the object's own
FOLLOWED = "use_vertex_groups", "vertex_group", "invert_vertex_group"

SHOWN = "show_in_editmode", "show_on_cage"


@dataclass(frozen=True)
class StretchSetup:
    """The settings for the two modifiers.

    Attributes
    ----------
    groups : list of str
        Vertex groups that deforming bones are named after.
    bound_space : Matrix
        From object to armature space at Bind.
    """

    choices: Choices
    groups: list[str]
    bound_space: Matrix


def prepare(skinned: SkinnedObject, method: str) -> StretchSetup:
    """Prepare an object; nothing is changed.

    Raises
    ------
    SkinningError
        If its weights do not allow it, or as `check`.
    """
    obj, armature, replaced = skinned.obj, skinned.armature, skinned.replaced
    check(obj, armature, replaced, find_skeleton(armature))
    source = replace(SkinSource.of(skinned, Choices.read(skinned, method)), is_bound_anew=True)
    if source.choices.linear_group in obj.vertex_groups:
        raise SkinningError(f"'{armature.name}' cannot deform as published: '{obj.name}' has Parts as Blender")
    character = read_character(skinned, source.skeleton, source.space)
    return StretchSetup(source.choices, character.groups, source.bound_space)


def install(skinned: SkinnedObject, setup: StretchSetup) -> None:
    """Have two Armature modifiers right below the object's own deform it, and turn that one off.

    Enters Edit Mode and leaves it if the rig has no hidden armatures yet, so it is not for handlers.
    """
    obj, armature, replaced = skinned.obj, skinned.armature, skinned.replaced
    pair = ensure_armatures(armature, setup.choices.params.order, find_skeleton(armature))
    present, toggles = _sort_out(obj), read_toggles(replaced)
    for number, hidden in enumerate(pair.in_order()):
        modifier = _place(
            obj, present.get(read_mark(hidden, Tag.STRETCH)), hidden, obj.modifiers.find(replaced.name) + 1 + number
        )
        if not present:
            write_toggles(modifier, toggles)
    if not present:
        write_toggles(replaced, (False, False))
    hold(obj, pair)
    follow_own(obj, replaced)
    remove_unused()


def check(
    obj: bpy.types.Object,
    armature: bpy.types.Object,
    replaced: bpy.types.ArmatureModifier,
    skeleton: Skeleton,
) -> None:
    """Raise SkinningError if hidden armatures do not blend as DLBNT does, or cannot stand in for a modifier."""
    if problem := find_problem(armature):
        raise SkinningError(f"'{armature.name}' cannot deform as published: {problem}")
    if uses_envelopes(replaced, skeleton):
        raise SkinningError(f"'{armature.name}' cannot deform as published: weights of '{obj.name}' are from envelopes")
    if replaced.use_multi_modifier or list_blending(obj, replaced):
        raise SkinningError(
            f"'{armature.name}' cannot deform as published: Armature modifiers of '{obj.name}' have Multi Modifier on"
        )
    if replaced.vertex_group in obj.vertex_groups:
        values = read_weights(obj, [replaced.vertex_group])
        if ((values > 0.0) & (values < 1.0)).any():  # both modifiers would mix with what they are given
            raise SkinningError(
                f"'{armature.name}' cannot deform as published: "
                f"vertex group '{replaced.vertex_group}' of '{obj.name}' has weights between 0 and 1"
            )
    if is_switched(replaced, list_animated(obj)):
        raise SkinningError(f"Keys or drivers turn modifier '{replaced.name}' of '{obj.name}' on and off: remove them")


def ensure_armatures(armature: bpy.types.Object, order: str, skeleton: Skeleton) -> StretchPair:
    """The hidden armatures of a rig, made anew if they are missing or the rig's bones have changed."""
    plan, pair = plan_stretch(armature, skeleton), find_armatures(armature, order)
    if pair is None:
        return make_armatures(armature, plan, order)
    if needs_new(pair, plan):
        return _renew(pair, make_armatures(armature, plan, order))
    return pair


def _renew(former: StretchPair, pair: StretchPair) -> StretchPair:
    """Have all that uses the former hidden armatures use new ones, which take their names."""
    for old, new in zip(former, pair, strict=True):
        old.user_remap(new)
    return pair


def _sort_out(obj: bpy.types.Object) -> dict[str, bpy.types.ArmatureModifier]:
    """The modifiers by their role; those are taken out whose hidden armature was removed, and copies of others."""
    found: dict[str, bpy.types.ArmatureModifier] = {}
    for modifier in find_modifiers(obj):
        role = "" if modifier.object is None else read_mark(modifier.object, Tag.STRETCH)
        if role and role not in found:
            found[role] = modifier
        else:
            remove_modifier(obj, modifier, None)
    return found


def _place(
    obj: bpy.types.Object, modifier: bpy.types.Modifier | None, hidden: bpy.types.Object, index: int
) -> bpy.types.Modifier:
    """Put the modifier of a hidden armature to an index of the stack."""
    if modifier is None:
        modifier = add_modifier(obj, LABELS[read_mark(hidden, Tag.STRETCH)], "ARMATURE", index)
    else:
        modifier = move_modifier(obj, modifier, index)
    values = {
        "object": hidden,
        "use_deform_preserve_volume": read_mark(hidden, Tag.STRETCH) == RIGID,
        "use_multi_modifier": False,
    }
    _write(modifier, values)
    return modifier


def _write(modifier: bpy.types.Modifier, values: dict[str, Any]) -> bool:
    """Write differing values; returns whether there were any."""
    changed = {name: value for name, value in values.items() if getattr(modifier, name) != value}
    for name, value in changed.items():
        setattr(modifier, name, value)
    return bool(changed)


def find_modifiers(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """The modifiers that deform an object by hidden armatures, in their order, whatever they are called now."""
    return cast(list[bpy.types.ArmatureModifier], list(filter(is_stretch_modifier, obj.modifiers)))


def follow_own(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier) -> bool:
    """Give both modifiers the options of the object's own, and the hidden armatures of its rig. Also in handlers.

    Returns
    -------
    bool
        Whether anything has changed.
    """
    is_copied = _follow_copy(obj, replaced.object)
    values = {name: getattr(replaced, name) for name in (*FOLLOWED, *SHOWN)}
    changes = [_write(modifier, values) for modifier in find_modifiers(obj)]
    return is_copied or any(changes)


def _follow_copy(obj: bpy.types.Object, armature: bpy.types.Object | None) -> bool:
    """Give a copied object, whose rig was copied with it, hidden armatures of that rig."""
    pair = find_held(obj)
    if armature is None or pair is None or all(hidden.parent == armature for hidden in pair):
        return False
    own = find_armatures(armature, read_mark(pair.stretch, Tag.STRETCH_ORDER)) or copy_armatures(pair, armature)
    by_role = {read_mark(hidden, Tag.STRETCH): hidden for hidden in own}
    for modifier in find_modifiers(obj):
        if modifier.object is not None:
            modifier.object = by_role[read_mark(modifier.object, Tag.STRETCH)]
    hold(obj, own)
    return True


def is_as_installed(
    obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier, order: str, skeleton: Skeleton | None = None
) -> bool:
    """Whether both modifiers stand below the object's own, for its rig, and nothing of the rig has changed since."""
    armature, found, pair = replaced.object, find_modifiers(obj), find_held(obj)
    if armature is None or pair is None or find_armatures(armature, order) != pair:
        return False
    index = obj.modifiers.find(replaced.name) + 1
    if [each.object for each in found] != [*pair.in_order()] or [*obj.modifiers[index : index + 2]] != found:
        return False
    if any(getattr(each, name) != getattr(replaced, name) for each in found for name in FOLLOWED):
        return False
    return not needs_new(pair, plan_stretch(armature, skeleton or read_skeleton(armature)))


def remove(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier | None) -> None:
    """Take both modifiers out, and have the object's own deform it as they did."""
    found = find_modifiers(obj)
    if found and replaced is not None:
        pass_animation(found[0], replaced)
        write_toggles(replaced, either(read_toggles(found[0]), read_toggles(replaced)))  # it is on where it was muted
    is_linked = any(map(is_from_library, found))
    for modifier in found:
        remove_modifier(obj, modifier, replaced)
    if not is_linked:
        let_go(obj)
    remove_unused()


def mute(bound: BoundObject, is_muted: bool) -> None:
    """Have an object's own modifier deform it, or both again."""
    swap(bound.obj, to_armature=is_muted)


def follow(obj: bpy.types.Object, step: Step) -> bool:
    """Follow changes of bones, and copies of the rig: whether there were any. A pose by itself needs nothing.

    Raises
    ------
    SkinningError
        If bones have changed so that the hidden armatures must be made anew.
    """
    if step.is_render or not step.changed:
        return False
    bound = resolve(obj)
    if bound.armature.mode == "EDIT":
        return False
    follow_own(obj, bound.replaced)
    order = read_params(bound.settings, bound.settings.method).order
    if not is_as_installed(obj, bound.replaced, order, find_skeleton(bound.armature)):
        raise SkinningError(f"The bones of '{bound.armature.name}' have changed: bind '{obj.name}' again")
    return True


def bring_to_pose(obj: bpy.types.Object, _step: Step) -> None:
    """A pose by itself needs nothing; raises SkinningError if a modifier was removed."""
    resolve(obj)
