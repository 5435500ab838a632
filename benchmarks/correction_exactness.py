"""Exactness and time of corrections sculpted in a pose: sections of benchmarks/corrections.py.

The sculpted shape is a bump near the joint that is bent most, 3 % of the size high.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils.kdtree import KDTree

from harness import (
    find,
    is_there,
    list_at_hand,
    new_scene,
    open_file,
    print_table,
    put_to_rest,
    read_posed,
    read_vertices,
    time_call,
)
from benchmarks.generated import add_parts
from benchmarks.timing import Character, bind, find_character
from deformers.corrections.joint_choice import measure_rotations

BLENDERS = {"LINEAR": False, "PRESERVE_VOLUME": True}
METHODS = ("SSD", "DLB", "DLBNT", "CENTERS", *BLENDERS)
HEIGHT, RADIUS = 0.03, 0.1  # Height and radius of the bump, as shares of the mesh's diagonal
SIZES = (22_000, 1_000_000)
SYMMETRIC = 1e-6  # Share of the diagonal: maximum distance from its mirror image for a vertex to count as symmetric
MIRRORED = "mh_human", "lowerarm01.L", 70.0  # A character, a bone and its bend in degrees


def begin(obj: bpy.types.Object) -> bpy.types.Object:
    """The posed copy of a mesh in the pose that is shown."""
    return find("tasks.corrections.posed_copy").begin([obj], bpy.context.view_layer)[0][0]


def keep(copy: bpy.types.Object, **options: object) -> Any:
    """Keep the sculpted shape of a posed copy."""
    return find("tasks.corrections.keep").keep([copy], bpy.context.view_layer, **options)


def run_shown(arguments: argparse.Namespace) -> None:
    """Sculpted against shown, in shares of the diagonal: largest of three frames of the action; rest against rest"""
    rows = []
    for name in list_at_hand(arguments.assets, arguments.characters):
        rows += [(name, method, *measure_shown(arguments.assets, name, method)) for method in METHODS]
    columns = "character", "method", "vertices", "largest", "not reached", "others", "at rest", "Keep, ms"
    print_table(columns, rows)


def measure_shown(assets: Path, name: str, method: str) -> tuple[float, ...]:
    """Sculpt and keep in three frames of an action, and compare."""
    open_file(assets, name)
    character = find_character()
    for modifier in character.modifiers:
        modifier.use_deform_preserve_volume = BLENDERS.get(method, False)
    if method not in BLENDERS:
        bind(method)
    obj = max(character.meshes, key=lambda mesh: len(mesh.data.vertices))
    rest = read_rest(character, obj)
    first, last = character.armature.animation_data.action.frame_range[:]
    frames = np.linspace(first, last, 5)[1:4].tolist()
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(round(frame))
        found.append(correct(obj))
    largest, others, missed, seconds = (np.array(values) for values in zip(*found, strict=True))
    drift = float(np.abs(read_rest(character, obj) - rest).max()) / measure_size(rest)
    count = len(obj.data.vertices)
    return count, largest.max(), int(missed.sum()), others.max(), drift, 1e3 * float(np.median(seconds))


def correct(obj: bpy.types.Object) -> tuple[float, float, int, float]:
    """Sculpt a bump in the pose that is shown: largest error of vertices that can be reached, and of those that were
    not sculpted; how many can not; and seconds of Keep."""

    before = read_posed(obj)
    size = measure_size(before)
    copy = begin(obj)
    center = before[find_bent(obj)]
    distances = np.linalg.norm(before - center, axis=1) / size
    heights = HEIGHT * size * np.maximum(0.0, 1.0 - distances / RADIUS) ** 2
    points, normals = (read_vertices(copy.data.vertices, name).astype(np.float32) for name in ("co", "normal"))
    target = points + heights[:, None].astype(np.float32) * normals
    copy.data.vertices.foreach_set("co", target.ravel())
    seconds, kept = time_call(lambda: keep(copy))
    bpy.context.view_layer.update()
    errors = np.linalg.norm(read_posed(obj) - target, axis=1) / size
    sculpted = heights > 0.0
    reached = np.sort(errors[sculpted])[: max(1, int(sculpted.sum()) - kept.damped)]
    return float(reached.max()), float(errors[~sculpted].max()), kept.damped, seconds


def find_bent(obj: bpy.types.Object) -> int:
    """Find a vertex at the joint that is bent most, among joints with enough skin."""

    character = find("tasks.subject.character")
    skinned = character.find_skinned(obj)
    skeleton = find("tasks.skin.poses").find_skeleton(skinned.armature)
    weights = character.read_character(skinned, skeleton).rest.weights
    pose = find("bridge.rigs.armatures").read_pose(
        skinned.armature.evaluated_get(bpy.context.evaluated_depsgraph_get()), skeleton
    )
    held = np.bincount(weights.joints, weights.values, len(skeleton.joints.parents))
    angles = np.where(held > 0.01 * len(obj.data.vertices), measure_rotations(pose.rest_to_pose, skeleton.joints), 0.0)
    joint = int(np.where(skeleton.joints.parents >= 0, angles, 0.0).argmax())
    own, above = (
        np.bincount(weights.vertices, weights.values * (weights.joints == one), len(obj.data.vertices))
        for one in (joint, int(skeleton.joints.parents[joint]))
    )
    return int(np.minimum(own, above + 1e-3 * own).argmax())


def read_rest(character: Character, obj: bpy.types.Object) -> np.ndarray:
    """Points in the armature's rest pose, with its shape keys and their drivers."""
    character.armature.data.pose_position = "REST"
    bpy.context.view_layer.update()
    points = read_posed(obj)
    character.armature.data.pose_position = "POSE"
    bpy.context.view_layer.update()
    return points


def measure_size(points: np.ndarray) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0)))


def run_keep(_arguments: argparse.Namespace) -> None:
    """Seconds of Correct This Pose and of Keep: one mesh of a generated person, with all its operators do"""
    rows = []
    for count in SIZES:
        for method in ("DLB", "CENTERS"):
            new_scene()
            add_parts(count, 163, 1)
            character = find_character()
            bind(method)
            bpy.context.scene.frame_set(20)
            (obj,) = character.meshes
            rows.append((method, len(obj.data.vertices), *time_keep(obj)))
    print_table(("method", "vertices", "Correct This Pose, s", "Keep, s", "Keep again, s"), rows)


def time_keep(obj: bpy.types.Object) -> tuple[float, ...]:
    """Seconds of beginning, of keeping the first correction, and of keeping another."""

    found = []
    for frame in (20, 12):
        bpy.context.scene.frame_set(frame)
        begun, copy = time_call(lambda: begin(obj))
        points = np.empty(3 * len(obj.data.vertices), np.float32)
        copy.data.vertices.foreach_get("co", points)
        points[: 3 * (len(points) // 30)] += 0.01
        copy.data.vertices.foreach_set("co", points)
        rotations = find("tasks.corrections.posed_copy").State.of(copy).rotations
        joint = min(
            rotations, key=lambda bone, rotations=rotations: abs(rotations[bone][0])
        )  # rotated most against its parent
        found.append((begun, time_call(partial(keep, copy, joints=[joint]))[0]))
    return (*found[0], found[1][1])


def run_mirror(arguments: argparse.Namespace) -> None:
    """The left sculpted and mirrored, the right shown in the mirrored pose: largest difference, of the diagonal"""

    name, bone, degrees = MIRRORED
    if not is_there(arguments.assets, name):
        return
    rows = []
    for method in METHODS:
        open_file(arguments.assets, name)
        character = find_character()
        if method not in BLENDERS:
            bind(method)
        obj = max(character.meshes, key=lambda mesh: len(mesh.data.vertices))
        put_to_rest(character.armature)
        target = character.armature.pose.bones[bone]
        target.rotation_mode = "XYZ"
        target.rotation_euler = (np.radians(degrees), 0.1, 0.2)
        layer = bpy.context.view_layer
        layer.update()
        rest, before = read_rest(character, obj), read_posed(obj)
        pairs, symmetry = match_mirrored(rest)
        own = measure_mirrored(character, obj, pairs)
        copy = begin(obj)
        distances = np.linalg.norm(before - before[find_bent(obj)], axis=1) / measure_size(before)
        bump = (HEIGHT * measure_size(before) * np.maximum(0.0, 1.0 - distances / RADIUS) ** 2)[:, None]
        points = before + bump * np.array([0.5, 0.6, -0.6])
        copy.data.vertices.foreach_set("co", points.astype(np.float32).ravel())
        keep(copy, mirror=True)
        layer.update()
        errors, size = measure_mirrored(character, obj, pairs), measure_size(rest)
        is_symmetric = own <= SYMMETRIC * size
        found = symmetry, errors.max(), own.max(), errors[is_symmetric].max()
        rows.append((method, *(one / size for one in found), int((~is_symmetric).sum())))
    columns = "method", "at rest", "largest", "without corrections", "where weights are alike", "vertices where not"
    print_table(columns, rows)


def measure_mirrored(character: Character, obj: bpy.types.Object, pairs: np.ndarray) -> np.ndarray:
    """Distance of each vertex from the mirror image of its partner in the mirrored pose; restores the pose."""
    poses, armature, left = find("tasks.corrections.poses"), character.armature, read_posed(obj)
    pose = poses.read_bone_pose(armature)
    poses.show_bone_pose(armature, find("tasks.corrections.mirror").mirror_bone_pose(armature, pose))
    bpy.context.view_layer.update()
    right = read_posed(obj)
    poses.show_bone_pose(armature, pose)
    bpy.context.view_layer.update()
    return np.linalg.norm(right[pairs] * (-1.0, 1.0, 1.0) - left, axis=1)


def match_mirrored(rest: np.ndarray) -> tuple[np.ndarray, float]:
    """The vertex nearest to each vertex's mirror image, and the farthest of these."""
    tree = KDTree(len(rest))
    for index, point in enumerate(rest.tolist()):
        tree.insert(point, index)
    tree.balance()
    found = [tree.find((-x, y, z)) for x, y, z in rest.tolist()]
    return np.array([index for _, index, _ in found]), max(distance for *_, distance in found)
