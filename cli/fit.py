"""A skeleton from the command line: what `fit` does."""

from __future__ import annotations

import argparse

import bpy

from ..bridge.files.blend_files import open_file, save_copy
from ..bridge.files.writing import check_writable
from ..deformers import DEFAULT_METHOD
from ..options import FitOptions, WeightOptions
from ..tasks.fit.fit import as_json, describe, find_joints, make_skeleton
from ..tasks.skin.bind import bind
from ..tasks.steps import take_all
from ..tasks.subject.character import has_armature_modifier
from ..tasks.weights.automatic import assign_weights
from .commands import find_among
from .messages import answer, answer_json, tell_shares
from .options import read_options


def fit_skeleton(arguments: argparse.Namespace) -> None:
    check_writable(arguments.output)
    open_file(arguments.file)
    options, layer = read_options(FitOptions, arguments), bpy.context.view_layer
    bare = [obj for obj in layer.objects if obj.type == "MESH" and not has_armature_modifier(obj)]
    if arguments.object:
        meshes = [find_among(name, bare, "is not a mesh without an armature") for name in arguments.object]
    else:
        meshes = [obj for obj in bare if obj.visible_get()]
    fit = take_all(find_joints(meshes, options), tell_shares("the joints"))
    armature = make_skeleton(meshes, fit, options)
    if arguments.make:
        assign_weights(meshes, WeightOptions(), armature)
        bind(meshes, DEFAULT_METHOD)
    save_copy(arguments.output)
    if arguments.report == "json":
        answer_json(as_json(armature, fit))
    else:
        answer(describe(armature, fit))
