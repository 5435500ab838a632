"""What deforms an object: its Armature modifier, Supple's node modifier, or a bake.

`resolve` finds the modifiers and the armature of a bound object once; what is done in that step takes them from there.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import cast

import bpy

from ...bridge.animation.curves import find_not_own, redirect
from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.influences import has_influences
from ...bridge.modifiers import BLEND_NAME, LINEAR_NAME, is_supple_modifier
from ...bridge.rigs.carriers import is_hidden_object
from ...deformers import SkinningError
from ...nodes.groups import is_deformation, is_native_group, read_method
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
        The modifier that Supple stands in for, or is to stand in for.
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
        """The modifier that deforms, or is to deform, by its position: Supple's, else the one to be replaced."""
        return next(filter(is_supple_modifier, self.obj.modifiers), self.replaced)


@dataclass(frozen=True)
class BoundObject(SkinnedObject):
    """The same with the node modifier that Bind has put into the stack, as `supple`."""

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


def resolve(obj: bpy.types.Object, supple: bpy.types.Modifier | None = None) -> BoundObject:
    """A bound object with its modifiers and its armature.

    Parameters
    ----------
    obj : Object
        Bound.
    supple : Modifier, optional
        What `find_supple_modifier` has found already.

    Raises
    ------
    SkinningError
        Where the user has removed one of them.
    """
    supple = find_supple_modifier(obj) if supple is None else supple
    replaced = find_replaced_modifier(obj)
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
    """The node modifier that Bind has put into the stack.

    Raises
    ------
    SkinningError
        Where the user has removed it, or its node group.
    """
    for modifier in obj.modifiers:
        if is_supple_modifier(modifier):
            if modifier.node_group is None:
                raise SkinningError(f"The node group of '{obj.name}' was removed: bind again")
            return modifier
    raise SkinningError(f"The Supple modifier of '{obj.name}' was removed: press Unbind, or Bind to put it back")


def find_own_armatures(obj: bpy.types.Object) -> dict[str, bpy.types.ArmatureModifier]:
    """The Armature modifiers that Bind has put into the stack, by their first names, whatever they are called now.

    One whose number a damaged file does not have is known by its first name.
    """
    own = zip((BLEND_NAME, LINEAR_NAME), settings_of(obj).own_modifiers, strict=True)
    own = {name: uid for name, uid in own if uid}
    armatures = [each for each in obj.modifiers if each.type == "ARMATURE"] if own else []
    known = {each.persistent_uid: each for each in armatures}
    others = {each.name: each for each in armatures if each.persistent_uid not in own.values()}
    found = {name: known.get(uid) or others.get(name) for name, uid in own.items()}
    return {name: cast(bpy.types.ArmatureModifier, each) for name, each in found.items() if each}


def list_own_armatures(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """The same in the order of their roles."""
    return list(find_own_armatures(obj).values())


def list_copied_armatures(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    """Copies that a user has made of these, or of those of another object, known by their names."""
    own = list_own_armatures(obj)
    found = [each for each in obj.modifiers if each.type == "ARMATURE" and each not in own]
    return [each for each in found if each.name.startswith((BLEND_NAME, LINEAR_NAME))]


def find_last_modifier(obj: bpy.types.Object) -> bpy.types.Modifier:
    """The last of the modifiers by which Supple deforms a bound object; raises as `find_supple_modifier`."""
    return [find_supple_modifier(obj), *list_own_armatures(obj)][-1]


def find_independent(obj: bpy.types.Object) -> tuple[bpy.types.Modifier, str] | None:
    """The node modifier that deforms an object without Supple, and its method's key; None where there is none."""
    settings = settings_of(obj)
    if settings.is_bound:
        return None
    for modifier in filter(is_supple_modifier, obj.modifiers):
        group = modifier.node_group
        if not is_deformation(group):
            continue
        if any(settings.own_modifiers) if is_native_group(group) else has_influences(mesh_of(obj)):
            return modifier, read_method(group)
    return None


def check_not_copied(obj: bpy.types.Object) -> None:
    """Raise SkinningError where Supple's modifiers of another object, without what they need, deform one not bound."""
    if settings_of(obj).is_bound or is_hidden_object(obj) or find_independent(obj) is not None:
        return
    if any(is_supple_modifier(each) and any(read_toggles(each)) for each in obj.modifiers):
        raise SkinningError(f"'{obj.name}' has a copy of Supple's modifiers, but is not bound: bind it, or remove them")


def is_deformed_by_parent(obj: bpy.types.Object) -> bool:
    """Whether Blender deforms an object by its parent, before all modifiers: then, an armature may do so twice."""
    has_type = obj.parent is not None and obj.parent_type in {"ARMATURE", "LATTICE"}
    return has_type and obj.parent.type in {"ARMATURE", "CURVE", "LATTICE"}


def armature_modifiers(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """All Armature modifiers of an object, in their order, without those of Supple's own."""
    own = list_own_armatures(obj)
    found = [modifier for modifier in obj.modifiers if modifier.type == "ARMATURE" and modifier not in own]
    return cast(list[bpy.types.ArmatureModifier], found)


def find_replaced_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """The Armature modifier that Supple stands in for: by its name, else the one below Supple's, else the only one.

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
    for modifier in (*below, *(found if len(found) == 1 else ())):
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
    found = armature_modifiers(obj)
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
    stack = [each for each in obj.modifiers if each not in own]
    below = stack[stack.index(replaced) + 1 :]
    chain = itertools.takewhile(lambda each: each.type == "ARMATURE" and each.use_multi_modifier, below)
    return list(filter(_is_in_use, cast(Iterable[bpy.types.ArmatureModifier], chain)))


def check_blends(obj: bpy.types.Object, replaced: bpy.types.Modifier) -> None:
    """Raise SkinningError for these where no Armature modifier of Blender's own deforms in the place of the first."""
    for modifier in list_blending(obj, replaced):
        raise SkinningError(
            f"Armature modifier '{modifier.name}' of '{obj.name}' has Multi Modifier on, and "
            "blends only with another one of Blender's own: turn Multi Modifier off, or bind by Linear without Twist"
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

    What deforms without Supple, by nodes or a bake, goes on.
    """
    if needs_supple(settings_of(obj)) and settings_of(obj).bake == "NONE":
        pass_on(obj)


def pass_on(obj: bpy.types.Object) -> None:
    """Let the Armature modifier deform a bound object."""
    settings = settings_of(obj)
    if settings.bake == "NONE" and _swap(obj, to_armature=True):
        settings.is_handed_over = True


def take_over(obj: bpy.types.Object) -> None:
    """Have Supple deform an object again that was handed over."""
    settings = settings_of(obj)
    if settings.is_handed_over and _swap(obj, to_armature=False):
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


def _swap(obj: bpy.types.Object, to_armature: bool) -> bool:
    """Pass the viewport and render toggles on, unless that was done; False where one of the modifiers was removed."""
    try:
        supple, armature = find_supple_modifier(obj), find_replaced_modifier(obj)
    except SkinningError:
        return False
    source, target = (supple, armature) if to_armature else (armature, supple)
    pass_animation(source, target)
    if any(read_toggles(source)):
        write_toggles(
            target, either(read_toggles(source), read_toggles(target))
        )  # both are on, each in one, if flipped
        write_toggles(source, (False, False))
    return True


def is_flipped(obj: bpy.types.Object) -> bool:
    """Whether Blender's own Armature modifier shows a bound object in the viewport."""
    try:
        supple, armature = find_supple_modifier(obj), find_replaced_modifier(obj)
    except SkinningError:
        return False
    return armature.show_viewport and not supple.show_viewport


def read_milliseconds(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None) -> float | None:
    """What a bound object's modifiers took when it was last evaluated; None where it was not."""
    if depsgraph is None:  # as in a view layer that was never shown
        return None
    evaluated = obj.evaluated_get(depsgraph)
    modifier = next(filter(is_supple_modifier, evaluated.modifiers), None)
    if modifier is None or not modifier.show_viewport:
        return None
    return 1e3 * sum(each.execution_time for each in (modifier, *list_own_armatures(evaluated)))


def flip(objects: Iterable[bpy.types.Object], to_armature: bool) -> None:
    """Have Blender's own Armature modifier show bound objects in the viewport, or Supple again; renders do not change.

    Raises
    ------
    SkinningError
        Where a bake deforms an object, or the user has removed one of its modifiers; none is changed then.
    """
    found = []
    for obj in objects:
        check_not_baked(obj)
        check_not_linked(obj)
        found.append((find_supple_modifier(obj), find_replaced_modifier(obj), is_flipped(obj)))
    for supple, armature, was_flipped in found:
        if was_flipped == to_armature:
            continue
        hidden, shown = (supple, armature) if to_armature else (armature, supple)
        is_shown = hidden.show_viewport
        pass_animation(hidden, shown, TOGGLES[:1])
        write_toggles(shown, (is_shown, shown.show_render))
        write_toggles(hidden, (False, hidden.show_render))


def read_toggles(modifier: bpy.types.Modifier) -> tuple[bool, bool]:
    """Whether a modifier is on in the viewport, and in the render."""
    return modifier.show_viewport, modifier.show_render


def either(*toggles: tuple[bool, bool]) -> tuple[bool, bool]:
    """Toggles of what is on in any of several modifiers."""
    return any(viewport for viewport, _ in toggles), any(render for _, render in toggles)


def write_toggles(modifier: bpy.types.Modifier, toggles: tuple[bool, bool]) -> None:
    """Switch a modifier on or off in the viewport, and in the render; with Supple's, all that it deforms by."""
    modifier.show_viewport, modifier.show_render = toggles
    if is_supple_modifier(modifier):
        is_native = is_native_group(modifier.node_group)
        for own in list_own_armatures(cast(bpy.types.Object, modifier.id_data)):
            own.show_viewport, own.show_render = toggles if is_native else (False, False)
