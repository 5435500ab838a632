"""Flesh is found, stored as corrections, and removed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.names import free_name, name_within
from ...bridge.owned import digest
from ...bridge.per_object import PerObject
from ...bridge.rigs.armatures import Skeleton
from ...deformers import SkinningError
from ...deformers.flesh.limbs import Limb
from ...deformers.rig.rest import Joints
from ...options import BEST, FleshOptions
from ...settings.objects import settings_of
from ..corrections.from_method import CorrectedFrom, find_correctable
from ..corrections.keys import Correction, remove, store_all
from ..corrections.names import follow
from ..corrections.posed_copy import check_own_mesh
from ..corrections.poses import pack_numbers
from ..installed.feature import Feature, Subject
from ..left_out import LeftOut, choose_usable, describe_left_out
from ..skin.poses import find_skeleton
from ..steps import Progress, Steps, ignore_progress
from ..subject.character import find_method_in_use
from ..subject.corrected import FLESH, find_deforming_armature, list_bones, list_flesh
from ..subject.stack import check_not_linked
from .character import FleshyCharacter, ReadMesh, read_meshes
from .joints import find_bends
from .picks import Words, find_pair, find_shapes, forget_picks, parse_picked, read_picks, write_picks
from .plan import (
    QUALITIES,
    FittedLimb,
    FittedSide,
    Fitting,
    Quality,
    describe,
    list_limbs,
    list_unchanged,
)

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
    picks : dict of str to tuple of str
        What was picked now, by bones: see `write_picks`.
    kept : KeptFlesh
        What the next pick is computed from.
    bones : set of str
        Those of the limbs that were computed: other flesh stays. Empty for all limbs.
    """

    corrections: dict[str, list[Correction]]
    notes: tuple[str, ...]
    left_out: tuple[str, ...]
    picks: dict[str, Words]
    kept: KeptFlesh
    bones: set[str]


@dataclass(frozen=True, eq=False)
class KeptFlesh:
    """Shapes that were computed, until the flesh of another character is.

    Attributes
    ----------
    made_of : str
        A digest of all that they depend on.
    limbs : dict of tuple to FittedLimb
        By `Limb.key`.
    """

    made_of: str
    quality: str
    limbs: dict[tuple[object, ...], FittedLimb]


@dataclass(frozen=True, eq=False)
class ReadCharacter:
    """A character that flesh is computed for.

    Attributes
    ----------
    names : list of str
        Of its meshes.
    kept : KeptFlesh or None
        What is kept of its flesh.
    """

    armature: bpy.types.Object
    names: list[str]
    skeleton: Skeleton
    character: FleshyCharacter
    limbs: list[Limb]
    left_out: tuple[str, ...]
    made_of: str
    kept: KeptFlesh | None


_kept: PerObject[KeptFlesh] = PerObject()  # of one armature alone


def add_flesh(objects: Sequence[bpy.types.Object], options: FleshOptions | None = None) -> Steps[CorrectedFrom]:
    """Give the skin at each joint the best of several shapes, in place of its flesh; no keys if none is better.

    Yields and raises as `correct_from`.
    """
    return store_flesh((yield from find_flesh(objects, options)))


def find_flesh(objects: Sequence[bpy.types.Object], options: FleshOptions | None = None) -> Steps[FoundFlesh]:
    """Find what `add_flesh` stores; nothing is changed."""
    options = options or FleshOptions()
    picks = parse_picked(options.picked)
    read = yield from read_character(objects)
    return (yield from fit_limbs(read, read.limbs, options.quality, picks))


def read_character(objects: Sequence[bpy.types.Object]) -> Steps[ReadCharacter]:
    """Read what flesh is computed from; raises SkinningError if there is no flesh."""
    skinned, left_out = find_correctable(objects)
    armature = skinned[0].armature
    skeleton = find_skeleton(armature)
    vertices = sum(len(mesh_of(one.obj).vertices) for one in skinned)
    if MOST_KEYS * vertices > MOST_OFFSETS:
        raise SkinningError(f"{vertices:,} vertices are too many for flesh: correct single joints with From Particles")
    meshes, unbound = read_meshes(skinned, skeleton)
    names = [mesh.skinned.obj.name for mesh in meshes]
    made_of = digest(*(part for mesh in meshes for part in mesh.list_parts()), skeleton.joints.centers, skeleton.frame)
    kept = _kept.find(armature)
    if kept is not None and kept.made_of != made_of:
        kept = None
    bind = partial(_bind, meshes, skeleton.unrolled.joints, skeleton.frame)
    character, fleshy = (yield bind) if kept is None else bind(ignore_progress)
    bends = yield from find_bends(armature, skeleton, fleshy)
    limbs = list_limbs(character, bends, skeleton.joints)
    return ReadCharacter(armature, names, skeleton, character, limbs, (*left_out, *unbound), made_of, kept)


def fit_limbs(
    read: ReadCharacter, limbs: Sequence[Limb], quality: str, picks: Mapping[str, Words]
) -> Steps[FoundFlesh]:
    """Choose shapes for limbs, and fit keys to them: at once where all shapes are known."""
    character, kept, is_pick = read.character, read.kept, len(limbs) < len(read.limbs)
    given = dict[str, Words]()
    for bone, words in picks.items():
        limb, number = find_pair(read.limbs, bone)
        given |= {bends[number].bone: (BEST,) for bends in (limb.bends, limb.others) if bends} | {bone: words}
    all_picks = read_picks(read.armature) | given
    known = kept.limbs if kept is not None and kept.quality == quality else {}
    fitted = dict[tuple[object, ...], FittedLimb]()
    for number, limb in enumerate(limbs):
        before, picked = known.get(limb.key), find_shapes(limb, all_picks)
        share = 0.1 + 0.9 * number / len(limbs), 0.9 / len(limbs)
        fit = partial(_fit, character, limb, read.skeleton.joints, QUALITIES[quality], picked, before, share)
        fitted[limb.key] = (yield fit) if before is None or not is_pick else fit(ignore_progress)
    shown = list(fitted.values())
    notes = [*describe(shown, character.millimeters)]
    if unchanged := list_unchanged(shown):
        notes.append("The skin stays as it is at " + ", ".join(unchanged))
    sides = [side for limb in shown for side in limb.sides]
    found = {name: _list_corrections(character, sides, number) for number, name in enumerate(read.names)}
    own = {bend.bone for limb in limbs for bend in chain(limb.bends, limb.others)} if is_pick else set()
    new = KeptFlesh(read.made_of, quality, known | {key: replace(limb, sides=[]) for key, limb in fitted.items()})
    return FoundFlesh(found, tuple(notes), read.left_out, given, new, own)


def keep(armature: bpy.types.Object, kept: KeptFlesh) -> None:
    """Keep shapes for the next pick, in place of those that were kept before."""
    _kept.clear()
    _kept.keep(armature, kept)


def _bind(
    meshes: list[ReadMesh], joints: Joints, frame: np.ndarray, _progress: Progress
) -> tuple[FleshyCharacter, np.ndarray]:
    character = FleshyCharacter.of(meshes, joints, frame)
    return character, character.find_fleshy_joints()


def _fit(
    character: FleshyCharacter, limb: Limb, joints: Joints, quality: Quality, picked: dict, before: FittedLimb | None,
    share: tuple[float, float], progress: Progress,
) -> FittedLimb:  # fmt: skip
    fitting = Fitting(character, limb, joints, quality, picked, before)
    return fitting.run(lambda done: progress(share[0] + share[1] * done))


def _list_corrections(character: FleshyCharacter, sides: Sequence[FittedSide], number: int) -> list[Correction]:
    """The corrections of a mesh."""
    mesh, found, used = character.meshes[number], list[Correction](), set[str]()
    for side in sides:
        for fitted in side.meshes:
            if fitted.number != number:
                continue
            offsets = character.to_objects(number, fitted.shapes)
            for row, function in enumerate(fitted.kept.tolist()):
                own, peak = int(side.ramps.bones[function]), side.peaks[function]
                name = free_name(name_within(side.bones[own], " Flesh"), used)
                used.add(name)
                pose = {
                    bone: pack_numbers((0.0, 0.0, 0.0, *rotation, 1.0, 1.0, 1.0))
                    for bone, rotation in zip(side.bones, peak, strict=True)
                }
                found.append(
                    Correction(
                        name=name,
                        offsets=offsets[row],
                        bones=(side.bones[own],),
                        rotations=peak[[own]],
                        pose=json.dumps(pose),
                        reader="AUTO",
                        method=find_method_in_use(mesh.skinned),
                        source=FLESH,
                        ramps=side.ramps.ramps[[function]],
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
        if not found.bones or found.bones.issuperset(list_bones(settings_of(obj).corrections[name])):
            remove(obj, find_deforming_armature(obj), name)
    stored, bones = list[tuple[str, str]](), dict[str, None]()
    for name, (obj, armature) in objects.items():
        groups = dict[tuple[str, ...], list[Correction]]()
        for correction in found.corrections[name]:
            groups.setdefault(correction.bones, []).append(correction)
            bones |= dict.fromkeys(correction.bones)
        for group in groups.values():
            stored += [(name, key) for key in store_all(obj, armature, group)]
    for armature in {armature for _, armature in objects.values()}:
        write_picks(armature, found.picks)
        keep(armature, found.kept)
    return CorrectedFrom(LABEL, tuple(stored), tuple(bones), notes=found.notes, left_out=found.left_out)


def remove_flesh(objects: Sequence[bpy.types.Object]) -> tuple[int, LeftOut]:
    """Remove the flesh of meshes: the number of its keys, and the linked meshes that keep theirs."""
    fleshy = [obj for obj in objects if list_flesh([obj])]
    free, left_out = choose_usable(fleshy, check_not_linked, check_own_mesh)
    found, posing = list_flesh(free), {obj.name: find_deforming_armature(obj) for obj in free}
    for obj, name in found:
        remove(obj, posing[obj.name], name)
    fleshy = {find_deforming_armature(obj) for obj, _ in list_flesh(bpy.data.objects)}
    for armature in {*posing.values()} - fleshy:
        if armature is not None:
            forget_picks(armature)
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
