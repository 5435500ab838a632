"""The modifiers that deform an object: Blender's own, Supple's node modifier, or a bake.

`resolve` finds the modifiers and the armature of a bound object once for each step.
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

# What switches modifiers on and off
TOGGLES = "show_viewport", "show_render"


@dataclass(frozen=True)
class Stack:
    """The Armature modifiers of an object and Supple's node modifiers, sorted by their origin, each in stack order.

    Attributes
    ----------
    blenders : list of ArmatureModifier
        Those that Bind has not added.
    own : list of ArmatureModifier
        Those that Bind has added, whatever they are called now.
    copied : list of ArmatureModifier
        Copies that a user has made of those that Bind adds, to this object or another; known by their names.
    hidden : list of ArmatureModifier
        Those of all these that follow Supple's hidden armatures.
    nodes : list of Modifier
        Node modifiers that Bind has added.
    """

    obj: bpy.types.Object
    blenders: list[bpy.types.ArmatureModifier]
    own: list[bpy.types.ArmatureModifier]
    copied: list[bpy.types.ArmatureModifier]
    hidden: list[bpy.types.ArmatureModifier]
    nodes: list[bpy.types.Modifier]

    @classmethod
    def of(cls, obj: bpy.types.Object) -> Stack:
        """Sort the modifiers of an object."""
        armatures = [cast(bpy.types.ArmatureModifier, each) for each in obj.modifiers if each.type == "ARMATURE"]
        own = hidden = list(filter(is_stretch_modifier, armatures))
        if settings_of(obj).evaluate != STRETCH:
            uids = [uid for uid in settings_of(obj).own_modifiers if uid]
            own = [each for each in armatures if each.persistent_uid in uids]
            # A damaged file may have lost the number of Supple Linear, but not its first name
            own = own or [each for each in armatures if uids and each.name == LINEAR_NAME][:1]
        others = [each for each in armatures if each not in own]
        copied = [each for each in others if each in hidden or each.name.startswith(LINEAR_NAME)]
        blenders = [each for each in others if each not in hidden]
        return cls(obj, blenders, own, copied, hidden, list(filter(is_supple_modifier, obj.modifiers)))

    def find_replaced(self) -> bpy.types.ArmatureModifier:
        """See `find_replaced_modifier`."""
        name, found = settings_of(self.obj).armature_modifier, self.blenders
        for modifier in found:
            if modifier.name == name:
                return modifier
        others = [each for each in self.obj.modifiers if each not in self.own and each not in self.copied]
        found = [each for each in found if each not in self.copied] or found
        below = [after for before, after in itertools.pairwise(others) if before in self.nodes and after in found]
        in_use = [] if stands_in(self.obj) else list(filter(_is_in_use, found))
        for modifier in (*below, *(each[0] for each in (found, in_use) if len(each) == 1)):
            return cast(bpy.types.ArmatureModifier, modifier)
        raise SkinningError(
            f"Armature modifier '{name}' of '{self.obj.name}' was removed: unbind, add one, and bind again"
        )

    def list_deforming(self, replaced: bpy.types.ArmatureModifier) -> list[bpy.types.Modifier]:
        """The modifiers that deform a bound object, in their order; raises as `find_supple_modifier`."""
        obj, own = self.obj, self.own
        if needs_supple(settings_of(obj)):
            if not self.nodes:
                raise SkinningError(
                    f"The Supple modifier of '{obj.name}' was removed: press Unbind, or Bind to put it back"
                )
            if self.nodes[0].node_group is None:
                raise SkinningError(f"The node group of '{obj.name}' was removed: bind again")
            return self.nodes[:1]
        is_complete = bool(own) or not settings_of(obj).own_modifiers[0]
        if stands_in(obj):
            is_complete = len(own) >= 2 and None not in [each.object for each in own]
        if not is_complete:
            raise SkinningError(f"An Armature modifier that '{obj.name}' needs was removed or applied: bind again")
        return [*own] if stands_in(obj) else [replaced, *own]

    def list_copies(self) -> list[bpy.types.Modifier]:
        """Modifiers that Bind has made for another object, and that were copied to this one."""
        settings = settings_of(self.obj)
        return [*self.copied, *([] if settings.is_bound and needs_supple(settings) else self.nodes)]


@dataclass(frozen=True)
class SkinnedObject:
    """A mesh object with its armature, found once for one step and passed on.

    Attributes
    ----------
    settings : ObjectSettings
        The object's.
    replaced : ArmatureModifier
        The object's own modifier: it deforms, or others stand in for it.
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
        """The first modifier that deforms: the object's own, or one that stands in for it."""
        return list_deforming(self.obj, self.replaced)[0]


@dataclass(frozen=True)
class BoundObject(SkinnedObject):
    """A bound mesh object; `supple` is the first modifier that deforms it, and `stack` has all of them."""

    supple: bpy.types.Modifier
    stack: Stack

    @property
    def deforming(self) -> bpy.types.Modifier:
        return self.supple


def find_bound_objects() -> list[bpy.types.Object]:
    """All bound objects of the file that can be changed (linked ones cannot)."""
    return [obj for obj in bpy.data.objects if obj.type == "MESH" and settings_of(obj).is_bound and obj.library is None]


def resolve_skinned(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier) -> SkinnedObject:
    """A mesh object with its Armature modifier; raises SkinningError if that has no armature."""
    return SkinnedObject(obj, settings_of(obj), replaced, check_armature(obj, replaced))


def resolve(obj: bpy.types.Object) -> BoundObject:
    """A bound object with its modifiers and its armature. Raises SkinningError if the user has removed one of them."""
    stack = Stack.of(obj)
    replaced = stack.find_replaced()
    supple = stack.list_deforming(replaced)[0]
    return BoundObject(obj, settings_of(obj), replaced, check_armature(obj, replaced), supple, stack)


def check_deformed_once(bound: BoundObject) -> None:
    """Raise SkinningError if the Armature modifier that Supple stands in for, or a copy of Supple's, is on, too."""
    others = (bound.replaced, *bound.stack.copied, *bound.stack.nodes)
    deforming = [each for each in bound.obj.modifiers if each in others]
    for toggles in zip(*map(read_toggles, deforming), strict=True):
        if sum(toggles) > 1:
            names = " and ".join(f"'{each.name}'" for each, is_on in zip(deforming, toggles, strict=True) if is_on)
            raise SkinningError(
                f"'{bound.obj.name}' is deformed more than once, by modifiers {names}: disable all but one"
            )


def find_supple_modifier(obj: bpy.types.Object) -> bpy.types.Modifier:
    """The first modifier that deforms a bound object: its own Armature modifier, or one that stands in for it.

    Raises SkinningError if the user has removed it, or its node group.
    """
    return _list_known(obj)[0]


def find_last_modifier(obj: bpy.types.Object) -> bpy.types.Modifier:
    """The last of these modifiers; raises as `find_supple_modifier`."""
    return _list_known(obj)[-1]


def _list_known(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    stack = Stack.of(obj)
    return stack.list_deforming(stack.find_replaced())


def list_deforming(obj: bpy.types.Object, replaced: bpy.types.ArmatureModifier) -> list[bpy.types.Modifier]:
    """The deforming modifiers of any object: its Armature modifier if no other is known."""
    stack = Stack.of(obj)
    if not settings_of(obj).is_bound:
        return [*stack.nodes, replaced][:1]
    with suppress(SkinningError):
        return stack.list_deforming(replaced)
    return [replaced]


def stands_in(obj: bpy.types.Object) -> bool:
    """Whether a bound object is deformed by other modifiers than its own Armature modifier, which is off."""
    return settings_of(obj).evaluate != BLENDER


def list_own_armatures(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """The Armature modifiers that Bind has put into the stack, in their order, whatever they are called now."""
    return Stack.of(obj).own


def is_former(obj: bpy.types.Object) -> bool:
    """Whether nodes of an earlier version of Supple deform an object."""
    return any(modifier.type == "NODES" and is_former_group(modifier.node_group) for modifier in obj.modifiers)


def list_copies(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """Modifiers that Bind has made for another object, and that were copied to this one."""
    return Stack.of(obj).list_copies()


def list_former(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Meshes that nodes of an earlier version of Supple deform."""
    return [obj for obj in objects if obj.type == "MESH" and is_former(obj)]


def check_not_copied(obj: bpy.types.Object) -> None:
    """Raise SkinningError if copies of Supple's modifiers deform an object that is not bound.

    Hidden armatures deform any mesh that has groups for their bones.
    """
    if not (settings_of(obj).is_bound or is_hidden_object(obj) or is_former(obj)):
        stack = Stack.of(obj)
        _check_off(obj, [each for each in stack.list_copies() if each not in stack.hidden])


def check_has_no_copies(bound: BoundObject) -> None:
    """Raise SkinningError if Supple's modifiers of another object deform one that is bound."""
    _check_off(bound.obj, bound.stack.list_copies())


def _check_off(obj: bpy.types.Object, copies: Iterable[bpy.types.Modifier]) -> None:
    if any(any(read_toggles(each)) for each in copies):
        raise SkinningError(f"'{obj.name}' has a copy of Supple's modifiers: bind it, or remove them")


def is_deformed_by_parent(obj: bpy.types.Object) -> bool:
    """Whether Blender deforms an object by its parent, before all modifiers: then, an armature may do so twice."""
    has_type = obj.parent is not None and obj.parent_type in {"ARMATURE", "LATTICE"}
    return has_type and obj.parent.type in {"ARMATURE", "CURVE", "LATTICE"}


def armature_modifiers(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """All Armature modifiers of an object, in their order, without those of Supple's own."""
    return Stack.of(obj).blenders


def find_replaced_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """The Armature modifier that Supple stands in for, or has deform, by its name.

    If it was renamed: the one right below Supple's, or the only one, or the only one that is on. Raises SkinningError
    if the user has removed it.
    """
    return Stack.of(obj).find_replaced()


def find_deforming_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """The Armature modifier that Supple stands in for, or for an unbound object the one to be replaced.

    Raises
    ------
    SkinningError
        As `find_replaced_modifier` and `find_armature_modifier`.
    """
    return find_replaced_modifier(obj) if settings_of(obj).is_bound else find_armature_modifier(obj)


def check_not_edited(skinned: SkinnedObject) -> None:
    """Raise SkinningError if a mesh or its armature is in Edit Mode, and so has no pose."""
    for other in (skinned.obj, skinned.armature):
        if other.mode == "EDIT":
            raise SkinningError(f"'{other.name}' is in Edit Mode: leave it first")


def find_armature_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """The Armature modifier that Supple is to replace.

    Others below it stay: they deform by another armature, or only a vertex group. Raises SkinningError if there is
    none, or more than one deforms the whole mesh by the same armature.
    """
    stack = Stack.of(obj)
    found = [modifier for modifier in stack.blenders if modifier not in stack.copied]
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
    """Whether a modifier deforms the whole mesh again after one of the earlier ones."""
    has_part = modifier.use_multi_modifier or modifier.vertex_group in modifier.id_data.vertex_groups
    return not has_part and any(modifier.object == each.object for each in before)


def list_blending(obj: bpy.types.Object, replaced: bpy.types.Modifier) -> list[bpy.types.ArmatureModifier]:
    """Armature modifiers that blend by Multi Modifier with the input of the one that Supple stands in for."""
    stack = Stack.of(obj)
    others = [each for each in obj.modifiers if each not in stack.own and each not in stack.hidden]
    below = others[others.index(replaced) + 1 :]
    chain = itertools.takewhile(lambda each: each.type == "ARMATURE" and each.use_multi_modifier, below)
    return list(filter(_is_in_use, cast(Iterable[bpy.types.ArmatureModifier], chain)))


def check_blends(obj: bpy.types.Object, replaced: bpy.types.Modifier) -> None:
    """Raise SkinningError for these if no Armature modifier of Blender's own deforms in the place of the first."""
    for modifier in list_blending(obj, replaced):
        raise SkinningError(
            f"Armature modifier '{modifier.name}' of '{obj.name}' has Multi Modifier on, and "
            "blends only with another one of Blender's own: turn Multi Modifier off, or choose another method"
        )


def check_deformed_alone(skinned: SkinnedObject) -> None:
    """Raise SkinningError if another Armature modifier deforms the output of the one that Supple stands in for."""
    stack = Stack.of(skinned.obj)
    for modifier in filter(_is_in_use, stack.blenders):
        if modifier not in (skinned.replaced, *stack.copied):
            raise SkinningError(
                f"'{skinned.obj.name}' is deformed by Armature modifier '{modifier.name}', too: disable it in viewport "
                "and render first"
            )


def check_armature(obj: bpy.types.Object, modifier: bpy.types.ArmatureModifier) -> bpy.types.Object:
    """The modifier's armature object; raises SkinningError if there is none."""
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
    """Raise SkinningError if an object cannot be changed in this file."""
    if obj.library is not None:
        raise SkinningError(
            f"'{obj.name}' is linked from another file: make a library override of it, or make it local"
        )


def check_not_baked(obj: bpy.types.Object) -> None:
    """Raise SkinningError if a bake deforms an object instead of Supple, or of its Armature modifier."""
    if settings_of(obj).bake != "NONE":
        raise SkinningError(f"'{obj.name}' is deformed by a bake: go back to live first")


def hand_over(obj: bpy.types.Object) -> None:
    """Let the Armature modifier deform a bound object for now, as in a file that is opened without Supple.

    Blender's own modifiers and bakes, which need no Supple, stay on.
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
    """Raise SkinningError if keys that switch a modifier on and off cannot be passed to another one."""
    if action := find_not_own(obj, {modifier.path_from_id(name) for name in TOGGLES}):
        raise SkinningError(
            f"Action '{action.name}', which is linked or that others play, too, switches modifier '{modifier.name}' of "
            f"'{obj.name}' on and off: make it a single-user copy"
        )


def swap(obj: bpy.types.Object, to_armature: bool) -> bool:
    """Pass the viewport and render toggles on, unless that was done; False if one of the modifiers was removed.

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
    """Time of a bound object's modifiers in its last evaluation; None if there was none."""
    if depsgraph is None:  # as in a view layer that was never shown
        return None
    with suppress(SkinningError):
        names = [each.name for each in _list_known(obj)]
        taken = [each for name in names if (each := obj.evaluated_get(depsgraph).modifiers.get(name)) is not None]
        if taken and taken[0].show_viewport:
            return 1e3 * sum(each.execution_time for each in taken)
    return None


def read_toggles(modifier: bpy.types.Modifier) -> tuple[bool, bool]:
    """Whether a modifier is on in the viewport, and in the render."""
    return modifier.show_viewport, modifier.show_render


def either(*toggles: tuple[bool, bool]) -> tuple[bool, bool]:
    """Toggles that are on in any of several modifiers."""
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
