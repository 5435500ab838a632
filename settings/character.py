"""The character: the meshes that an armature deforms, which of them are ticked, and their settings edited together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import bpy

from ..deformers import Option
from .choices import properties_of
from .objects import PATTERN_OPTIONS, SKIN_OPTIONS, settings_of

# Meshes of an armature, by `session_uid`, while a panel is drawn
_listed: dict[int, list[bpy.types.Object]] = {}


# Constraints that make an object follow a bone
HOLDING = {"ARMATURE", "CHILD_OF", "COPY_LOCATION", "COPY_TRANSFORMS"}


def find_armature(context: bpy.types.Context) -> bpy.types.Object | None:
    """The active armature, or that of the active object: which deforms it, or on a bone of which it hangs."""
    active = context.active_object
    if active is None or active.type == "ARMATURE":
        return active
    return next(_armatures_of(active), None) or find_holder(active)


def _armatures_of(obj: bpy.types.Object) -> Iterator[bpy.types.Object]:
    for modifier in obj.modifiers:
        if modifier.type == "ARMATURE" and modifier.object is not None:
            yield modifier.object


def find_holder(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature of the bone that an object hangs on, by its parent or a constraint, also by an object between."""
    seen = set[bpy.types.Object]()
    above: bpy.types.Object | None = obj
    while above is not None and above not in seen:
        seen.add(above)
        for holder, bone in _list_holders(above):
            if bone and holder is not None and holder.type == "ARMATURE":
                return holder
        above = above.parent
    return None


def _list_holders(obj: bpy.types.Object) -> Iterator[tuple[bpy.types.Object | None, str]]:
    if obj.parent_type == "BONE":
        yield obj.parent, obj.parent_bone
    for constraint in obj.constraints:
        own: Any = constraint
        if constraint.type in HOLDING and constraint.enabled and constraint.influence > 0.0:
            for target in own.targets if constraint.type == "ARMATURE" else (own,):
                yield target.target, target.subtarget


def list_objects(layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """All objects of a view layer: in place of one that a script has just removed, Blender has None."""
    return [obj for obj in layer.objects if obj is not None]


def list_meshes(context: bpy.types.Context, armature: bpy.types.Object | None = None) -> list[bpy.types.Object]:
    """The meshes of an armature, by name; of the character that the active object belongs to if none is given."""
    armature = armature or find_armature(context)
    if armature is None:
        return []
    if armature.session_uid in _listed:
        return _listed[armature.session_uid]
    meshes = [obj for obj in list_objects(context.view_layer) if obj.type == "MESH" and armature in _armatures_of(obj)]
    return sorted(meshes, key=lambda obj: obj.name)


@contextmanager
def listed_once(context: bpy.types.Context) -> Iterator[None]:
    """Look for the character's meshes once, while a panel is drawn that asks for them again and again."""
    armature = find_armature(context)
    if armature is not None:
        _listed[armature.session_uid] = list_meshes(context)
    try:
        yield
    finally:
        _listed.clear()


def list_ticked(context: bpy.types.Context, armature: bpy.types.Object | None = None) -> list[bpy.types.Object]:
    """The ticked meshes of an armature, or of the active character."""
    return [obj for obj in list_meshes(context, armature) if settings_of(obj).is_ticked]


def find_shown(context: bpy.types.Context) -> bpy.types.Object | None:
    """The mesh whose settings the Supple tab shows: the active one, or the one chosen in the list.

    A posed copy has nothing to be set.
    """
    active = context.active_object
    if active is not None and active.type == "MESH":
        return active if settings_of(active).corrected is None else None
    meshes = list_meshes(context)
    chosen = context.scene.supple_character.shown
    return next((obj for obj in meshes if obj.name == chosen), meshes[0] if meshes else None)


def find_pattern_mesh(context: bpy.types.Context) -> bpy.types.Object | None:
    """The mesh whose patterns are edited: the active one, or that of the active armature's list.

    As long as none was chosen there, the first that has patterns.
    """
    active = context.active_object
    if active is None or active.type != "ARMATURE":
        return active if active is not None and active.type == "MESH" else None
    shown, meshes = find_shown(context), list_meshes(context)
    if shown is not None and shown.name == context.scene.supple_character.shown:
        return shown
    return next((obj for obj in meshes if settings_of(obj).patterns), shown)


def is_mixed(context: bpy.types.Context, name: str) -> bool:
    """Whether the ticked meshes differ in one of `SHARED`."""
    return len({getattr(settings_of(obj), name) for obj in list_ticked(context)}) > 1


def _read_index(_character: bpy.types.PropertyGroup) -> int:
    shown = find_shown(bpy.context)
    return -1 if shown is None else bpy.data.objects.find(shown.name)


def _write_index(character: bpy.types.PropertyGroup, index: int) -> None:
    """Show a mesh in the panels; in Object Mode, make it active if a mesh is active."""
    context, obj = bpy.context, bpy.data.objects[index]
    character.shown = obj.name
    active = context.active_object
    if active is not None and active.type == "MESH" and active.mode == "OBJECT":
        active.select_set(False)
        obj.select_set(True)
        context.view_layer.objects.active = obj


def _share(option: Option) -> dict[str, Any]:
    """Functions that read a setting of the first ticked mesh, and write it to all ticked meshes."""
    name, items = option.name, option.items
    numbers = {item[0]: item[4] if len(item) > 4 else index for index, item in enumerate(items)}
    keys = {number: key for key, number in numbers.items()}

    def read(_character: bpy.types.PropertyGroup) -> Any:
        ticked = list_ticked(bpy.context)
        value = getattr(settings_of(ticked[0]), name) if ticked else option.default
        return numbers.get(value, 0) if items else value

    def write(_character: bpy.types.PropertyGroup, value: Any) -> None:
        value = keys[value] if items else value
        for obj in list_ticked(bpy.context):
            if getattr(settings_of(obj), name) != value:
                setattr(settings_of(obj), name, value)

    return {"get": read, "set": write}


class CharacterSettings(bpy.types.PropertyGroup):
    """`scene.supple_character`: the shown mesh, and access to the settings of the ticked meshes."""

    shown: bpy.props.StringProperty(options={"HIDDEN"})
    index: bpy.props.IntProperty(name="Mesh", options={"HIDDEN"}, get=_read_index, set=_write_index)


TOOLTIPS = {
    "method": "How the skin of the ticked meshes follows the bones",
    "twist": "Whether limbs of the ticked meshes take up twists along their bones, by B-Bone segments",
    "pattern_display": "Show patterns of the ticked meshes by moving the skin, or as bumps in the materials",
    "pattern_level": "Number of subdivisions of the ticked meshes before patterns displace them",
}
# Settings that all ticked meshes can get at once
SHARED = properties_of(
    (replace(each, tooltip=TOOLTIPS.get(each.name, each.tooltip)) for each in (*SKIN_OPTIONS, *PATTERN_OPTIONS)), _share
)

CharacterSettings.__annotations__ |= {name: f"SHARED[{name!r}]" for name in SHARED}
