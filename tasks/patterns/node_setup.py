"""What shows an object's patterns in Blender: node groups, the node modifier, materials and drivers."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

import bpy
import numpy as np

from ...bridge.animation import drivers
from ...bridge.animation.drivers import DrivingJoint
from ...bridge.images import materials
from ...bridge.meshes.charts import PREFIX, chart_name
from ...bridge.modifiers import PATTERNS_NAME, find_marked_modifier, is_from_library, read_input, write_input
from ...deformers.patterns.charts import Chart
from ...deformers.patterns.heights import Relief, Response
from ...nodes.graph import HIDDEN
from ...nodes.groups import VERSION, leave_group
from ...nodes.patterns import LEVEL, NodePattern, amount_input, build_bump, build_displacement, write_constants
from ...nodes.patterns import write_scale as write_bump_scale
from ...settings.objects import ObjectSettings, settings_of
from ...settings.patterns import PatternSettings
from .compression import Measured, MeasuredPattern

KEY, SIGNATURE = "supple_patterns", "supple_signature"
"""Custom properties of the node groups of an object's patterns: the object's key, and what they were built from."""

NODES = 4
"""Version of the nodes of patterns: groups of another are built anew when patterns are changed."""

CONSTANT_FIELDS = ("strength", "softness", "depth")
"""What is written into nodes that are there."""

SLOTS, MOST_PROPERTIES = 3, 8
"""Amounts in a property or attribute, and how many of them EEVEE passes to a material."""


@dataclass(frozen=True)
class ShownPattern:
    """A pattern with all that shows it.

    Attributes
    ----------
    joint : DrivingJoint or None
        None where compression alone drives it.
    measured : MeasuredPattern or None
        None where an angle alone drives it.
    """

    settings: PatternSettings
    joint: DrivingJoint | None
    response: Response
    relief: Relief
    chart: Chart
    measured: MeasuredPattern | None


def describe_nodes(
    obj: bpy.types.Object, laid: Sequence[ShownPattern], layers: Sequence[int], measured: Measured
) -> list[NodePattern]:
    """Describe patterns for their nodes: `layers` of their charts, and what measures them.

    Amounts are driven in inputs of the node modifier where there is one, else in custom properties of the object, never
    in both: from 5.0 on Blender then misses, now and then, what drivers have written to the properties.
    """
    settings = settings_of(obj)
    are_displaced = [is_displaced(settings.pattern_display, pattern.settings.kind) for pattern in laid]
    slots = itertools.accumulate((pattern.joint is not None for pattern in laid), initial=0)
    return [
        NodePattern(
            number=pattern.settings.number,
            name=pattern.settings.name,
            kind=pattern.settings.kind,
            image=pattern.settings.image,
            chart=chart_name(settings.pattern_key, layer),
            is_displaced=is_displaced,
            amount=f"{_start(obj)}{index // SLOTS}",
            slot=index % SLOTS,
            source="GEOMETRY" if any(are_displaced) else "OBJECT",
            strength=pattern.relief.strength,
            softness=pattern.relief.softness,
            depth=pattern.relief.depth,
            has_angle=pattern.joint is not None,
            **_describe_compression(settings, pattern, measured),
        )
        for index, pattern, layer, is_displaced in zip(slots, laid, layers, are_displaced, strict=False)
    ]


def _describe_compression(settings: ObjectSettings, pattern: ShownPattern, measured: Measured) -> dict[str, Any]:
    """What a pattern's nodes have to know of its compression, or depth."""
    if pattern.measured is None:
        return {}
    compression = measured.name_attributes(settings.pattern_key)[measured.index_of[pattern.settings.number]]
    constants = pattern.measured.constants(settings.pattern_full)
    return {"compression": compression, "law": pattern.measured.response.law, "law_constants": constants}


def is_displaced(display: str, kind: str) -> bool:
    """Whether patterns of a kind move the skin, as an object shows its patterns."""
    return display == "DISPLACEMENT" or (display == "KIND" and kind == "BULGE")


def find_sharers(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Copies of an object that still show their patterns by the same groups; linked ones have those of their file."""
    key = settings_of(obj).pattern_key
    others = (other for other in bpy.data.objects if other != obj and other.type == "MESH" and other.library is None)
    return [other for other in others if settings_of(other).pattern_key == key]


def sign(*parts: Any) -> str:
    """A short text that differs where the parts do."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def find_groups(key: str) -> list[Any]:
    """Node groups of an object's patterns."""
    return [group for group in bpy.data.node_groups if group.library is None and group.get(KEY) == key]


def _ensure_group(obj: bpy.types.Object, kind: str, name: str, build: Any, shown: Sequence[NodePattern]) -> Any:
    """The node group of an object's patterns, built anew where it does not fit them."""
    key = settings_of(obj).pattern_key
    found = next((group for group in find_groups(key) if group.bl_idname == kind), None)
    fixed = [field for field in fields(NodePattern) if field.name not in ("image", "law_constants", *CONSTANT_FIELDS)]
    parts = [[getattr(pattern, field.name) for field in fixed] + [pattern.image.name_full] for pattern in shown]
    signature = sign(VERSION, NODES, parts)
    if found is None or found.get(SIGNATURE) != signature:
        group = build(name, shown)
        group[KEY], group[SIGNATURE] = key, signature
        if found is not None:
            if kind == "ShaderNodeTree":  # a modifier has to be given its group anew, or it knows no new inputs
                found.user_remap(group)
            leave_group(found)
        group.name = f"{HIDDEN}{name} {obj.name}"
        found = group
    write_constants(found, shown)
    return found


def find_modifier(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The node modifier that displaces an object's patterns, also one whose group was removed."""
    return find_marked_modifier(obj, PATTERNS_NAME, KEY)


def show_displaced(obj: bpy.types.Object, laid: Sequence[ShownPattern], shown: Sequence[NodePattern]) -> None:
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
    numbers = [pattern.number for pattern in shown if pattern.has_angle]
    paths = [drivers.input_path(modifier, amount_input(number)) for number in numbers]
    _drive(obj, f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]', laid, [(path, 0) for path in paths])
    remove_properties(obj)


def show_by_properties(obj: bpy.types.Object, laid: Sequence[ShownPattern], shown: Sequence[NodePattern]) -> None:
    """Keep the amounts in custom properties of the object: for objects that no pattern displaces."""
    remove_modifier(obj)
    shown = [pattern for pattern in shown if pattern.has_angle]
    names = {pattern.amount for pattern in shown}
    remove_properties(obj, kept=names)
    for name in names - set(obj.keys()):
        obj[name] = [0.0] * SLOTS
    _drive(obj, f'["{_start(obj)}', laid, [(f'["{pattern.amount}"]', pattern.slot) for pattern in shown])


def _drive(obj: bpy.types.Object, start: str, laid: Sequence[ShownPattern], targets: Sequence[tuple[str, int]]) -> None:
    """Drive amounts, given by data path and index, by their joints; other drivers whose paths start so are removed."""
    for pattern in laid:
        if pattern.joint is None:
            pattern.settings.driven = ""
    with_joints = [(pattern, pattern.joint) for pattern in laid if pattern.joint is not None]
    for (pattern, joint), target in zip(with_joints, targets, strict=True):
        drivers.drive_amount(obj, *target, joint, pattern.response, settings_of(obj).pattern_full)
        if (pattern.settings.driven, pattern.settings.slot) != target:
            pattern.settings.driven, pattern.settings.slot = target
    drivers.keep_drivers(obj, start, set(targets))


def _start(obj: bpy.types.Object) -> str:
    return f"{PREFIX}{settings_of(obj).pattern_key}_amounts_"


def remove_properties(obj: bpy.types.Object, kept: Collection[str] = ()) -> None:
    """Remove custom properties that hold amounts, but those that are kept."""
    stale = [name for name in obj.keys() if name.startswith(_start(obj)) and name not in kept]
    drivers.remove_drivers(obj, tuple(f'["{name}"]' for name in stale))
    for name in stale:
        del obj[name]


def remove_modifier(obj: bpy.types.Object) -> None:
    """Remove the node modifier and its drivers, and leave its group where nothing else uses it.

    That of an override's library is switched off: Blender brings it back when the file is opened.
    """
    modifier = find_modifier(obj)
    starts = [pattern.driven for pattern in settings_of(obj).patterns if pattern.driven.startswith("modifiers[")]
    if modifier is not None:
        starts.append(f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]')
    if starts:  # drivers of a modifier that a user has removed stay behind
        drivers.remove_drivers(obj, tuple(starts))
    if modifier is not None and is_from_library(modifier):
        modifier.show_viewport = modifier.show_render = False
        return
    if modifier is not None:
        obj.modifiers.remove(modifier)
    for group in find_groups(settings_of(obj).pattern_key):
        if not group.users:
            leave_group(group)


def show_bumped(obj: bpy.types.Object, shown: Sequence[NodePattern]) -> list[str]:
    """Bump patterns in the object's materials: messages about materials that can not be bumped."""
    if not shown:
        remove_bump(obj)
        return []
    group = _ensure_group(obj, "ShaderNodeTree", "Supple Bump", build_bump, shown)
    write_bump_scale(group, float(np.mean(np.abs(np.array(obj.matrix_world.to_scale())))))
    problems = []
    if len({pattern.amount for pattern in shown if pattern.has_angle}) > MOST_PROPERTIES:
        problems.append(
            f"EEVEE shows only {MOST_PROPERTIES * SLOTS} patterns of an object as bumps: show some as Displacement."
        )
    for material in materials.ensure_materials(obj):
        if material.library is not None:
            problem = "is linked from another file: make it local"
        elif not materials.has_nodes(material):
            problem = "has no nodes: enable Use Nodes"
        elif not materials.insert_group(material, group):
            problem = "has no shader with a Normal input: add a Principled BSDF"
        else:
            continue
        problems.append(f"Material '{material.name}' {problem}, or show patterns as Displacement.")
    return problems


def describe_shared(obj: bpy.types.Object) -> str:
    """A message on bumped materials that other objects have, too; empty where there are none."""
    groups = [group for group in find_groups(settings_of(obj).pattern_key) if group.bl_idname == "ShaderNodeTree"]
    used = {slot.material for slot in obj.material_slots if slot.material and slot.material.node_tree}
    bumped = {material for material in used if any(materials.find_inserted(material, group) for group in groups)}
    others = [
        other
        for other in bpy.data.objects
        if other != obj and any(slot.material in bumped for slot in other.material_slots)
    ]
    if not others:
        return ""
    names = ", ".join(f"'{name}'" for name in sorted(material.name for material in bumped))
    return f"Shared material {names} looks unchanged on {len(others)} other objects, which do not have this pattern"


def remove_bump(obj: bpy.types.Object) -> None:
    """Take the bumps out of all materials, unless a copy of the object has them, too."""
    if find_sharers(obj):
        return  # it is theirs, too
    _remove_bumps([group for group in find_groups(settings_of(obj).pattern_key) if group.bl_idname == "ShaderNodeTree"])


def remove_stray_bumps() -> set[str]:
    """Take the bumps of objects that are gone out of all materials: the keys of these objects."""
    keys = {settings_of(obj).pattern_key for obj in bpy.data.objects}
    bumps = [group for group in bpy.data.node_groups if group.bl_idname == "ShaderNodeTree" and KEY in group]
    strays = [group for group in bumps if group.library is None and str(group[KEY]) not in keys]
    gone = {str(group[KEY]) for group in strays}
    _remove_bumps(strays)
    return gone


def _remove_bumps(groups: Sequence[Any]) -> None:
    """Take groups out of all materials, and leave them."""
    for group in groups:
        for material in bpy.data.materials:
            if material.library is None:
                materials.remove_group(material, group)
        leave_group(group)
