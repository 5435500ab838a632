"""Actions that take operators and settings of Supple from what is registered: a new one is used by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import bpy
import state
from actions_file import evaluate_animation, points_stay
from actions_supple import draw_method, sculpt
from world import NothingToDoError, World, action, is_enabled, texts

HERE = "use_operators"
"""The action that uses an operator and takes it back: all is as before, in the run without Supple, too."""
OPERATORS = {
    "asset_library_add": HERE, "asset_library_remove": HERE,
    "bake_cache": "bake", "bake_shape_keys": "bake", "bind": "bind", "clear_bake": "clear_bake",
    "flip": "flip_there_and_back", "make_independent": "make_independent", "unbind": "unbind", "update": HERE,
    "check": HERE, "check_dismiss": HERE, "check_close": HERE, "check_fix": HERE, "check_fix_all": HERE,
    "check_show": HERE, "clear_pins": HERE,
    "close_report": HERE, "correct_pose": HERE, "correction_discard": HERE, "correction_edit": HERE,
    "correction_keep": HERE, "correction_pose": HERE, "correction_remove": HERE, "correction_select": HERE,
    "corrections_from": HERE, "drag_skin": HERE, "engine_copy": HERE, "engine_copy_export": HERE,
    "engine_copy_frame": HERE, "engine_copy_show": HERE, "flesh_add": HERE, "flesh_pick": HERE,
    "flesh_take": HERE, "flesh_close": HERE, "flesh_remove": HERE,
    "fit_skeleton": HERE, "handles_add": HERE, "handles_remove": HERE, "layers_add": HERE, "layers_limbs": HERE,
    "layers_mend": HERE,
    "layers_remove": HERE, "make": HERE, "example_add": HERE,
    "measure": HERE, "motion_compare": HERE, "motion_join": HERE, "motion_loop": HERE, "pattern_add": HERE,
    "pattern_forget": HERE, "pattern_maps": HERE, "pattern_mirror": HERE, "pattern_place": HERE, "pattern_remove": HERE,
    "pattern_remove_all": HERE, "pattern_save": HERE, "pattern_set_add": HERE, "pattern_stroke": HERE, "remedy": HERE,
    "send_to_farm": HERE, "side_by_side": HERE, "swing_add": HERE, "swing_remove": HERE, "swing_update": HERE,
    "weight_lines": HERE, "weights_auto": HERE, "weights_brush": HERE,
    "weights_check": HERE, "weights_clean": HERE, "weights_limit": HERE, "weights_mirror": HERE,
    "weights_normalize": HERE, "weights_prune": HERE, "weights_select": HERE, "weights_sharpen": HERE,
    "weights_smooth": HERE, "weights_stiffen": HERE, "weights_transfer": HERE,
}  # fmt: skip
"""By which action each operator is used."""
BEFORE = {
    "check": ("check",), "correction": ("correct_pose", "correction_keep"), "engine": ("engine_copy",),
    "flesh": ("flesh_add",),
    "handles": ("handles_add",), "layers": ("layers_add",), "pattern": ("pattern_add",), "swing": ("swing_add",),
}  # fmt: skip
"""Operators that make what the others of their family go on with."""

LEFT_OUT = {
    "name": "the item of a list, known by it to Blender or to Supple",
    "count": "read only",
    "active": "a row of a list",
    "supple_preset": "what Add Pattern takes: items of a library, which add_pattern draws",
}
"""Settings that are not drawn, and why; what is hidden is Supple's own."""
LARGEST = {
    "pattern_level": 1, "target_count": 100, "width": 128, "resolution": 16, "cells": 2000, "iterations": 8,
    "iterations_bake": 8, "iterations_dragging": 8, "repeats": 3, "chunk": 100, "to_frame": 30,
}  # fmt: skip
"""Values above which an operator or a setting would take long."""
USUAL = 4.0
"""The largest value of other numbers."""


@action(often=8)
def use_operators(world: World) -> str:
    """Use some operators, one after the other, and undo all of it."""
    obj, mode = world.pick(world.meshes()), world.rng.choice(("OBJECT", "OBJECT", "POSE", "WEIGHT_PAINT", "EDIT"))
    armatures = [m.object for m in state.armature_modifiers(obj) if m.object in world.armatures()]
    if not state.is_small() or (mode == "POSE" and not armatures):
        raise NothingToDoError
    names, text = list(_draw_names(world)), texts(obj, mode)
    world.select(obj, *armatures)
    evaluate_animation()  # as undo does where an operator has gone to another frame
    world.push("before")
    before = state.dump()
    with points_stay(world, f"after undo of {' '.join(names)}"):
        bpy.context.scene["used"] = True  # an operator may add steps of its own
        bpy.context.view_layer.objects.active = target = armatures[0] if mode == "POSE" else obj
        if mode != "OBJECT" and target.visible_get():
            world.call(bpy.ops.object.mode_set, mode=mode)
        for name in names if not world.without_supple and is_enabled() else ():
            _use(world, name)
        world.leave_modes()
        world.push("used")
        while "used" in bpy.context.scene and world.call(bpy.ops.ed.undo):
            pass
        world.depth -= 1
    if changes := state.changes_since(before):
        world.problems.append(f"not undone after {' '.join(names)}: {changes}")
    return text


def _use(world: World, name: str) -> None:
    """Use one of Supple's operators, with some options."""
    prop = getattr(bpy.ops.supple, name).get_rna_type().properties
    options = {p.identifier: draw_value(world, p) for p in prop if is_option(p) and world.chance(0.4)}
    if name == "correction_keep":
        sculpt(world)
    print(f"uses {name} {options}")
    world.call_supple(name, **options)
    bpy.context.view_layer.update()


def _draw_names(world: World) -> Iterator[str]:
    """Names of operators; most often those of one family, after what makes what they go on with."""
    names = sorted(name for name, used in OPERATORS.items() if used == HERE)
    family = world.pick(names).partition("_")[0]
    yield from BEFORE.get(family, ())
    for _ in range(world.rng.randrange(1, 4)):
        yield world.pick(name for name in names if name.startswith(family) or world.chance(0.03))


def is_option(prop: bpy.types.Property) -> bool:
    """Whether an option of an operator is drawn."""
    is_drawn = prop.identifier not in ("rna_type", "check_existing") and not prop.identifier.startswith("filter_")
    return is_drawn and not (prop.type == "ENUM" and not prop.enum_items)  # those of a library are not known here


@action(often=8, any_mode=True)
def set_any_setting(world: World) -> str:
    """Set one of all settings that are registered, on a mesh, a bone, the scene or the window."""
    kind = world.rng.choice(("mesh", "mesh", "mesh", "bone", "scene", "window"))
    owner: Any = {"scene": bpy.context.scene, "window": bpy.context.window_manager}.get(kind)
    if kind == "mesh":
        owner = world.pick(world.meshes())
    elif kind == "bone":
        owner = world.pick(world.pick(world.own_armatures()).data.bones)
    if not world.without_supple and is_enabled():
        store, prop = world.pick(list_settings(owner))
        value = draw_value(world, prop)
        if prop.identifier == "method" and store.bl_rna.identifier != "WeightSettings":
            value = draw_method(world)
        print("sets:", store.bl_rna.identifier, prop.identifier, value)
        setattr(store, prop.identifier, value)
        world.used[f"{store.bl_rna.identifier}.{prop.identifier}", True] += 1
    return texts(owner)


def list_settings(owner: Any) -> list[tuple[Any, bpy.types.Property]]:
    """Supple's settings on what Blender has, as pairs of a struct and its property; one entry of each list."""
    found = []
    for prop in owner.bl_rna.properties:
        if not prop.identifier.startswith("supple") and not isinstance(owner, bpy.types.PropertyGroup):
            continue
        if prop.is_hidden or prop.identifier in {"rna_type", *LEFT_OUT}:
            continue
        value = getattr(owner, prop.identifier)
        if prop.type == "COLLECTION":
            found += list_settings(value[0]) if len(value) else []
        elif isinstance(value, bpy.types.PropertyGroup):
            found += list_settings(value)
        else:
            found.append((owner, prop))
    return found


def draw_value(world: World, prop: bpy.types.Property) -> Any:
    """A value for a setting or an option of an operator, by its type."""
    if prop.type == "ENUM":
        items = [item.identifier for item in prop.enum_items]
        return {item for item in items if world.chance(0.5)} if prop.is_enum_flag else world.pick(items)
    if prop.type == "STRING":
        return _draw_text(world, prop)
    if prop.type == "POINTER":
        return world.rng.choice([None, *_data_of(prop.fixed_type.identifier)])
    if prop.type == "COLLECTION":
        kinds = [p for p in prop.fixed_type.properties if p.identifier not in ("rna_type", "name")]
        return [
            {"name": "", **{p.identifier: draw_value(world, p) for p in kinds}}
            for _ in range(world.rng.randrange(1, 4))
        ]
    if prop.is_array:
        return [_draw_number(world, prop) for _ in range(prop.array_length)]
    return _draw_number(world, prop)


def _draw_number(world: World, prop: Any) -> Any:
    if prop.type == "BOOLEAN":
        return world.chance(0.5)
    largest = LARGEST.get(prop.identifier, USUAL)
    smallest = -1 if prop.type == "INT" else -largest
    low, high = max(prop.soft_min, smallest), max(prop.hard_min, min(prop.soft_max, largest))
    value = world.rng.choice((low, high, min(max(prop.default, low), high), world.rng.uniform(low, high)))
    return round(value) if prop.type == "INT" else value


def _draw_text(world: World, prop: Any) -> str:
    if "PATH" in prop.subtype:
        return world.rng.choice(("", str(world.folder / "used"), str(world.folder / "used.glb")))
    meshes = world.meshes()
    bones = sorted(bone.name for armature in world.armatures() for bone in armature.data.bones)
    keys = [key.name for mesh in meshes if mesh.data.shape_keys for key in mesh.data.shape_keys.key_blocks]
    groups = sorted({group.name for mesh in meshes for group in mesh.vertex_groups})
    names = {
        "mesh": [mesh.name for mesh in meshes], "key": keys, "bone": bones, "joints": bones, "first_bone": bones,
        "other_bone": bones, "first": _names(bpy.data.actions), "second": _names(bpy.data.actions),
        "group": groups, "linear_group": groups, "frames": ["1-3", "1"], "angles": ["45", "-30, 60"],
        "source": ["DLBNT", "CENTERS", "PARTICLES"],
        "owner": [mesh.name for mesh in meshes] + _names(world.armatures()),
    }.get(prop.identifier, [*bones, *keys, *groups])  # fmt: skip
    return world.rng.choice(names) if names and world.chance(0.8) else world.rng.choice(("", "gone", prop.default))


def _data_of(kind: str) -> list[Any]:
    held = {"Image": bpy.data.images, "Object": bpy.data.objects, "Mesh": bpy.data.meshes}[kind]
    return sorted(held, key=lambda data: data.name_full)


def _names(items: Iterable[Any]) -> list[str]:
    return sorted(item.name for item in items)
