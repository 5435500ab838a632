"""Influences as attributes of a character's mesh, which node modifiers read."""

from __future__ import annotations

from typing import Any, Literal

import bpy
import numpy as np

from ...deformers.rig.influences import Influences, find_differences
from ...deformers.skinning.joint_limits import AtRest
from ...deformers.skinning.joint_shares import JointShares
from ...deformers.skinning.rotation_centers import RotationCenters
from ...nodes.limits import AT_REST_ATTRIBUTE, HEIGHT_ATTRIBUTE, JOINT_ATTRIBUTE, LIMITS_ATTRIBUTE
from ...nodes.skin import LINEAR_ATTRIBUTE, SET_ATTRIBUTE, SHARE_ATTRIBUTE, WEIGHTS_ATTRIBUTE
from ...nodes.spread_twists import AXIS_ATTRIBUTE, END_ATTRIBUTE
from ...nodes.spread_twists import SHARE_ATTRIBUTE as TWIST_ATTRIBUTE
from ...nodes.turns import (
    ALLOWANCE_ATTRIBUTE,
    CENTER_ATTRIBUTE,
    LEAN_ATTRIBUTE,
    SDEF_ATTRIBUTE,
    SDEF_WEIGHTS_ATTRIBUTE,
)
from ..arrays import read_array, write_array

FORMER_PREFIXES = "supple_joint_", "supple_weight_"
"""Starts of the names that attributes had before version 3 of the node groups."""

PREFIXES = (
    SET_ATTRIBUTE, WEIGHTS_ATTRIBUTE, SHARE_ATTRIBUTE, CENTER_ATTRIBUTE, LEAN_ATTRIBUTE, ALLOWANCE_ATTRIBUTE,
    SDEF_ATTRIBUTE, LINEAR_ATTRIBUTE, JOINT_ATTRIBUTE, LIMITS_ATTRIBUTE, AT_REST_ATTRIBUTE, HEIGHT_ATTRIBUTE,
    TWIST_ATTRIBUTE, *FORMER_PREFIXES,
)  # fmt: skip

LARGEST_ALLOWANCE = 1e6
"""Stands for one without limit."""

FIELDS = {"INT": "value", "FLOAT": "value", "FLOAT_VECTOR": "vector"}


def write_influences(
    mesh: bpy.types.Mesh,
    influences: Influences,
    indices: np.ndarray,
    centers: RotationCenters | None,
    shares: JointShares | None,
    at_rest: AtRest | None,
    linear: np.ndarray | None,
    twists: np.ndarray | None,
    is_shared: bool,
) -> None:
    """Store influences on a mesh, in place of what it has; nothing is touched where they are the same.

    Parameters
    ----------
    indices : int32 array, shape (S,)
        What each set is called in the joints object, from `add_sets`.
    centers : RotationCenters or None
        What vertices rotate about, for methods that do.
    shares : JointShares or None
        What they take of bulge limit and contact, where there is any.
    at_rest : AtRest or None
        Goes with these: of all vertices, those without a joint about the first.
    linear : float array, shape (V,), or None
        How linearly vertices are blended, where no vertex group says so.
    twists : float32 array, shape (P, V, 3), or None
        What they take of spread twists, from `pack_twists`.
    is_shared : bool
        Whether nodes blend the joints of others with this mesh: what this one does not take at all stays for them.
    """
    attributes: dict[str, tuple[Any, np.ndarray]] = {}
    for slot, (which, weights) in enumerate(zip(influences.which, influences.weights, strict=True)):
        attributes[f"{SET_ATTRIBUTE}{slot}"] = "INT", indices[which]
        if weights.any():  # what is missing reads as zero
            attributes[f"{WEIGHTS_ATTRIBUTE}{slot}"] = "FLOAT_VECTOR", weights
        if influences.shares is not None:
            attributes[f"{SHARE_ATTRIBUTE}{slot}"] = "FLOAT", influences.shares[slot]
    if centers is not None:
        allowances = np.minimum(centers.allowances, LARGEST_ALLOWANCE)
        attributes[CENTER_ATTRIBUTE] = "FLOAT_VECTOR", centers.points.astype(np.float32)
        attributes[LEAN_ATTRIBUTE] = "FLOAT_VECTOR", centers.leans.astype(np.float32)
        attributes[ALLOWANCE_ATTRIBUTE] = "FLOAT", allowances.astype(np.float32)
        if has_sdef(influences, centers):
            attributes |= _list_sdef(influences, centers)
    if shares is not None and at_rest is not None:
        seen = np.stack([at_rest.nearest, at_rest.distances, at_rest.nearness], axis=1)
        attributes[AT_REST_ATTRIBUTE] = "FLOAT_VECTOR", seen
        attributes[HEIGHT_ATTRIBUTE] = "FLOAT", at_rest.heights
        takes = np.stack([shares.limits, shares.contacts, shares.leads], axis=1)
        attributes[JOINT_ATTRIBUTE] = "INT", np.maximum(shares.joints, 0).astype(np.int32)
        attributes[LIMITS_ATTRIBUTE] = "FLOAT_VECTOR", takes.astype(np.float32)
    if linear is not None:
        attributes[LINEAR_ATTRIBUTE] = "FLOAT", linear.astype(np.float32)
    attributes |= _list_passes(TWIST_ATTRIBUTE, twists)
    for name, (kind, values) in attributes.items():
        _write(mesh, name, kind, values)
    _remove(mesh, set(attributes), is_shared)


def write_turns(
    mesh: bpy.types.Mesh, twists: np.ndarray | None, lines: tuple[np.ndarray, np.ndarray] | None, is_shared: bool
) -> None:
    """Store on a mesh what turns its vertices before an Armature modifier, in place of what it has of Supple.

    Parameters
    ----------
    twists : float32 array, shape (P, V, 3), or None
        What they take of spread twists, from `pack_twists`.
    lines : pair of float32 arrays, shape (P, V, 3), or None
        Axes and points of the lines of these, object space.
    is_shared : bool
        As of `write_influences`.
    """
    attributes = _list_passes(TWIST_ATTRIBUTE, twists)
    for start, rows in zip((AXIS_ATTRIBUTE, END_ATTRIBUTE), lines or (None, None), strict=True):
        attributes |= _list_passes(start, rows)
    for name, (kind, values) in attributes.items():
        _write(mesh, name, kind, values)
    _remove(mesh, set(attributes), is_shared)


def _list_passes(start: str, passes: np.ndarray | None) -> dict[str, tuple[Literal["FLOAT_VECTOR"], np.ndarray]]:
    """Attributes with a number, of vectors of shape (P, V, 3); what is missing reads as zero."""
    rows = enumerate(() if passes is None else passes)
    return {f"{start}{number}": ("FLOAT_VECTOR", vectors) for number, vectors in rows if vectors.any()}


def has_sdef(influences: Influences, centers: RotationCenters | None) -> bool:
    """Whether nodes move vertices by SDEF: not where the joints that these follow are averaged with others."""
    return centers is not None and centers.pairs is not None and not influences.is_interpolable


def _list_sdef(
    influences: Influences, centers: RotationCenters
) -> dict[str, tuple[Literal["FLOAT_VECTOR"], np.ndarray]]:
    """The attributes of vertices that have SDEF, zero for the others."""
    assert centers.pairs is not None
    pairs, (offsets, signs) = centers.pairs, np.zeros((2, len(centers.points), 3), np.float32)
    offsets[pairs.vertices] = pairs.offsets
    signs[pairs.vertices] = find_differences(influences, pairs.vertices, pairs.first, pairs.second)
    return {SDEF_ATTRIBUTE: ("FLOAT_VECTOR", offsets), SDEF_WEIGHTS_ATTRIBUTE: ("FLOAT_VECTOR", signs)}


def has_influences(mesh: bpy.types.Mesh) -> bool:
    """Whether a mesh has what nodes blend joints by."""
    return any(name.startswith(PREFIXES) for name in mesh.attributes.keys())


def remove_influences(mesh: bpy.types.Mesh) -> None:
    """Take Supple's attributes off a mesh."""
    _remove(mesh, set())


def _write(mesh: bpy.types.Mesh, name: str, kind: Literal["INT", "FLOAT", "FLOAT_VECTOR"], values: np.ndarray) -> None:
    attribute = mesh.attributes.get(name)
    if attribute is not None and (attribute.data_type, attribute.domain) != (kind, "POINT"):
        mesh.attributes.remove(attribute)
        attribute = None
    if attribute is not None:
        width = values.shape[1] if values.ndim > 1 else 0
        if (read_array(attribute.data, FIELDS[kind], width, values.dtype.type) == values).all():
            return
    else:
        attribute = mesh.attributes.new(name, kind, "POINT")
    write_array(attribute.data, FIELDS[kind], values, values.dtype.type)
    mesh.update_tag()


def _remove(mesh: bpy.types.Mesh, kept: set[str], is_shared: bool = False) -> None:
    kinds = set(map(_strip_number, kept))
    names = [name for name in mesh.attributes.keys() if name.startswith(PREFIXES) and name not in kept]
    if is_shared:
        names = [name for name in names if _strip_number(name) in kinds]
    for name in names:
        mesh.attributes.remove(mesh.attributes[name])
    if names:
        mesh.update_tag()


def _strip_number(name: str) -> str:
    return name.rstrip("0123456789")
