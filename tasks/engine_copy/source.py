"""All that an engine copy is made from, as read: it is posed without Blender."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import bpy
import numpy as np

from ...bridge.rigs.armatures import Skeleton
from ...deformers import Pose, SkinningError
from ...deformers.engine_copy import CopiedSkin
from ...deformers.layers.keep import LayerPlan
from ...deformers.rig.rest import Rest, Weights
from ...deformers.rig.surfaces import WeightedSurface
from ...options import CopyOptions
from ..left_out import LeftOut
from ..skin.model import PosableSkin
from .displacement import Displacement


@dataclass(frozen=True, eq=False)
class Part:
    """A mesh of the character.

    Attributes
    ----------
    name : str
        Name of its object.
    keys : collection of str
        Names of its shape keys.
    skin : PosableSkin or None
        None if it hangs on a bone.
    displacement : Displacement or None
        Displacement by patterns.
    lost : tuple of str
        Modifiers that a copy does not have, "Body: Subdivision".
    first : int
        Index of its first vertex among those of all meshes.
    """

    name: str
    obj: bpy.types.Object
    rest: Rest
    keys: Collection[str]
    skin: PosableSkin | None = None
    displacement: Displacement | None = None
    lost: tuple[str, ...] = ()
    first: int = 0

    @property
    def own(self) -> slice:
        """Its vertices among those of all meshes."""
        return slice(self.first, self.first + len(self.rest.points))

    def deform(self, pose: Pose, amounts: np.ndarray) -> np.ndarray:
        """Its points, shape (V, 3), armature space, in a pose for meshes in armature space.

        `amounts`, shape (P,), say how much of its patterns there is.
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
    scale : float
        From armature space to the copy's, which is in units of the scene.
    world : float array, shape (4, 4)
        From the copy's armature space to the world's: a rotation and a translation.
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
    scale: float
    world: np.ndarray
    millimeters: float
    kept: Mapping[str, LayerPlan]
    left_out: LeftOut

    @cached_property
    def skin(self) -> CopiedSkin:
        """The vertices of all meshes, one mesh after the other."""
        surfaces = [WeightedSurface.of_rest(part.rest) for part in self.parts]
        points = np.concatenate([surface.points for surface in surfaces])
        triangles = [surface.triangles + part.first for surface, part in zip(surfaces, self.parts, strict=True)]
        weights = Weights.in_a_row([part.rest for part in self.parts])
        return CopiedSkin(points, np.concatenate(triangles), weights, self.skeleton.joints)


@dataclass(frozen=True, eq=False)
class Clip:
    """Examples that are an action, frame after frame, and what the action moves besides the bones.

    Attributes
    ----------
    action : str
        Its name.
    first : int
        Index of the first example.
    keys : sequence of float arrays, shape (n, shape keys of the mesh)
        For each mesh, the values of its shape keys in the frames of the clip; (n, 0) if it has none.
    worlds : float array, shape (n, 4, 4), or None
        Matrices of the armature object; None if it stays where it is.
    """

    action: str
    frames: range
    first: int
    keys: Sequence[np.ndarray] = ()
    worlds: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class CopySource:
    """A character and its examples: the frames of actions, then the poses of a range of motion.

    Attributes
    ----------
    output : Path or None
        File to be written.
    folder : Path
        For temporary files.
    matrices : float array, shape (F, B, 4, 4)
        From rest to pose of the joints, armature space.
    hints : float array, shape (F, B), or None
        Twists that are asked of joints, radians.
    amounts : sequence of sequences of float arrays
        For each frame of an action, and each mesh, how much of its patterns there is, shape (P,).
    """

    character: CopiedCharacter
    options: CopyOptions
    output: Path | None
    folder: Path
    clips: tuple[Clip, ...]
    matrices: np.ndarray
    hints: np.ndarray | None
    amounts: Sequence[Sequence[np.ndarray]]

    @property
    def targets(self) -> Path:
        """The file of the skin in all examples: float32, (F, V, 3), armature space."""
        return self.folder / "targets"

    def find(self, example: int) -> tuple[str, int]:
        """Action and frame of an example; "" and 0 if it is of the range of motion."""
        for clip in self.clips:
            if clip.first <= example < clip.first + len(clip.frames):
                return clip.action, clip.frames[example - clip.first]
        return "", 0

    def without(self, refused: Mapping[str, str]) -> CopySource:
        """The source without meshes that cannot be posed: reasons by name.

        Raises SkinningError with the first reason if no other is deformed.
        """
        character = self.character
        left = [number for number, part in enumerate(character.parts) if part.name not in refused]
        parts = [character.parts[number] for number in left]
        if not any(part.skin for part in parts):
            raise SkinningError(next(iter(refused.values())))
        far = [(part.obj, SkinningError(refused[part.name])) for part in character.parts if part.name in refused]
        kept = {name: plan for name, plan in character.kept.items() if name not in refused}
        return replace(
            self,
            character=replace(character, parts=put_in_a_row(parts), kept=kept, left_out=[*character.left_out, *far]),
            clips=tuple(replace(clip, keys=[clip.keys[number] for number in left]) for clip in self.clips),
            amounts=[[amounts[number] for number in left] for amounts in self.amounts],
        )


def put_in_a_row(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Parts whose vertices follow one another."""
    row: list[Part] = []
    for part in parts:
        row.append(replace(part, first=row[-1].own.stop if row else 0))
    return tuple(row)
