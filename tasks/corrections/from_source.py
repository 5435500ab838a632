"""Corrections without sculpting: from an object of the same topology, or from another method, such as Particles.

`correct_from` takes turns with Blender's window: see `tasks/steps.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import bpy
import numpy as np

from ...bridge.arrays import write_array
from ...bridge.meshes.data import mesh_of, read_edges, read_evaluated_points
from ...deformers import METHODS, SkinningError
from ...deformers.corrections.rotation_choice import ANGLES
from ...settings.character import list_objects
from ..steps import Steps
from ..subject.character import has_armature_modifier
from .from_method import CorrectedFrom, correct_by_method
from .keep import keep
from .posed_copy import begin, discard


def correct_from(
    objects: Iterable[bpy.types.Object],
    source: str = "PARTICLES",
    joints: Sequence[str] = (),
    angles: Sequence[float] = ANGLES,
) -> Steps[CorrectedFrom]:
    """Correct a character after another method or another object.

    Parameters
    ----------
    objects : Objects
        Meshes of one armature.
    source : str
        A key of `METHODS`: joints are bent one after the other, and the skin follows this method. Or the name of an
        object with the same vertices as one of the meshes: the mesh gets its shape in the current pose.
    joints : sequence of str
        Bones: the joints that are bent; if none, elbows, knees, hips and shoulders. With an object, the bones that
        drive the correction; by default the joint at which the shape differs.
    angles : sequence of float
        Degrees, of a method and named joints.

    Yields
    ------
    As `Steps`.

    Raises
    ------
    SkinningError
        If that cannot be done. Nothing is changed before the last step.
    """
    objects = [obj for obj in objects if has_armature_modifier(obj)]
    if not objects:
        raise SkinningError("Nothing to correct: select a mesh that has an Armature modifier, or its armature")
    if source.upper() in METHODS:
        return (yield from correct_by_method(objects, source.upper(), joints, angles))
    yield 0.0
    return _correct_by_object(objects, source, joints)


def _correct_by_object(objects: Sequence[bpy.types.Object], name: str, joints: Sequence[str]) -> CorrectedFrom:
    """Correct the mesh that has the same vertices as an object, in the present pose."""
    source = bpy.data.objects.get(name)
    if source is None or source.type != "MESH":
        methods = ", ".join(METHODS)
        raise SkinningError(f"There is no mesh '{name}' to take the shape from: name a mesh, or a method ({methods})")
    layer, depsgraph = bpy.context.view_layer, bpy.context.evaluated_depsgraph_get()
    obj = _find_alike(objects, source)
    shape = source.evaluated_get(depsgraph)
    points = read_evaluated_points(source, depsgraph).astype(np.float64)
    if len(points) != len(mesh_of(obj).vertices):
        raise SkinningError(
            f"'{name}' has {len(mesh_of(source).vertices)} vertices, but {len(points)} are shown: disable modifiers "
            "that change the number of vertices in the viewport"
        )
    selected, active = list(layer.objects.selected), layer.objects.active
    copies, _ = begin([obj], layer)
    try:
        space = np.array(copies[0].matrix_world.inverted_safe() @ shape.matrix_world, np.float64)
        mesh = mesh_of(copies[0])
        write_array(mesh.vertices, "co", points @ space[:3, :3].T + space[:3, 3])
        mesh.update()
        kept = keep(copies, layer, joints=joints)
    except SkinningError:
        discard(copies, layer)
        raise
    finally:
        for other in list_objects(layer):
            other.select_set(other in selected, view_layer=layer)
        layer.objects.active = active
    return CorrectedFrom(f"'{name}'", kept.keys, kept.bones, notes=kept.notes)


def _find_alike(objects: Sequence[bpy.types.Object], source: bpy.types.Object) -> bpy.types.Object:
    """The one mesh that has the vertices and edges of another; raises SkinningError if there is none, or several."""
    edges = _list_edges(source)
    found = [obj for obj in objects if obj != source and np.array_equal(_list_edges(obj), edges)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(f"'{obj.name}'" for obj in objects)
    if found:
        raise SkinningError(f"Several meshes match '{source.name}' ({names}): select the mesh to correct")
    raise SkinningError(
        f"'{source.name}' has {len(mesh_of(source).vertices)} vertices, but its edges and faces differ from those of "
        f"{names}: choose an object with the same topology"
    )


def _list_edges(obj: bpy.types.Object) -> np.ndarray:
    """Pairs of vertices that edges join, in an order of their own, and the number of vertices."""
    edges = np.sort(read_edges(mesh_of(obj)), axis=1)
    order = np.lexsort(edges.T)
    return np.concatenate([[[len(mesh_of(obj).vertices), 0]], edges[order]])
