"""Skin patterns on an object: added, removed and mirrored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from ...deformers import SkinningError
from ...settings.events import muted
from ...settings.objects import settings_of
from ...settings.patterns import PatternSettings
from .display import lay_out, remove_unused_images, update
from .library import LibraryEntry
from .placing import Outline, find_frame, find_place, mirror_place, outline_of
from .read import find_armature, find_joint


def check_index(obj: bpy.types.Object, index: int) -> PatternSettings:
    """A pattern by its index; raises SkinningError where there is none."""
    count = len(settings_of(obj).patterns)
    if not 0 <= index < count:
        raise SkinningError(f"'{obj.name}' has {count} patterns, and none of index {index}: choose one in the list")
    return settings_of(obj).patterns[index]


def new_pattern(obj: bpy.types.Object, name: str) -> PatternSettings:
    """Add an entry to an object's patterns; it is not shown before `update`."""
    settings = settings_of(obj)
    with muted():
        pattern = settings.patterns.add()
        settings.pattern_count += 1
        pattern.number = settings.pattern_count
        pattern.name = _find_name(settings.patterns, name)
        settings.active_pattern = len(settings.patterns) - 1
    return pattern


def _find_name(patterns: Any, name: str) -> str:
    taken, number, found = {one.name for one in patterns}, 0, name
    while found in taken:
        number += 1
        found = f"{name}.{number:03}"
    return found


def remove_pattern(obj: bpy.types.Object, index: int) -> None:
    """Remove one of an object's patterns.

    Raises
    ------
    SkinningError
        Where there is none of this index.
    """
    settings, image = settings_of(obj), check_index(obj, index).image
    with muted():
        settings.patterns.remove(index)
        settings.active_pattern = max(0, min(settings.active_pattern, len(settings.patterns) - 1))
    update(obj)
    if image is not None:
        remove_unused_images({image})


def add_pattern(
    obj: bpy.types.Object,
    entry: LibraryEntry,
    image: bpy.types.Image,
    bone: str,
    axis: str = "",
    uv: Sequence[float] | None = None,
    location: Sequence[float] | None = None,
    angle: float = 0.0,
    size: Sequence[float] | None = None,
) -> PatternSettings:
    """Lay a new pattern on an object.

    Parameters
    ----------
    obj : Object
        A mesh with an armature.
    entry : LibraryEntry
        What the pattern is usually like.
    image : Image
    bone : str
        Bone whose turning brings it out.
    axis : str
        "X", "Y" or "Z"; the entry's if empty.
    uv : sequence of 2 floats, optional
        Place of its center in the UV map.
    location : sequence of 3 floats, optional
        Place of its center on the mesh at rest, object space; the skin nearest to the bone's head without any place.
    angle : float
        Turned counter-clockwise by, radians.
    size : sequence of 2 floats, optional
        Width and height, in the UV map's units with `uv`, else in the object's; the entry's if not given.

    Raises
    ------
    SkinningError
        Where it can not be shown; nothing is changed then.
    """
    outline = outline_of(obj)
    armature = find_armature(obj)
    pattern = new_pattern(obj, entry.label)
    try:
        with muted():
            for name in ("kind", "axis", "start", "full"):
                setattr(pattern, name, getattr(entry, name))
            pattern.axis = axis or entry.axis
            pattern.image, pattern.bone, pattern.turn = image, bone, angle
            pattern.space = pattern.placed_in = "SURFACE" if uv is None else "UV"
            find_joint(obj, pattern)
            if uv is not None:
                pattern.uv = uv
            elif location is not None:
                pattern.location = location
            else:
                head = armature.matrix_world @ armature.data.bones[bone].head_local
                pattern.location = obj.matrix_world.inverted_safe() @ head
            fit_pattern(obj, outline, pattern, entry, size)
            lay_out(obj, outline, pattern)
    except SkinningError:
        with muted():
            settings_of(obj).patterns.remove(len(settings_of(obj).patterns) - 1)
        raise
    update(obj)
    return pattern


def fit_pattern(
    obj: bpy.types.Object,
    outline: Outline,
    pattern: PatternSettings,
    entry: LibraryEntry,
    size: Sequence[float] | None = None,
) -> None:
    """Give a pattern, where it lies, its size and strength: those of its entry on a body as large as the object."""
    place = find_place(outline.mesh, pattern)
    pattern.location = place.point
    if place.uv is not None:
        pattern.uv = place.uv
    width = entry.width * float(np.ptp(outline.mesh.points, axis=0).max())
    frame = find_frame(outline.mesh, place, pattern.space)
    cos, sin = np.cos(pattern.turn), np.sin(pattern.turn)
    units = np.linalg.norm(np.array([[cos, sin], [-sin, cos]]) @ frame, axis=1)
    if not (units > 0.0).all():
        raise SkinningError("The UV map is squashed to nothing there: unwrap the mesh anew, or choose another place")
    pattern.size = size if size is not None else (width / units[0], width * entry.aspect / units[1])
    pattern.strength = entry.strength * pattern.size[0] * float(units[0])


COPIED = (
    "kind", "image", "bone", "other_bone", "axis", "direction", "law", "start", "full", "gain", "strength", "softness",
    "depth", "space", "placed_in",
)  # fmt: skip
"""Settings that a mirrored pattern takes over, before what is mirrored of them."""

TURNED_ROUND = {"POSITIVE": "NEGATIVE", "NEGATIVE": "POSITIVE", "BOTH": "BOTH"}


def mirror_pattern(obj: bpy.types.Object, index: int) -> PatternSettings:
    """Lay the same pattern on the other side, driven by the bone of the other side.

    Turning about X has the same sign on both sides, about Y and Z the other one, as in Blender's own mirrored poses.

    Raises
    ------
    SkinningError
        Where there is no other side; nothing is changed then.
    """
    source, outline = check_index(obj, index), outline_of(obj)
    flipped = bpy.utils.flip_name(source.name)
    pattern = new_pattern(obj, flipped if flipped != source.name else re.sub(r"\.\d{3}$", "", source.name))
    source = settings_of(obj).patterns[index]  # adding one may have moved it in memory
    try:
        with muted():
            for name in COPIED:
                setattr(pattern, name, getattr(source, name))
            for name in ("bone", "other_bone"):
                setattr(pattern, name, bpy.utils.flip_name(getattr(source, name)))
            if pattern.axis in "YZ" and pattern.bone != source.bone:
                pattern.direction = TURNED_ROUND[source.direction]
            mirror_place(outline.mesh, source, pattern)
            lay_out(obj, outline, pattern)
    except SkinningError:
        with muted():
            settings_of(obj).patterns.remove(len(settings_of(obj).patterns) - 1)
            settings_of(obj).active_pattern = index
        raise
    update(obj)
    return pattern
