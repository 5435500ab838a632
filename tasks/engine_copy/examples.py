"""The target of an engine copy: the character by the method in use, in its actions and in a range of motion.

`read_subject` and `read_actions` read Blender's data, `write_targets` computes without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import bpy
import numpy as np

from ...bridge.files.temporary import writing_temporary
from ...bridge.meshes.copies import check_keys
from ...bridge.names import free_name
from ...bridge.rigs.actions import AT_A_TIME, list_frames, visit_frames
from ...bridge.rigs.armatures import Skeleton, read_pose
from ...deformers import Pose, SkinningError
from ...deformers.engine_copy import CopiedSkin
from ...deformers.engine_copy.bone_motion import without_scale
from ...deformers.layers.keep import LayerPlan, keep_apart
from ...deformers.measures.bends import list_bent_poses
from ...deformers.rig.rest import Rest, Weights, check_space
from ...deformers.rig.surfaces import WeightedSurface
from ...settings.choices import BAKING
from ..layers.kept import find_kept
from ..left_out import LeftOut, sort_out, try_each
from ..skin.model import PosableSkin, SkinSource
from ..skin.poses import find_skeleton
from ..subject.character import (
    check_modifiers_above,
    find_skinned,
    has_armature_modifier,
    modifiers_above,
    read_character,
)
from ..subject.stack import SkinnedObject
from .displacement import Displacement, find_displacement, read_all
from .hung import read_hung

# Of vertices from the origin of the armature, in sizes of the largest other mesh: float32 holds no more to fit to
FARTHEST = 1e5

# Of an armature object: bones of less are none to Blender
LEAST_SCALE = 1e-9

# Part by which the scales of an object may differ, to count as one
EVEN = 1e-4

# Share of all vertices that a joint must move to be bent in the range of motion
LEAST_SKIN = 1e-3


class UnposableError(SkinningError):
    """Some meshes cannot be posed, or are too far away: what is said of each, by its number among the parts."""

    reasons: Mapping[int, str] = {}

    @classmethod
    def of(cls, reasons: Mapping[int, str]) -> UnposableError:
        """The message is the first of the reasons."""
        error = cls(next(iter(reasons.values())))
        error.reasons = reasons
        return error


@dataclass(frozen=True)
class Part:
    """A mesh of the character.

    Attributes
    ----------
    name : str
        Of its object.
    skinned : SkinnedObject or None
        Mesh and armature; None if it hangs on a bone.
    skin : PosableSkin or None
        As it is deformed.
    first : int
        Index of its first vertex among those of all meshes.
    displacement : Displacement or None
        Displacement by patterns.
    """

    name: str
    obj: bpy.types.Object
    rest: Rest
    skinned: SkinnedObject | None = None
    skin: PosableSkin | None = None
    first: int = 0
    displacement: Displacement | None = None

    def deform(self, pose: Pose, amounts: np.ndarray) -> np.ndarray:
        """Its points, shape (V, 3), armature space, in a pose for meshes in armature space.

        Parameters
        ----------
        amounts : float array, shape (P,)
            How much of its patterns there is.
        """
        if self.skin is None:
            carried = pose.rest_to_pose[self.rest.weights.joints[0]]
            return (self.rest.armature_points @ carried[:3, :3].T + carried[:3, 3]).astype(np.float32)
        space = self.rest.object_to_armature
        points = self.skin.pose(pose.seen_from(space))
        if self.displacement is not None:
            points = self.displacement.move(points, amounts)
        return points if space is None else points @ space[:3, :3].T.astype(np.float32) + space[:3, 3]


@dataclass(frozen=True, eq=False)
class CopiedCharacter:
    """The character that is copied: meshes on one armature.

    Attributes
    ----------
    millimeters : float
        In a unit of armature space.
    kept : mapping of LayerPlan
        Plans that keep layers apart, by the mesh's name, the outermost first.
    left_out : LeftOut
        Objects that cannot be copied.
    """

    armature: bpy.types.Object
    skeleton: Skeleton
    parts: tuple[Part, ...]
    millimeters: float
    kept: Mapping[str, LayerPlan]
    left_out: LeftOut

    @cached_property
    def skin(self) -> CopiedSkin:
        """The vertices of all meshes, one mesh after the other."""
        surfaces = [WeightedSurface.of_rest(part.rest) for part in self.parts]
        points = np.concatenate([surface.points for surface in surfaces])
        triangles = [surface.triangles + part.first for surface, part in zip(surfaces, self.parts, strict=True)]
        return CopiedSkin(points, np.concatenate(triangles), self._join_weights(), self.skeleton.joints)

    def without(self, error: UnposableError) -> CopiedCharacter:
        """The character without meshes that cannot be posed; raises the error if no other is deformed."""
        left = [part for number, part in enumerate(self.parts) if number not in error.reasons]
        if not any(part.skinned for part in left):
            raise error
        far = [(self.parts[number].obj, SkinningError(reason)) for number, reason in error.reasons.items()]
        kept = find_kept(self.armature, [part.obj for part in left], len(self.skeleton.joints.parents))
        return replace(self, parts=_put_in_a_row(left), kept=kept, left_out=[*self.left_out, *far])

    def _join_weights(self) -> Weights:
        own = [part.rest.weights for part in self.parts]
        vertices = np.concatenate(
            [weights.vertices + part.first for weights, part in zip(own, self.parts, strict=True)]
        )
        joints, values = (np.concatenate([getattr(weights, name) for weights in own]) for name in ("joints", "values"))
        return Weights(vertices, joints, values)


@dataclass(frozen=True)
class Clip:
    """Examples that are an action, frame after frame.

    Attributes
    ----------
    action : str
        Its name.
    first : int
        Index of the first example.
    """

    action: str
    frames: range
    first: int

    @property
    def examples(self) -> slice:
        """Which examples they are."""
        return slice(self.first, self.first + len(self.frames))


@dataclass(frozen=True)
class Motion:
    """The poses of all examples: those of actions, then those of a range of motion.

    Attributes
    ----------
    matrices : float array, shape (F, B, 4, 4)
        From rest to pose of the joints, armature space.
    hints : float array, shape (F, B), or None
        Twists that are asked of joints, radians.
    amounts : tuple of tuples of float arrays
        For each frame of an action, and each mesh, how much of its patterns there is, shape (P,).
    """

    clips: tuple[Clip, ...]
    matrices: np.ndarray
    hints: np.ndarray | None = None
    amounts: tuple[Sequence[np.ndarray], ...] = ()

    @classmethod
    def of(cls, clips: tuple[Clip, ...], poses: Sequence[Pose], amounts: Sequence[Sequence[np.ndarray]] = ()) -> Motion:
        """Those of some poses, in their order."""
        matrices, hints = np.array([pose.rest_to_pose for pose in poses]), None
        if any(pose.hints is not None for pose in poses):
            still = np.zeros(matrices.shape[1])
            hints = np.array([still if pose.hints is None else pose.hints for pose in poses])
        return cls(clips, matrices, hints, tuple(amounts))

    def find(self, example: int) -> tuple[str, int]:
        """Action and frame of an example; "" and 0 if it is of the range of motion."""
        for clip in self.clips:
            if clip.first <= example < clip.first + len(clip.frames):
                return clip.action, clip.frames[example - clip.first]
        return "", 0


def read_subject(objects: Iterable[bpy.types.Object]) -> CopiedCharacter:
    """Read the meshes of one armature, and bind them as they are deformed; nothing of the file is changed.

    Parameters
    ----------
    objects : Objects
        The meshes, and objects that hang on bones of their armature.

    Raises
    ------
    SkinningError
        If there is nothing to copy, or the meshes are not of one character.
    """
    objects = list(objects)
    if not any(map(has_armature_modifier, objects)):
        raise SkinningError("Nothing to copy: select a mesh that has an Armature modifier, or its armature")
    skinned, left_out = sort_out(filter(has_armature_modifier, objects), find_skinned)
    armatures = list(dict.fromkeys(one.armature for one in skinned))
    armature = armatures[0]
    if len(armatures) > 1:
        names = ", ".join(f"'{armature.name}'" for armature in armatures)
        raise SkinningError(f"The meshes belong to {len(armatures)} armatures ({names}): copy one character at a time")
    if not any(one.settings.is_bound for one in skinned):
        raise SkinningError(
            f"No mesh of '{armature.name}' is bound: bind it first, or export it directly, because exporters "
            "write the result of Blender's Armature modifier"
        )
    meters = bpy.context.scene.unit_settings.scale_length
    scale, _ = read_world(armature)
    skeleton = find_skeleton(armature)
    of_object = {one.obj: one for one in skinned}
    parts, unread = sort_out(of_object, lambda obj: _read_part(of_object[obj], skeleton))
    hung, unhung = try_each(
        (obj for obj in objects if not has_armature_modifier(obj)), lambda obj: _read_hung(obj, armature, skeleton)
    )
    kept = find_kept(armature, [part.obj for part in parts], len(skeleton.joints.parents))
    left_out = [*left_out, *unread, *unhung]
    return CopiedCharacter(armature, skeleton, _put_in_a_row([*parts, *hung]), 1000.0 * scale * meters, kept, left_out)


def read_world(armature: bpy.types.Object) -> tuple[float, np.ndarray]:
    """The scale of an armature object, and its matrix without it, shape (4, 4).

    Raises
    ------
    SkinningError
        If the scale is zero, uneven or mirrored: no bones of an engine have it.
    """
    matrix = np.array(armature.matrix_world, np.float64)
    check_space(matrix)
    scales = np.linalg.norm(matrix[:3, :3], axis=0)
    scale = float(scales.mean())
    if scale < LEAST_SCALE:
        raise SkinningError(f"'{armature.name}' has zero scale: give it a scale other than zero")
    even = np.abs(scales - scale).max() <= EVEN * scale
    if not even or np.linalg.det(matrix[:3, :3]) < 0.0:
        raise SkinningError(
            f"'{armature.name}' has a mirrored or non-uniform scale, which engines do not support in bones: "
            "apply its scale first"
        )
    return scale, without_scale(matrix[None])[0]


def _put_in_a_row(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Parts whose vertices follow one another."""
    row: list[Part] = []
    first = 0
    for part in parts:
        row.append(replace(part, first=first))
        first += len(part.rest.points)
    return tuple(row)


def _read_part(skinned: SkinnedObject, skeleton: Skeleton) -> Part:
    obj = skinned.obj
    check_keys(obj)
    check_modifiers_above(skinned, modifiers_above(obj, skinned.deforming))
    rest = read_character(skinned, skeleton).rest
    return Part(obj.name, obj, rest, skinned, _bind(skinned), displacement=find_displacement(obj, rest))


def _read_hung(obj: bpy.types.Object, armature: bpy.types.Object, skeleton: Skeleton) -> Part:
    rest = read_hung(obj, armature, skeleton)
    check_keys(obj)
    return Part(obj.name, obj, rest)


def _bind(skinned: SkinnedObject) -> PosableSkin:
    skin = PosableSkin.of(SkinSource.of(skinned))
    return skin.at(skin.choices.read_quality(skinned.settings, BAKING))


@dataclass(frozen=True, eq=False)
class ReadFrames:
    """Some frames of an action.

    Attributes
    ----------
    amounts : list of lists of float arrays
        For each frame and each mesh, how much of its patterns there is.
    """

    poses: list[Pose]
    amounts: list[list[np.ndarray]]


def read_actions(subject: CopiedCharacter, actions: Sequence[bpy.types.Action]) -> Iterator[ReadFrames]:
    """Read all frames of actions, a few at a time."""
    armature = subject.armature
    for action in actions:
        frames = list_frames(action)
        for start in range(0, len(frames), AT_A_TIME):
            poses, amounts = [], []
            for depsgraph in visit_frames(armature, action, frames[start : start + AT_A_TIME]):
                poses.append(read_pose(armature.evaluated_get(depsgraph), subject.skeleton.rolled))
                amounts.append(read_all([part.displacement for part in subject.parts], depsgraph))
            yield ReadFrames(poses, amounts)


def list_clips(actions: Sequence[bpy.types.Action]) -> tuple[Clip, ...]:
    """Which examples are which action, if they follow one another; a linked one may have the name of another."""
    clips: list[Clip] = []
    first = 0
    for action in actions:
        name = free_name(action.name, {clip.action for clip in clips})
        clips.append(Clip(name, list_frames(action), first))
        first += len(clips[-1].frames)
    return tuple(clips)


def bend_joints(subject: CopiedCharacter, angle: float) -> list[Pose]:
    """Poses of a range of motion: each joint with skin is bent and twisted by an angle and by half of it.

    Parameters
    ----------
    angle : float
        Radians, to each side.
    """
    skin, count = subject.skin, len(subject.skin.points)
    held = np.bincount(skin.weights.joints, skin.weights.values, len(skin.joints.parents))
    chosen = held >= LEAST_SKIN * count
    return [
        Pose(pose.rest_to_pose)
        for one in (angle, 0.5 * angle)
        for pose in list_bent_poses(skin.weights, count, skin.joints, one, chosen)
    ]


def write_targets(
    path: Path, subject: CopiedCharacter, motion: Motion, progress: Callable[[float], None]
) -> np.ndarray:
    """Compute the character in all examples, into a file.

    Parameters
    ----------
    path : Path
        Of a temporary file.
    progress : callable
        Told the share that is done.

    Returns
    -------
    float32 array, shape (F, V, 3), armature space
        A memory map of the file.

    Raises
    ------
    SkinningError
        If the file cannot be written; UnposableError if meshes cannot be posed.
    """
    count, farthest = len(subject.skin.points), _find_farthest(subject.parts)
    with writing_temporary(), path.open("wb") as stream:
        for example, matrices in enumerate(motion.matrices):
            pose = Pose(matrices, hints=None if motion.hints is None else motion.hints[example])
            posed, refused = {}, {}
            for number, part in enumerate(subject.parts):
                amounts = motion.amounts[example][number] if example < len(motion.amounts) else np.zeros(0)
                try:
                    points = part.deform(pose, amounts)
                except SkinningError as error:
                    refused[number] = str(error)
                    continue
                if not np.abs(points).max(initial=0.0) <= farthest[number]:  # also where one is no number
                    refused[number] = _describe_far(part, *motion.find(example))
                posed[part.name] = points
            if refused:
                raise UnposableError.of(refused)
            for points in keep_apart(subject.kept, posed, matrices).values():
                stream.write(points.astype(np.float32).tobytes())
            progress((example + 1) / len(motion.matrices))
    return np.memmap(path, np.float32, "r").reshape(-1, count, 3)


def _find_farthest(parts: Sequence[Part]) -> list[float]:
    """How far vertices of each mesh may be from the armature's origin: far ones make their own mesh large."""
    sizes = [float(np.linalg.norm(np.ptp(part.rest.armature_points, axis=0))) for part in parts]
    others = [max([*sizes[:number], *sizes[number + 1 :]], default=0.0) for number in range(len(parts))]
    return [FARTHEST * (other or own or 1.0) for other, own in zip(others, sizes, strict=True)]


def _describe_far(part: Part, action: str, frame: int) -> str:
    where = f"frame {frame} of action '{action}'" if action else "range of motion"
    return (
        f"'{part.name}' is too far from its armature's origin ({where}) for an accurate result: check "
        "the scale and location of its bones, their drivers, and the locations of the objects"
    )
