"""Who deforms a bound object: Supple's node modifier, the Armature modifier it stands in for, or a bake."""

from __future__ import annotations

from typing import cast

import bpy

from ..bridge.carriers import is_supple_modifier
from ..deformers import SkinningError
from ..settings.objects import settings_of


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


def armature_modifiers(obj: bpy.types.Object) -> list[bpy.types.ArmatureModifier]:
    """All Armature modifiers of an object, in their order."""
    return [cast(bpy.types.ArmatureModifier, modifier) for modifier in obj.modifiers if modifier.type == "ARMATURE"]


def find_replaced_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """The Armature modifier that Supple stands in for: by its name, else the one below Supple's, else the only one.

    Raises
    ------
    SkinningError
        Where the user has removed it.
    """
    name = settings_of(obj).armature_modifier
    found = armature_modifiers(obj)
    named = [modifier for modifier in found if modifier.name == name]
    supple = [index for index, modifier in enumerate(obj.modifiers) if is_supple_modifier(modifier)]
    below = [modifier for modifier in found if obj.modifiers.find(modifier.name) - 1 in supple]
    for modifier in (*named, *below, *(found if len(found) == 1 else ())):
        return modifier
    raise SkinningError(f"Armature modifier '{name}' of '{obj.name}' was removed: unbind, add one, and bind again")


def hand_over(obj: bpy.types.Object) -> None:
    """Let the Armature modifier deform a bound object for a while, as it is to do in a file opened without Supple.

    What deforms without Supple, by nodes or a bake, goes on.
    """
    if settings_of(obj).evaluate == "PYTHON" and settings_of(obj).bake == "NONE":
        pass_on(obj)


def pass_on(obj: bpy.types.Object) -> None:
    """Let the Armature modifier deform a bound object."""
    settings = settings_of(obj)
    if not settings.is_handed_over and settings.bake == "NONE" and _swap(obj, to_armature=True):
        settings.is_handed_over = True


def take_over(obj: bpy.types.Object) -> None:
    """Have Supple deform an object again that was handed over."""
    settings = settings_of(obj)
    if settings.is_handed_over and _swap(obj, to_armature=False):
        settings.is_handed_over = False


def _swap(obj: bpy.types.Object, to_armature: bool) -> bool:
    """Pass the viewport and render toggles on; False where the user has removed one of the two modifiers."""
    try:
        supple, armature = find_supple_modifier(obj), find_replaced_modifier(obj)
    except SkinningError:
        return False
    pass_toggles(*((supple, armature) if to_armature else (armature, supple)))
    return True


def pass_toggles(source: bpy.types.Modifier, target: bpy.types.Modifier) -> None:
    """Let `target` deform where `source` did, in the viewport and in the render."""
    write_toggles(target, read_toggles(source))
    write_toggles(source, (False, False))


def read_toggles(modifier: bpy.types.Modifier) -> tuple[bool, bool]:
    """Whether a modifier is on in the viewport, and in the render."""
    return modifier.show_viewport, modifier.show_render


def write_toggles(modifier: bpy.types.Modifier, toggles: tuple[bool, bool]) -> None:
    """Switch a modifier on or off in the viewport, and in the render."""
    modifier.show_viewport, modifier.show_render = toggles
