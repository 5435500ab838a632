"""Skin patterns shown: brought from an object's settings into its mesh, nodes, materials and drivers, and out again."""

from __future__ import annotations

import time
import uuid

import bpy
import numpy as np

from ...bridge import materials
from ...bridge.charts import chart_name, write_charts
from ...bridge.images import is_coarse
from ...bridge.meshes import mesh_of
from ...deformers import SkinningError
from ...deformers.patterns.charts import assign_layers
from ...nodes.groups import remove_unused_groups
from ...settings.events import muted
from ...settings.objects import settings_of
from ...settings.patterns import PatternSettings
from .library import MADE_KEY
from .nodes import (
    LaidOut,
    describe_nodes,
    find_sharers,
    remove_bump,
    remove_modifier,
    remove_properties,
    show_bumped,
    show_by_properties,
    show_displaced,
    sign,
)
from .placing import Outline, find_place, follow_space, make_chart, outline_of
from .read import check_image, find_armature, find_joint, follow_renamed, read_relief, read_response


def lay_out(obj: bpy.types.Object, outline: Outline, pattern: PatternSettings) -> LaidOut:
    """Find out all that shows a pattern; nothing is changed but where it lies, if its space was.

    Raises
    ------
    SkinningError
        Where it can not be shown.
    """
    check_image(pattern.image)
    joint, response, relief = find_joint(obj, pattern), read_response(pattern), read_relief(pattern)
    follow_space(outline, pattern)
    return LaidOut(pattern, joint, response, relief, make_chart(outline, pattern))


def lay_out_all(obj: bpy.types.Object, outline: Outline) -> list[LaidOut]:
    """Those of an object's patterns that are shown; what is wrong with others is noted in them."""
    found = []
    with muted():
        for pattern in settings_of(obj).patterns:
            note = ""
            try:
                if pattern.show:
                    found.append(lay_out(obj, outline, pattern))
                    note = _describe_limits(outline, found[-1])
            except SkinningError as error:
                note = str(error)
                pattern.driven = ""
            if pattern.note != note:
                pattern.note = note
    return found


def _describe_limits(outline: Outline, laid: LaidOut) -> str:
    """What is not as the user may expect of a pattern that is shown, in a sentence."""
    pattern = laid.settings
    if laid.chart.is_cut and pattern.space == "UV":
        return "A UV seam cuts the pattern: move it, or place it in Surface, which knows no seams"
    if laid.chart.is_cut:
        return "The pattern meets itself round the body, or lies on too deep a fold: move it, or make it smaller"
    if pattern.space == "UV" and (others := find_place(outline.mesh, pattern).overlaps):
        return f"{others} other UV islands lie there, too: the skin has the pattern once, saved height maps cannot tell"
    if is_coarse(pattern.image):
        return f"Image '{pattern.image.name}' has 8 bits: heights come in 256 steps, which may show"
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
    outline = outline_of(obj)
    laid = lay_out_all(obj, outline)
    with muted():
        _own_key(obj)
        layers = assign_layers([one.chart for one in laid])
        _write_charts(obj, outline, laid, layers)
        shown = describe_nodes(obj, laid, layers)
        if any(one.is_displaced for one in shown):
            show_displaced(obj, laid, shown)
        else:
            show_by_properties(obj, laid, shown)
        settings.pattern_message = " ".join(show_bumped(obj, [one for one in shown if not one.is_displaced]))
    remove_unused_groups()


def _own_key(obj: bpy.types.Object) -> None:
    """See that what an object's patterns put into file, mesh and materials is told from that of other objects."""
    settings = settings_of(obj)
    if settings.pattern_key and not find_sharers(obj):
        return
    if settings.pattern_key:
        _clear_shown(obj)
    settings.pattern_key = uuid.uuid4().hex[:8]
    settings.pattern_state = ""


def _write_charts(obj: bpy.types.Object, outline: Outline, laid: list[LaidOut], layers: list[int]) -> None:
    settings, mesh = settings_of(obj), mesh_of(obj)
    coordinates = [(one.settings.number, one.chart.coordinates.tobytes()) for one in laid]
    state = _sign_mesh(outline) + sign(layers, coordinates)
    names = [chart_name(settings.pattern_key, layer) for layer in range(max(layers, default=-1) + 1)]
    if settings.pattern_state == state and all(name in mesh.attributes for name in names):
        return
    arrays = [np.zeros((len(mesh.loops), 3), np.float32) for _ in names]
    for one, layer in zip(laid, layers, strict=True):
        arrays[layer][one.chart.corners, :2] = one.chart.coordinates
        arrays[layer][one.chart.corners, 2] = one.settings.number
    write_charts(mesh, settings.pattern_key, arrays)
    settings.pattern_state = state


_last_change = 0.0

SETTLED = 0.5
"""Seconds without a change of patterns after which the user is done with it."""


def _note_change() -> None:
    global _last_change
    _last_change = time.monotonic()


def is_changing() -> bool:
    """Whether a user in front of a window is changing patterns just now."""
    return not bpy.app.background and time.monotonic() - _last_change < SETTLED


def follow_mesh(obj: bpy.types.Object) -> None:
    """Lay an object's patterns anew where its mesh has changed; raises SkinningError as `update` does."""
    if not settings_of(obj).pattern_state.startswith(_sign_mesh(outline_of(obj))):
        update(obj)


def follow_bones(obj: bpy.types.Object) -> None:
    """Follow bones that were renamed, and note those that are gone; raises SkinningError as `update` does."""
    bones = find_armature(obj).data.bones
    named = {name for one in settings_of(obj).patterns for name in (one.bone, one.other_bone) if name}
    if all(name in bones for name in named):
        return
    with muted():
        for pattern in settings_of(obj).patterns:
            follow_renamed(obj, pattern)
    update(obj)


def _sign_mesh(outline: Outline) -> str:
    return f"{outline.code:08x}"


def _clear_shown(obj: bpy.types.Object) -> None:
    """Take all that shows an object's patterns away; copies of the object keep theirs."""
    key = settings_of(obj).pattern_key
    if not key:
        return
    remove_modifier(obj)
    remove_properties(obj)
    remove_bump(obj)
    if not any(other.data == obj.data for other in find_sharers(obj)):
        write_charts(mesh_of(obj), key, [])


def clear(obj: bpy.types.Object) -> int:
    """Remove an object's patterns and all that they have added: how many there were."""
    settings = settings_of(obj)
    count = len(settings.patterns)
    if not (count or settings.pattern_key):
        return 0
    with muted():
        images = {one.image for one in settings.patterns if one.image is not None}
        _clear_shown(obj)
        if not find_sharers(obj):
            materials.remove_made_material(obj)
        settings.patterns.clear()
        for name in ("active_pattern", "pattern_key", "pattern_count", "pattern_state", "pattern_message"):
            settings.property_unset(name)
    remove_unused_images(images)
    remove_unused_groups()
    return count


def remove_unused_images(images: set[bpy.types.Image]) -> None:
    """Remove those of the images that Supple has made and nothing uses any more."""
    for image in images:
        if MADE_KEY in image and not image.users:
            bpy.data.images.remove(image)


def describe(obj: bpy.types.Object) -> list[str]:
    """Notes on an object's patterns, a sentence or two for each that has one."""
    return [f"{one.name}: {one.note}." for one in settings_of(obj).patterns if one.note]
