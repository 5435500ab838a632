"""The layers of a character: its meshes at rest in one space, which lies over which, and what forbids that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_evaluated_points, read_mixed_points, read_triangles
from ...bridge.meshes.nearest import find_nearest_surface
from ...bridge.modifiers import is_layer_modifier, list_inputs, read_input
from ...bridge.rigs.armatures import read_skeleton
from ...bridge.rigs.rest_bones import at_rest
from ...deformers import SkinningError
from ...deformers.layers.order import REFERENCE_HEIGHT, Shell, find_layers, sort_layers
from ...settings.objects import settings_of
from ...settings.properties import find_nan
from ..subject.character import (
    changes_topology,
    check_evaluated,
    find_skinned,
    object_to_armature,
    read_weight_table,
)
from ..subject.stack import check_not_linked

# Median height of cloth over what is below it, for a height of `REFERENCE_HEIGHT`, from which it is loose
LOOSE = 0.015


@dataclass(frozen=True)
class Garment:
    """A mesh of a character at rest.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        Before all modifiers, armature space.
    shown : float64 array, shape (V, 3)
        The same vertices after all modifiers, which what lies below sees; fewer where a modifier removes some.
    to_armature : float64 array, shape (4, 4)
        From its own space.
    """

    obj: bpy.types.Object
    points: np.ndarray
    shown: np.ndarray
    triangles: np.ndarray
    to_armature: np.ndarray

    @cached_property
    def shell(self) -> Shell:
        return Shell(self.points, self.triangles)

    @property
    def scale(self) -> float:
        """Units of the armature in one of the mesh's own."""
        return float(np.cbrt(abs(np.linalg.det(self.to_armature[:3, :3]))))


@dataclass(frozen=True)
class Dressed:
    """A character's meshes, and which lies over which.

    Attributes
    ----------
    garments : tuple of Garment
        Those in layers, the outermost first, and then others whose limbs shall keep out of each other.
    pairs : tuple of (above, below)
        Indices of garments.
    apart : tuple of int
        Indices of garments whose limbs keep out of each other.
    limb_bones : str
        Which of their bones do, as the `limb_bones` of an armature.
    stores_bones : bool
        Whether these were asked for now, for all meshes: they are stored in the settings with the layers.
    """

    armature: bpy.types.Object
    garments: tuple[Garment, ...]
    pairs: tuple[tuple[int, int], ...]
    height: float
    apart: tuple[int, ...]
    limb_bones: str
    stores_bones: bool = False

    @property
    def unit(self) -> float:
        """Length in the armature's space that stands for a meter on a character of `REFERENCE_HEIGHT`."""
        return self.height / REFERENCE_HEIGHT

    @property
    def layered(self) -> list[str]:
        """Names of those that lie over another, or below one, the outermost first."""
        return [self.garments[index].obj.name for index in sorted({index for pair in self.pairs for index in pair})]

    def list_below(self, above: int) -> list[int]:
        """The garments that one lies over, the innermost last."""
        return sorted(below for over, below in self.pairs if over == above)

    def list_above(self, below: int) -> list[int]:
        """The garments that lie over one, the outermost first."""
        return sorted(above for above, under in self.pairs if under == below)

    @cached_property
    def weights(self) -> list[np.ndarray]:
        """Of each garment for all joints, normalized, float32 arrays, shape (V, B)."""
        skeleton = read_skeleton(self.armature)
        return [
            read_weight_table(find_skinned(each.obj), skeleton, object_to_armature(each.obj, self.armature))
            for each in self.garments
        ]

    @cached_property
    def loose(self) -> frozenset[int]:
        """Garments that hang from the body, rather than cling to it."""
        found = set()
        for index, garment in enumerate(self.garments):
            if not (below := self.list_below(index)):
                continue
            inner = self.garments[below[-1]]
            heights = find_nearest_surface(garment.points, inner.points, inner.triangles)[2]
            if np.median(heights) > LOOSE * self.unit:
                found.add(index)
        return frozenset(found)


@contextmanager
def resting(armature: bpy.types.Object) -> Iterator[None]:
    """Have an armature at rest, and the modifiers that keep layers apart off, meanwhile."""
    own = [each for obj in bpy.data.objects for each in obj.modifiers if is_layer_modifier(each) and each.show_viewport]
    with ExitStack() as stack:
        stack.callback(bpy.context.view_layer.update)
        for modifier in own:
            stack.callback(setattr, modifier, "show_viewport", True)
            modifier.show_viewport = False
        stack.enter_context(at_rest(armature))
        yield


def read_dressed(
    armature: bpy.types.Object, meshes: Sequence[bpy.types.Object], limb_bones: str | None = None
) -> Dressed:
    """Read which of a character's meshes lie over which.

    Raises SkinningError if none does, or something forbids to keep them apart.

    Parameters
    ----------
    limb_bones : str, optional
        Limbs of all meshes keep out of each other, of these bones; else as the settings have it.
    """
    garments = _read_garments(armature, [obj for obj in meshes if mesh_of(obj).polygons])
    if not garments:
        raise SkinningError(f"No mesh of '{armature.name}' has faces: parent clothes and body to it first")
    ends = np.concatenate([garment.points for garment in garments])
    height = float(np.ptp(ends, axis=0).max())
    if not (np.isfinite(height) and height > 0.0):
        raise SkinningError(f"Some vertices of '{armature.name}' are not numbers: repair the meshes")
    pairs = find_layers([garment.shell for garment in garments], height, find_nearest_surface)
    ranks = [settings_of(garment.obj).layer_order for garment in garments]
    chosen = [
        (below, above) if ranks[above] and ranks[below] and ranks[above] > ranks[below] else (above, below)
        for above, below in pairs
    ]
    names = {garment.obj.name: garment for garment in garments}
    is_any = limb_bones is not None
    apart = [name for name, garment in names.items() if is_any or settings_of(garment.obj).layer_limbs]
    bones = limb_bones if limb_bones is not None else settings_of(armature).limb_bones
    if not chosen and not apart:
        raise SkinningError(f"No mesh of '{armature.name}' lies over another: Stay Outside is for clothes over a body")
    order = sort_layers((garments[above].obj.name, garments[below].obj.name) for above, below in chosen)
    order = list(dict.fromkeys([*order, *apart]))
    index = {name: place for place, name in enumerate(order)}
    places = [index.get(garment.obj.name, -1) for garment in garments]
    dressed = tuple(names[name] for name in order)
    found = Dressed(
        armature,
        dressed,
        tuple((places[above], places[below]) for above, below in chosen),
        height,
        tuple(sorted(index[name] for name in apart)),
        bones,
        is_any,
    )
    _check(found)
    return found


def _read_garments(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object]) -> list[Garment]:
    for obj in meshes:
        check_not_linked(obj)
        if wrong := find_nan(settings_of(obj), ("layer_gap", "layer_give")):
            raise SkinningError(f"{wrong[1].name} of '{obj.name}' is not a number: choose another")
        find_skinned(obj)
        if mesh_of(obj).library is not None:
            raise SkinningError(f"The mesh of '{obj.name}' is linked from another file: make it local")
        if mesh_of(obj).is_editmode:
            raise SkinningError(f"The mesh of '{obj.name}' is in Edit Mode with another object: leave Edit Mode first")
    garments = []
    with resting(armature):
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for obj in meshes:
            check_evaluated(obj.name, obj.evaluated_get(depsgraph))
            matrix = np.array(object_to_armature(obj, armature), np.float64)
            points, shown = read_mixed_points(obj, depsgraph), read_evaluated_points(obj, depsgraph)
            points, shown = (rows[: len(points)] @ matrix[:3, :3].T + matrix[:3, 3] for rows in (points, shown))
            triangles = Shell.outward(points, read_triangles(mesh_of(obj))).triangles
            garments.append(Garment(obj, points, shown, triangles, matrix))
    return garments


def _check(dressed: Dressed) -> None:
    """Raise SkinningError for what keeps layers from being read one after the other."""
    for above, below in dressed.pairs:
        over, under = dressed.garments[above].obj, dressed.garments[below].obj
        if len(dressed.garments[above].shown) < len(dressed.garments[above].points):
            raise SkinningError(
                f"'{over.name}' shows fewer vertices than it has: disable modifiers that remove vertices"
            )
        if over.data == under.data:
            raise SkinningError(f"'{over.name}' and '{under.name}' share one mesh: make it a single user first")
        for modifier in over.modifiers:
            if not is_layer_modifier(modifier) and under in _list_read(modifier):
                raise SkinningError(
                    f"Modifier '{modifier.name}' of '{over.name}' reads '{under.name}', which is to give way beneath "
                    "it: apply or remove that modifier"
                )
        if over.parent == under and over.parent_type != "OBJECT":
            raise SkinningError(
                f"'{over.name}' is parented to vertices of '{under.name}', which is to give way beneath it: set the "
                "parent type to Object"
            )
    for garment in dressed.garments:
        find_place(garment.obj)


def _list_read(modifier: bpy.types.Modifier) -> list[Any]:
    """Objects that a modifier reads."""
    if modifier.type == "NODES":
        return [read_input(modifier, name) for name in list_inputs(modifier)] if modifier.node_group else []
    pointers = [each.identifier for each in modifier.bl_rna.properties if each.type == "POINTER"]
    return [getattr(modifier, name) for name in pointers]


def find_place(obj: bpy.types.Object) -> int:
    """Where in the stack a mesh is posed, and still has its own vertices.

    Raises SkinningError if a modifier adds or removes vertices before.
    """
    own = [index for index, each in enumerate(obj.modifiers) if each.type == "ARMATURE"]
    if not own:
        raise SkinningError(f"'{obj.name}' has no Armature modifier: parent it to an armature first")
    for index, modifier in enumerate(obj.modifiers):
        if not changes_topology(modifier):
            continue
        if index < own[-1]:
            raise SkinningError(
                f"Modifier '{modifier.name}' of '{obj.name}' adds or removes vertices above its Armature modifier: "
                "move it below, or apply it"
            )
        return index
    posing = (index for index, each in enumerate(obj.modifiers) if each.type in ("ARMATURE", "MESH_CACHE"))
    return max(posing) + 1
