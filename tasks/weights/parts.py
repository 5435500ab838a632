"""Meshes as parts of one skin: which armature deforms each, and the arrays that weights depend on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.meshes.data import mesh_of, read_rest_points, read_triangles
from ...bridge.meshes.weights import read_weights
from ...bridge.modifiers import add_modifier
from ...bridge.rigs.armatures import Skeleton, read_skeleton
from ...deformers import SkinningError
from ...deformers.errors import find_unusable
from ...deformers.rig.rest import check_space
from ...settings.character import find_holder
from ...settings.objects import settings_of
from ..left_out import LeftOut, check_any, choose_usable, sort_out
from ..subject.character import changes_topology, object_to_armature
from ..subject.chosen_bones import is_selected
from ..subject.stack import armature_modifiers, find_replaced_modifier
from .reports import count, list_names

T = TypeVar("T")

# How far the nearest bone may be from the bounding box of the skin, in diagonals of that box
LARGEST_BONE_DISTANCE = 0.5

# Volume of a unit cube in another space, with its edges scaled to length 1, below which that space is flat
SMALLEST_VOLUME = 1e-12


@dataclass(frozen=True)
class SkinPart:
    """A mesh as a part of what an armature deforms.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        At rest, in armature space.
    triangles : int array, shape (T, 3)
        Counter-clockwise from outside, in armature space.
    weights : float32 array, shape (V, B)
        By deforming bone; rows need not sum to 1.
    locked : bool array, shape (B,)
        Bones whose vertex group is locked.
    sharers : tuple of Object
        Other objects to weight that share the mesh data, and so the weights.
    """

    obj: bpy.types.Object
    points: np.ndarray
    triangles: np.ndarray
    weights: np.ndarray
    locked: np.ndarray
    sharers: tuple[bpy.types.Object, ...] = ()


@dataclass(frozen=True)
class WeightedSkin:
    """All parts that one armature deforms."""

    armature: bpy.types.Object
    skeleton: Skeleton
    parts: tuple[SkinPart, ...]

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
        """Triangles of all parts, shape (T, 3), by the vertices of all parts in a row."""
        return np.concatenate([part.triangles + rows.start for part, rows in zip(self.parts, self.rows, strict=True)])

    @property
    def weights(self) -> np.ndarray:
        """Weights of all parts, shape (V, B)."""
        return np.concatenate([part.weights for part in self.parts])

    @property
    def rows(self) -> tuple[slice, ...]:
        """Where each part's vertices are among those of all parts."""
        ends = np.cumsum([0] + [len(part.points) for part in self.parts]).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))


def find_deforming_armature(obj: bpy.types.Object, given: bpy.types.Object | None = None) -> bpy.types.Object:
    """The armature that deforms a mesh, or will deform it.

    Raises SkinningError if there is none, or several, or the mesh hangs on a bone.

    Parameters
    ----------
    obj : Object
        A mesh.
    given : Object, optional
        The armature for a mesh that no armature deforms yet.
    """
    if not armature_modifiers(obj) and find_holder(obj) is not None:
        raise SkinningError(
            f"'{obj.name}' hangs on a bone, which would move it twice: clear its parent or constraint first"
        )
    if settings_of(obj).is_bound:
        found = [find_replaced_modifier(obj)]
    else:
        found = armature_modifiers(obj)
        if len({modifier.object for modifier in found}) > 1:
            found = [modifier for modifier in found if modifier.object and is_shown(modifier)]
    armatures = {modifier.object for modifier in found if modifier.object and modifier.object.type == "ARMATURE"}
    if len(armatures) > 1:
        names = ", ".join(sorted(f"'{armature.name}'" for armature in armatures))
        raise SkinningError(
            f"'{obj.name}' has Armature modifiers of {len(armatures)} armatures ({names}): disable all but one, in "
            "viewport and render"
        )
    if armatures:
        return armatures.pop()
    if given is not None:
        return given
    if obj.parent is not None and obj.parent.type == "ARMATURE":
        return obj.parent
    raise SkinningError(
        f"No armature deforms '{obj.name}': also select its armature, or choose one in an Armature modifier"
    )


def is_shown(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is on in the viewport or in renders."""
    return modifier.show_viewport or modifier.show_render


def lacks_modifier(obj: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether nothing deforms a mesh by an armature yet."""
    is_deformed_as_child = obj.parent == armature and obj.parent_type == "ARMATURE"
    return not is_deformed_as_child and all(modifier.object != armature for modifier in armature_modifiers(obj))


def add_armature_modifier(obj: bpy.types.Object, armature: bpy.types.Object) -> str:
    """Add an Armature modifier: above modifiers that change the number of vertices, but below Mirror modifiers.

    An Armature modifier that has no armature is used instead, if there is one. Returns a message.
    """
    message = f"Added an Armature modifier with '{armature.name}' to '{obj.name}'."
    empty = [modifier for modifier in armature_modifiers(obj) if modifier.object is None]
    if empty:
        empty[0].object = armature
        return message
    mirrors = [index for index, other in enumerate(obj.modifiers) if other.type == "MIRROR"]
    start = mirrors[-1] + 1 if mirrors else 0
    below = [
        index
        for index, other in enumerate(obj.modifiers)
        if index >= start and (changes_topology(other) or other.use_pin_to_last)
    ]
    modifier: Any = add_modifier(obj, "Armature", "ARMATURE", min(below, default=len(obj.modifiers)))
    modifier.object = armature
    return message


def read_skins(
    objects: Iterable[bpy.types.Object],
    given: bpy.types.Object | None = None,
    needs_faces: bool = True,
    is_read_only: bool = False,
) -> tuple[list[WeightedSkin], LeftOut]:
    """Read meshes as skins, one for each armature, and leave out what cannot be read; changes nothing.

    Raises SkinningError if weights of none can be computed or written.

    Parameters
    ----------
    objects : Objects
        Meshes. Of objects that share mesh data, and so weights, the first counts.
    given : Object, optional
        The armature of meshes that no armature deforms.
    needs_faces : bool
        Whether to refuse skins without any face.
    is_read_only : bool
        Whether their weights are not to be changed: those of linked meshes may be read.
    """
    objects = list(objects)
    by_armature: dict[bpy.types.Object, list[bpy.types.Object]] = {}
    own, left_out = own_meshes(objects, is_read_only)
    found, unskinned = sort_out(own, lambda obj: (find_deforming_armature(obj, given), obj))
    left_out += unskinned
    for armature, obj in found:
        by_armature.setdefault(armature, []).append(obj)
    skins = []
    for armature, members in by_armature.items():
        try:
            skin, unread = _read_skin(armature, members, needs_faces)
        except SkinningError as error:
            left_out += [(obj, error) for obj in members]
            continue
        left_out += unread
        parts = (replace(part, sharers=_find_sharers(part.obj, objects)) for part in skin.parts)
        skins.append(replace(skin, parts=tuple(parts)))
    check_any(skins, left_out)
    return skins, left_out


def sort_skins(
    skins: Iterable[WeightedSkin], check: Callable[[WeightedSkin], T], left_out: LeftOut
) -> tuple[list[T], LeftOut]:
    """Apply a check to each skin; the meshes of a skin that it refuses are left out too."""
    done, left_out = [], list(left_out)
    for skin in skins:
        try:
            done.append(check(skin))
        except SkinningError as error:
            left_out += [(obj, error) for part in skin.parts for obj in (part.obj, *part.sharers)]
    check_any(done, left_out)
    return done, left_out


def _find_sharers(obj: bpy.types.Object, objects: Iterable[bpy.types.Object]) -> tuple[bpy.types.Object, ...]:
    """The other objects, of those given, that share an object's mesh data."""
    return tuple(dict.fromkeys(other for other in objects if other.data == obj.data and other != obj))


def _read_skin(
    armature: bpy.types.Object, objects: Sequence[bpy.types.Object], needs_faces: bool
) -> tuple[WeightedSkin, LeftOut]:
    if armature.mode == "EDIT":
        raise SkinningError(f"'{armature.name}' is in Edit Mode: leave it first")
    skeleton = read_skeleton(armature)
    if not skeleton.names:
        raise SkinningError(f"'{armature.name}' has no deforming bone: turn on Deform in the bones' properties")
    check_space(np.array(armature.matrix_world))
    if armature.matrix_world.determinant() == 0.0:
        raise SkinningError(f"'{armature.name}' has zero scale: give it a scale other than 0")
    parts, left_out = sort_out(objects, lambda obj: read_part(obj, armature, skeleton.names))
    if needs_faces and not any(len(part.triangles) for part in parts):
        names = ", ".join(f"'{part.obj.name}'" for part in parts)
        raise SkinningError(
            f"{names} {'has' if len(parts) == 1 else 'have'} no faces and no volume: add faces, or transfer the "
            "weights of another mesh"
        )
    return WeightedSkin(armature, skeleton, tuple(parts)), left_out


def own_meshes(
    objects: Iterable[bpy.types.Object], is_read_only: bool = False
) -> tuple[list[bpy.types.Object], LeftOut]:
    """The objects whose weights can be written, of those that share mesh data only the first, and the others.

    Raises SkinningError if there is none.
    """
    own, left_out = choose_usable(objects, lambda obj: _check_own(obj, is_read_only))
    if not own:
        raise SkinningError("No mesh is selected: select one that has an Armature modifier")
    first: dict[int, bpy.types.Object] = {}
    for obj in own:
        first.setdefault(mesh_of(obj).session_uid, obj)
    return list(first.values()), left_out


def _check_own(obj: bpy.types.Object, is_read_only: bool) -> None:
    if obj.type != "MESH":
        raise SkinningError(f"'{obj.name}' is not a mesh: only meshes have weights")
    mesh = mesh_of(obj)
    is_own = obj.library is None and mesh.library is None and mesh.override_library is None
    if not (is_own or is_read_only):
        raise SkinningError(
            f"The mesh of '{obj.name}' is linked from another file, so its weights cannot change: make it local with "
            "Object > Relations > Make Local"
        )


def read_part(obj: bpy.types.Object, armature: bpy.types.Object, names: Sequence[str]) -> SkinPart:
    """Read a mesh with its weights for bones of these names, in Edit Mode as edited.

    Raises SkinningError if its positions in armature space are not finite.

    Parameters
    ----------
    names : sequence of str
        Of the deforming bones.
    """
    weights = read_weights(obj, names)  # first: it brings the mesh up to date in Edit Mode
    space = object_to_armature(obj, armature)
    check_own_space(obj, space)
    points = read_finite_points(obj)
    matrix = np.array(space, np.float64)
    points = points @ matrix[:3, :3].T + matrix[:3, 3]
    check_points(obj, points)
    triangles = read_triangles(mesh_of(obj))
    is_mirrored = np.linalg.det(matrix[:3, :3]) < 0
    return SkinPart(
        obj=obj,
        points=points,
        triangles=triangles[:, ::-1] if is_mirrored else triangles,
        weights=weights,
        locked=np.array([(group := obj.vertex_groups.get(name)) is not None and group.lock_weight for name in names]),
    )


def check_own_space(obj: bpy.types.Object, space: Matrix | np.ndarray) -> None:
    """See that an object's space, shape (4, 4), is not flat and can be computed with; raises SkinningError if not."""
    matrix = np.array(space, np.float64)
    check_space(matrix)
    edges = np.linalg.norm(matrix[:3, :3], axis=0)
    if edges.min() == 0.0 or abs(np.linalg.det(matrix[:3, :3] / edges)) < SMALLEST_VOLUME:
        raise SkinningError(f"'{obj.name}' has zero scale: give it a scale other than 0")


def read_finite_points(obj: bpy.types.Object) -> np.ndarray:
    """`read_rest_points` in float64; raises SkinningError if there is no computing with coordinates."""
    points = read_rest_points(mesh_of(obj)).astype(np.float64)
    check_points(obj, points)
    return points


def check_points(obj: bpy.types.Object, points: np.ndarray) -> None:
    """Raise SkinningError if positions of an object's vertices, shape (V, 3), are not finite or too large."""
    if wrong := np.count_nonzero(find_unusable(points).any(axis=1)):
        raise SkinningError(
            f"{wrong} of the {count(len(points), 'vertex')} of '{obj.name}' {'has' if wrong == 1 else 'have'} NaN, "
            "infinite or too large coordinates: delete them or fix the source mesh"
        )


def read_selected_bones(armature: bpy.types.Object) -> set[str]:
    """Names of the selected bones of an armature that is not in Edit Mode."""
    return {bone.name for bone in armature.pose.bones if is_selected(bone)}


def check_sharers(skin: WeightedSkin) -> None:
    """Raise SkinningError if two armatures would write weights to one mesh."""
    for part in skin.parts:
        for obj in part.sharers:
            if (other := find_deforming_armature(obj, skin.armature)) != skin.armature:
                raise SkinningError(
                    f"'{obj.name}' shares the mesh and the weights of '{part.obj.name}', but is deformed by "
                    f"'{other.name}', not by '{skin.armature.name}': select only one of them, or give it a mesh of its "
                    "own with Object > Relations > Make Single User"
                )


def check_near(skin: WeightedSkin) -> None:
    """Raise SkinningError if the skin has no size, or all bones are far away from it."""
    points, envelopes = skin.points, skin.skeleton.envelopes
    low, high = points.min(axis=0), points.max(axis=0)
    size = float(np.linalg.norm(high - low))
    names = list_names([f"'{part.obj.name}'" for part in skin.parts])
    if size == 0.0:
        raise SkinningError(f"All vertices of {names} are at the same location: select a mesh that has a size")
    along = np.linspace(0.0, 1.0, 9)[:, None, None]
    samples = (1.0 - along) * envelopes.heads + along * envelopes.tails
    gaps = np.linalg.norm(samples - np.clip(samples, low, high), axis=2).min(axis=0)
    nearest = int(gaps.argmin())
    if not np.isfinite(gaps).all() or gaps[nearest] > LARGEST_BONE_DISTANCE * size:
        raise SkinningError(
            f"No deforming bone of '{skin.armature.name}' is in or near {names}: the nearest, "
            f"'{skin.names[nearest]}', is {gaps[nearest]:.3g} away (in armature space), and the mesh is {size:.3g} "
            "in size. Move or scale the armature into the mesh"
        )
