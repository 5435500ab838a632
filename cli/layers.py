"""Stay Outside from the command line: what `layers` does."""

from __future__ import annotations

import argparse

import bpy

from ..bridge.files.blend_files import open_file, save_copy
from ..bridge.files.writing import check_writable
from ..tasks.layers.add import add_layers, keep_limbs_apart
from ..tasks.layers.mend import mend_at_rest
from ..tasks.layers.remove import remove_layers
from ..tasks.subject.character import list_deformed
from .messages import answer, answer_json
from .motion import find_armature


def keep_outside(arguments: argparse.Namespace) -> None:
    check_writable(arguments.output)
    open_file(arguments.file)
    if arguments.remove and not any(obj.type == "ARMATURE" for obj in bpy.context.scene.objects):
        armature, meshes = None, [obj for obj in bpy.context.view_layer.objects if obj.type == "MESH"]
    else:
        armature = find_armature(arguments.armature)
        meshes = list_deformed(bpy.context.view_layer, armature)
    if armature is None or arguments.remove:
        removed = [obj.name for obj in remove_layers(meshes)]
        lines, found = [f"Removed Stay Outside from {len(removed)} meshes"], {"removed": removed}
    else:
        lines = mend_at_rest(armature, meshes) if arguments.mend else []
        if arguments.limbs or arguments.bones:
            report = keep_limbs_apart(armature, meshes, arguments.bones)
        else:
            report = add_layers(armature, meshes)
        lines, found = [*lines, *report.describe()], {"mended": lines, **report.as_json()}
    save_copy(arguments.output)
    answer_json(found) if arguments.report == "json" else answer(lines)
