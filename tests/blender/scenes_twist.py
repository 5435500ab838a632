"""What tests of twists share: bones whose twist is spread, how they twist, and what drivers read of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import cos, radians, sin, tau
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from scenes_bind import plain
from scenes_nodes import bind_both

from scenes import (
    TOLERANCE,
    add_tube,
    distance,
    edit_bones,
    evaluated_points,
    points_at,
    reset,
    save,
    update,
    without_blenders_own,
)
from supple.tasks.subject.stack import find_replaced_modifier

MIDDLE, LAST = "bone.1", "bone.2"


def spread(armature: bpy.types.Object, *names: str) -> None:
    """Spread the twists of some bones."""
    for name in names:
        armature.data.bones[name].supple.spread_twist = "ON"


def bound_both(
    method: str = "DLBNT",
    params: Any = None,
    dress: Callable = plain,
    names: tuple[str, ...] = (LAST,),
    **settings: str | float,
) -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """A tube bound by nodes, the twists of some of its bones spread; its armature, and a twin bound by Python."""
    obj, armature = add_tube()
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ"
    spread(armature, *names)
    dress(obj, armature)
    return obj, armature, bind_both(obj, method, params, **({"twist": "OFF"} | settings))


def twist(
    armature: bpy.types.Object,
    degrees: float,
    swing: float = 0.0,
    scale: tuple[float, float, float] = (1, 1, 1),
    name: str = LAST,
) -> None:
    """Twist a bone about itself, and then swing it."""
    bone = armature.pose.bones[name]
    bone.rotation_mode = "YXZ"
    bone.rotation_euler, bone.scale = (radians(swing), radians(degrees), 0.0), scale
    update()


def key_twists(armature: bpy.types.Object, name: str, *keys: tuple[int, float, float]) -> None:
    """Keyframe the twist and the swing of a bone, degrees, at frames."""
    for frame, degrees, swing in keys:
        twist(armature, degrees, swing, name=name)
        armature.pose.bones[name].keyframe_insert("rotation_euler", frame=frame)
    update()


def list_drivers(data: bpy.types.ID | None) -> list[bpy.types.FCurve]:
    return [] if data is None or data.animation_data is None else list(data.animation_data.drivers)


def list_driving(obj: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """What the drivers of an object read."""
    for curve in list_drivers(obj):
        for variable in curve.driver.variables:
            yield from (target.id for target in variable.targets)


def give(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Have a bound mesh follow another armature, as by its Armature modifier's own field."""
    find_replaced_modifier(obj).object = armature


def override_tube(path: Path) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Overrides of the tube of a file and of its armature, linked into the scene."""
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = ["Tube", "Rig"]
    rig, tube = bpy.data.objects["Rig"], bpy.data.objects["Tube"]
    copies = {}
    for linked in (rig, tube):
        copies[linked] = linked.override_create(remap_local_usages=True)
        bpy.context.scene.collection.objects.link(copies[linked])
    give(copies[tube], copies[rig])
    update()
    return copies[tube], copies[rig]


WITHOUT_SUPPLE = """
import sys
import bpy, numpy as np
assert not hasattr(bpy.types.Object, "supple")
result, frames, *paths = sys.argv[1:]
shown = {}
for path in paths:
    bpy.ops.wm.open_mainfile(filepath=path)
    for frame in map(int, frames.split()):
        bpy.context.scene.frame_set(frame)
        for obj in bpy.context.scene.objects:
            if obj.type == "MESH":
                mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
                points = shown[f"{path} {obj.name} {frame}"] = np.empty((len(mesh.vertices), 3), np.float32)
                mesh.vertices.foreach_get("co", points.ravel())
np.savez(result, **shown)
"""


def points_without_supple(result: Path, frames: Sequence[int], *paths: Path) -> Mapping[str, np.ndarray]:
    """Points of the meshes of files at frames, (V, 3), by path, name and frame with blanks between them.

    They are of a Blender without Supple, which runs no scripts, and are stored beside by the path of the result.
    """
    command = [sys.executable, "-c", WITHOUT_SUPPLE, str(result), " ".join(map(str, frames)), *map(str, paths)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (run.returncode, without_blenders_own(run.stderr)) == (0, "")
    return np.load(result)


def assert_kept_in_file(path: Path) -> None:
    """The tube deforms the same in a file without Supple, and with it, as its twin does."""
    expected = [points_at(bpy.data.objects["Tube"], frame).copy() for frame in (2, 7)]
    save(path)
    reset()
    found = points_without_supple(path.with_suffix(".npz"), (2, 7), path)
    for points, frame in zip(expected, (2, 7), strict=True):
        assert distance(points, found[f"{path} Tube {frame}"]) <= 1e-6
    bpy.ops.wm.open_mainfile(filepath=str(path))
    obj, twin = bpy.data.objects["Tube"], bpy.data.objects["Twin"]
    assert distance(points_at(obj, 7), expected[1]) <= 1e-6
    for frame in (3, 8):
        assert distance(points_at(twin, frame), evaluated_points(obj)) <= TOLERANCE


# How bones are asked to twist


def by_euler(bone: bpy.types.PoseBone, turns: float) -> None:
    bone.rotation_mode, bone.rotation_euler = "YZX", (0.0, turns * tau, 0.0)


def by_axis_angle(bone: bpy.types.PoseBone, turns: float) -> None:
    bone.rotation_mode, bone.rotation_axis_angle = "AXIS_ANGLE", (turns * tau, 0.0, 0.5, 0.0)


def by_quaternion(bone: bpy.types.PoseBone, turns: float) -> None:
    bone.rotation_mode = "QUATERNION"
    bone.rotation_quaternion = cos(turns * tau / 2), 0.0, sin(turns * tau / 2), 0.0


def by_property(bone: bpy.types.PoseBone, turns: float) -> None:
    by_quaternion(bone, turns)
    bone["supple_turns"] = turns + 0.3


# Where meshes and armatures are, and their bones


def apart(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.location, obj.scale, obj.rotation_euler = (0.4, 0.0, 0.1), (1.2, 0.8, 1.0), (0.1, 0.2, 0.3)
    update()


def mirrored(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.location, obj.scale, obj.rotation_euler = (0.4, 0.0, 0.1), (-1.4, 1.4, 1.4), (0.1, -0.7, 0.3)
    update()


def in_a_scaled_rig(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.location, armature.scale, armature.rotation_euler = (2.0, 1.0, 0.0), (1.5, 1.5, -1.5), (1.0, 0.0, 0.4)
    update()


def with_a_crooked_bone(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """The last bone is not in line with that before it, and is rolled."""

    def bow(bones: Any) -> None:
        bones[LAST].tail, bones[LAST].roll = (0.5, 2.8, -0.3), 0.7

    edit_bones(armature, bow)
