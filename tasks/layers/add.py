"""Stay Outside as a feature: node modifiers that keep clothes outside of a body, and limbs out of each other."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..installed.engine import install
from ..installed.feature import PlannedFeature, Subject
from ..steps import take_all
from .plan import plan_layers
from .present import find_notice, has_leftovers, list_layered, remove_layers
from .read import read_dressed
from .write import LayersReport, write_layers


def take_off(subject: Subject, names: Sequence[str]) -> list[str]:
    """Remove Stay Outside from meshes, all without names; returns sentences."""
    removed = remove_layers(subject.choose(names))
    return [f"Removed Stay Outside from {len(removed)} meshes"]


LAYERS = PlannedFeature(
    key="layers",
    read=lambda subject, bones: read_dressed(subject.armature, subject.meshes, bones),
    plan=lambda dressed: (dressed, plan_layers(dressed)),
    write=lambda subject, plan: write_layers(plan[0], plan[1], subject.meshes),
    remove=take_off,
    is_in=lambda subject: bool(list_layered(subject.meshes)) or any(map(has_leftovers, subject.meshes)),
    notice=lambda subject, _note: find_notice(subject.meshes),
    stands_on=("skin", "flesh"),
)


def add_layers(
    armature: bpy.types.Object, meshes: Sequence[bpy.types.Object], limb_bones: str | None = None
) -> LayersReport:
    """Keep a character's layers apart, in place of an earlier Stay Outside.

    Raises SkinningError if no mesh lies over another, or something forbids it. Nothing is changed then.

    Parameters
    ----------
    meshes : sequence of Object
        Meshes of the character.
    limb_bones : str, optional
        As of `read_dressed`; stored in the settings.
    """
    return take_all(install(LAYERS, Subject(armature, tuple(meshes)), limb_bones))


def keep_limbs_apart(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object], bones: str = "") -> LayersReport:
    """Keep a character's layers apart, and its limbs out of each other: of these bones, or of all if empty."""
    return add_layers(armature, meshes, bones)


def offer_layers(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object]) -> str:
    """Make the panel offer Stay Outside if nothing keeps the layers of a character apart yet.

    Returns a sentence that names the layers, "" if there are none.
    """
    if len(meshes) < 2 or list_layered(meshes):
        return ""
    try:
        layered = read_dressed(armature, meshes).layered
    except SkinningError:  # nothing lies over another, or Stay Outside itself would refuse
        return ""
    if not layered:
        return ""
    settings_of(next(obj for obj in meshes if obj.name == layered[0])).offers_layers = True
    return f"Stay Outside can keep these layers apart: {', '.join(layered)}"
