"""Flesh is found, stored as corrections, and removed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.names import free_name, name_within
from ...deformers import SkinningError
from ...deformers.flesh.limbs import Limb
from ...deformers.rig.rest import Joints
from ...options import SHAPES, FleshOptions
from ..corrections.from_method import CorrectedFrom, find_correctable
from ..corrections.keys import Correction, remove, store_all
from ..corrections.names import follow
from ..corrections.posed_copy import check_own_mesh
from ..corrections.poses import pack_numbers
from ..installed.feature import Feature, Subject
from ..left_out import LeftOut, choose_usable, describe_left_out
from ..skin.poses import find_skeleton
from ..steps import Progress, Steps
from ..subject.character import find_method_in_use
from ..subject.corrected import FLESH, find_deforming_armature, list_flesh
from ..subject.stack import check_not_linked
from .character import FleshyCharacter, ReadMesh, read_meshes
from .joints import find_bends
from .plan import QUALITIES, FittedLimb, FittedSide, Quality, describe, fit_limb, list_limbs, list_unchanged

# Keys of a character, about, and vertices that all of them may have together
MOST_KEYS, MOST_OFFSETS = 40, 12_000_000

# What flesh says that it comes from
LABEL = "Flesh"


@dataclass(frozen=True, eq=False)
class FoundFlesh:
    """What `store_flesh` stores.

    Attributes
    ----------
    corrections : dict of str to list of Correction
        By names of meshes.
    notes, left_out : tuple of str
        Sentences on the joints, and on meshes that are left out.
    """

    corrections: dict[str, list[Correction]]
    notes: tuple[str, ...]
    left_out: tuple[str, ...]


def add_flesh(objects: Sequence[bpy.types.Object], options: FleshOptions | None = None) -> Steps[CorrectedFrom]:
    """Give the skin at each joint the best of several shapes, in place of its flesh; no keys if none is better.

    Yields and raises as `correct_from`.
    """
    return store_flesh((yield from find_flesh(objects, options)))


def find_flesh(objects: Sequence[bpy.types.Object], options: FleshOptions | None = None) -> Steps[FoundFlesh]:
    """Find what `add_flesh` stores; nothing is changed."""
    options = options or FleshOptions()
    picked = _read_picked(options.picked)
    skinned, left_out = find_correctable(objects)
    armature = skinned[0].armature
    skeleton = find_skeleton(armature)
    vertices = sum(len(mesh_of(one.obj).vertices) for one in skinned)
    if MOST_KEYS * vertices > MOST_OFFSETS:
        raise SkinningError(f"{vertices:,} vertices are too many for flesh: correct single joints with From Particles")
    meshes, unbound = read_meshes(skinned, skeleton)
    names = [mesh.skinned.obj.name for mesh in meshes]
    left_out = (*left_out, *unbound)
    character, fleshy = yield partial(_bind, meshes, skeleton.unrolled.joints, skeleton.frame)
    bends = yield from find_bends(armature, skeleton, fleshy)
    limbs = list_limbs(character, bends, skeleton.joints)
    fitted = list[FittedLimb]()
    for number, limb in enumerate(limbs):
        share = 0.1 + 0.9 * number / len(limbs), 0.9 / len(limbs)
        asked = QUALITIES[options.quality], picked, share
        fitted.append((yield partial(_fit, character, limb, skeleton.joints, *asked)))
    notes = [*describe(fitted, character.millimeters)]
    if unchanged := list_unchanged(fitted):
        notes.append("The skin stays as it is at " + ", ".join(unchanged))
    sides = [side for limb in fitted for side in limb.sides]
    found = {name: _list_corrections(character, sides, number) for number, name in enumerate(names)}
    return FoundFlesh(found, tuple(notes), left_out)


def _read_picked(picked: Mapping[str, str]) -> dict[str, int]:
    """The numbers of picked shapes, by bones; raises SkinningError for a shape that there is not."""
    keys = list(SHAPES)
    for bone, shape in picked.items():
        if shape.upper() not in keys:
            raise SkinningError(f"There is no shape '{shape}' to pick for '{bone}': use {', '.join(keys)}")
    return {bone: keys.index(shape.upper()) for bone, shape in picked.items()}


def _bind(
    meshes: list[ReadMesh], joints: Joints, frame: np.ndarray, _progress: Progress
) -> tuple[FleshyCharacter, np.ndarray]:
    character = FleshyCharacter.of(meshes, joints, frame)
    return character, character.find_fleshy_joints()


def _fit(
    character: FleshyCharacter, limb: Limb, joints: Joints, quality: Quality, picked: dict,
    share: tuple[float, float], progress: Progress,
) -> FittedLimb:  # fmt: skip
    return fit_limb(character, limb, joints, quality, picked, lambda done: progress(share[0] + share[1] * done))


def _list_corrections(character: FleshyCharacter, sides: Sequence[FittedSide], number: int) -> list[Correction]:
    """The corrections of a mesh."""
    mesh, found, used = character.meshes[number], list[Correction](), set[str]()
    for side in sides:
        for fitted in side.meshes:
            if fitted.number != number:
                continue
            offsets = character.to_objects(number, fitted.shapes)
            for row, function in enumerate(fitted.kept.tolist()):
                own = [bone for bone in side.ramps.bones[function].tolist() if bone >= 0]
                bones, peak = tuple(side.bones[bone] for bone in own), side.peaks[function]
                name = free_name(name_within(bones[-1], " Flesh"), used)
                used.add(name)
                pose = {
                    bone: pack_numbers((0.0, 0.0, 0.0, *rotation, 1.0, 1.0, 1.0))
                    for bone, rotation in zip(side.bones, peak, strict=True)
                }
                found.append(
                    Correction(
                        name=name,
                        offsets=offsets[row],
                        bones=bones,
                        rotations=peak[own],
                        pose=json.dumps(pose),
                        reader="AUTO",
                        method=find_method_in_use(mesh.skinned),
                        source=FLESH,
                        ramps=side.ramps.ramps[function, : len(own)],
                    )
                )
    return found


def store_flesh(found: FoundFlesh) -> CorrectedFrom:
    """Store what `find_flesh` has found, in place of the meshes' flesh.

    Raises
    ------
    SkinningError
        If a mesh was deleted or changed meanwhile. Nothing is changed then.
    """
    objects = dict[str, tuple[bpy.types.Object, bpy.types.Object]]()
    for name, corrections in found.corrections.items():
        obj = bpy.data.objects.get(name)
        armature = find_deforming_armature(obj) if obj is not None and obj.type == "MESH" else None
        counts = {len(one.offsets) for one in corrections}
        if obj is None or armature is None or counts - {len(mesh_of(obj).vertices)}:
            raise SkinningError(f"'{name}' was deleted, renamed or changed meanwhile: add the flesh again")
        objects[name] = obj, armature
    for obj, name in list_flesh(obj for obj, _ in objects.values()):
        remove(obj, find_deforming_armature(obj), name)
    stored, bones = list[tuple[str, str]](), dict[str, None]()
    for name, (obj, armature) in objects.items():
        groups = dict[tuple[str, ...], list[Correction]]()
        for correction in found.corrections[name]:
            groups.setdefault(correction.bones, []).append(correction)
            bones |= dict.fromkeys(correction.bones)
        for group in groups.values():
            stored += [(name, key) for key in store_all(obj, armature, group)]
    return CorrectedFrom(LABEL, tuple(stored), tuple(bones), notes=found.notes, left_out=found.left_out)


def remove_flesh(objects: Sequence[bpy.types.Object]) -> tuple[int, LeftOut]:
    """Remove the flesh of meshes: the number of its keys, and the linked meshes that keep theirs."""
    fleshy = [obj for obj in objects if list_flesh([obj])]
    free, left_out = choose_usable(fleshy, check_not_linked, check_own_mesh)
    found = list_flesh(free)
    for obj, name in found:
        remove(obj, find_deforming_armature(obj), name)
    return len(found), left_out


def _take_off(subject: Subject, names: Sequence[str]) -> list[str]:
    count, left_out = remove_flesh(subject.choose(names))
    return [f"{count} keys of flesh were removed", *describe_left_out(left_out)]


CORRECTIONS = Feature(
    key="flesh",
    remove=_take_off,
    is_in=lambda subject: bool(list_flesh(subject.meshes)),
    follow=follow,
    stands_on=("skin",),
)
