"""A mesh, bound by a method, that can be posed: what the live step, ghosts, corrections, Check Character, engine copies
and measures have in common.

A `SkinSource` says what is bound, and by what; it is cheap, and two can be compared. A `PosableSkin` is what the method
makes of it, once; it poses without Blender's data.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.meshes.data import FaceKeys, mesh_of, read_points
from ...bridge.rigs.armatures import Skeleton
from ...deformers import BLENDERS, DEFORMERS, METHODS, PUBLISHED_METHOD, Pose, Rest, SkinningError
from ...deformers.errors import find_unusable
from ...deformers.method import BLENDER
from ...settings.choices import read_params, read_pose_choices
from ...settings.objects import PARTICLE_METHODS
from ..subject.character import find_method_in_use, object_to_armature, read_character, uses_envelopes
from ..subject.stack import SkinnedObject
from ..subject.surfaces import find_bound_space, is_found_before, with_surfaces
from .poses import find_skeleton

UNROLLED = {PUBLISHED_METHOD, *PARTICLE_METHODS}
"""Methods that pose plain joints."""

SAME_SPACE = 1e-7
"""Largest difference of an entry at which object and armature space count as the same."""

IDENTITY = Matrix()

VALUES = 1
"""Where `FollowingSkin.written` has the values of shape keys."""


@dataclass(frozen=True)
class Choices:
    """What a binding depends on besides what the mesh and the bones are like.

    Attributes
    ----------
    params : Params
        The method's, without what holds for each pose by itself.
    mesh, armature : int
        By `session_uid`: which they are.
    linear_group, solid_group : str
        Vertex groups of the settings, "" for none.
    vertex_group : str
        Of the Armature modifier, "" for none.
    invert : bool
        Whether that group is inverted.
    has_rolls : bool
        Whether it sees the segments by which limbs take up twists.
    is_blenders : bool
        Whether the method does as Blender's Armature modifier, and has none of the object's settings.
    """

    method: str
    params: Any
    mesh: int
    armature: int
    linear_group: str = ""
    solid_group: str = ""
    vertex_group: str = ""
    invert: bool = False
    has_rolls: bool = True
    is_blenders: bool = False

    @classmethod
    def read(cls, skinned: SkinnedObject, method: str | None = None, is_blenders: bool = False) -> Choices:
        """What a mesh is bound by.

        Parameters
        ----------
        method : str, optional
            That in use if not given; where the mesh is not bound, that is Blender's own.
        is_blenders : bool
            As of the attribute.
        """
        settings, replaced = skinned.settings, skinned.replaced
        if method is None:
            method, is_blenders = find_method_in_use(skinned), not settings.is_bound
        group = replaced.vertex_group if replaced.vertex_group in skinned.obj.vertex_groups else ""
        common: dict[str, Any] = {"mesh": mesh_of(skinned.obj).session_uid, "armature": skinned.armature.session_uid}
        common |= {"vertex_group": group, "invert": replaced.invert_vertex_group}
        if is_blenders:
            params, has_own_rolls = BLENDERS.get(method) or METHODS[method].params(), not settings.is_bound
            return cls(method, params, has_rolls=has_own_rolls, is_blenders=True, **common)
        return cls(
            method,
            read_params(settings, method),
            linear_group=settings.linear_group,
            solid_group=settings.particles.group if method in PARTICLE_METHODS else "",
            has_rolls=method not in UNROLLED and (METHODS[method].evaluation == BLENDER or settings.twist != "OFF"),
            **common,
        )

    def read_quality(self, settings: Any, moment: str = "") -> Any:
        """The Params that a mesh is posed with at a moment, such as `BAKING`."""
        chosen = {} if self.is_blenders else read_pose_choices(settings, self.method, moment)
        return replace(self.params, **chosen) if chosen else self.params


@dataclass(frozen=True, eq=False)
class SkinSource:
    """What is bound, and by what, as both are in the file.

    Attributes
    ----------
    skeleton : Skeleton
        Without rolls, where the choices have none.
    known_space : Matrix or None
        From object to armature space, where it is not that of the objects as they stand in the file.
    is_bound_anew : bool
        Whether the object is bound where it stands now, and not where it stood when it was last bound.
    """

    skinned: SkinnedObject
    choices: Choices
    skeleton: Skeleton
    known_space: Matrix | None = None
    is_bound_anew: bool = False

    @classmethod
    def of(
        cls,
        skinned: SkinnedObject,
        choices: Choices | None = None,
        skeleton: Skeleton | None = None,
        space: Matrix | None = None,
    ) -> SkinSource:
        """A mesh as it is in the file.

        Parameters
        ----------
        choices : Choices, optional
            Those in use if not given.
        skeleton : Skeleton, optional
            If it was read already.
        space : Matrix, optional
            As the objects stand in the file if not given.
        """
        choices = choices or Choices.read(skinned)
        skeleton = skeleton or find_skeleton(skinned.armature)
        return cls(skinned, choices, skeleton.rolled if choices.has_rolls else skeleton.unrolled, space)

    @cached_property
    def space(self) -> Matrix:
        """From object to armature space."""
        return self.known_space or object_to_armature(self.skinned.obj, self.skinned.armature)

    def is_bound_as(self, other: SkinSource | PosableSkin) -> bool:
        """Whether choices and bones are the same; the space, and what the mesh is like, are not looked at."""
        bones, others = self.skeleton, other.skeleton
        return bones.source == others.source and self.choices == other.choices

    @property
    def bound_space(self) -> Matrix:
        """From object to armature space at Bind, on which what fills the mesh is measured, alike in every frame."""
        if self.is_bound_anew:
            return self.space.copy()
        return find_bound_space(self.skinned.obj, self.skinned.armature)


@dataclass(frozen=True, eq=False)
class UnboundSkin:
    """What is bound, as it was read: nothing of Blender's data is needed any more.

    Attributes
    ----------
    groups, space, bound_space
        As of `PosableSkin`.
    """

    choices: Choices
    skeleton: Skeleton
    groups: list[str]
    space: Matrix | None
    bound_space: Matrix
    rest: Rest

    @classmethod
    def of(cls, source: SkinSource) -> UnboundSkin:
        """A mesh whose modifiers were checked.

        Raises
        ------
        SkinningError
            Where its weights or bones do not allow it to be bound.
        """
        skinned, choices, skeleton = source.skinned, source.choices, source.skeleton
        character = read_character(skinned, skeleton, source.space, choices.solid_group)
        bound_space = source.bound_space
        divides = skeleton.joints.rolls is not None and choices.method not in PARTICLE_METHODS
        measured = source.space if divides else bound_space  # segments hold a vertex by where it is now
        rest = replace(character.rest, object_to_armature=np.array(measured, np.float64))
        if not choices.linear_group:
            rest = replace(rest, linear=None)  # Blender's own methods have none
        rest = with_surfaces(rest, skinned, skeleton, choices.method)
        depends = skeleton.bendy or divides or uses_envelopes(skinned.replaced, skeleton)
        return cls(choices, skeleton, character.groups, character.space if depends else None, bound_space, rest)

    def bind(self, known: PosableSkin | None = None) -> PosableSkin:
        """Bind it; `known` and errors are those of `PosableSkin.of`."""
        choices, binding = self.choices, None
        if known is not None and known.rest is not None and _is_same(known.rest, self.rest):
            is_same = replace(known.choices, mesh=choices.mesh) == choices  # a copy of the mesh is bound alike
            binding = known.binding if is_same else None
        if binding is None:
            binding = DEFORMERS[choices.method].bind(self.rest, choices.params)
        kept = self.rest if choices.method in PARTICLE_METHODS else None
        is_rough = is_found_before(self.rest)
        return PosableSkin(choices, self.skeleton, self.groups, self.space, self.bound_space, binding, kept, is_rough)


@dataclass(frozen=True, eq=False)
class PosableSkin:
    """A mesh, bound by a method.

    Attributes
    ----------
    skeleton : Skeleton
        As of `SkinSource`.
    groups : list of str
        Vertex groups that deforming bones are named after.
    space : Matrix or None
        From object to armature space, where the weights depend on it.
    bound_space : Matrix
        See `SkinSource.bound_space`.
    binding : object
        What the method has made of the mesh.
    rest : Rest or None
        What was bound, where binding is so slow that it is compared first.
    is_rough : bool
        Whether some of it was found before the stroke of a brush that goes on.
    """

    choices: Choices
    skeleton: Skeleton
    groups: list[str]
    space: Matrix | None
    bound_space: Matrix
    binding: Any
    rest: Rest | None = None
    is_rough: bool = False

    @classmethod
    def of(cls, source: SkinSource, known: PosableSkin | None = None) -> PosableSkin:
        """Bind a mesh whose modifiers were checked; nothing of it is changed.

        Parameters
        ----------
        known : PosableSkin, optional
            What was bound before, at rest: its binding is taken where nothing has changed since.

        Raises
        ------
        SkinningError
            Where its weights or bones do not allow it.
        """
        return UnboundSkin.of(source).bind(known)

    @property
    def deformer(self) -> ModuleType:
        """The module of the method."""
        return DEFORMERS[self.choices.method]

    def is_current(self, source: SkinSource) -> bool:
        """Whether choices, bones and space are those that were bound; what the mesh is like is not looked at."""
        return source.is_bound_as(self) and self.space in (None, source.space)

    def at(self, params: Any = None, points: np.ndarray | None = None) -> PosableSkin:
        """The same binding with another quality, or another shape.

        Parameters
        ----------
        params : Params, optional
            From `Choices.read_quality`.
        points : float array, shape (V, 3), optional
            At rest, object space.
        """
        binding = self.binding
        if points is not None:
            binding = self.deformer.with_points(binding, np.asarray(points, np.float32))
        if params is not None and params != binding.params:
            binding = replace(binding, params=params)
        return self if binding is self.binding else replace(self, binding=binding)

    def pose(self, pose: Pose) -> np.ndarray:
        """Posed points, shape (V, 3), object space; the pose is seen from there (`Pose.seen_from`)."""
        return self.deformer.deform(self.binding, pose)

    def transforms(self, pose: Pose) -> np.ndarray:
        """Where the space of each vertex goes, shape (V, 4, 4), object space."""
        return self.deformer.vertex_transforms(self.binding, pose)


@dataclass(eq=False)
class FollowingSkin:
    """A skin that is brought to the pose, the shape and the quality of each step.

    Attributes
    ----------
    bound : PosableSkin
        As it was bound, at rest.
    skin : PosableSkin
        With shape and quality of the latest step.
    face_keys : FaceKeys or None
        Read when first mixed.
    values : tuple of float
        Of the shape keys whose mix `skin` has.
    written : tuple
        What the latest result follows from: Params, values of the shape keys, pose, space, and what else there is.
    armature_is_stale, mesh_is_stale : bool
        Whether these may have changed since.
    """

    bound: PosableSkin
    skin: PosableSkin = field(init=False)
    face_keys: FaceKeys | None = None
    values: tuple[float, ...] = ()
    written: tuple = ()
    armature_is_stale: bool = False
    mesh_is_stale: bool = False

    def __post_init__(self) -> None:
        self.skin = self.bound

    def is_current(self, source: SkinSource) -> bool:
        """Whether a step needs no new binding."""
        return not self.mesh_is_stale and self.bound.is_current(source)

    def bring_to(self, obj: bpy.types.Object, params: Any, values: tuple[float, ...]) -> PosableSkin:
        """The skin with a quality and a mix of its shape keys.

        Raises
        ------
        SkinningError
            Where there is no computing with the mix.
        """
        points = self._mix(obj, values) if values != self.values else None
        self.skin, self.values = self.skin.at(params, points), values
        return self.skin

    def _mix(self, obj: bpy.types.Object, values: tuple[float, ...]) -> np.ndarray:
        """The shape of a mesh at these values of its shape keys, shape (V, 3), object space."""
        if not values:
            return read_points(mesh_of(obj))  # the last key was removed
        if self.face_keys is None or self.face_keys.count != len(values):
            self.face_keys = FaceKeys(obj)
        points = self.face_keys.mix(values)
        check_mixed(obj, points)
        return points


def check_mixed(obj: bpy.types.Object, points: np.ndarray) -> None:
    """Raise SkinningError where there is no computing with the points that shape keys give, shape (V, 3)."""
    if find_unusable(points).any():
        raise SkinningError(
            f"The shape keys of '{obj.name}' give positions that are not numbers, or are too far away: repair them, "
            "or set their values to 0"
        )


def find_space(space: Matrix) -> np.ndarray | None:
    """From object to armature space as `Pose` takes it: None where they are the same."""
    if space == IDENTITY:
        return None
    array = np.array([row[:] for row in space], np.float64)  # by rows: until Blender 5.1, NumPy is slow with a Matrix
    return None if np.abs(array - np.eye(4)).max() <= SAME_SPACE else array


def _is_same(first: Any, second: Any) -> bool:
    """Whether two of Rest, or of its parts, hold the same numbers."""
    if first is None or second is None:
        return first is second
    if is_dataclass(first):
        return all(_is_same(getattr(first, one.name), getattr(second, one.name)) for one in fields(first))
    return np.array_equal(first, second)
