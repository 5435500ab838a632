"""What tests of patterns placed by hand share."""

import bpy
import numpy as np

from scenes import add_tube, turn
from supple.bridge.meshes.rays import with_rest_positions
from supple.deformers.patterns.picking import SkinHit, carry_ray, cast_ray, find_shown
from supple.tasks.patterns.placing import read_skin

RADIUS, LENGTH = 0.5, 4.0


def add_body(rings: int = 41, sides: int = 24) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube of two bones with a UV map: u around it, 0.25 on top, v along it."""
    return add_tube(2, rings, sides, LENGTH, RADIUS, has_uv=True, is_outward=True)


def add_pattern(preset: str = "FOLDS_NECK", **given):
    bpy.ops.supple.pattern_add(preset=preset, bone="bone.1", **given)
    obj = bpy.context.object
    return obj.supple.patterns[obj.supple.active_pattern]


def bend(armature: bpy.types.Object) -> None:
    turn(armature, "bone.1", (0.4, 0.3, 0.5))


def depsgraph() -> bpy.types.Depsgraph:
    return bpy.context.evaluated_depsgraph_get()


def find_hit(obj: bpy.types.Object, origin, direction) -> SkinHit | None:
    """Where a ray, world space, first meets the skin, object space; None where it passes by."""
    with with_rest_positions(obj):
        bpy.context.view_layer.update()
        skin, to_object = read_skin(obj, depsgraph()), np.array(obj.matrix_world.inverted_safe())
    return cast_ray(skin, *carry_ray(to_object, np.array(origin), np.array(direction)))


def shown_at(obj: bpy.types.Object, pattern, where: tuple[float, float] = (0.5, 0.5)) -> np.ndarray:
    """Where the evaluated mesh shows a point of the height map, object space."""
    return find_shown(read_skin(obj, depsgraph()), pattern.number, where)[0].point


def subdivide(obj: bpy.types.Object) -> None:
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 2
