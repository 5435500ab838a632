"""Showing patterns: charts on the mesh, node groups, the node modifier, materials and drivers written and removed."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...bridge import modifiers
from ...bridge.animation import drivers
from ...bridge.animation.drivers import DrivingJoint
from ...bridge.images import materials
from ...bridge.images.data import is_coarse
from ...bridge.meshes.charts import KEYS, PREFIX, chart_name, gauge_names, remove_charts, write_charts, write_gauges
from ...bridge.meshes.data import mesh_of
from ...bridge.owned import Tag, digest, is_marked, read_mark
from ...bridge.removal import outside_handlers
from ...deformers import SkinningError
from ...deformers.patterns.charts import Chart, assign_layers
from ...deformers.patterns.heights import Relief, Response
from ...nodes.groups import VERSION, leave_group, remove_unused_groups
from ...nodes.patterns import LEVEL, NodePattern, amount_input, build_bump, build_displacement, write_constants
from ...nodes.patterns import write_scale as write_bump_scale
from ...settings.events import muted
from ...settings.objects import settings_of
from ...settings.patterns import PatternSettings
from . import compression, read
from .depths import reads_other_bones

NODES = 4  # version of the nodes; groups of another version are built anew when patterns change

SLOTS = 3  # amounts in a custom property or attribute

MAX_PROPERTIES = 8  # that EEVEE passes to a material

SETTLED = 0.5  # seconds after the last change of patterns; the user may be dragging one until then


@dataclass(frozen=True)
class ShownPattern:
    """A pattern with everything that shows it.

    Attributes
    ----------
    joint : DrivingJoint or None
        None if compression alone drives it.
    measured : MeasuredPattern or None
        None if an angle alone drives it.
    """

    settings: PatternSettings
    joint: DrivingJoint | None
    response: Response
    relief: Relief
    chart: Chart
    measured: compression.MeasuredPattern | None


def lay_out(obj: bpy.types.Object, charts: read.MeshCharts, pattern: PatternSettings) -> ShownPattern:
    """Derive everything that shows a pattern. Its layout changes if the user has chosen another space.

    Raises SkinningError if it cannot be shown.
    """
    read.check_image(pattern.image)
    joint, response, law = read.read_laws(obj, pattern)
    relief = Relief(pattern.kind, pattern.strength, pattern.softness, pattern.depth)
    read.follow_space(charts.mesh, pattern)
    chart = read.make_chart(charts, pattern)
    measured = None if law is None else compression.read_measured(obj, charts.mesh, pattern, chart, law)
    return ShownPattern(pattern, joint, response, relief, chart, measured)


def lay_out_all(obj: bpy.types.Object, charts: read.MeshCharts) -> list[ShownPattern]:
    """List an object's patterns that are shown, and note problems in the others."""
    found = []
    with muted():
        for pattern in settings_of(obj).patterns:
            note = ""
            try:
                if pattern.show:
                    found.append(lay_out(obj, charts, pattern))
                    note = _describe_limits(charts, found[-1])
            except SkinningError as error:
                note = str(error)
                pattern.driven = ""  # its driver is removed
            if pattern.note != note:  # assigning would tag the object as changed
                pattern.note = note
    return found


def _describe_limits(charts: read.MeshCharts, shown: ShownPattern) -> str:
    """Warn if a pattern that is shown does not look as the user may expect; "" otherwise."""
    pattern = shown.settings
    if shown.chart.is_cut and pattern.space == "UV":
        return "A UV seam cuts the pattern: move it, or set Place On to Surface, which has no seams"
    if shown.chart.is_cut:
        return "The pattern overlaps itself around the body, or crosses too deep a fold: move it, or make it smaller"
    if pattern.space == "UV" and (others := read.find_center(charts.mesh, pattern).overlaps):
        return f"{others} other UV islands overlap it: saved height maps also put the pattern on these"
    if is_coarse(pattern.image):
        return f"Image '{pattern.image.name}' has 8 bits: its 256 height steps may be visible"
    return ""


def update(obj: bpy.types.Object) -> None:
    """Show an object's patterns as their settings are now, in its mesh, nodes, materials and drivers.

    Raises SkinningError if no pattern can be laid on the object. Nothing changes then.
    """
    settings = settings_of(obj)
    if not settings.patterns:
        clear(obj)
        return
    _note_change()
    charts = read.charts_of(obj)
    laid = lay_out_all(obj, charts)
    with muted():
        _own_key(obj)
        layers = assign_layers([pattern.chart.faces for pattern in laid])
        measured = compression.join_measured(
            charts.mesh, [(pattern.settings.number, pattern.measured) for pattern in laid]
        )
        _write_charts(obj, charts, laid, layers, measured)
        compression.show_measured(obj, measured)
        shown = _describe_nodes(obj, laid, layers, measured)
        if any(pattern.is_displaced for pattern in shown):
            _show_displaced(obj, laid, shown)
        else:
            _show_by_properties(obj, laid, shown)
        problems = [
            compression.describe_stack(obj) if measured.layers else "",  # depth is the same anywhere in the stack
            *_show_bumped(obj, [pattern for pattern in shown if not pattern.is_displaced]),
        ]
        settings.pattern_message = " ".join(filter(None, problems))
    outside_handlers(remove_unused_groups)


def _own_key(obj: bpy.types.Object) -> None:
    """Give an object a key of its own, which marks everything that its patterns add to the file."""
    settings = settings_of(obj)
    # a copy of an object has its key: it must not write to the groups of the other
    if KEYS.fullmatch(settings.pattern_key) and not _find_sharers(obj):
        return
    if settings.pattern_key:
        _clear_shown(obj)
    settings.pattern_key = uuid.uuid4().hex[:8]
    settings.pattern_state = ""


def _find_sharers(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """List copies of an object that still use its groups. Linked copies use those of their file."""
    key = settings_of(obj).pattern_key
    others = (other for other in bpy.data.objects if other != obj and other.type == "MESH" and other.library is None)
    return [other for other in others if settings_of(other).pattern_key == key]


def _write_charts(
    obj: bpy.types.Object,
    charts: read.MeshCharts,
    laid: list[ShownPattern],
    layers: list[int],
    measured: compression.Measured,
) -> None:
    settings, mesh = settings_of(obj), mesh_of(obj)
    coordinates = [part for pattern in laid for part in (pattern.settings.number, pattern.chart.coordinates)]
    gauges = [array for layer in measured.layers for array in layer.arrays]
    state = charts.code + digest(layers, *coordinates, *gauges)
    names = [chart_name(settings.pattern_key, layer) for layer in range(max(layers, default=-1) + 1)]
    for layer in range(len(measured.layers)):
        names += gauge_names(settings.pattern_key, layer)
    # undo and Edit Mode may have removed attributes
    if settings.pattern_state == state and all(name in mesh.attributes for name in names):
        return
    arrays = [np.zeros((len(mesh.loops), 3), np.float32) for _ in names]
    for pattern, layer in zip(laid, layers, strict=True):
        arrays[layer][pattern.chart.corners, :2] = pattern.chart.coordinates
        arrays[layer][pattern.chart.corners, 2] = pattern.settings.number
    write_charts(mesh, settings.pattern_key, arrays)
    write_gauges(mesh, settings.pattern_key, measured.layers)
    settings.pattern_state = state


def _describe_nodes(
    obj: bpy.types.Object, laid: Sequence[ShownPattern], layers: Sequence[int], measured: compression.Measured
) -> list[NodePattern]:
    """Describe patterns for their nodes.

    Amounts are driven in inputs of the node modifier if there is one, otherwise in custom properties of the object, but
    never in both: since 5.0, Blender sometimes misses values that drivers have then written to the properties.
    """
    settings = settings_of(obj)
    attributes = measured.name_attributes(settings.pattern_key)
    are_displaced = [read.is_displaced(settings.pattern_display, pattern.settings.kind) for pattern in laid]
    slots = itertools.accumulate((pattern.joint is not None for pattern in laid), initial=0)
    found = []
    for index, pattern, layer, moves_skin in zip(slots, laid, layers, are_displaced, strict=False):
        law: dict[str, Any] = {}
        if pattern.measured is not None:
            law["compression"] = attributes[measured.index_of[pattern.settings.number]]
            law["law"], law["law_constants"] = pattern.measured.describe_law(settings.pattern_full)
        described = NodePattern(
            number=pattern.settings.number,
            name=pattern.settings.name,
            image=pattern.settings.image,
            relief=pattern.relief,
            chart=chart_name(settings.pattern_key, layer),
            is_displaced=moves_skin,
            amount=f"{_start_amounts(obj)}{index // SLOTS}",
            slot=index % SLOTS,
            source="GEOMETRY" if any(are_displaced) else "OBJECT",
            has_angle=pattern.joint is not None,
            **law,
        )
        found.append(described)
    return found


def _ensure_group(obj: bpy.types.Object, kind: str, name: str, build: Any, shown: Sequence[NodePattern]) -> Any:
    """Find the node group of an object's patterns, or build it, and write the patterns' numbers to it."""
    signature = digest(VERSION, NODES, [pattern.form for pattern in shown])
    group = compression.ensure_own_group(obj, Tag.PATTERNS, kind, name, signature, lambda name: build(name, shown))
    write_constants(group, shown)
    return group


def find_modifier(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """Find the node modifier that displaces an object's patterns, even if its group was removed."""
    return modifiers.find_marked_modifier(obj, modifiers.PATTERNS_NAME, Tag.PATTERNS)


def _show_displaced(obj: bpy.types.Object, laid: Sequence[ShownPattern], shown: Sequence[NodePattern]) -> None:
    """Displace patterns by a node modifier, new at the end of the stack. All amounts go through its inputs."""
    settings, modifier = settings_of(obj), find_modifier(obj)
    if modifier is None:
        active = obj.modifiers.active  # the user's choice, which a new modifier would replace
        modifier = obj.modifiers.new(modifiers.PATTERNS_NAME, "NODES")
        obj.modifiers.active = active or modifier
    group = _ensure_group(obj, "GeometryNodeTree", "Supple Displacement", build_displacement, shown)
    if modifier.node_group != group:
        modifier.node_group = group
    if modifiers.read_input(modifier, LEVEL) != settings.pattern_level:
        modifiers.write_input(modifier, LEVEL, settings.pattern_level)
    numbers = [pattern.number for pattern in shown if pattern.has_angle]
    paths = [drivers.input_path(modifier, amount_input(number)) for number in numbers]
    _drive(obj, _start_inputs(modifier), laid, [(path, 0) for path in paths])
    _remove_properties(obj)


def _show_by_properties(obj: bpy.types.Object, laid: Sequence[ShownPattern], shown: Sequence[NodePattern]) -> None:
    """Store the amounts in custom properties of the object, if no pattern displaces it."""
    _remove_modifier(obj)
    shown = [pattern for pattern in shown if pattern.has_angle]
    names = {pattern.amount for pattern in shown}
    _remove_properties(obj, kept=names)
    for name in names - set(obj.keys()):
        obj[name] = [0.0] * SLOTS
    _drive(obj, f'["{_start_amounts(obj)}', laid, [(f'["{pattern.amount}"]', pattern.slot) for pattern in shown])


def _drive(obj: bpy.types.Object, start: str, laid: Sequence[ShownPattern], targets: Sequence[tuple[str, int]]) -> None:
    """Drive amounts, given by data path and index, by their joints; remove other drivers of paths with this start."""
    for pattern in laid:
        if pattern.joint is None:
            pattern.settings.driven = ""
    with_joints = [(pattern, pattern.joint) for pattern in laid if pattern.joint is not None]
    for (pattern, joint), target in zip(with_joints, targets, strict=True):
        drivers.drive_amount(obj, *target, joint, pattern.response, settings_of(obj).pattern_full)
        if (pattern.settings.driven, pattern.settings.slot) != target:
            pattern.settings.driven, pattern.settings.slot = target
    drivers.keep_drivers(obj, start, set(targets))


def _start_amounts(obj: bpy.types.Object) -> str:
    return f"{PREFIX}{settings_of(obj).pattern_key}_amounts_"


def _start_inputs(modifier: bpy.types.Modifier) -> str:
    return f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]'


def _remove_properties(obj: bpy.types.Object, kept: Collection[str] = ()) -> None:
    """Remove custom properties that hold amounts, except for those that are kept."""
    stale = [name for name in obj.keys() if name.startswith(_start_amounts(obj)) and name not in kept]
    drivers.remove_drivers(obj, tuple(f'["{name}"]' for name in stale))
    for name in stale:
        del obj[name]


def _remove_modifier(obj: bpy.types.Object) -> None:
    """Remove the node modifier and its drivers."""
    modifier = find_modifier(obj)
    # drivers remain of a modifier that the user has removed
    starts = [pattern.driven for pattern in settings_of(obj).patterns if pattern.driven.startswith("modifiers[")]
    if modifier is not None:
        starts.append(_start_inputs(modifier))
    if starts:
        drivers.remove_drivers(obj, tuple(starts))
    compression.remove_own_modifier(obj, modifier, Tag.PATTERNS)


def _show_bumped(obj: bpy.types.Object, shown: Sequence[NodePattern]) -> list[str]:
    """Bump patterns in the object's materials. Returns messages about materials that cannot be bumped."""
    if not shown:
        _remove_bump(obj)
        return []
    group = _ensure_group(obj, "ShaderNodeTree", "Supple Bump", build_bump, shown)
    # bumps are in world units, and heights of patterns in the object's units
    write_bump_scale(group, float(np.mean(np.abs(np.array(obj.matrix_world.to_scale())))))
    problems = []
    if len({pattern.amount for pattern in shown if pattern.has_angle}) > MAX_PROPERTIES:
        problems.append(
            f"EEVEE shows only {MAX_PROPERTIES * SLOTS} patterns of an object as bumps: show some as Displacement."
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


def _find_bumps(obj: bpy.types.Object) -> list[Any]:
    groups = compression.find_own_groups(Tag.PATTERNS, settings_of(obj).pattern_key)
    return [group for group in groups if group.bl_idname == "ShaderNodeTree"]


def describe_shared(obj: bpy.types.Object) -> str:
    """Warn if other objects also have the bumped materials; "" otherwise."""
    groups = _find_bumps(obj)
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


def _remove_bump(obj: bpy.types.Object) -> None:
    """Remove the bumps from all materials, unless a copy of the object uses them."""
    if not _find_sharers(obj):
        _remove_groups(_find_bumps(obj))


def _remove_stray_bumps() -> set[str]:
    """Remove the bumps of deleted objects from all materials. Returns the keys of these objects."""
    keys = {settings_of(obj).pattern_key for obj in bpy.data.objects}
    bumps = [group for group in bpy.data.node_groups if group.bl_idname == "ShaderNodeTree" and group.library is None]
    owners = {group: str(read_mark(group, Tag.PATTERNS)) for group in bumps if is_marked(group, Tag.PATTERNS)}
    strays = {group: key for group, key in owners.items() if key not in keys}
    _remove_groups(list(strays))
    return set(strays.values())


def _remove_groups(groups: Sequence[Any]) -> None:
    for group in groups:
        for material in bpy.data.materials:
            if material.library is None:
                materials.remove_group(material, group)
        leave_group(group)


_last_change = 0.0


def _note_change() -> None:
    global _last_change
    _last_change = time.monotonic()


def is_changing() -> bool:
    """Whether a user in front of a window is changing patterns at the moment."""
    return not bpy.app.background and time.monotonic() - _last_change < SETTLED


def follow_mesh(obj: bpy.types.Object) -> None:
    """Lay an object's patterns anew if its mesh has changed; raises SkinningError as `update` does."""
    if not settings_of(obj).pattern_state.startswith(read.charts_of(obj).code):
        update(obj)


def follow_bones(obj: bpy.types.Object) -> None:
    """Follow renamed bones, and note deleted ones; raises SkinningError as `update` does."""
    if reads_other_bones(obj, compression.find_compression_modifier(obj)):
        update(obj)
        return
    patterns = [pattern for pattern in settings_of(obj).patterns if read.has_angle(pattern)]
    if not patterns:
        return
    bones = read.find_driving_armature(obj).data.bones
    named = {name for pattern in patterns for name in (pattern.bone, pattern.other_bone, pattern.first_bone) if name}
    if all(name in bones for name in named):
        return
    with muted():
        for pattern in patterns:
            read.follow_renamed(obj, pattern)
    update(obj)


def _clear_shown(obj: bpy.types.Object) -> None:
    """Remove everything that shows an object's patterns, even from a mesh that it had before. Copies keep theirs."""
    key = settings_of(obj).pattern_key
    if not key:
        return
    _remove_modifier(obj)
    compression.remove_measuring(obj)
    _remove_properties(obj)
    _remove_bump(obj)
    kept = {mesh: set() for mesh in bpy.data.meshes}
    for other in bpy.data.objects:
        if other != obj and other.type == "MESH":
            kept[mesh_of(other)].add(settings_of(other).pattern_key)
    for mesh, keys in kept.items():
        remove_charts(mesh, keys)


def clear(obj: bpy.types.Object) -> int:
    """Remove an object's patterns and everything that they have added. Returns their number."""
    settings = settings_of(obj)
    count = len(settings.patterns)
    if not (count or settings.pattern_key):
        return 0
    with muted():
        images = {pattern.image for pattern in settings.patterns if pattern.image is not None}
        _clear_shown(obj)
        # materials belong to the mesh, which other objects may share
        others = [other for other in bpy.data.objects if other != obj and other.data == obj.data]
        if not any(settings_of(other).patterns for other in others):
            materials.remove_made_material(obj)
        settings.patterns.clear()
        for name in ("active_pattern", "pattern_key", "pattern_count", "pattern_state", "pattern_message"):
            settings.property_unset(name)
    _remove_stray_bumps()
    outside_handlers(remove_unused_groups)
    remove_unused_images(images)  # after the groups that have used them
    return count


# keys of deleted objects whose bumps were removed from materials: undo may bring the objects back
_strays: set[str] = set()


def follow_objects() -> None:
    """Remove bumps of deleted objects from materials, and restore those of objects that undo has brought back."""
    if found := _remove_stray_bumps():
        _strays.update(found)
        outside_handlers(remove_unused_groups)
    for obj in bpy.data.objects if _strays else ():
        if settings_of(obj).pattern_key in _strays and obj.library is None:
            _strays.remove(settings_of(obj).pattern_key)
            with suppress(SkinningError):  # the panel shows it
                update(obj)


def remove_unused_images(images: set[bpy.types.Image]) -> None:
    """Remove those of some images that Supple has made and nothing uses any more."""
    for image in images:
        if is_marked(image, Tag.PRESET) and not image.users:
            bpy.data.images.remove(image)


def describe(obj: bpy.types.Object) -> list[str]:
    """List the notes of an object's patterns."""
    return [f"{pattern.name}: {pattern.note}." for pattern in settings_of(obj).patterns if pattern.note]
