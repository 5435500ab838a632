"""A copy of a character that exporters cannot get wrong: plain meshes, one armature, baked actions.

The original is not touched. A copy that was made for the same target before is replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.held import find_all_again
from ...bridge.meshes.copies import add_key, copy_mesh, skin_by, write_groups
from ...bridge.modifiers import is_layer_modifier, is_named_for_patterns, is_supple_modifier
from ...bridge.names import free_name, name_within
from ...bridge.owned import Tag, is_marked, mark, read_mark
from ...bridge.rigs.armatures import Skeleton
from ...bridge.rigs.copies import follow_rotation, new_armature, read_rests
from ...deformers.engine_copy.bone_motion import BoneMotion, find_bone_motion, without_scale
from ...deformers.engine_copy.model import CopyFit
from .baking import Parts, bake, name_correctives
from .examples import CopiedCharacter, Motion, Part, read_world
from .played import Played
from .targets import TARGETS

# Shortest bone that is made for a joint without length, in sizes of the skeleton
SHORTEST = 0.01


@dataclass(frozen=True, eq=False)
class Copy:
    """The new copy.

    Attributes
    ----------
    collection, armature : Collection and Object
    originals : list of str
        Names of the copied armature and meshes, which files use.
    correctives : list of str
        Names of the corrective keys.
    scale : float
        From the original's armature space to the copy's.
    world : float array, shape (4, 4)
        From the copy's armature space to the world's: a rotation and a translation.
    left_out : list of str
        Modifiers that are not in the copy, "Body: Subdivision".
    """

    collection: bpy.types.Collection
    armature: bpy.types.Object
    meshes: list[bpy.types.Object]
    originals: list[str]
    correctives: list[str]
    scale: float
    world: np.ndarray
    left_out: list[str]


def make_copy(
    subject: CopiedCharacter, fit: CopyFit, motion: Motion, target: str = "gltf", played: Sequence[Played] = ()
) -> Copy:
    """Make a copy, or make it anew.

    Parameters
    ----------
    fit : CopyFit
        Of its skin to the poses of the motion.
    motion : Motion
        Its clips are baked.
    target : str
        Key of `TARGETS`.
    played : sequence of Played
        Other motion in each clip.

    Raises
    ------
    SkinningError
        If Blender does not let it be made; nothing is left behind then.
    """
    scale, world = read_world(subject.armature)
    originals = [part.obj for part in subject.parts]
    former, label = find_copy(subject.armature, target), TARGETS[target]
    with _removed_on_error(originals) as parts:
        names, bones = _add_armature(subject, fit, motion, scale, parts)
        parts.armature.matrix_world = Matrix(world.tolist())
        parts.correctives += name_correctives(names, fit, originals)
        for part in subject.parts:
            _add_mesh(part, fit, names, scale, parts)
        for mesh in parts.meshes:
            skin_by(mesh, parts.armature)
        _follow_rules(fit, names, bones, parts)
        bake(parts, motion, fit, names, bones, played, label)
        collection = former or bpy.data.collections.new(f"{subject.armature.name} for {label}")
    if former is not None:
        remove_parts(list(read_parts(former))[1:])
    else:
        bpy.context.scene.collection.children.link(collection)
    mark(collection, Tag.COPY_OF, subject.armature)
    mark(collection, Tag.COPY_FOR, target)
    for obj, source in zip([parts.armature, *parts.meshes], [subject.armature, *originals], strict=True):
        collection.objects.link(obj)
        obj.name = obj.data.name = f"{source.name} for {label}"
        # No pointer: files for exporters would take the original along
        mark(obj, Tag.COPY_OF, source.name)
    return Copy(
        collection=collection,
        armature=parts.armature,
        meshes=parts.meshes,
        originals=[obj.name for obj in (subject.armature, *originals)],
        correctives=parts.correctives,
        scale=scale,
        world=world,
        left_out=_list_left_out(subject),
    )


def find_copy(armature: bpy.types.Object, target: str) -> bpy.types.Collection | None:
    """The collection of the copy of a character that was made for a target before."""
    for collection in bpy.data.collections:
        if read_mark(collection, Tag.COPY_OF) == armature and read_mark(collection, Tag.COPY_FOR) == target:
            return collection if collection.is_editable else None
    return None


def list_copies(armature: bpy.types.Object) -> list[bpy.types.Collection]:
    """The collections of all copies of a character."""
    return [copy for target in TARGETS if (copy := find_copy(armature, target)) is not None]


def remove_copies(armature: bpy.types.Object) -> list[str]:
    """Remove all copies of a character: a sentence on them."""
    copies = list_copies(armature)
    names = [copy.name for copy in copies]
    for copy in copies:
        remove_parts(read_parts(copy))
    return [f"Removed {', '.join(names)}"] if names else []


def is_copy(obj: bpy.types.Object) -> bool:
    """Whether an object is part of a copy."""
    return any(is_marked(collection, Tag.COPY_OF) for collection in obj.users_collection)


def read_parts(collection: bpy.types.Collection) -> dict[int, str]:
    """All that a copy is made of, its collection first: names by `session_uid`, by which it is found again."""
    objects = list(collection.objects)
    parts = [collection, *objects, *(obj.data for obj in objects if obj.data is not None), *list_baked(collection)]
    return {part.session_uid: part.name for part in parts}


def remove_parts(uids: Collection[int]) -> None:
    """Remove parts of a copy, by `session_uid`, as far as they are still there, and nothing else uses their data."""
    found = find_all_again(uids).values()
    bpy.data.batch_remove([other for other in found if isinstance(other, bpy.types.Object | bpy.types.Collection)])
    bpy.data.batch_remove([other for other in find_all_again(uids).values() if not other.users])


def list_baked(collection: bpy.types.Collection) -> list[bpy.types.Action]:
    """The actions of a copy."""
    animated = [obj.animation_data for obj in collection.objects if obj.animation_data is not None]
    strips = [strip for data in animated for track in data.nla_tracks for strip in track.strips]
    return list(dict.fromkeys(strip.action for strip in strips if strip.action is not None))


@contextmanager
def _removed_on_error(originals: list[bpy.types.Object]) -> Iterator[Parts]:
    """The unfinished copy, which is removed on any error."""
    parts = Parts(originals)
    try:
        yield parts
    except BaseException:
        objects = [*parts.meshes, *filter(None, [parts.armature])]
        made = [*objects, *(obj.data for obj in objects), *parts.actions]
        remove_parts([part.session_uid for part in made])
        raise


def _scaled(matrices: np.ndarray, scale: float) -> np.ndarray:
    """Matrices, shape (..., 4, 4), in a space of another scale."""
    result = np.array(matrices, np.float64)
    result[..., :3, 3] *= scale
    return result


def name_bones(skeleton: Skeleton, fit: CopyFit) -> list[str]:
    """Names of the copy's bones, those of the joints and then those of the helpers; each differs from the others."""
    names: list[str] = []

    def add(base: str, ending: str) -> None:
        names.append(free_name(name_within(base, ending), {*names, *skeleton.names}))

    for bone, count in zip(skeleton.names, skeleton.joint_counts.tolist(), strict=True):
        names.append(bone)
        for part in range(1, count):
            add(bone, f"_bend_{part}")
    counts: dict[int, int] = {}
    for helper in fit.helpers:
        counts[helper.joint] = counts.get(helper.joint, 0) + 1
        add(names[helper.joint], f"_twist_{counts[helper.joint]}")
    return names


def _add_armature(
    subject: CopiedCharacter, fit: CopyFit, motion: Motion, scale: float, parts: Parts
) -> tuple[list[str], BoneMotion]:
    """Make the armature: names of its bones, and how they move in each pose that was fitted to."""
    skeleton, joints = subject.skeleton, subject.skeleton.joints
    rests = without_scale(np.linalg.inv(skeleton.rest_inverses))
    lengths = np.maximum(joints.lengths, SHORTEST * float(np.ptp(joints.centers, axis=0).max(initial=0.0)) or SHORTEST)
    of_helpers = np.array([helper.joint for helper in fit.helpers], np.intp)
    helpers = rests[of_helpers]
    if fit.helpers:
        helpers[:, :3, 3] = [helper.center for helper in fit.helpers]
    rests = _scaled(np.concatenate([rests, helpers]), scale)
    parents = np.concatenate([joints.parents, [helper.base for helper in fit.helpers]]).astype(np.intp)
    moves = _scaled(np.concatenate([motion.matrices, fit.helper_matrices], axis=1), scale)
    names = name_bones(skeleton, fit)
    bones = find_bone_motion(rests, parents, moves @ rests)
    lengths = scale * np.concatenate([lengths, 0.5 * lengths[of_helpers]])
    parts.armature = new_armature(subject.armature.name, names, rests, lengths, bones.parents)
    made = read_rests(parts.armature, names)
    if np.abs(made - rests).max() > 1e-6 * max(1.0, float(np.abs(rests).max())):  # a roll that Blender has rounded
        bones = find_bone_motion(made, bones.parents, moves @ made)
    return names, bones


def _follow_rules(fit: CopyFit, names: list[str], bones: BoneMotion, parts: Parts) -> None:
    """Make helpers with rules follow them by constraints instead of baked curves."""
    first = len(names) - len(fit.helpers)
    for number, helper in enumerate(fit.helpers, first):
        if helper.turn_share is not None:
            follow_rotation(parts.armature, names[number], names[helper.joint], helper.turn_share)
            bones.rotations[:, number] = (1.0, 0.0, 0.0, 0.0)


def _add_mesh(part: Part, fit: CopyFit, names: list[str], scale: float, parts: Parts) -> None:
    obj, rest = part.obj, part.rest
    own = slice(part.first, part.first + len(rest.points))
    space = np.eye(4) if rest.object_to_armature is None else rest.object_to_armature
    space = np.diag([scale, scale, scale, 1.0]) @ space
    copy = copy_mesh(obj, obj.name, scale * rest.armature_points, space)
    parts.meshes.append(copy)
    write_groups(copy, names, fit.bones[own], fit.values[own])
    for name, key in zip(parts.correctives, fit.keys, strict=True):
        if key.offsets[own].any():
            add_key(copy, name, scale * key.offsets[own])


def _list_left_out(subject: CopiedCharacter) -> list[str]:
    """Modifiers with a visible effect that are not in the copy."""
    return [
        f"{part.obj.name}: {modifier.name}"
        for part in subject.parts
        for modifier in part.obj.modifiers
        if (modifier.show_viewport or modifier.show_render)
        and modifier.type != "ARMATURE"
        and not is_supple_modifier(modifier)
        and not is_named_for_patterns(modifier)
        and not (part.obj.name in subject.kept and is_layer_modifier(modifier))
    ]
