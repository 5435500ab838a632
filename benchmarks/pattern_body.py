"""A human with the library's patterns, for benchmarks/pattern_pictures.py.

The body is MakeHuman's, with the bones of its default rig. It looks to -Y, +X is its left, lengths are meters. Angles
are degrees about a bone's own axes at rest; of those on the left side, the right is the mirror image.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import bpy
import bmesh
import numpy as np
from mathutils import Quaternion, Vector

from harness import api, find, open_file
from benchmarks.studio import plain_material
from deformers.patterns.surface_points import locate_point, surface_frame

Pose = dict[str, tuple[float, float, float]]

SUBDIVISIONS = 2
SKIN, CLOTH = (0.76, 0.60, 0.53), (0.30, 0.33, 0.37)  # Colors, sRGB

# Planes that cut the top and the shorts out of the tights: a point, and the direction of the outside
CUTS = {
    "top, below": ((0.0, 0.0, 1.115), (0.0, 0.0, -1.0)),
    "top, above": ((0.0, -0.1, 1.215), (0.0, 0.45, 1.0)),
    "top, left": ((0.165, 0.0, 1.2), (1.0, 0.0, 0.0)),
    "top, right": ((-0.165, 0.0, 1.2), (-1.0, 0.0, 0.0)),
    "shorts, below": ((0.0, 0.0, 0.745), (0.0, 0.0, -1.0)),
    "shorts, above": ((0.0, 0.0, 0.868), (0.0, 0.0, 1.0)),
    "shorts, left": ((0.25, 0.0, 0.0), (1.0, 0.0, 0.0)),
    "shorts, right": ((-0.25, 0.0, 0.0), (-1.0, 0.0, 0.0)),
}


@dataclass(frozen=True)
class Laid:
    """A pattern of the library on the body.

    `center`: on the skin or off it, at rest. `along`: direction of its right side. `angles`:
    where it starts and where it is complete. `scale`, `strength`: shares of what the library has. A pattern of the left
    side is mirrored to the right.
    """

    key: str
    bone: str
    center: tuple[float, float, float]
    along: tuple[float, float, float] = (1.0, 0.0, 0.0)
    axis: str = "X"
    direction: str = "POSITIVE"
    angles: tuple[float, float] = (10.0, 60.0)
    scale: float = 1.0
    strength: float = 1.0
    mirrored: bool = True


PATTERNS = (
    Laid("FOLDS_BELLY", "spine03", (0.0, -0.3, 0.96), angles=(4.0, 20.0), mirrored=False),
    Laid("FOLDS_NECK", "neck02", (0.0, 0.08, 1.385), (-1.0, 0.0, 0.0), "X", "NEGATIVE", (2.0, 14.0), mirrored=False),
    Laid("FOLDS_WRIST", "wrist.L", (0.402, -0.151, 0.974), (0.5, 0.62, -0.6), "Z", "NEGATIVE", (10.0, 40.0)),
    Laid("BULGE_STEEP", "lowerarm01.L", (0.222, -0.11, 1.2), (0.66, 0.0, -0.75), angles=(15.0, 90.0)),
    Laid("BULGE_STEEP", "foot.L", (0.15, 0.2, 0.3), (0.05, 0.0, -1.0), angles=(5.0, 35.0), scale=1.3, strength=0.6),
    Laid("BULGE_GENTLE", "lowerleg01.L", (0.12, -0.2, 0.62), (0.1, 0.0, -1.0), angles=(15.0, 90.0)),
    Laid("COLLAR_BONE_L", "upperarm01.L", (0.078, -0.085, 1.298), (1.0, 0.0, 0.2), "Z", angles=(5.0, 40.0), scale=0.9),
    Laid("RIBS_L", "upperarm01.L", (0.1, -0.17, 1.065), axis="Z", angles=(20.0, 70.0), scale=0.9),
    Laid("SHOULDER_BLADE_L", "upperarm01.L", (0.09, 0.2, 1.2), (-1.0, 0.0, 0.0), axis="Z", angles=(10.0, 45.0)),
)


def muted() -> Any:
    """Supple's own context, in which settings change without being shown."""
    return find("settings.events").muted()


def open_body(assets: Path, method: str = "DLBNT") -> tuple[bpy.types.Object, bpy.types.Object]:
    """Open the file of the body: the body, bound by DLBNT with its patterns on it, and its armature."""
    armature = open_file(assets, "mh_human")
    armature.animation_data_clear()
    body, tights = bpy.data.objects["mh_human_body"], bpy.data.objects["mh_human_tights"]
    bpy.data.objects.remove(bpy.data.objects["mh_human_skirt"])
    cut_clothes(cast(bpy.types.Mesh, tights.data))
    for obj, color, roughness in ((body, SKIN, 0.6), (tights, CLOTH, 0.8)):
        obj.data.materials.append(plain_material(obj.name, color, roughness))
        obj.data.shade_smooth()
        bpy.context.view_layer.objects.active = obj
        obj.select_set(True)
    bpy.ops.supple.bind(method=method)
    for obj in (body, tights):
        fine = obj.modifiers.new("Subdivision", "SUBSURF")
        fine.levels = fine.render_levels = SUBDIVISIONS
    shell = tights.modifiers.new("Cloth", "SOLIDIFY")
    shell.thickness, shell.offset = 0.005, 0.6
    add_patterns(body)
    return body, armature


def cut_clothes(tights: bpy.types.Mesh) -> None:
    """Cut the tights to a runner's top and shorts."""
    cloth = bmesh.new()
    cloth.from_mesh(tights)
    for point, normal in CUTS.values():
        geometry = [*cloth.verts, *cloth.edges, *cloth.faces]
        bmesh.ops.bisect_plane(cloth, geom=geometry, plane_co=point, plane_no=normal)
    gone = [face for face in cloth.faces if not is_worn(face.calc_center_median())]
    bmesh.ops.delete(cloth, geom=gone, context="FACES")
    cloth.to_mesh(tights)
    cloth.free()


def is_worn(point: Vector) -> bool:
    """Whether there is cloth at a point."""
    return any(
        all((point - Vector(on)).dot(Vector(out)) < 0.0 for cut, (on, out) in CUTS.items() if cut.startswith(piece))
        for piece in ("top", "shorts")
    )


def add_patterns(body: bpy.types.Object) -> None:
    """Lay PATTERNS on the body."""
    character, mesh = api().Character(body.find_armature()), find("tasks.patterns.read").charts_of(body).mesh
    for worn in PATTERNS:
        along = surface_frame(locate_point(mesh, np.array(worn.center))) @ np.array(worn.along)
        layout = {"axis": worn.axis, "location": worn.center, "angle": math.atan2(along[1], along[0])}
        pattern = body.supple.patterns[character.pattern(body, worn.key, worn.bone, **layout)]
        with muted():
            pattern.direction = worn.direction
            pattern.start, pattern.full = (math.radians(angle) for angle in worn.angles)
            pattern.size = [worn.scale * side for side in pattern.size]
            pattern.strength *= worn.scale * worn.strength
        if worn.mirrored:
            find("tasks.patterns.edit").mirror_pattern(body, len(body.supple.patterns) - 1)
    find("tasks.patterns.write").update(body)
    for pattern in body.supple.patterns:
        if pattern.note:
            print(f"{pattern.name}: {pattern.note}")


def strike(armature: bpy.types.Object, pose: Pose) -> None:
    """Pose an armature; other bones are at rest."""
    for bone in armature.pose.bones:
        name, x, y, z = bone.name, 0.0, 0.0, 0.0
        if name in pose:
            x, y, z = pose[name]
        elif name.endswith(".R") and f"{name[:-2]}.L" in pose:
            x, y, z = pose[f"{name[:-2]}.L"]
            y, z = -y, -z
        rotation = Vector((x, y, z))
        bone.rotation_mode = "QUATERNION"
        bone.rotation_quaternion = (
            Quaternion(rotation.normalized(), math.radians(rotation.length)) if rotation.length else (1, 0, 0, 0)
        )


def show_patterns(body: bpy.types.Object, shown: bool) -> None:
    """Show all patterns of a body, or none."""
    with muted():
        for pattern in body.supple.patterns:
            pattern.show = shown
    find("tasks.patterns.write").update(body)


def show_as(body: bpy.types.Object, display: str, level: int) -> None:
    """Show a body's patterns as "KIND", "BUMP" or "DISPLACEMENT", of a skin that is subdivided first."""
    with muted():
        body.supple.pattern_display, body.supple.pattern_level = display, level
    find("tasks.patterns.write").update(body)


def curl_fingers(amount: float, thumb: float = 1.0) -> Pose:
    """A hand that closes to a fist."""
    pose: Pose = {}
    for finger in range(2, 6):
        for joint, angle in ((1, 70.0), (2, 95.0), (3, 60.0)):
            pose[f"finger{finger}-{joint}.L"] = (amount * angle, 0.0, 0.0)
    pose["finger1-1.L"] = (0.0, 0.0, 0.0)
    pose["finger1-2.L"] = (35.0 * amount * thumb, 0.0, 0.0)
    pose["finger1-3.L"] = (50.0 * amount * thumb, 0.0, 0.0)
    return pose


FIST = curl_fingers(1.0)
# Arms that show their muscles
FLEX: Pose = {
    "clavicle.L": (0.0, 0.0, 8.0), "upperarm01.L": (-12.0, 0.0, 45.0), "upperarm02.L": (0.0, -50.0, 0.0),
    "lowerarm01.L": (88.0, 0.0, 0.0), "lowerarm02.L": (0.0, -70.0, 0.0), "wrist.L": (0.0, 0.0, -40.0), **FIST,
}  # fmt: skip
