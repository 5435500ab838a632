"""Nodes, modifiers, materials and drivers of an object's patterns."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

import bpy
import numpy as np

from ...bridge import drivers, materials
from ...bridge.charts import PREFIX, chart_name
from ...bridge.drivers import Joint
from ...bridge.modifiers import PATTERNS_NAME, read_input, write_input
from ...deformers.patterns.charts import Chart
from ...deformers.patterns.heights import Relief, Response
from ...nodes.groups import VERSION
from ...nodes.patterns import LEVEL, NodePattern, amount_input, build_bump, build_displacement, write_constants
from ...nodes.patterns import write_scale as write_bump_scale
from ...settings.objects import settings_of
from ...settings.patterns import PatternSettings

KEY, SIGNATURE = "supple_patterns", "supple_signature"
"""Custom properties of the node groups of an object's patterns: whose they are, and what they were built from."""

SLOTS, MOST_PROPERTIES = 3, 8
"""Amounts in a property or attribute, and how many of them EEVEE passes to a material."""


@dataclass(frozen=True)
class LaidOut:
    """A pattern with all that shows it.

    Attributes
    ----------
    settings : PatternSettings
    joint : Joint
    response : Response
    relief : Relief
    chart : Chart
    """

    settings: PatternSettings
    joint: Joint
    response: Response
    relief: Relief
    chart: Chart


def describe_nodes(obj: bpy.types.Object, laid: Sequence[LaidOut], layers: Sequence[int]) -> list[NodePattern]:
    """Patterns as their nodes are to have them.

    Amounts are driven in inputs of the node modifier where there is one, else in custom properties of the object, never
    in both: from 5.0 on Blender then misses, now and then, what drivers have written to the properties.
    """
    settings = settings_of(obj)
    are_displaced = [_is_displaced(settings.pattern_display, one.settings.kind) for one in laid]
    return [
        NodePattern(
            number=one.settings.number,
            name=one.settings.name,
            kind=one.settings.kind,
            image=one.settings.image,
            chart=chart_name(settings.pattern_key, layer),
            is_displaced=is_displaced,
            amount=f"{_start(obj)}{index // SLOTS}",
            slot=index % SLOTS,
            source="GEOMETRY" if any(are_displaced) else "OBJECT",
            strength=one.relief.strength,
            softness=one.relief.softness,
            depth=one.relief.depth,
        )
        for index, (one, layer, is_displaced) in enumerate(zip(laid, layers, are_displaced, strict=True))
    ]


def _is_displaced(display: str, kind: str) -> bool:
    return display == "DISPLACEMENT" or (display == "KIND" and kind == "BULGE")


def find_sharers(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Copies of an object that still show their patterns by the same groups."""
    key = settings_of(obj).pattern_key
    others = (one for one in bpy.data.objects if one != obj and one.type == "MESH")
    return [one for one in others if settings_of(one).pattern_key == key]


def sign(*parts: Any) -> str:
    """A short text that differs where the parts do."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def find_groups(key: str) -> list[Any]:
    """Node groups of an object's patterns."""
    return [group for group in bpy.data.node_groups if group.library is None and group.get(KEY) == key]


def _ensure_group(obj: bpy.types.Object, kind: str, name: str, build: Any, shown: Sequence[NodePattern]) -> Any:
    """A node group of an object's patterns, built anew where it does not fit them."""
    key = settings_of(obj).pattern_key
    found = next((one for one in find_groups(key) if one.bl_idname == kind), None)
    fixed = [one for one in fields(NodePattern) if one.name not in ("image", "strength", "softness", "depth")]
    parts = [[getattr(one, part.name) for part in fixed] + [one.image.name_full] for one in shown]
    signature = sign(VERSION, parts)
    if found is None or found.get(SIGNATURE) != signature:
        group = build(name, shown)
        group[KEY], group[SIGNATURE] = key, signature
        if found is not None:
            if kind == "ShaderNodeTree":  # a modifier has to be given its group anew, or it knows no new inputs
                found.user_remap(group)
            bpy.data.node_groups.remove(found)
        group.name = f"{name} {obj.name}"
        found = group
    write_constants(found, shown)
    return found


def find_modifier(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The node modifier that displaces an object's patterns, also one whose group was removed."""
    for modifier in obj.modifiers:
        if modifier.type == "NODES":
            group = modifier.node_group
            if (group is None and modifier.name.startswith(PATTERNS_NAME)) or (group is not None and KEY in group):
                return modifier
    return None


def show_displaced(obj: bpy.types.Object, laid: Sequence[LaidOut], shown: Sequence[NodePattern]) -> None:
    """Displace patterns by a node modifier, at the end of the stack where it is new; all amounts go through it."""
    settings, modifier = settings_of(obj), find_modifier(obj)
    if modifier is None:
        active = obj.modifiers.active
        modifier = obj.modifiers.new(PATTERNS_NAME, "NODES")
        obj.modifiers.active = active or modifier
    group = _ensure_group(obj, "GeometryNodeTree", "Supple Displacement", build_displacement, shown)
    if modifier.node_group != group:
        modifier.node_group = group
    if read_input(modifier, LEVEL) != settings.pattern_level:
        write_input(modifier, LEVEL, settings.pattern_level)
    paths = [drivers.input_path(modifier, amount_input(one.number)) for one in shown]
    _drive(obj, f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]', laid, [(path, 0) for path in paths])
    remove_properties(obj)


def show_by_properties(obj: bpy.types.Object, laid: Sequence[LaidOut], shown: Sequence[NodePattern]) -> None:
    """Keep the amounts in custom properties of the object, where no pattern is displaced."""
    remove_modifier(obj)
    names = {one.amount for one in shown}
    remove_properties(obj, kept=names)
    for name in names - set(obj.keys()):
        obj[name] = [0.0] * SLOTS
    _drive(obj, f'["{_start(obj)}', laid, [(f'["{one.amount}"]', one.slot) for one in shown])


def _drive(obj: bpy.types.Object, start: str, laid: Sequence[LaidOut], places: Sequence[tuple[str, int]]) -> None:
    """Have amounts follow their joints; of drivers whose paths start so, no others are left."""
    for one, place in zip(laid, places, strict=True):
        drivers.drive_amount(obj, *place, one.joint, one.response)
        if (one.settings.driven, one.settings.slot) != place:
            one.settings.driven, one.settings.slot = place
    drivers.keep_drivers(obj, start, set(places))


def _start(obj: bpy.types.Object) -> str:
    return f"{PREFIX}{settings_of(obj).pattern_key}_amounts_"


def remove_properties(obj: bpy.types.Object, kept: Collection[str] = ()) -> None:
    """Remove custom properties that hold amounts, but those that are kept."""
    stale = [name for name in obj.keys() if name.startswith(_start(obj)) and name not in kept]
    drivers.remove_drivers(obj, tuple(f'["{name}"]' for name in stale))
    for name in stale:
        del obj[name]


def remove_modifier(obj: bpy.types.Object) -> None:
    """Remove the node modifier, its drivers, and its group where nothing else uses it."""
    modifier = find_modifier(obj)
    if modifier is None:
        return
    drivers.remove_drivers(obj, (f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]',))
    group = modifier.node_group
    obj.modifiers.remove(modifier)
    if group is not None and not group.users:
        bpy.data.node_groups.remove(group)


def show_bumped(obj: bpy.types.Object, shown: Sequence[NodePattern]) -> list[str]:
    """Bump patterns in the object's materials: what is in the way, in words."""
    if not shown:
        remove_bump(obj)
        return []
    group = _ensure_group(obj, "ShaderNodeTree", "Supple Bump", build_bump, shown)
    write_bump_scale(group, float(np.mean(np.abs(np.array(obj.matrix_world.to_scale())))))
    problems = []
    if len({one.amount for one in shown}) > MOST_PROPERTIES:
        problems.append(f"EEVEE bumps only {MOST_PROPERTIES * SLOTS} patterns of an object: show some as Displacement.")
    for material in materials.ensure_materials(obj):
        if material.library is not None:
            problem = "is linked from another file: make it local"
        elif not materials.has_nodes(material):
            problem = "has no nodes: switch Use Nodes on"
        elif not materials.insert_group(material, group):
            problem = "has no shader that takes a normal: give it one"
        else:
            continue
        problems.append(f"Material '{material.name}' {problem}, or show patterns as Displacement.")
    return problems


def describe_shared(obj: bpy.types.Object) -> str:
    """Which of an object's materials have its bumps and other objects, too, in a sentence; empty where none."""
    groups = [one for one in find_groups(settings_of(obj).pattern_key) if one.bl_idname == "ShaderNodeTree"]
    bumped = {slot.material for slot in obj.material_slots if slot.material and slot.material.node_tree}
    bumped = {one for one in bumped if any(materials.find_inserted(one, group) for group in groups)}
    others = [
        one for one in bpy.data.objects if one != obj and any(slot.material in bumped for slot in one.material_slots)
    ]
    if not others:
        return ""
    names = ", ".join(f"'{one.name}'" for one in sorted(bumped, key=lambda one: one.name))
    return (
        f"Shared material {names} looks as before on {len(others)} other objects: they have no amounts of this pattern"
    )


def remove_bump(obj: bpy.types.Object) -> None:
    """Take the bumps out of all materials, unless a copy of the object has them, too."""
    if find_sharers(obj):
        return  # it is theirs, too
    for group in find_groups(settings_of(obj).pattern_key):
        if group.bl_idname == "ShaderNodeTree":
            for material in bpy.data.materials:
                if material.library is None:
                    materials.remove_group(material, group)
            bpy.data.node_groups.remove(group)
