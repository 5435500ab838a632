"""Bound meshes that can be posed, for the live step, ghosts, corrections, Check Character, engine copies and measures.

A `SkinSource` describes what is bound, is cheap, and can be compared. A method turns it into a `PosableSkin` once,
which poses without Blender's data.
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
from ..subject.surfaces import find_bound_space, with_surfaces
from .poses import find_skeleton

# Methods that pose plain joints
UNROLLED = {PUBLISHED_METHOD, *PARTICLE_METHODS}

# Largest difference of an entry at which object and armature space count as the same
SAME_SPACE = 1e-7

IDENTITY = Matrix()

# Where `FollowingSkin.written` has the values of shape keys
VALUES = 1


@dataclass(frozen=True)
class Choices:
    """The choices a binding depends on, besides the shapes of mesh and bones.

    Attributes
    ----------
    params : Params
        Parameters of the method that do not change with the pose.
    mesh, armature : int
        Their `session_uid`.
    linear_group, solid_group : str
        Vertex groups of the settings, "" for none.
    vertex_group : str
        Of the Armature modifier, "" for none.
    invert : bool
        Whether that group is inverted.
    has_rolls : bool
        Whether the method sees the segments by which limbs take up twists.
    is_blenders : bool
        Whether the method equals Blender's Armature modifier, without the object's settings.
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
        """Read the choices of a mesh.

        Parameters
        ----------
        method : str, optional
            By default the method in use; for an unbound mesh, that of its Armature modifier.
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
    """A mesh to bind with its skeleton, as both are in the file.

    Attributes
    ----------
    skeleton : Skeleton
        Without rolls if the choices have none.
    known_space : Matrix or None
        From object to armature space, if it differs from that of the objects in the file.
    is_bound_anew : bool
        Whether to bind at the object's current location instead of that at the last Bind.
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
        """Whether choices and bones are equal; space and mesh are not compared."""
        bones, others = self.skeleton, other.skeleton
        return bones.source == others.source and self.choices == other.choices

    @property
    def bound_space(self) -> Matrix:
        """From object to armature space at Bind, in which the mesh is filled, the same in every frame."""
        if self.is_bound_anew:
            return self.space.copy()
        return find_bound_space(self.skinned.obj, self.skinned.armature)


@dataclass(frozen=True, eq=False)
class UnboundSkin:
    """A mesh as read, before binding; it needs no data of Blender's.

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
            If its weights or bones do not allow it to be bound.
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
        return PosableSkin(choices, self.skeleton, self.groups, self.space, self.bound_space, binding, kept)


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
        From object to armature space, if the weights depend on it.
    bound_space : Matrix
        See `SkinSource.bound_space`.
    binding : object
        The method's result of `bind`.
    rest : Rest or None
        The bound rest, kept if binding is so slow that it is compared first.
    """

    choices: Choices
    skeleton: Skeleton
    groups: list[str]
    space: Matrix | None
    bound_space: Matrix
    binding: Any
    rest: Rest | None = None

    @classmethod
    def of(cls, source: SkinSource, known: PosableSkin | None = None) -> PosableSkin:
        """Bind a mesh whose modifiers were checked; nothing of it is changed.

        Parameters
        ----------
        known : PosableSkin, optional
            The former skin: its binding is reused if nothing has changed.

        Raises
        ------
        SkinningError
            If its weights or bones do not allow it.
        """
        return UnboundSkin.of(source).bind(known)

    @property
    def deformer(self) -> ModuleType:
        """The module of the method."""
        return DEFORMERS[self.choices.method]

    def is_current(self, source: SkinSource) -> bool:
        """Whether choices, bones and space are unchanged; the mesh is not compared."""
        return source.is_bound_as(self) and self.space in (None, source.space)

    def at(self, params: Any = None, points: np.ndarray | None = None) -> PosableSkin:
        """Copy the skin with another quality or another shape.

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
        """Transforms of the vertices, shape (V, 4, 4), object space."""
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
        Input of the latest result: Params, values of the shape keys, pose, space, and more.
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
            If the mix has unusable coordinates.
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
    """Raise SkinningError if points mixed from shape keys, shape (V, 3), are not usable numbers."""
    if find_unusable(points).any():
        raise SkinningError(
            f"The shape keys of '{obj.name}' give positions that are not numbers, or are too far away: repair them, "
            "or set their values to 0"
        )


def find_space(space: Matrix) -> np.ndarray | None:
    """From object to armature space as `Pose` takes it: None if they are the same."""
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
