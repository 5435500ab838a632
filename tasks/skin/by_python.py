"""Evaluation by Python: what a deformer has bound of an object, from which each pose is computed.

`prepare` is for Bind, `prepare_known` for the live step, which has looked some of it up already.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
from mathutils import Matrix

from ...bridge.armatures import Skeleton
from ...bridge.meshes import FaceKeys
from ...deformers import DEFORMERS, METHODS, Rest
from ...settings.choices import read_params
from ...settings.objects import PARTICLE_METHODS
from ..character import check_modifiers_above, check_modifiers_below, modifiers_above, read_character, uses_envelopes
from ..stack import SkinnedObject
from ..surfaces import with_surfaces
from ..twist import read_choice, with_fractions
from .poses import find_skeleton


@dataclass(frozen=True)
class Choices:
    """What a binding depends on besides the mesh and the bones."""

    method: str
    params: Any
    """The method's Params, without what holds for each pose by itself."""
    linear_group: str
    solid_group: str
    armature: str
    twist: str


@dataclass
class LiveObject:
    """What the cache holds of a bound object between frames."""

    skeleton: Skeleton
    groups: list[str]
    choices: Choices
    space: Matrix | None
    """From object to armature space, where the weights depend on it."""
    bound_space: Matrix
    """From object to armature space at Bind."""
    deformer: Any
    binding: Any
    rest: Rest | None = None
    """What was bound, where binding is so slow that it is compared first."""
    face_keys: FaceKeys | None = None
    bound_values: tuple[float, ...] = ()
    """Values of the face keys whose shape the binding has."""
    armature_is_stale: bool = False
    mesh_is_stale: bool = False
    last_write: tuple = field(default=())
    """What the latest result follows from: carrier, kind, quality, values of the face keys, pose, space."""
    shown: tuple = ()
    """What the carrier holds: its `session_uid`, the kind, the result."""
    is_rough: bool = False
    """Whether that is of the quality for dragging."""


def read_choices(skinned: SkinnedObject, method: str) -> Choices:
    """What a binding by a method depends on, as an object's settings have it."""
    settings = skinned.settings
    solid_group = settings.particles.group if method in PARTICLE_METHODS else ""
    return Choices(
        method,
        read_params(settings, method),
        settings.linear_group,
        solid_group,
        skinned.armature.name_full,
        read_choice(settings, method),
    )


def read_blenders_choices(skinned: SkinnedObject, method: str) -> Choices:
    """The same for a method that does as Blender's Armature modifier: it has none of an object's settings."""
    return Choices(method, METHODS[method].params(), "", "", skinned.armature.name_full, "OFF")


def prepare(skinned: SkinnedObject, method: str) -> LiveObject:
    """Bind an object to its skeleton, as both are in the file; nothing of it is changed.

    Parameters
    ----------
    skinned : SkinnedObject
    method : str
        Key of `DEFORMERS`.

    Raises
    ------
    SkinningError
        Where its modifiers, weights or bones do not allow it.
    """
    check_modifiers_above(skinned, modifiers_above(skinned.obj, skinned.deforming))
    check_modifiers_below(skinned)
    choices = read_choices(skinned, method)
    skeleton = with_fractions(find_skeleton(skinned.armature), skinned.armature, choices.twist)
    return prepare_known(skinned, choices, skeleton)


def prepare_known(
    skinned: SkinnedObject,
    choices: Choices,
    skeleton: Skeleton,
    space: Matrix | None = None,
    bound_space: Matrix | None = None,
    known: LiveObject | None = None,
) -> LiveObject:
    """Bind an object, whose modifiers were checked, to a skeleton.

    Parameters
    ----------
    skinned : SkinnedObject
    choices : Choices
    skeleton : Skeleton
        With the fractions that the choices give it.
    space : Matrix, optional
        From object to armature space; as the objects stand in the file if not given.
    bound_space : Matrix, optional
        The same when the object was bound, on which what fills the mesh is measured: so that it is filled alike in
        every frame; `space` if not given.
    known : LiveObject, optional
        What an earlier call has made of the object: its binding is taken where nothing has changed since.

    Raises
    ------
    SkinningError
        Where its weights or bones do not allow it.
    """
    character = read_character(skinned, skeleton, space, choices.solid_group)
    varies = bool(skeleton.bendy) or uses_envelopes(skinned.replaced, skeleton)
    deformer = DEFORMERS[choices.method]
    bound_space = bound_space or character.space
    rest = replace(character.rest, object_to_armature=np.array(bound_space, np.float64))
    if not choices.linear_group:
        rest = replace(rest, linear=None)  # as for a ghost of Blender's own methods
    rest = with_surfaces(rest, skinned, skeleton, choices.method)
    varying_space = character.space if varies else None
    if known is not None and known.rest is not None and known.choices == choices and _is_same(known.rest, rest):
        return _renew(known, skeleton=skeleton, groups=character.groups, space=varying_space)
    return LiveObject(
        skeleton=skeleton,
        groups=character.groups,
        choices=choices,
        space=varying_space,
        bound_space=bound_space,
        deformer=deformer,
        binding=deformer.bind(rest, choices.params),
        rest=rest if choices.method in PARTICLE_METHODS else None,
    )


def _renew(known: LiveObject, **changes: Any) -> LiveObject:
    """The same with its binding, of which face keys may have changed their shapes."""
    changes["mesh_is_stale"] = changes["armature_is_stale"] = False
    if known.bound_values:
        changes |= {"binding": known.deformer.with_points(known.binding, known.rest.points), "bound_values": ()}
    if known.last_write and known.last_write[3]:  # keys may have changed their shapes
        changes |= {"last_write": (), "shown": (), "face_keys": None}
    return replace(known, **changes)


def _is_same(first: Any, second: Any) -> bool:
    """Whether two of Rest, or of its parts, hold the same numbers."""
    if first is None or second is None:
        return first is second
    if is_dataclass(first):
        return all(_is_same(getattr(first, field_.name), getattr(second, field_.name)) for field_ in fields(first))
    return np.array_equal(first, second)
