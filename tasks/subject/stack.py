"""What deforms an object: Blender's own modifiers, Supple's node modifier, or a bake.

`resolve` finds the modifiers and the armature of a bound object once; what is done in that step takes them from there.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

import bpy

from ...bridge.animation.curves import find_not_own, redirect
from ...bridge.modifiers import LINEAR_NAME, is_supple_modifier
from ...bridge.rigs.carriers import is_hidden_object
from ...bridge.rigs.stretch_armatures import is_stretch_modifier
from ...deformers import SkinningError
from ...deformers.method import BLENDER, STRETCH
from ...nodes.groups import is_former_group
from ...settings.objects import ObjectSettings, needs_supple, settings_of

TOGGLES = "show_viewport", "show_render"
"""What switches modifiers on and off."""


@dataclass(frozen=True)
class SkinnedObject:
    """A mesh object with its armature, found once for one step and passed on.

    Attributes
    ----------
    settings : ObjectSettings
        The object's.
    replaced : ArmatureModifier
        The object's own: it deforms, or what deforms stands in for it.
    armature : Object
        That of the modifier.
    """

    obj: bpy.types.Object
    settings: ObjectSettings
    replaced: bpy.types.ArmatureModifier
    armature: bpy.types.Object

    def __deepcopy__(self, _memo: dict) -> SkinnedObject:
        return self  # it stands for what is in the file, which a copy does not double

    @property
    def deforming(self) -> bpy.types.Modifier:
        """The first modifier that deforms, by its position: the object's own, or what stands in for it."""
        return list_deforming(self.obj, self.replaced)[0]


@dataclass(frozen=True)
class BoundObject(SkinnedObject):
    """The same, bound, with the first of the modifiers that deform it, as `supple`."""

    supple: bpy.types.Modifier

    @property
    def deforming(self) -> bpy.types.Modifier:
        return self.supple


def find_bound_objects() -> list[bpy.types.Object]:
    """All bound objects of the file that can be changed (linked ones can not)."""
    return [obj for obj in bpy.data.objects if obj.type == "MESH" and settings_of(obj).is_bound and obj.library is None]


def resolve_skinned(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier) -> SkinnedObject:
    """A mesh object with its Armature modifier; raises SkinningError where that has no armature."""
    return SkinnedObject(obj, settings_of(obj), replaced, check_armature(obj, replaced))


def resolve(obj: bpy.types.Object) -> BoundObject:
    """A bound object with its modifiers and its armature.

    Raises
    ------
    SkinningError
        Where the user has removed one of them.
    """
    replaced = find_replaced_modifier(obj)
    supple = _list_known(obj, replaced)[0]
    return BoundObject(obj, settings_of(obj), replaced, check_armature(obj, replaced), supple)


def check_deformed_once(bound: BoundObject) -> None:
    """Raise SkinningError where the Armature modifier that Supple stands in for, or a copy of Supple's, is on, too."""
    others = (bound.replaced, *list_copied_armatures(bound.obj))
    deforming = [each for each in bound.obj.modifiers if each in others or is_supple_modifier(each)]
    for toggles in zip(*map(read_toggles, deforming), strict=True):
        if sum(toggles) > 1:
            names = " and ".join(f"'{each.name}'" for each, is_on in zip(deforming, toggles, strict=True) if is_on)
            raise SkinningError(
                f"'{bound.obj.name}' is deformed more than once, by modifiers {names}: disable all but one"
            )


def find_supple_modifier(obj: bpy.types.Object) -> bpy.types.Modifier:
    """The first modifier by which a bound object is deformed: its own Armature modifier, or what stands in for it.

    Raises
    ------
    SkinningError
        Where the user has removed it, or its node group.
    """
    return _list_known(obj, find_replaced_modifier(obj))[0]


def find_last_modifier(obj: bpy.types.Object) -> bpy.types.Modifier:
    """The last of these modifiers; raises as `find_supple_modifier`."""
    return _list_known(obj, find_replaced_modifier(obj))[-1]


def _list_known(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier) -> list[bpy.types.Modifier]:
    """The modifiers by which a bound object is deformed, in their order; raises as `find_supple_modifier`."""
    own = list_own_armatures(obj)
    if not needs_supple(settings_of(obj)):
        if not stands_in(obj):
            if settings_of(obj).own_modifiers[0] and not own:
                raise SkinningError(f"An Armature modifier that '{obj.name}' needs was removed or applied: bind again")
            return [replaced, *own]
        if len(own) < 2 or None in [each.object for each in own]:
            raise SkinningError(f"An Armature modifier that '{obj.name}' needs was removed or applied: bind again")
        return [*own]
    for modifier in obj.modifiers:
        if is_supple_modifier(modifier):
            if modifier.node_group is None:
                raise SkinningError(f"The node group of '{obj.name}' was removed: bind again")
            return [modifier]
    raise SkinningError(f"The Supple modifier of '{obj.name}' was removed: press Unbind, or Bind to put it back")


def list_deforming(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier) -> list[bpy.types.Modifier]:
    """The same of any object: its Armature modifier where nothing else is known to deform it."""
    if not settings_of(obj).is_bound:
        return [*filter(is_supple_modifier, obj.modifiers), replaced][:1]
    with suppress(SkinningError):
        return _list_known(obj, replaced)
    return [replaced]


def stands_in(obj: bpy.types.Object) -> bool:
    """Whether a bound object is deformed by other modifiers than its own Armature modifier, which is off."""
    return settings_of(obj).evaluate != BLENDER


def list_own_armatures(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """The Armature modifiers that Bind has put into the stack, in their order, whatever they are called now.

    *Supple Linear*, of whose number a damaged file may know nothing, is known by its first name then.
    """
    armatures = [cast(bpy.types.ArmatureModifier, each) for each in obj.modifiers if each.type == "ARMATURE"]
    uids = [uid for uid in settings_of(obj).own_modifiers if uid]
    if settings_of(obj).evaluate == STRETCH:
        return list(filter(is_stretch_modifier, armatures))
    found = [each for each in armatures if each.persistent_uid in uids]
    return found or [each for each in armatures if uids and each.name == LINEAR_NAME][:1]


def list_copied_armatures(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """Copies that a user has made of these, or of those of another object, known by their names."""
    own = list_own_armatures(obj)
    found = [each for each in obj.modifiers if each.type == "ARMATURE" and each not in own]
    return [each for each in found if each.name.startswith(LINEAR_NAME) or is_stretch_modifier(each)]


def is_former(obj: bpy.types.Object) -> bool:
    """Whether nodes of an earlier version of Supple deform an object."""
    return any(modifier.type == "NODES" and is_former_group(modifier.node_group) for modifier in obj.modifiers)


def list_copies(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """All modifiers that Bind has put into the stack of another object, and that are no part of an object's own."""
    copies = list_copied_armatures(obj)
    settings = settings_of(obj)
    if not (settings.is_bound and needs_supple(settings)):
        copies += filter(is_supple_modifier, obj.modifiers)
    return copies


def list_former(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Meshes that nodes of an earlier version of Supple deform."""
    return [obj for obj in objects if obj.type == "MESH" and is_former(obj)]


def check_not_copied(obj: bpy.types.Object) -> None:
    """Raise SkinningError where Supple's modifiers of another object, without what they need, deform one not bound.

    Hidden armatures deform any mesh that has groups for their bones.
    """
    if not (settings_of(obj).is_bound or is_hidden_object(obj) or is_former(obj)):
        _check_off(obj, [each for each in list_copies(obj) if not is_stretch_modifier(each)])


def check_has_no_copies(obj: bpy.types.Object) -> None:
    """Raise SkinningError where Supple's modifiers of another object deform one that is bound."""
    _check_off(obj, list_copies(obj))


def _check_off(obj: bpy.types.Object, copies: Iterable[bpy.types.Modifier]) -> None:
    if any(any(read_toggles(each)) for each in copies):
        raise SkinningError(f"'{obj.name}' has a copy of Supple's modifiers: bind it, or remove them")


def is_deformed_by_parent(obj: bpy.types.Object) -> bool:
    """Whether Blender deforms an object by its parent, before all modifiers: then, an armature may do so twice."""
    has_type = obj.parent is not None and obj.parent_type in {"ARMATURE", "LATTICE"}
    return has_type and obj.parent.type in {"ARMATURE", "CURVE", "LATTICE"}


def armature_modifiers(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """All Armature modifiers of an object, in their order, without those of Supple's own."""
    own = list_own_armatures(obj)
    armatures = [modifier for modifier in obj.modifiers if modifier.type == "ARMATURE"]
    found = [modifier for modifier in armatures if modifier not in own and not is_stretch_modifier(modifier)]
    return cast(list[bpy.types.ArmatureModifier], found)


def find_replaced_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """The Armature modifier that Supple stands in for, or has deform, by its name.

    Where it was renamed, the one right below Supple's, or the only one, or the only one that is on.

    Raises
    ------
    SkinningError
        Where the user has removed it.
    """
    name = settings_of(obj).armature_modifier
    found = armature_modifiers(obj)
    for modifier in found:
        if modifier.name == name:
            return modifier
    added = [*list_own_armatures(obj), *list_copied_armatures(obj)]
    others = [modifier for modifier in obj.modifiers if modifier not in added]
    found = [modifier for modifier in found if modifier in others] or found
    below = [after for before, after in itertools.pairwise(others) if is_supple_modifier(before) and after in found]
    in_use = [] if stands_in(obj) else list(filter(_is_in_use, found))
    for modifier in (*below, *(each[0] for each in (found, in_use) if len(each) == 1)):
        return cast(bpy.types.ArmatureModifier, modifier)
    raise SkinningError(f"Armature modifier '{name}' of '{obj.name}' was removed: unbind, add one, and bind again")


def find_deforming_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """The Armature modifier that Supple stands in for where it is bound, else the one to be replaced.

    Raises
    ------
    SkinningError
        As `find_replaced_modifier` and `find_armature_modifier`.
    """
    return find_replaced_modifier(obj) if settings_of(obj).is_bound else find_armature_modifier(obj)


def check_not_edited(skinned: SkinnedObject) -> None:
    """Raise SkinningError where a mesh or its armature is in Edit Mode, and so has no pose."""
    for other in (skinned.obj, skinned.armature):
        if other.mode == "EDIT":
            raise SkinningError(f"'{other.name}' is in Edit Mode: leave it first")


def find_armature_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """The Armature modifier that Supple is to replace.

    Others below it stay, and deform what it passes on: by another armature, or what a vertex group chooses.

    Raises
    ------
    SkinningError
        Where there is none, or more than one deforms the whole mesh by the same armature.
    """
    copies = list_copied_armatures(obj)
    found = [modifier for modifier in armature_modifiers(obj) if modifier not in copies]
    if not found and is_deformed_by_parent(obj):
        raise SkinningError(
            f"'{obj.name}' is deformed by its parent '{obj.parent.name}', not by a modifier: add an Armature modifier, "
            "and set the parent type to Object"
        )
    if not found:
        raise SkinningError(f"'{obj.name}' has no Armature modifier: parent it to an armature first")
    if len(found) > 1:
        used = list(filter(_is_in_use, found))
        if not used or any(_deforms_again(each, used[:number]) for number, each in enumerate(used)):
            names = ", ".join(f"'{modifier.name}'" for modifier in found)
            raise SkinningError(
                f"'{obj.name}' has {len(found)} Armature modifiers ({names}): disable all but the one for Supple to "
                "replace, in viewport and render"
            )
        found = used
    return found[0]


def _is_in_use(modifier: bpy.types.ArmatureModifier) -> bool:
    return modifier.object is not None and any(read_toggles(modifier))


def _deforms_again(modifier: bpy.types.ArmatureModifier, before: list[bpy.types.ArmatureModifier]) -> bool:
    """Whether a modifier deforms once more what one of those before it has deformed as a whole."""
    has_part = modifier.use_multi_modifier or modifier.vertex_group in modifier.id_data.vertex_groups
    return not has_part and any(modifier.object == each.object for each in before)


def list_blending(obj: bpy.types.Object, replaced: bpy.types.Modifier) -> list[bpy.types.ArmatureModifier]:
    """Armature modifiers that blend by Multi Modifier with what the one that Supple stands in for has been given."""
    own = list_own_armatures(obj)
    stack = [each for each in obj.modifiers if each not in own and not is_stretch_modifier(each)]
    below = stack[stack.index(replaced) + 1 :]
    chain = itertools.takewhile(lambda each: each.type == "ARMATURE" and each.use_multi_modifier, below)
    return list(filter(_is_in_use, cast(Iterable[bpy.types.ArmatureModifier], chain)))


def check_blends(obj: bpy.types.Object, replaced: bpy.types.Modifier) -> None:
    """Raise SkinningError for these where no Armature modifier of Blender's own deforms in the place of the first."""
    for modifier in list_blending(obj, replaced):
        raise SkinningError(
            f"Armature modifier '{modifier.name}' of '{obj.name}' has Multi Modifier on, and "
            "blends only with another one of Blender's own: turn Multi Modifier off, or choose another method"
        )


def check_deformed_alone(skinned: SkinnedObject) -> None:
    """Raise SkinningError where another Armature modifier deforms what the one that Supple stands in for passes on."""
    copies = list_copied_armatures(skinned.obj)
    for modifier in filter(_is_in_use, armature_modifiers(skinned.obj)):
        if modifier not in (skinned.replaced, *copies):
            raise SkinningError(
                f"'{skinned.obj.name}' is deformed by Armature modifier '{modifier.name}', too: disable it in viewport "
                "and render first"
            )


def check_armature(obj: bpy.types.Object, modifier: bpy.types.ArmatureModifier) -> bpy.types.Object:
    """The modifier's armature object; raises SkinningError where there is none."""
    armature = modifier.object
    if armature is None or armature.type != "ARMATURE":
        raise SkinningError(
            f"Armature modifier '{modifier.name}' of '{obj.name}' has no armature: choose an armature in the modifier"
        )
    return armature


def check_has_vertices(obj: bpy.types.Object) -> None:
    """Raise SkinningError for a mesh without vertices."""
    if not obj.data.vertices:
        raise SkinningError(f"'{obj.name}' has no vertices: select another mesh")


def check_not_linked(obj: bpy.types.Object) -> None:
    """Raise SkinningError where an object can not be changed in this file."""
    if obj.library is not None:
        raise SkinningError(
            f"'{obj.name}' is linked from another file: make a library override of it, or make it local"
        )


def check_not_baked(obj: bpy.types.Object) -> None:
    """Raise SkinningError where a bake deforms an object instead of Supple, or of its Armature modifier."""
    if settings_of(obj).bake != "NONE":
        raise SkinningError(f"'{obj.name}' is deformed by a bake: go back to live first")


def hand_over(obj: bpy.types.Object) -> None:
    """Let the Armature modifier deform a bound object for now, as in a file that is opened without Supple.

    What deforms without Supple, Blender's own modifiers or a bake, goes on.
    """
    if needs_supple(settings_of(obj)):
        pass_on(obj)


def pass_on(obj: bpy.types.Object) -> None:
    """Let the Armature modifier deform a bound object."""
    settings = settings_of(obj)
    if settings.bake == "NONE" and not settings.is_muted and swap(obj, to_armature=True):
        settings.is_handed_over = True


def take_over(obj: bpy.types.Object) -> None:
    """Have Supple deform an object again that was handed over."""
    settings = settings_of(obj)
    if settings.is_handed_over and swap(obj, to_armature=False):
        settings.is_handed_over = False


def is_switched(modifier: bpy.types.Modifier, animated: Container[str]) -> bool:
    """Whether keys or drivers, of these data paths, switch a modifier on and off."""
    return any(modifier.path_from_id(name) in animated for name in TOGGLES)


def pass_animation(source: bpy.types.Modifier, target: bpy.types.Modifier, names: Iterable[str] = TOGGLES) -> None:
    """Have keys and drivers that switch one modifier on and off switch another one."""
    redirect(source.id_data, {source.path_from_id(name): target.path_from_id(name) for name in names})


def check_animation(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> None:
    """Raise SkinningError where keys that switch a modifier on and off can not be passed to another one."""
    if action := find_not_own(obj, {modifier.path_from_id(name) for name in TOGGLES}):
        raise SkinningError(
            f"Action '{action.name}', which is linked or that others play, too, switches modifier '{modifier.name}' of "
            f"'{obj.name}' on and off: make it a single-user copy"
        )


def swap(obj: bpy.types.Object, to_armature: bool) -> bool:
    """Pass the viewport and render toggles on, unless that was done; False where one of the modifiers was removed.

    The Armature modifier of an object that it deforms itself has them already.
    """
    try:
        supple, armature = find_supple_modifier(obj), find_replaced_modifier(obj)
    except SkinningError:
        return False
    if supple == armature:
        return False
    source, target = (supple, armature) if to_armature else (armature, supple)
    pass_animation(source, target)
    if any(read_toggles(source)):
        write_toggles(target, either(read_toggles(source), read_toggles(target)))
        write_toggles(source, (False, False))
    return True


def read_milliseconds(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None) -> float | None:
    """What a bound object's modifiers took when it was last evaluated; None where it was not."""
    if depsgraph is None:  # as in a view layer that was never shown
        return None
    with suppress(SkinningError):
        names = [each.name for each in _list_known(obj, find_replaced_modifier(obj))]
        taken = [each for name in names if (each := obj.evaluated_get(depsgraph).modifiers.get(name)) is not None]
        if taken and taken[0].show_viewport:
            return 1e3 * sum(each.execution_time for each in taken)
    return None


def read_toggles(modifier: bpy.types.Modifier) -> tuple[bool, bool]:
    """Whether a modifier is on in the viewport, and in the render."""
    return modifier.show_viewport, modifier.show_render


def either(*toggles: tuple[bool, bool]) -> tuple[bool, bool]:
    """Toggles of what is on in any of several modifiers."""
    return any(viewport for viewport, _ in toggles), any(render for _, render in toggles)


def write_toggles(modifier: bpy.types.Modifier, toggles: tuple[bool, bool]) -> None:
    """Switch a modifier on or off in viewport and render; with the first that deforms, all that Bind has added."""
    modifier.show_viewport, modifier.show_render = toggles
    obj = cast(bpy.types.Object, modifier.id_data)
    settings, own, is_old = settings_of(obj), list_own_armatures(obj), is_former(obj)
    is_first = is_supple_modifier(modifier) if is_old else modifier == _find_first(obj, own)
    if is_first and (settings.is_bound or is_old):
        is_on = stands_in(obj) or not settings.is_muted
        for other in own:
            other.show_viewport, other.show_render = (is_on and each for each in toggles)


def _find_first(obj: bpy.types.Object, own: list[bpy.types.ArmatureModifier]) -> bpy.types.Modifier | None:
    """The modifier that those that Bind has added to a bound object are on with."""
    if stands_in(obj):
        return own[0] if own else None
    with suppress(SkinningError):
        return find_replaced_modifier(obj)
    return None
