"""The example: a dressed human that walks, which comes with Supple."""

from __future__ import annotations

from pathlib import Path

import bpy

from ..deformers import SkinningError

FILE = Path(__file__).resolve().parents[1] / "demo" / "human" / "human.blend"
COLLECTION = "Supple Example"


def add_example(context: bpy.types.Context) -> bpy.types.Object:
    """Put the example at the 3D cursor, in a collection of its own, and select its armature; the armature.

    Raises SkinningError if its file was deleted.
    """
    if not FILE.is_file():
        raise SkinningError(f"The example was deleted from '{FILE}': install Supple again")
    with bpy.data.libraries.load(str(FILE), link=False) as (source, target):
        target.objects = source.objects
    collection = bpy.data.collections.new(COLLECTION)
    context.scene.collection.children.link(collection)
    for obj in context.selected_objects:
        obj.select_set(False)
    for obj in target.objects:
        collection.objects.link(obj)
    armature = next(obj for obj in target.objects if obj.type == "ARMATURE")
    armature.location += context.scene.cursor.location
    context.view_layer.update()
    armature.select_set(True)
    context.view_layer.objects.active = armature
    return armature
