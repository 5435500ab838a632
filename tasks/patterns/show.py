"""Skin patterns shown: brought from an object's settings into its mesh, nodes, materials and drivers, and out again."""

from __future__ import annotations

import time
import uuid
from contextlib import suppress

import bpy
import numpy as np

from ...bridge.images import materials
from ...bridge.images.data import is_coarse
from ...bridge.meshes.charts import KEYS, chart_name, gauge_names, remove_charts, write_charts, write_gauges
from ...bridge.meshes.data import mesh_of
from ...bridge.removal import outside_handlers
from ...deformers import SkinningError
from ...deformers.patterns.charts import assign_layers
from ...deformers.patterns.heights import Response
from ...nodes.groups import remove_unused_groups
from ...settings.events import muted
from ...settings.objects import settings_of
from ...settings.patterns import PatternSettings
from .compression import (
    Measured,
    describe_stack,
    find_compression_modifier,
    join_measured,
    read_measured,
    remove_measuring,
    show_measured,
)
from .depths import reads_other_bones
from .layout import MeshCharts, charts_of, find_center, follow_space, make_chart
from .library import MADE_KEY
from .meaning import (
    check_driver,
    check_image,
    find_driving_armature,
    find_joint,
    follow_renamed,
    has_angle,
    read_relief,
    read_response,
)
from .node_setup import (
    ShownPattern,
    describe_nodes,
    find_sharers,
    remove_bump,
    remove_modifier,
    remove_properties,
    remove_stray_bumps,
    show_bumped,
    show_by_properties,
    show_displaced,
    sign,
)


def lay_out(obj: bpy.types.Object, charts: MeshCharts, pattern: PatternSettings) -> ShownPattern:
    """Work out all that shows a pattern; nothing is changed but how it lies, where its space was changed.

    Raises
    ------
    SkinningError
        Where it can not be shown.
    """
    check_image(pattern.image)
    check_driver(pattern)
    joint = find_joint(obj, pattern) if has_angle(pattern) else None
    response = Response() if joint is None else read_response(pattern)
    relief = read_relief(pattern)
    follow_space(charts.mesh, pattern)
    chart = make_chart(charts, pattern)
    return ShownPattern(pattern, joint, response, relief, chart, read_measured(obj, charts.mesh, pattern, chart))


def lay_out_all(obj: bpy.types.Object, charts: MeshCharts) -> list[ShownPattern]:
    """The patterns of an object that are shown; what is wrong with the others is noted in them."""
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
                pattern.driven = ""
            if pattern.note != note:
                pattern.note = note
    return found


def _describe_limits(charts: MeshCharts, shown: ShownPattern) -> str:
    """A message where a pattern that is shown does not look as the user may expect; empty where it does."""
    pattern = shown.settings
    if shown.chart.is_cut and pattern.space == "UV":
        return "A UV seam cuts the pattern: move it, or set Place On to Surface, which has no seams"
    if shown.chart.is_cut:
        return "The pattern overlaps itself around the body, or crosses too deep a fold: move it, or make it smaller"
    if pattern.space == "UV" and (others := find_center(charts.mesh, pattern).overlaps):
        return f"{others} other UV islands overlap it: saved height maps also put the pattern on these"
    if is_coarse(pattern.image):
        return f"Image '{pattern.image.name}' has 8 bits: its 256 height steps may be visible"
    return ""


def update(obj: bpy.types.Object) -> None:
    """Bring an object's mesh, nodes, materials and drivers to what its patterns' settings are.

    Raises
    ------
    SkinningError
        Where no pattern can be laid on the object; nothing is changed then.
    """
    settings = settings_of(obj)
    if not settings.patterns:
        clear(obj)
        return
    _note_change()
    charts = charts_of(obj)
    laid = lay_out_all(obj, charts)
    with muted():
        _own_key(obj)
        layers = assign_layers([pattern.chart for pattern in laid])
        measured = join_measured(charts.mesh, [(pattern.settings.number, pattern.measured) for pattern in laid])
        _write_charts(obj, charts, laid, layers, measured)
        show_measured(obj, measured)
        shown = describe_nodes(obj, laid, layers, measured)
        if any(pattern.is_displaced for pattern in shown):
            show_displaced(obj, laid, shown)
        else:
            show_by_properties(obj, laid, shown)
        problems = [
            describe_stack(obj) if measured.layers else "",  # depth is the same anywhere in the stack
            *show_bumped(obj, [pattern for pattern in shown if not pattern.is_displaced]),
        ]
        settings.pattern_message = " ".join(filter(None, problems))
    outside_handlers(remove_unused_groups)


def _own_key(obj: bpy.types.Object) -> None:
    """Give an object a key of its own, which marks what its patterns put into the file, the mesh and the materials."""
    settings = settings_of(obj)
    if KEYS.fullmatch(settings.pattern_key) and not find_sharers(obj):
        return
    if settings.pattern_key:
        _clear_shown(obj)
    settings.pattern_key = uuid.uuid4().hex[:8]
    settings.pattern_state = ""


def _write_charts(
    obj: bpy.types.Object, charts: MeshCharts, laid: list[ShownPattern], layers: list[int], measured: Measured
) -> None:
    settings, mesh = settings_of(obj), mesh_of(obj)
    coordinates = [(pattern.settings.number, pattern.chart.coordinates.tobytes()) for pattern in laid]
    gauges = [[array.tobytes() for array in layer.arrays] for layer in measured.layers]
    state = _sign_mesh(charts) + sign(layers, coordinates, gauges)
    names = [chart_name(settings.pattern_key, layer) for layer in range(max(layers, default=-1) + 1)]
    for layer in range(len(measured.layers)):
        names += gauge_names(settings.pattern_key, layer)
    if settings.pattern_state == state and all(name in mesh.attributes for name in names):
        return
    arrays = [np.zeros((len(mesh.loops), 3), np.float32) for _ in names]
    for pattern, layer in zip(laid, layers, strict=True):
        arrays[layer][pattern.chart.corners, :2] = pattern.chart.coordinates
        arrays[layer][pattern.chart.corners, 2] = pattern.settings.number
    write_charts(mesh, settings.pattern_key, arrays)
    write_gauges(mesh, settings.pattern_key, measured.layers)
    settings.pattern_state = state


_last_change = 0.0

SETTLED = 0.5
"""Seconds without a change of patterns after which the user is done with them."""


def _note_change() -> None:
    global _last_change
    _last_change = time.monotonic()


def is_changing() -> bool:
    """Whether a user in front of a window is changing patterns just now."""
    return not bpy.app.background and time.monotonic() - _last_change < SETTLED


def follow_mesh(obj: bpy.types.Object) -> None:
    """Lay an object's patterns anew where its mesh has changed; raises SkinningError as `update` does."""
    if not settings_of(obj).pattern_state.startswith(_sign_mesh(charts_of(obj))):
        update(obj)


def follow_bones(obj: bpy.types.Object) -> None:
    """Follow bones that were renamed, and note those that are gone; raises SkinningError as `update` does."""
    if reads_other_bones(obj, find_compression_modifier(obj)):
        update(obj)
        return
    patterns = [pattern for pattern in settings_of(obj).patterns if has_angle(pattern)]
    if not patterns:
        return
    bones = find_driving_armature(obj).data.bones
    named = {name for pattern in patterns for name in (pattern.bone, pattern.other_bone, pattern.first_bone) if name}
    if all(name in bones for name in named):
        return
    with muted():
        for pattern in patterns:
            follow_renamed(obj, pattern)
    update(obj)


def _sign_mesh(charts: MeshCharts) -> str:
    return f"{charts.code:08x}"


def _clear_shown(obj: bpy.types.Object) -> None:
    """Remove all that shows an object's patterns, also from a mesh it had before; copies of it keep theirs."""
    key = settings_of(obj).pattern_key
    if not key:
        return
    remove_modifier(obj)
    remove_measuring(obj)
    remove_properties(obj)
    remove_bump(obj)
    kept = {mesh: set() for mesh in bpy.data.meshes}
    for other in bpy.data.objects:
        if other != obj and other.type == "MESH":
            kept[mesh_of(other)].add(settings_of(other).pattern_key)
    for mesh, keys in kept.items():
        remove_charts(mesh, keys)


def clear(obj: bpy.types.Object) -> int:
    """Remove an object's patterns and all that they have added: how many there were."""
    settings = settings_of(obj)
    count = len(settings.patterns)
    if not (count or settings.pattern_key):
        return 0
    with muted():
        images = {pattern.image for pattern in settings.patterns if pattern.image is not None}
        _clear_shown(obj)
        others = [other for other in bpy.data.objects if other != obj and other.data == obj.data]
        if not any(settings_of(other).patterns for other in others):
            materials.remove_made_material(obj)
        settings.patterns.clear()
        for name in ("active_pattern", "pattern_key", "pattern_count", "pattern_state", "pattern_message"):
            settings.property_unset(name)
    remove_stray_bumps()
    outside_handlers(remove_unused_groups)
    remove_unused_images(images)  # which the groups have used
    return count


_strays: set[str] = set()
"""Keys of objects that were gone when their bumps were taken out of materials."""


def follow_objects() -> None:
    """Take the bumps of objects that are gone out of materials, and put in those of objects that undo brought back."""
    if found := remove_stray_bumps():
        _strays.update(found)
        outside_handlers(remove_unused_groups)
    for obj in bpy.data.objects if _strays else ():
        if settings_of(obj).pattern_key in _strays and obj.library is None:
            _strays.remove(settings_of(obj).pattern_key)
            with suppress(SkinningError):  # the panel shows it
                update(obj)


def remove_unused_images(images: set[bpy.types.Image]) -> None:
    """Remove the images that Supple has made, of these, where nothing uses them any more."""
    for image in images:
        if MADE_KEY in image and not image.users:
            bpy.data.images.remove(image)


def describe(obj: bpy.types.Object) -> list[str]:
    """Notes on an object's patterns: a message for each pattern that has one."""
    return [f"{pattern.name}: {pattern.note}." for pattern in settings_of(obj).patterns if pattern.note]
