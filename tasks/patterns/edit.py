"""Patterns added to an object, removed and mirrored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ...bridge.images.data import load_image
from ...deformers import SkinningError
from ...deformers.patterns.chart_mesh import ChartMesh
from ...deformers.rig.rest import check_space
from ...settings.events import muted
from ...settings.objects import settings_of
from ...settings.patterns import COMPRESSION_SETTINGS, PatternSettings
from ..left_out import LeftOut, choose_usable
from ..names import free_name
from ..subject.character import object_to_armature
from ..subject.stack import check_not_linked
from .layout import charts_of, find_center, find_frame, mirror_layout
from .library import OWN_IMAGE, LibraryEntry, ensure_image
from .meaning import find_driving_armature, find_joint, has_angle, has_depth
from .show import clear, lay_out, remove_unused_images, update
from .spots import Landing, find_landing


def check_index(obj: bpy.types.Object, index: int) -> PatternSettings:
    """A pattern by its index; raises SkinningError where there is none."""
    total = len(settings_of(obj).patterns)
    if not 0 <= index < total:
        raise SkinningError(
            f"'{obj.name}' has {total} patterns, and no pattern with index {index}: choose a pattern in the list"
        )
    return settings_of(obj).patterns[index]


MOST_NUMBERS = 2**20
"""Numbers of patterns that an object gives out before it takes those that are free again."""


def new_pattern(obj: bpy.types.Object, name: str) -> PatternSettings:
    """Add a pattern to an object's list; it is not shown before `update`."""
    settings = settings_of(obj)
    with muted():
        pattern = settings.patterns.add()
        taken = {other.number for other in settings.patterns}
        if not 0 <= settings.pattern_count < MOST_NUMBERS or settings.pattern_count + 1 in taken:
            settings.pattern_count = next(number for number in count() if number + 1 not in taken)
        settings.pattern_count += 1
        pattern.number = settings.pattern_count
        pattern.name = free_name(name, {other.name for other in settings.patterns})
        settings.active_pattern = len(settings.patterns) - 1
    return pattern


def remove_pattern(obj: bpy.types.Object, index: int) -> None:
    """Remove a pattern of an object.

    Raises
    ------
    SkinningError
        Where there is no pattern of this index, or the others can not be laid on the mesh.
    """
    settings, image = settings_of(obj), check_index(obj, index).image
    if len(settings.patterns) > 1:
        charts_of(obj)
    with muted():
        settings.patterns.remove(index)
        settings.active_pattern = max(0, min(settings.active_pattern, len(settings.patterns) - 1))
    update(obj)
    if image is not None:
        remove_unused_images({image})


def remove_all(objects: Iterable[bpy.types.Object]) -> tuple[int, LeftOut]:
    """Remove all patterns of some objects, and all that they have added: how many there were, and what is linked.

    Raises
    ------
    SkinningError
        Where none has patterns, or all are linked.
    """
    patterned = [obj for obj in objects if obj.type == "MESH" and settings_of(obj).patterns]
    if not patterned:
        raise SkinningError("There is no pattern to remove: select a mesh that has patterns")
    free, left_out = choose_usable(patterned, check_not_linked)
    return sum(map(clear, free)), left_out


def add_pattern(
    obj: bpy.types.Object, entry: LibraryEntry, image: bpy.types.Image, bone: str, **layout: Any
) -> PatternSettings:
    """Add a pattern to an object, and show it: as `lay_new`, which says what the arguments are and what is raised."""
    pattern = lay_new(obj, entry, image, bone, **layout)
    update(obj)
    return pattern


def lay_new(
    obj: bpy.types.Object,
    entry: LibraryEntry,
    image: bpy.types.Image,
    bone: str,
    axis: str = "",
    uv: Sequence[float] | None = None,
    location: Sequence[float] | None = None,
    angle: float | None = None,
    size: Sequence[float] | None = None,
    landing: Landing | None = None,
    driver: str = "",
) -> PatternSettings:
    """Add a pattern to an object; it is not shown before `update`.

    Parameters
    ----------
    obj : Object
        A mesh with an armature.
    entry : LibraryEntry
        The pattern's usual settings.
    bone : str
        Bone whose rotation, or whose limb, brings it out.
    axis : str
        "X", "Y" or "Z"; the entry's if empty.
    uv : sequence of 2 floats, optional
        Position of its center in the UV map.
    location : sequence of 3 floats, optional
        Position of its center on the mesh at rest, object space; the skin nearest to the bone's head where neither
        this nor `uv` is given.
    angle : float, optional
        Rotation, counter-clockwise, radians; 0, or that of the landing, if not given.
    size : sequence of 2 floats, optional
        Width and height, in the UV map's units with `uv`, else in the object's; the entry's if not given.
    landing : Landing, optional
        Where it belongs on this body, and what drives it there; what is given besides goes before.
    driver : str
        One of `compression.DRIVERS`; the entry's if empty.

    Raises
    ------
    SkinningError
        Where it can not be shown; nothing is changed then.
    """
    charts = charts_of(obj)
    pattern = new_pattern(obj, entry.label)
    try:
        with muted():
            for name in ("kind", "axis", "start", "full"):
                setattr(pattern, name, getattr(entry, name))
            for name, value in entry.compression.items():
                setattr(pattern, name, value)
            pattern.driver = driver or pattern.driver
            pattern.image, pattern.bone, pattern.turn = image, bone, angle or 0.0
            pattern.space = pattern.placed_in = "SURFACE" if uv is None else "UV"
            if landing is not None:
                _follow_landing(pattern, landing, is_rotated=angle is None)
            if has_depth(pattern):  # what presses is not what bends there
                pattern.bone, pattern.first_bone = bone, ""
            pattern.axis = axis or pattern.axis
            if has_angle(pattern):
                find_joint(obj, pattern)
            if uv is not None:
                pattern.uv = uv
            elif location is not None:
                pattern.location = location
            elif landing is None:
                armature = find_driving_armature(obj)
                find_joint(obj, pattern)
                check_space(np.array(object_to_armature(obj, armature)))
                head = armature.matrix_world @ armature.data.bones[bone].head_local
                pattern.location = obj.matrix_world.inverted_safe() @ head
            fit_pattern(charts.mesh, pattern, entry, size, landing)
            lay_out(obj, charts, pattern)
    except SkinningError:
        remove_last(obj, 1)
        raise
    return pattern


def remove_last(obj: bpy.types.Object, count: int) -> None:
    """Take so many patterns from the end of an object's list; what shows them is left to `update`."""
    with muted():
        for _ in range(count):
            settings_of(obj).patterns.remove(len(settings_of(obj).patterns) - 1)


def _follow_landing(pattern: PatternSettings, landing: Landing, is_rotated: bool) -> None:
    """Drive and lay a pattern as the body has it there."""
    spot = landing.spot
    pattern.bone, pattern.first_bone, pattern.axis = spot.bone, spot.first_bone, spot.axis
    pattern.direction = "POSITIVE" if spot.is_positive else "NEGATIVE"
    pattern.start, pattern.full = spot.start, spot.full
    pattern.location = landing.location
    if is_rotated:
        pattern.turn = landing.angle


def add_from_library(
    obj: bpy.types.Object,
    entry: LibraryEntry,
    bone: str,
    uv: Sequence[float] | None = None,
    location: Sequence[float] | None = None,
    **layout: Any,
) -> PatternSettings:
    """Add a pattern of the library to an object: `add_pattern` with the entry's image, which is removed on failure.

    Where neither `uv` nor `location` is given, it lies where it belongs on this body, as far as that is known.
    """
    landing = find_landing(obj, entry.key, bone) if uv is None and location is None else None
    layout |= {"uv": uv, "location": location, "landing": landing}
    return _add_with_image(obj, entry, ensure_image(entry), bone, layout)


def add_from_file(obj: bpy.types.Object, path: Path, kind: str, bone: str, **layout: Any) -> PatternSettings:
    """Add a pattern of the user's own to an object.

    Parameters
    ----------
    obj : Object
        A mesh with an armature.
    path : Path
        Of a gray image.
    kind : str
        What the image does to the skin, "WRINKLE", "BULGE" or "BONE".
    bone : str
        Bone whose rotation brings it out.
    **layout
        Further arguments of `lay_new`.

    Raises
    ------
    SkinningError
        Where the image can not be read, or the pattern not be shown; nothing is changed then.
    """
    image = load_image(path)
    entry = LibraryEntry(OWN_IMAGE, path.stem, kind, "", aspect=image.size[1] / image.size[0])
    return _add_with_image(obj, entry, image, bone, layout)


def _add_with_image(
    obj: bpy.types.Object, entry: LibraryEntry, image: bpy.types.Image, bone: str, layout: dict[str, Any]
) -> PatternSettings:
    try:
        return add_pattern(obj, entry, image, bone, **layout)
    except SkinningError:
        if not image.users:
            bpy.data.images.remove(image)
        raise


def fit_pattern(
    mesh: ChartMesh,
    pattern: PatternSettings,
    entry: LibraryEntry,
    size: Sequence[float] | None = None,
    landing: Landing | None = None,
) -> None:
    """Give a pattern, where it lies, the size and strength of its entry, on its body or one as large as the mesh."""
    center = find_center(mesh, pattern)
    pattern.location = center.position
    if center.uv is not None:
        pattern.uv = center.uv
    width, strength = entry.width * float(np.ptp(mesh.points, axis=0).max()), entry.strength
    if landing is not None:
        width = entry.width * landing.stature * landing.spot.landmark.scale
        strength *= landing.spot.landmark.strength
    frame = find_frame(mesh, center, pattern.space)
    cos, sin = np.cos(pattern.turn), np.sin(pattern.turn)
    units = np.linalg.norm(np.array([[cos, sin], [-sin, cos]]) @ frame, axis=1)
    if not (units > 0.0).all():
        raise SkinningError("The UV map has no area there: unwrap the mesh again, or choose another location")
    pattern.size = size if size is not None else (width / units[0], width * entry.aspect / units[1])
    pattern.strength = strength * pattern.size[0] * float(units[0])


COPIED = (
    "kind", "image", "bone", "first_bone", "other_bone", "axis", "direction", "law", "start", "full", "gain",
    "strength", "softness", "depth", "space", "placed_in", *COMPRESSION_SETTINGS,
)  # fmt: skip
"""Settings that a mirrored pattern takes over, before those of them that are mirrored."""

OPPOSITE = {"POSITIVE": "NEGATIVE", "NEGATIVE": "POSITIVE", "BOTH": "BOTH"}


def mirror_pattern(obj: bpy.types.Object, index: int) -> PatternSettings:
    """Add the same pattern on the other side, driven by the bone of the other side.

    Rotations about X have the same sign on both sides, those about Y and Z the opposite, as in Blender's own mirrored
    poses.

    Raises
    ------
    SkinningError
        Where there is no other side; nothing is changed then.
    """
    source, charts = check_index(obj, index), charts_of(obj)
    lay_out(obj, charts, source)
    flipped = bpy.utils.flip_name(source.name)
    pattern = new_pattern(obj, flipped if flipped != source.name else re.sub(r"\.\d{3}$", "", source.name))
    source = settings_of(obj).patterns[index]  # adding a pattern may have moved it in memory
    try:
        with muted():
            for name in COPIED:
                setattr(pattern, name, getattr(source, name))
            for name in ("bone", "first_bone", "other_bone"):
                setattr(pattern, name, bpy.utils.flip_name(getattr(source, name)))
            if pattern.axis in "YZ" and pattern.bone != source.bone:
                pattern.direction = OPPOSITE[source.direction]
            mirror_layout(charts.mesh, source, pattern)
            lay_out(obj, charts, pattern)
    except SkinningError:
        with muted():
            settings_of(obj).patterns.remove(len(settings_of(obj).patterns) - 1)
            settings_of(obj).active_pattern = index
        raise
    update(obj)
    return pattern
