"""Actions on bones: poses, animation, constraints, and the rest pose in Edit Mode."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy
from world import World, action, texts

FRAMES = 30
"""Frames among which actions move."""


@action(often=12, any_mode=True)
def rotate_bone(world: World) -> str:
    bone = world.bone()
    bone.rotation_mode = "XYZ"
    bone.rotation_euler = [world.between(-1.5, 1.5) for _ in range(3)]
    return texts(bone, list(bone.rotation_euler))


@action(often=4, any_mode=True)
def rotate_far(world: World) -> str:
    bone = world.bone()
    bone.rotation_mode = "QUATERNION"
    bone.rotation_quaternion = [world.between(-1, 1) for _ in range(4)]
    return texts(bone)


@action(often=5, any_mode=True)
def scale_bone(world: World) -> str:
    bone = world.bone()
    kind = world.rng.choice(("even", "uneven", "zero", "negative", "flat", "tiny", "large"))
    scales = {
        "even": [world.between(0.5, 2)] * 3, "uneven": [world.between(0.3, 2) for _ in range(3)], "zero": [0.0] * 3,
        "negative": [world.rng.choice((-1, 1, -0.5)) for _ in range(3)], "flat": [1.0, 0.0, 1.0], "tiny": [1e-6] * 3,
        "large": [50.0] * 3,
    }  # fmt: skip
    bone.scale = scales[kind]
    return texts(bone, kind, scales[kind])


@action(any_mode=True)
def move_bone(world: World) -> str:
    bone = world.bone()
    far = world.rng.choice((1, 1, 1, 100))
    bone.location = [world.between(-0.5, 0.5) * far for _ in range(3)]
    return texts(bone, list(bone.location))


@action(often=1, any_mode=True)
def pose_extremely(world: World) -> str:
    bone = world.bone()
    value = world.rng.choice((math.nan, math.inf, 1e30, 3e38, 1e-30))
    name = world.rng.choice(("location", "scale", "rotation_euler"))
    bone.rotation_mode = "XYZ"
    getattr(bone, name)[world.rng.randrange(3)] = value
    return texts(bone, name, value)


@action(often=3, any_mode=True)
def clear_pose(world: World) -> str:
    armature = world.pick(world.armatures())
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
        bone.location, bone.scale = (0,) * 3, (1,) * 3
        bone.rotation_quaternion, bone.rotation_euler = (1, 0, 0, 0), (0,) * 3
    return texts(armature)


@action(often=8, any_mode=True)
def set_frame(world: World) -> str:
    frame = world.rng.choice((0, 1, 1, 5, 8, 15, FRAMES, 1000))
    part = world.rng.choice((0.0, 0.0, 0.5))
    bpy.context.scene.frame_set(frame, subframe=part)
    return texts(frame, part)


@action(any_mode=True)
def play_frames(world: World) -> str:
    start = world.rng.randrange(FRAMES)
    for frame in range(start, start + 5):
        bpy.context.scene.frame_set(frame)
    return texts(start)


@action(often=4)
def key_pose(world: World) -> str:
    armature, frame = world.pick(world.own_armatures()), world.rng.randrange(1, FRAMES)
    bone = world.bone(armature)
    rotation = "rotation_quaternion" if bone.rotation_mode == "QUATERNION" else "rotation_euler"
    for path in ("location", rotation, "scale"):
        bone.keyframe_insert(path, frame=frame)
    return texts(bone, frame)


@action(often=1)
def drop_animation(world: World) -> str:
    armature = world.pick(world.own_armatures())
    armature.animation_data_clear()
    return texts(armature)


def _before(world: World, bone: bpy.types.PoseBone) -> bpy.types.PoseBone:
    """A bone that does not depend on another: in a circle, Blender stops at a pose that depends on what was before."""
    bones = list(bone.id_data.pose.bones)
    return world.pick(other for other in bones[: bones.index(bone)] if bone not in other.parent_recursive)


@action(often=2)
def constrain_bone(world: World) -> str:
    armature = world.pick(world.armatures())
    bone = world.bone(armature)
    other = _before(world, bone)
    # without Stretch To: what it makes of a bone of length 0 depends on what was evaluated before
    kind = world.rng.choice(("IK", "COPY_ROTATION", "DAMPED_TRACK", "LIMIT_ROTATION", "CHILD_OF"))
    constraint: Any = bone.constraints.new(kind)
    if hasattr(constraint, "target"):
        constraint.target, constraint.subtarget = armature, other.name
    if kind == "IK":
        constraint.chain_count = 1
    constraint.influence = world.rng.choice((1.0, 0.5))
    return texts(bone, kind, other)


@action(often=2)
def constrain_to_object(world: World) -> str:
    armature = world.pick(world.armatures())
    bone, kind = world.bone(armature), world.rng.choice(("IK", "DAMPED_TRACK", "COPY_LOCATION"))
    target = world.pick(world.objects("EMPTY"))
    constraint: Any = bone.constraints.new(kind)
    constraint.target = target
    return texts(bone, kind, target)


@action(often=1, any_mode=True)
def remove_constraints(world: World) -> str:
    bone = world.pick(bone for armature in world.armatures() for bone in armature.pose.bones if bone.constraints)
    for constraint in list(bone.constraints):
        bone.constraints.remove(constraint)
    return texts(bone)


@action(often=2)
def drive_bone(world: World) -> str:
    armature = world.pick(world.own_armatures())
    bone = world.bone(armature)
    other = _before(world, bone)
    bone.rotation_mode = "XYZ"
    curve = bone.driver_add("rotation_euler", world.rng.randrange(3))
    curve.driver.type = "SUM"
    variable = curve.driver.variables.new()
    variable.type = "TRANSFORMS"
    variable.targets[0].id, variable.targets[0].bone_target = armature, other.name
    variable.targets[0].transform_type = world.rng.choice(("ROT_X", "LOC_Y", "SCALE_Z"))
    return texts(bone, "by", other)


@action(often=2, any_mode=True)
def set_segments(world: World) -> str:
    armature = world.pick(world.own_armatures())
    bone = world.bone(armature).bone
    bone.bbone_segments = world.rng.choice((1, 1, 2, 4))
    if hasattr(bone, "bbone_mapping_mode"):
        bone.bbone_mapping_mode = world.rng.choice(("STRAIGHT", "STRAIGHT", "CURVED"))
    return texts(bone, bone.bbone_segments)


@action(often=1, any_mode=True)
def bend_segments(world: World) -> str:
    bone = world.bone()
    bone.bbone_curveinx, bone.bbone_curveoutz = world.between(-0.2, 0.2), world.between(-0.2, 0.2)
    bone.bbone_scalein[1] = world.rng.choice((1.0, 1.4))
    return texts(bone)


@action(often=1, any_mode=True)
def set_envelope(world: World) -> str:
    bone = world.bone(world.pick(world.own_armatures())).bone
    bone.head_radius, bone.tail_radius, bone.envelope_distance = (world.between(0.05, 0.5) for _ in range(3))
    bone.use_envelope_multiply = world.chance(0.3)
    return texts(bone)


@action(often=3, any_mode=True)
def toggle_deform(world: World) -> str:
    bone = world.bone(world.pick(world.own_armatures())).bone
    bone.use_deform = not bone.use_deform or world.chance(0.3)
    return texts(bone, bone.use_deform)


@action(often=1, any_mode=True)
def set_inheritance(world: World) -> str:
    bone = world.bone(world.pick(world.own_armatures())).bone
    bone.inherit_scale = world.rng.choice(("FULL", "NONE", "AVERAGE", "ALIGNED", "FIX_SHEAR", "NONE_LEGACY"))
    bone.use_inherit_rotation, bone.use_local_location = world.chance(0.7), world.chance(0.7)
    return texts(bone, bone.inherit_scale)


@action(often=2, any_mode=True)
def rename_bone(world: World) -> str:
    bone = world.bone(world.pick(world.own_armatures())).bone
    old = bone.name
    bone.name = world.rng.choice(("new", "bone.1", "Knochen", "x" * 63, "arm.L", "arm.R"))
    return texts(old, "to", bone)


@action(often=2)
def swap_bone_names(world: World) -> str:
    bones = world.pick(world.own_armatures()).data.bones
    first, second = world.pick(bones), world.pick(bones)
    names = first.name, second.name
    first.name, second.name = "between", names[0]
    first.name = names[1]
    return texts(*names)


@contextmanager
def _edit_bones(world: World) -> Iterator[Any]:
    armature = world.pick(world.own_armatures())
    world.enter(armature, "EDIT")
    yield armature.data.edit_bones
    bpy.ops.object.mode_set(mode="OBJECT")


@action(often=3)
def move_rest_bone(world: World) -> str:
    with _edit_bones(world) as bones:
        bone = world.pick(bones)
        for end in (bone.head, bone.tail):
            end.x, end.z = end.x + world.between(-0.2, 0.2), end.z + world.between(-0.2, 0.2)
        bone.roll += world.between(-1, 1)
        return texts(bone)


@action(often=2)
def add_bone(world: World) -> str:
    with _edit_bones(world) as bones:
        parent = world.pick(bones)
        bone = bones.new(world.rng.choice(("extra", "bone.1", "tip")))
        bone.head, bone.tail = parent.tail, parent.tail + parent.vector
        if world.chance(0.7):
            bone.parent = parent
        return texts(bone, "after", parent)


@action(often=2)
def delete_bone(world: World) -> str:
    with _edit_bones(world) as bones:
        bone = world.pick(bones) if len(bones) > 1 or world.chance(0.1) else None
        text = texts(bone)
        if bone is not None:
            bones.remove(bone)
        return text


@action(often=2)
def reparent_bone(world: World) -> str:
    with _edit_bones(world) as bones:
        bone, parent = world.pick(bones), world.pick([None, *bones])
        if parent is not None and (parent == bone or bone in parent.parent_recursive):
            parent = None
        bone.use_connect = False
        bone.parent = parent
        return texts(bone, "to", parent)


@action(often=1)
def subdivide_bone(world: World) -> str:
    with _edit_bones(world) as bones:
        bone = world.pick(bones)
        text = texts(bone)
        for other in bones:
            other.select = other.select_head = other.select_tail = other == bone
        world.call(bpy.ops.armature.subdivide)
        return text


@action(often=2)
def edit_armature(world: World) -> str:
    armature = world.pick(world.own_armatures())
    world.enter(armature, "EDIT")
    return texts(armature)


@action(often=2)
def enter_pose_mode(world: World) -> str:
    armature = world.pick(world.own_armatures())
    world.enter(armature, "POSE")
    return texts(armature)


@action(often=1)
def apply_rest_pose(world: World) -> str:
    armature = world.pick(world.own_armatures())
    world.enter(armature, "POSE")
    done = world.call(bpy.ops.pose.armature_apply)
    bpy.ops.object.mode_set(mode="OBJECT")
    return texts(armature, done)


@action(often=2, any_mode=True)
def toggle_rest_position(world: World) -> str:
    armature = world.pick(world.own_armatures()).data
    armature.pose_position = "POSE" if armature.pose_position == "REST" else world.rng.choice(("POSE", "REST"))
    return texts(armature, armature.pose_position)


@action(often=2)
def transform_object(world: World) -> str:
    obj = world.pick(world.objects("ARMATURE", "MESH"))
    what = world.rng.choice(("location", "rotation_euler", "scale", "delta_location"))
    values = {
        "location": [world.between(-2, 2) for _ in range(3)],
        "rotation_euler": [world.between(-2, 2) for _ in range(3)],
        "scale": world.rng.choice(([2, 2, 2], [0.5, 1, 2], [-1, 1, 1], [0.01, 0.01, 0.01], [1, 0, 1])),
        "delta_location": [0, 0, world.between(-5, 5)],
    }
    setattr(obj, what, values[what])
    return texts(obj, what, values[what])


@action(often=1)
def apply_transform(world: World) -> str:
    obj = world.pick(world.own_armatures() + world.own_meshes())
    world.select(obj)
    parts = [world.chance(0.5) for _ in range(3)]
    done = world.call(bpy.ops.object.transform_apply, location=parts[0], rotation=parts[1], scale=parts[2])
    return texts(obj, parts, done)


@action(often=1)
def rename_armature(world: World) -> str:
    obj = world.pick(world.own_armatures())
    target = world.rng.choice((obj, obj.data))
    target.name = world.rng.choice(("Gestell", "Rig", "Supple Rig", "x" * 60))
    return texts(target)
