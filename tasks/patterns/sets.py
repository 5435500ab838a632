"""All patterns that belong on a body at once."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field

import bpy

from ...deformers import SkinningError
from ...deformers.anatomy.landmarks import Spot, find_spot, sides_of
from ...settings.objects import settings_of
from ..left_out import choose_usable
from ..steps import Steps
from ..subject.character import has_armature_modifier, list_deformed
from ..subject.rig_presets import read_all_landmarks, read_presets
from .edit import lay_new, remove_last
from .layout import check_mesh
from .library import MADE_KEY, all_entries, ensure_image
from .show import update
from .spots import Anatomy, find_anatomy, land

WHOLE = "ALL"
"""The region that is all of the body."""


@dataclass
class SetReport:
    """What adding a set has done.

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
        """A sentence for the user."""
        counts = ", ".join(f"{len(names)} on '{obj.name}'" for obj, names in self.added.items())
        left_out = f". Left out: {'; '.join(self.skipped)}" if self.skipped else ""
        return f"{self.rig}: added {counts or 'no patterns'}{left_out}"


def find_set_meshes(
    active: bpy.types.Object,
    selected: Sequence[bpy.types.Object],
    armature: bpy.types.Object,
    layer: bpy.types.ViewLayer,
) -> list[bpy.types.Object]:
    """The meshes that a set may lie on: the selected meshes where one is active, else all that the armature deforms.

    Of the latter the skin is taken, not what is worn over it: the mesh nearest to the bone.
    """
    if active.type == "MESH":
        return [obj for obj in dict.fromkeys((active, *selected)) if has_armature_modifier(obj, armature)]
    return [obj for obj in list_deformed(layer, armature) if obj.visible_get(view_layer=layer)]


def add_set(
    armature: bpy.types.Object, meshes: Sequence[bpy.types.Object], region: str = WHOLE, folds: str = ""
) -> Steps[SetReport]:
    """Add all patterns that belong on a body, each on the mesh that is its skin there, driven by its joint.

    Parameters
    ----------
    region : str
        "ALL", or one of `landmarks.REGIONS`.
    folds : str
        What drives folds, one of `compression.DRIVERS`; as the library has it if empty.

    Raises
    ------
    SkinningError
        Where no rig preset knows the armature, or no pattern can be laid; nothing is changed then.
    """
    problems = read_presets()[1] + read_all_landmarks()[1]
    anatomy = find_anatomy(armature, ())
    if anatomy is None or anatomy.rig is None:
        raise SkinningError(
            f"No rig preset matches the bone names of '{armature.name}': add each pattern by itself, or write a "
            f"preset for this rig{'. '.join(['', *problems])}"
        )
    usable, unusable = choose_usable(meshes, check_mesh)
    skipped = [*problems, *(f"{obj.name} ({error})" for obj, error in unusable)]
    report = SetReport(anatomy.rig.preset.name, skipped=skipped)
    spots, known = _find_spots(anatomy, region), {image.session_uid for image in bpy.data.images}
    try:
        for number, spot in enumerate(spots):
            yield number / (len(spots) + 1)
            _add(report, usable, armature, anatomy, spot, folds)
        for number, obj in enumerate(report.added):
            yield (len(spots) + number / len(report.added)) / (len(spots) + 1)
            update(obj)
    except BaseException:
        _take_back(report, known)
        raise
    if not report.added:
        raise SkinningError(
            f"No pattern was added to '{armature.name}': {'; '.join(report.skipped) or 'the body has no landmarks'}"
        )
    return report


def _take_back(report: SetReport, known: Set[int]) -> None:
    """Remove what was added, from meshes that are still there, and images that were not known before."""
    for obj in [obj for obj in bpy.data.objects if obj in report.added]:
        remove_last(obj, len(report.added[obj]))
        update(obj)
    for image in [image for image in bpy.data.images if image.session_uid not in known and MADE_KEY in image]:
        bpy.data.images.remove(image)


def _find_spots(anatomy: Anatomy, region: str) -> list[Spot]:
    """Where the patterns of a region belong; of several landmarks of one name, the first counts: the user's."""
    chosen = {landmark.name: landmark for landmark in reversed(read_all_landmarks()[0])}
    assert anatomy.rig is not None, "pattern sets need a rig with a preset"
    found = [
        find_spot(landmark, side, anatomy.body, anatomy.rig, anatomy.bones)
        for landmark in reversed(chosen.values())
        if region in (WHOLE, landmark.region)
        for side in sides_of(landmark)
    ]
    return [spot for spot in found if spot is not None]


def _add(
    report: SetReport,
    meshes: Sequence[bpy.types.Object],
    armature: bpy.types.Object,
    anatomy: Anatomy,
    spot: Spot,
    folds: str,
) -> None:
    """Add the pattern of a spot to the mesh that is the skin there, and note what was done."""
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
        if pattern.bone == spot.bone and pattern.image is not None and pattern.image.get(MADE_KEY) == key:
            report.skipped.append(f"{label} (already exists)")
            return
    try:
        driver = folds if entry.kind == "WRINKLE" else ""
        pattern = lay_new(obj, entry, ensure_image(entry), spot.bone, landing=landing, driver=driver)
    except SkinningError as error:
        report.skipped.append(f"{label} ({error})")
        return
    pattern.name = label.capitalize()
    report.added.setdefault(obj, []).append(pattern.name)
