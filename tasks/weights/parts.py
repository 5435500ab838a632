"""Meshes as parts of one skin: which armature deforms each, and what weights depend on, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.armatures import Skeleton, read_skeleton
from ...bridge.meshes import mesh_of, read_key_points, read_points, read_triangles
from ...bridge.weights import read_weights
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..character import changes_topology, object_to_armature
from ..chosen_bones import is_selected
from ..stack import armature_modifiers, find_replaced_modifier
from .reports import list_names

NEAR = 0.5
"""How far a bone may be from the box around the skin, in diagonals of that box, to be taken for one of its bones."""

FLAT = 1e-12
"""Volume of a unit cube in another space, from its edges' lengths made 1, below which that space is flat."""


@dataclass(frozen=True)
class Part:
    """A mesh as a part of what an armature deforms.

    Attributes
    ----------
    obj : Object
    points : float64 array, shape (V, 3)
        At rest, in armature space.
    triangles : int array, shape (T, 3)
        Counter-clockwise from outside, in armature space.
    weights : float32 array, shape (V, B)
        As they are, by deforming bone.
    locked : bool array, shape (B,)
        Bones whose vertex group is locked.
    sharers : tuple of Object
        Other meshes that were given and have the same data, and so the same weights.
    """

    obj: bpy.types.Object
    points: np.ndarray
    triangles: np.ndarray
    weights: np.ndarray
    locked: np.ndarray
    sharers: tuple[bpy.types.Object, ...] = ()


@dataclass(frozen=True)
class Skin:
    """All parts that one armature deforms.

    Attributes
    ----------
    armature : Object
    skeleton : Skeleton
    parts : tuple of Part
    """

    armature: bpy.types.Object
    skeleton: Skeleton
    parts: tuple[Part, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The deforming bones, B of them."""
        return self.skeleton.names

    @property
    def points(self) -> np.ndarray:
        """Points of all parts, shape (V, 3), armature space."""
        return np.concatenate([part.points for part in self.parts])

    @property
    def triangles(self) -> np.ndarray:
        """Triangles of all parts, shape (T, 3), which count the vertices of all parts on."""
        return np.concatenate([part.triangles + rows.start for part, rows in zip(self.parts, self.rows, strict=True)])

    @property
    def weights(self) -> np.ndarray:
        """Weights of all parts, shape (V, B)."""
        return np.concatenate([part.weights for part in self.parts])

    @property
    def rows(self) -> tuple[slice, ...]:
        """Where each part's vertices are among all."""
        ends = np.cumsum([0] + [len(part.points) for part in self.parts]).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))


def find_armature(obj: bpy.types.Object, given: bpy.types.Object | None = None) -> bpy.types.Object:
    """The armature that deforms a mesh, or is to.

    Parameters
    ----------
    obj : Object
        A mesh.
    given : Object, optional
        The armature to take for a mesh that no armature deforms.

    Raises
    ------
    SkinningError
        Where there is none, or it can not be told which.
    """
    if settings_of(obj).is_bound:
        found = [find_replaced_modifier(obj)]
    else:
        found = armature_modifiers(obj)
        if len({one.object for one in found}) > 1:
            found = [one for one in found if one.object and (one.show_viewport or one.show_render)]
    armatures = {one.object for one in found if one.object is not None and one.object.type == "ARMATURE"}
    if len(armatures) > 1:
        names = ", ".join(sorted(f"'{one.name}'" for one in armatures))
        raise SkinningError(
            f"'{obj.name}' has Armature modifiers of {len(armatures)} armatures ({names}): switch off all but one, in "
            "viewport and render"
        )
    if armatures:
        return armatures.pop()
    if given is not None:
        return given
    if obj.parent is not None and obj.parent.type == "ARMATURE":
        return obj.parent
    raise SkinningError(
        f"No armature deforms '{obj.name}': select its armature too, or give it an Armature modifier with one"
    )


def lacks_modifier(obj: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether nothing deforms a mesh by an armature yet."""
    is_deformed_as_child = obj.parent == armature and obj.parent_type == "ARMATURE"
    return not is_deformed_as_child and all(one.object != armature for one in armature_modifiers(obj))


def add_armature_modifier(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Have an armature deform a mesh: above modifiers that change the number of vertices, but below mirrors.

    An Armature modifier that has no armature is given it.
    """
    empty = [one for one in armature_modifiers(obj) if one.object is None]
    if empty:
        empty[0].object = armature
        return
    kinds = [modifier.type for modifier in obj.modifiers]
    mirrors = [place for place, kind in enumerate(kinds) if kind == "MIRROR"]
    start = mirrors[-1] + 1 if mirrors else 0
    changing = [place for place, one in enumerate(obj.modifiers) if place >= start and changes_topology(one)]
    modifier: Any = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    if changing:
        obj.modifiers.move(len(kinds), changing[0])


def read_skins(
    objects: Iterable[bpy.types.Object], given: bpy.types.Object | None = None, needs_faces: bool = True
) -> list[Skin]:
    """Read meshes, those of one armature together; nothing is changed.

    Parameters
    ----------
    objects : Objects
        Meshes. Of those that share their data, which holds the weights, the first counts.
    given : Object, optional
        The armature of meshes that no armature deforms.
    needs_faces : bool
        Whether to refuse skins without any face.

    Raises
    ------
    SkinningError
        Where weights can not be computed or can not be written.
    """
    objects = list(objects)
    by_armature: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    for obj in own_meshes(objects):
        by_armature.setdefault(find_armature(obj, given), []).append(obj)
    skins = [_read_skin(armature, members, needs_faces) for armature, members in by_armature.items()]
    return [
        replace(skin, parts=tuple(replace(part, sharers=_find_sharers(part.obj, objects)) for part in skin.parts))
        for skin in skins
    ]


def _find_sharers(obj: bpy.types.Object, objects: Iterable[bpy.types.Object]) -> tuple[bpy.types.Object, ...]:
    """Those of objects that share a mesh's data, itself not among them."""
    return tuple(dict.fromkeys(one for one in objects if one.data == obj.data and one != obj))


def _read_skin(armature: bpy.types.Object, objects: Sequence[bpy.types.Object], needs_faces: bool) -> Skin:
    if armature.mode == "EDIT":
        raise SkinningError(f"The bones of '{armature.name}' are being edited: leave its Edit Mode first")
    skeleton = read_skeleton(armature)
    if not skeleton.names:
        raise SkinningError(f"'{armature.name}' has no deforming bone: switch Deform on in the bones' properties")
    if armature.matrix_world.determinant() == 0.0:
        raise SkinningError(f"'{armature.name}' is scaled to nothing: give it a scale other than 0")
    parts = tuple(read_part(obj, armature, skeleton.names) for obj in objects)
    if needs_faces and not any(len(part.triangles) for part in parts):
        names = ", ".join(f"'{part.obj.name}'" for part in parts)
        raise SkinningError(
            f"{names} {'has' if len(parts) == 1 else 'have'} no faces, and no inside: add faces, or transfer the "
            "weights of another mesh"
        )
    return Skin(armature, skeleton, parts)


def own_meshes(objects: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Those of objects that have data of their own: of those that share it, the first.

    Raises
    ------
    SkinningError
        Where there is none, or an object whose weights can not be written.
    """
    first: dict[int, bpy.types.Object] = {}
    for obj in objects:
        _check_own(obj)
        first.setdefault(mesh_of(obj).session_uid, obj)
    if not first:
        raise SkinningError("No mesh to weight: select one that has an Armature modifier")
    return list(first.values())


def _check_own(obj: bpy.types.Object) -> None:
    if obj.type != "MESH":
        raise SkinningError(f"'{obj.name}' is no mesh: only meshes have weights")
    mesh = mesh_of(obj)
    if obj.library is not None or mesh.library is not None or mesh.override_library is not None:
        raise SkinningError(
            f"The mesh of '{obj.name}' is linked from another file, which keeps its weights: make it local first, by "
            "Object > Relations > Make Local"
        )


def read_part(obj: bpy.types.Object, armature: bpy.types.Object, names: Sequence[str]) -> Part:
    """Read a mesh with its weights for bones of these names, in Edit Mode as edited.

    Raises
    ------
    SkinningError
        Where its places in armature space are no places.
    """
    weights = read_weights(obj, names)  # first: it brings the mesh up to date in Edit Mode
    space = object_to_armature(obj, armature)
    _check_space(obj, space)
    points = read_rest_points(obj).astype(np.float64)
    if wrong := np.count_nonzero(~np.isfinite(points).all(axis=1)):
        raise SkinningError(
            f"{wrong} of the {len(points)} vertices of '{obj.name}' {'is' if wrong == 1 else 'are'} nowhere (their "
            "coordinates are no numbers): delete them, or mend the mesh where it came from"
        )
    matrix = np.array(space, np.float64)
    triangles = read_triangles(mesh_of(obj))
    is_mirrored = np.linalg.det(matrix[:3, :3]) < 0
    return Part(
        obj=obj,
        points=points @ matrix[:3, :3].T + matrix[:3, 3],
        triangles=triangles[:, ::-1] if is_mirrored else triangles,
        weights=weights,
        locked=np.array([(group := obj.vertex_groups.get(name)) is not None and group.lock_weight for name in names]),
    )


def _check_space(obj: bpy.types.Object, space: Matrix) -> None:
    matrix = np.array(space, np.float64)
    edges = np.linalg.norm(matrix[:3, :3], axis=0)
    if not np.isfinite(matrix).all() or edges.min() == 0.0 or abs(np.linalg.det(matrix[:3, :3] / edges)) < FLAT:
        raise SkinningError(f"'{obj.name}' is scaled to nothing: give it a scale other than 0")


def read_rest_points(obj: bpy.types.Object) -> np.ndarray:
    """The shape without keys, shape (V, 3), object space."""
    mesh = mesh_of(obj)
    keys = mesh.shape_keys
    if keys is None or len(keys.reference_key.data) != len(mesh.vertices):
        return read_points(mesh)
    return read_key_points(keys.reference_key, len(mesh.vertices))


def read_selected_bones(armature: bpy.types.Object) -> set[str]:
    """Names of the selected bones of an armature that is not in Edit Mode."""
    return {bone.name for bone in armature.pose.bones if is_selected(bone)}


def check_sharers(skin: Skin) -> None:
    """Raise SkinningError where a mesh is to have the weights of two armatures."""
    for part in skin.parts:
        for obj in part.sharers:
            if (other := find_armature(obj, skin.armature)) != skin.armature:
                raise SkinningError(
                    f"'{obj.name}' shares the mesh and the weights of '{part.obj.name}', but is deformed by "
                    f"'{other.name}', not by '{skin.armature.name}': select only one of them, or give it a mesh of its "
                    "own, by Object > Relations > Make Single User"
                )


def check_near(skin: Skin) -> None:
    """Raise SkinningError where the skin has no size, or all bones are far away from it."""
    points, envelopes = skin.points, skin.skeleton.envelopes
    low, high = points.min(axis=0), points.max(axis=0)
    size = float(np.linalg.norm(high - low))
    names = list_names([f"'{part.obj.name}'" for part in skin.parts])
    if size == 0.0:
        raise SkinningError(f"All vertices of {names} are at one place: choose a mesh that has a size")
    along = np.linspace(0.0, 1.0, 9)[:, None, None]
    samples = (1.0 - along) * envelopes.heads + along * envelopes.tails
    gaps = np.linalg.norm(samples - np.clip(samples, low, high), axis=2).min(axis=0)
    nearest = int(gaps.argmin())
    if not np.isfinite(gaps).all() or gaps[nearest] > NEAR * size:
        raise SkinningError(
            f"No deforming bone of '{skin.armature.name}' is in or near {names}: the nearest, "
            f"'{skin.names[nearest]}', is {gaps[nearest]:.3g} away from what measures {size:.3g} across (in the "
            "armature's space). Move or scale the armature into the mesh"
        )
