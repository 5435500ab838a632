"""Swing from the command line: what `swing` does."""

from __future__ import annotations

import argparse

import bpy

from ..bridge.files.blend_files import open_file, save_copy
from ..bridge.files.writing import check_writable
from ..deformers import SkinningError
from ..options import SwingOptions
from ..tasks.steps import take_all
from ..tasks.subject.character import list_deformed
from ..tasks.swing.add import add_region_swing, add_swing, update_swing
from ..tasks.swing.remove import remove_swing
from .messages import answer, answer_json, tell, tell_shares
from .motion import find_armature
from .options import read_options


def swing(arguments: argparse.Namespace) -> bool:
    """Whether actions were left out."""
    check_writable(arguments.output)
    open_file(arguments.file)
    armature, scene = find_armature(arguments.armature), bpy.context.scene
    if arguments.remove:
        lines = remove_swing(armature, arguments.bones)
        save_copy(arguments.output)
        answer_json({"armature": armature.name, "removed": True}) if arguments.report == "json" else answer(lines)
        return False
    if arguments.update:
        steps = update_swing(armature, scene)
    elif arguments.region:
        mesh = find_mesh(armature, arguments.region)
        steps = add_region_swing(armature, scene, read_options(SwingOptions, arguments), mesh, arguments.region)
    else:
        steps = add_swing(armature, scene, read_options(SwingOptions, arguments), arguments.bones)
    report = take_all(steps, tell_shares("the swing"))
    save_copy(arguments.output)
    if arguments.report == "json":
        answer_json(report.as_json())
    else:
        answer(report.describe())
    for _, why in report.left_out:
        tell(f"supple: {why}")
    return bool(report.left_out)


def find_mesh(armature: bpy.types.Object, group: str) -> bpy.types.Object:
    """The mesh of an armature that has a vertex group; raises SkinningError where none has, or several."""
    meshes = list_deformed(bpy.context.view_layer, armature)
    found = [mesh for mesh in meshes if group in mesh.vertex_groups]
    if len(found) != 1:
        raise SkinningError(
            f"{len(found)} meshes of '{armature.name}' have a vertex group '{group}': use a group of one mesh"
        )
    return found[0]
