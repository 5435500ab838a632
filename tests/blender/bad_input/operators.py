"""Operators as a table: how each is called on a body, which it is given selected."""

from __future__ import annotations

from collections.abc import Callable

import bpy
from mathutils import Matrix
from scenes_patterns import full_snapshot

from scenes import select
from supple.settings.objects import settings_of

Call = Callable[[bpy.types.Object], set[str]]
COPY = "Copy"
"""Name of a mesh of the same body that is whole, for transfers."""


def add_copy(obj: bpy.types.Object) -> None:
    copy = obj.copy()
    copy.data = obj.data.copy()
    copy.name = COPY
    bpy.context.scene.collection.objects.link(copy)


def binding(method: str) -> Call:
    return lambda _: bpy.ops.supple.bind(method=method)


def weighting(method: str) -> Call:
    return lambda _: bpy.ops.supple.weights_auto(method=method, resolution=16, cells=300)


def transfer(source: bool) -> Call:
    def call(obj: bpy.types.Object) -> set[str]:
        copy = bpy.data.objects[COPY]
        select(*((obj, copy) if source else (copy, obj)))
        return bpy.ops.supple.weights_transfer()

    return call


def draw_line(_: bpy.types.Object) -> set[str]:
    return bpy.ops.supple.weight_lines(bone=bpy.data.objects["Rig"].data.bones[1].name, offset=0.1)


def adding(**options) -> Call:
    bone = "bone.1"
    return lambda _: bpy.ops.supple.pattern_add(preset="BULGE_STEEP", bone=bone, **options)


def correct(_: bpy.types.Object) -> set[str]:
    """Correct a bent pose, in which one vertex is moved; what can not be kept is discarded."""
    bone = bpy.data.objects["Rig"].pose.bones[1]
    before = bone.matrix_basis.copy()
    bone.matrix_basis = Matrix.Rotation(1.0, 4, "X")
    try:
        bpy.ops.supple.correct_pose(mode="OBJECT")
        for vertex in bpy.context.active_object.data.vertices[:1]:
            vertex.co.x += 0.1
        return bpy.ops.supple.correction_keep(joints=bone.name)
    except RuntimeError:
        if bpy.ops.supple.correction_discard.poll():
            bpy.ops.supple.correction_discard()
        raise
    finally:
        bone.matrix_basis = before


BIND = {
    "bind": binding("DLB"),
    "as published": binding("DLBNT"),
    "centers": binding("CENTERS"),
    "particles": binding("PARTICLES"),
    "particles 2010": binding("PARTICLES_2010"),
}
AUTOMATIC = {
    "solid heat": weighting("SOLID"),
    "surface heat": weighting("SURFACE"),
    "biharmonic": weighting("BIHARMONIC"),
}
EDITS = {
    "smooth": lambda _: bpy.ops.supple.weights_smooth(),
    "smooth solid": lambda _: bpy.ops.supple.weights_smooth(method="SOLID"),
    "sharpen": lambda _: bpy.ops.supple.weights_sharpen(),
    "limit": lambda _: bpy.ops.supple.weights_limit(limit=1),
    "normalize": lambda _: bpy.ops.supple.weights_normalize(),
    "prune": lambda _: bpy.ops.supple.weights_prune(threshold=0.2),
    "mirror": lambda _: bpy.ops.supple.weights_mirror(),
    "check": lambda _: bpy.ops.supple.weights_check(),
    "select": lambda _: bpy.ops.supple.weights_select(kind="ANY"),
    "transfer from": transfer(source=True),
    "transfer to": transfer(source=False),
}
LINES = {"lines": draw_line}
PATTERNS = {"pattern": adding(), "pattern by UV": adding(uv=(0.5, 0.5))}
CORRECTIONS = {"correct": correct}
CALLS: dict[str, Call] = {**BIND, **AUTOMATIC, **EDITS, **LINES, **PATTERNS, **CORRECTIONS}


def take_snapshot(*objects: bpy.types.Object) -> str:
    """The file as it is, and what Supple stores, in a form that is equal to itself where there is NaN in it."""
    state = full_snapshot(*objects)
    for obj in objects:
        settings = settings_of(obj)
        state[f"{obj.name} settings"] = [
            settings.is_bound, settings.method, settings.evaluate, settings.armature_modifier, settings.pattern_key,
            len(settings.patterns), settings.weights_report, settings.bake,
        ]  # fmt: skip
    return repr(state)
