"""Patterns added to an object, alone or in sets for a whole body, removed and mirrored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ...bridge.images.data import load_image
from ...bridge.names import free_name
from ...bridge.owned import Tag, list_marked, read_mark
from ...deformers import SkinningError
from ...deformers.anatomy.landmarks import Spot, find_spot, sides_of
from ...deformers.patterns.chart_mesh import ChartMesh
from ...deformers.patterns.surface_points import locate_point
from ...deformers.rig.rest import check_space
from ...settings.events import muted
from ...settings.objects import settings_of
from ...settings.patterns import COMPRESSION_SETTINGS, PatternSettings
from ..left_out import LeftOut, choose_usable
from ..steps import Steps
from ..subject.character import has_armature_modifier, list_deformed, object_to_armature
from ..subject.rig_presets import read_all_landmarks, read_presets
from ..subject.stack import check_not_linked
from . import read
from .library import OWN_IMAGE, LibraryEntry, all_entries, ensure_image
from .spots import Anatomy, Landing, find_anatomy, find_landing, land
from .write import clear, lay_out, remove_unused_images, update

MAX_NUMBER = 2**20  # charts store numbers as floats; above this, numbers of removed patterns are used again

# settings that a mirrored pattern copies, before it mirrors some of them
COPIED = (
    "kind", "image", "bone", "first_bone", "other_bone", "axis", "direction", "law", "start", "full", "gain",
    "strength", "softness", "depth", "space", "placed_in", *COMPRESSION_SETTINGS,
)  # fmt: skip

WHOLE = "ALL"  # region: the whole body


def check_index(obj: bpy.types.Object, index: int) -> PatternSettings:
    """Find a pattern by its index; raises SkinningError if there is none."""
    total = len(settings_of(obj).patterns)
    if not 0 <= index < total:
        raise SkinningError(
            f"'{obj.name}' has {total} patterns, and no pattern with index {index}: choose a pattern in the list"
        )
    return settings_of(obj).patterns[index]


def new_pattern(obj: bpy.types.Object, name: str) -> PatternSettings:
    """Add a pattern to an object's list. `update` shows it."""
    settings = settings_of(obj)
    with muted():
        pattern = settings.patterns.add()
        taken = {other.number for other in settings.patterns}
        if not 0 <= settings.pattern_count < MAX_NUMBER or settings.pattern_count + 1 in taken:
            settings.pattern_count = next(number for number in count() if number + 1 not in taken)
        settings.pattern_count += 1
        pattern.number = settings.pattern_count
        pattern.name = free_name(name, {other.name for other in settings.patterns})
        settings.active_pattern = len(settings.patterns) - 1
    return pattern


def remove_pattern(obj: bpy.types.Object, index: int) -> None:
    """Remove a pattern of an object.

    Raises SkinningError if there is no pattern of this index, or the others cannot be laid on the mesh.
    """
    settings, image = settings_of(obj), check_index(obj, index).image
    if len(settings.patterns) > 1:
        read.charts_of(obj)  # raises before anything changes
    with muted():
        settings.patterns.remove(index)
        settings.active_pattern = max(0, min(settings.active_pattern, len(settings.patterns) - 1))
    update(obj)
    if image is not None:
        remove_unused_images({image})


def remove_all(objects: Iterable[bpy.types.Object]) -> tuple[int, LeftOut]:
    """Remove all patterns of objects. Returns their number, and linked objects that were left out.

    Raises SkinningError if no object has patterns, or all are linked.
    """
    patterned = [obj for obj in objects if obj.type == "MESH" and settings_of(obj).patterns]
    if not patterned:
        raise SkinningError("There is no pattern to remove: select a mesh that has patterns")
    free, left_out = choose_usable(patterned, check_not_linked)
    return sum(map(clear, free)), left_out


def _remove_last(obj: bpy.types.Object, count: int) -> None:
    """Remove patterns from the end of an object's list, without an update."""
    with muted():
        for _ in range(count):
            settings_of(obj).patterns.remove(len(settings_of(obj).patterns) - 1)


def add_pattern(
    obj: bpy.types.Object, entry: LibraryEntry, image: bpy.types.Image, bone: str, **layout: Any
) -> PatternSettings:
    """Add a pattern to an object as `_lay_new` does, and show it."""
    pattern = _lay_new(obj, entry, image, bone, **layout)
    update(obj)
    return pattern


def _add_or_drop_image(
    obj: bpy.types.Object, entry: LibraryEntry, image: bpy.types.Image, bone: str, **layout: Any
) -> PatternSettings:
    try:
        return add_pattern(obj, entry, image, bone, **layout)
    except SkinningError:
        if not image.users:
            bpy.data.images.remove(image)
        raise


def _lay_new(
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
    """Add a pattern to an object. `update` shows it.

    Raises SkinningError if it cannot be shown. Nothing changes then.

    Parameters
    ----------
    obj : Object
        A mesh with an armature.
    entry : LibraryEntry
        The pattern's usual settings.
    bone : str
        Bone whose rotation, or whose limb, drives it.
    axis : str
        "X", "Y" or "Z"; "" for that of the entry.
    uv : sequence of 2 floats, optional
        Center in the UV map.
    location : sequence of 3 floats, optional
        Center on the mesh at rest, object space. Without it, `uv` and a landing: the skin nearest to the bone's head.
    angle : float, optional
        Rotation, counter-clockwise, radians; that of the landing, or 0, by default.
    size : sequence of 2 floats, optional
        Width and height, in UV units with `uv`, else in object units; that of the entry by default.
    landing : Landing, optional
        Position and driver on this body. Other arguments have priority.
    driver : str
        One of `compression.DRIVERS`; "" for that of the entry.
    """
    charts = read.charts_of(obj)
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
            if read.has_depth(pattern):  # the limb that presses is not the bone that bends there
                pattern.bone, pattern.first_bone = bone, ""
            pattern.axis = axis or pattern.axis
            if read.has_angle(pattern):
                read.find_joint(obj, pattern)
            if uv is not None:
                pattern.uv = uv
            elif location is not None:
                pattern.location = location
            elif landing is None:
                armature = read.find_driving_armature(obj)
                read.find_joint(obj, pattern)
                check_space(np.array(object_to_armature(obj, armature)))
                head = armature.matrix_world @ armature.data.bones[bone].head_local
                pattern.location = obj.matrix_world.inverted_safe() @ head
            _fit_size(charts.mesh, pattern, entry, size, landing)
            lay_out(obj, charts, pattern)
    except SkinningError:
        _remove_last(obj, 1)
        raise
    return pattern


def _follow_landing(pattern: PatternSettings, landing: Landing, is_rotated: bool) -> None:
    spot = landing.spot
    pattern.bone, pattern.first_bone, pattern.axis = spot.bone, spot.first_bone, spot.axis
    pattern.direction = "POSITIVE" if spot.is_positive else "NEGATIVE"
    pattern.start, pattern.full = spot.start, spot.full
    pattern.location = landing.location
    if is_rotated:
        pattern.turn = landing.angle


def _fit_size(
    mesh: ChartMesh,
    pattern: PatternSettings,
    entry: LibraryEntry,
    size: Sequence[float] | None,
    landing: Landing | None,
) -> None:
    """Scale a pattern, and its strength, to its body, or to a body of the size of the mesh."""
    center = read.find_center(mesh, pattern)
    read.set_center(pattern, center)
    width, strength = entry.width * float(np.ptp(mesh.points, axis=0).max()), entry.strength
    if landing is not None:
        width = entry.width * landing.stature * landing.spot.landmark.scale
        strength *= landing.spot.landmark.strength
    units = np.linalg.norm(read.find_units(mesh, center, pattern), axis=1)
    if not (units > 0.0).all():
        raise SkinningError("The UV map has no area there: unwrap the mesh again, or choose another location")
    pattern.size = size if size is not None else (width / units[0], width * entry.aspect / units[1])
    pattern.strength = strength * pattern.size[0] * float(units[0])


def add_from_library(
    obj: bpy.types.Object,
    entry: LibraryEntry,
    bone: str,
    uv: Sequence[float] | None = None,
    location: Sequence[float] | None = None,
    **layout: Any,
) -> PatternSettings:
    """Add a pattern of the library to an object, by default at its position on this body, if that is known."""
    landing = find_landing(obj, entry.key, bone) if uv is None and location is None else None
    layout |= {"uv": uv, "location": location, "landing": landing}
    return _add_or_drop_image(obj, entry, ensure_image(entry), bone, **layout)


def add_from_file(obj: bpy.types.Object, path: Path, kind: str, bone: str, **layout: Any) -> PatternSettings:
    """Add a pattern from an image file to an object.

    Raises SkinningError if the image cannot be read, or the pattern cannot be shown. Nothing changes then.

    Parameters
    ----------
    path : Path
        A gray image.
    kind : str
        Effect of the image on the skin: "WRINKLE", "BULGE" or "BONE".
    bone : str
        Bone whose rotation drives it.
    **layout
        Further arguments of `_lay_new`.
    """
    image = load_image(path)
    entry = LibraryEntry(path.stem, kind, "", aspect=image.size[1] / image.size[0], key=OWN_IMAGE)
    return _add_or_drop_image(obj, entry, image, bone, **layout)


def mirror_pattern(obj: bpy.types.Object, index: int) -> PatternSettings:
    """Add the same pattern on the other side, driven by the bone of the other side.

    Rotations about X have the same sign on both sides, those about Y and Z the opposite, as in Blender's own mirrored
    poses. Raises SkinningError if there is no other side. Nothing changes then.
    """
    source, charts = check_index(obj, index), read.charts_of(obj)
    lay_out(obj, charts, source)  # raises before anything changes
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
                opposite = {"POSITIVE": "NEGATIVE", "NEGATIVE": "POSITIVE", "BOTH": "BOTH"}
                pattern.direction = opposite[source.direction]
            _mirror_layout(charts.mesh, source, pattern)
            lay_out(obj, charts, pattern)
    except SkinningError:
        _remove_last(obj, 1)
        with muted():
            settings_of(obj).active_pattern = index
        raise
    update(obj)
    return pattern


def _mirror_layout(mesh: ChartMesh, source: PatternSettings, target: PatternSettings) -> None:
    """Lay a pattern on the other side of the object's YZ plane, as another pattern lies on this side."""
    center = read.find_center(mesh, source)
    sides = read.find_sides(mesh, center, source)
    reach = 0.5 * float(np.linalg.norm(sides, axis=1).max())
    if abs(center.position[0]) < 0.1 * reach:
        raise SkinningError(
            f"Pattern '{source.name}' is in the middle of the body: move it to one side to mirror it to the other"
        )
    mirror = np.array([-1.0, 1.0, 1.0])
    other = locate_point(mesh, center.position * mirror)
    if float(np.linalg.norm(other.position - center.position * mirror)) > reach:
        raise SkinningError(
            f"There is no skin on the other side of pattern '{source.name}', because the mesh is not symmetrical in "
            "X: add the other pattern by hand"
        )
    stroke = [np.array(point.location) * mirror for point in source.stroke]
    read.lay_by_sides(mesh, other, sides * mirror, target)
    for location in stroke:
        target.stroke.add().location = location
    if stroke:
        target.flip = not source.flip  # the stroke itself is mirrored, and the pattern follows it


@dataclass
class SetReport:
    """The result of adding a set of patterns.

    Attributes
    ----------
    rig : str
        Name of the rig preset.
    added : dict of Object to list of str
        Names of the patterns on each mesh.
    skipped : list of str
        Patterns that were left out, and why.
    """

    rig: str
    added: dict[bpy.types.Object, list[str]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def describe(self) -> str:
        """Describe the result in a sentence for the user."""
        counts = ", ".join(f"{len(names)} on '{obj.name}'" for obj, names in self.added.items())
        left_out = f". Left out: {'; '.join(self.skipped)}" if self.skipped else ""
        return f"{self.rig}: added {counts or 'no patterns'}{left_out}"


def find_set_meshes(
    active: bpy.types.Object,
    selected: Sequence[bpy.types.Object],
    armature: bpy.types.Object,
    layer: bpy.types.ViewLayer,
) -> list[bpy.types.Object]:
    """Find the meshes for a set: the selected meshes if one is active, otherwise all that the armature deforms.

    `add_set` then chooses the mesh nearest to the bone: the skin, and not the clothes over it.
    """
    if active.type == "MESH":
        return [obj for obj in dict.fromkeys((active, *selected)) if has_armature_modifier(obj, armature)]
    return [obj for obj in list_deformed(layer, armature) if obj.visible_get(view_layer=layer)]


def add_set(
    armature: bpy.types.Object, meshes: Sequence[bpy.types.Object], region: str = WHOLE, folds: str = ""
) -> Steps[SetReport]:
    """Add all patterns that belong on a body, each on the mesh that is its skin there, driven by its joint.

    Raises SkinningError if no rig preset matches the armature, or no pattern can be laid. Nothing changes then.

    Parameters
    ----------
    region : str
        "ALL", or one of `landmarks.REGIONS`.
    folds : str
        Driver of folds, one of `compression.DRIVERS`; "" for that of the library.
    """
    problems = read_presets()[1] + read_all_landmarks()[1]
    anatomy = find_anatomy(armature, ())
    if anatomy is None or anatomy.rig is None:
        raise SkinningError(
            f"No rig preset matches the bone names of '{armature.name}': add each pattern by itself, or write a "
            f"preset for this rig{'. '.join(['', *problems])}"
        )
    usable, unusable = choose_usable(meshes, read.check_mesh)
    skipped = [*problems, *(f"{obj.name} ({error})" for obj, error in unusable)]
    report = SetReport(anatomy.rig.preset.name, skipped=skipped)
    spots, known = _find_spots(anatomy, region), {image.session_uid for image in bpy.data.images}
    try:
        for number, spot in enumerate(spots):
            yield number / (len(spots) + 1)
            _add_at_spot(report, usable, armature, anatomy, spot, folds)
        for number, obj in enumerate(report.added):
            yield (len(spots) + number / len(report.added)) / (len(spots) + 1)
            update(obj)
    except BaseException:  # also if the user cancels, which closes the generator
        _take_back(report, known)
        raise
    if not report.added:
        raise SkinningError(
            f"No pattern was added to '{armature.name}': {'; '.join(report.skipped) or 'the body has no landmarks'}"
        )
    return report


def _take_back(report: SetReport, known: Set[int]) -> None:
    """Remove added patterns from meshes that still exist, and images that were not known before."""
    for obj in [obj for obj in bpy.data.objects if obj in report.added]:
        _remove_last(obj, len(report.added[obj]))
        update(obj)
    for image in list_marked(bpy.data.images, Tag.PRESET):
        if image.session_uid not in known:
            bpy.data.images.remove(image)


def _find_spots(anatomy: Anatomy, region: str) -> list[Spot]:
    """Find the spots of a region's patterns. Of several landmarks with one name, the first counts: the user's."""
    chosen = {landmark.name: landmark for landmark in reversed(read_all_landmarks()[0])}
    assert anatomy.rig is not None, "pattern sets need a rig with a preset"
    found = [
        find_spot(landmark, side, anatomy.body, anatomy.rig, anatomy.bones)
        for landmark in reversed(chosen.values())
        if region in (WHOLE, landmark.region)
        for side in sides_of(landmark)
    ]
    return [spot for spot in found if spot is not None]


def _add_at_spot(
    report: SetReport,
    meshes: Sequence[bpy.types.Object],
    armature: bpy.types.Object,
    anatomy: Anatomy,
    spot: Spot,
    folds: str,
) -> None:
    """Add the pattern of a spot to the mesh that is the skin there, and report it."""
    key, entries = spot.landmark.key(spot.side), all_entries()
    label = f"{spot.landmark.name} {spot.side.lower()}".strip()
    if key not in entries:
        report.skipped.append(f"{label} (the library has no pattern '{key}')")
        return
    landings = [(obj, found) for obj in meshes if (found := land(obj, armature, anatomy.body, spot)) is not None]
    if not landings:
        report.skipped.append(f"{label} (no skin there)")
        return
    obj, landing = min(landings, key=lambda pair: pair[1].depth)
    entry = entries[key]
    for pattern in settings_of(obj).patterns:
        if pattern.bone == spot.bone and pattern.image is not None and read_mark(pattern.image, Tag.PRESET) == key:
            report.skipped.append(f"{label} (already exists)")
            return
    try:
        driver = folds if entry.kind == "WRINKLE" else ""
        pattern = _lay_new(obj, entry, ensure_image(entry), spot.bone, landing=landing, driver=driver)
    except SkinningError as error:
        report.skipped.append(f"{label} ({error})")
        return
    pattern.name = label.capitalize()
    report.added.setdefault(obj, []).append(pattern.name)
