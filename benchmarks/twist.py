"""How far joints twist: by what asks them to, in chains, at the wrists of real characters, and what it costs.

    python benchmarks/twist.py [--only asked chains wrists cost] [--methods SSD DLB DLBNT CENTERS] [--assets DIR]

Needs Blender's module bpy. Characters are read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Vector

from harness import (
    ASSETS,
    is_there,
    list_at_hand,
    new_scene,
    note_time,
    open_file,
    option,
    parse,
    print_table,
    read_posed,
    run_sections,
)
from benchmarks.bound_characters import PRESERVE_VOLUME, make_rests, preserve_volume
from benchmarks.characters import read_character
from benchmarks.shapes import Shape, rotation
from benchmarks.skins import make_params, make_rest
from benchmarks.timing import WARM, Character, bind, find_character
from deformers import DEFORMERS, Pose, Rest
from deformers.measures.stretch import SHORT_EDGE, edge_stretches, mesh_edges
from deformers.rig.fraction_plan import find_long_bones, plan_twists

METHODS = ("SSD", "DLB", "DLBNT", "CENTERS")
EVALUATES = ("PYTHON", "NODES")
RADIUS, SIDES, STEP = 0.25, 48, 0.02
RAMP = 1.0
"""Weights of the tube cross over linearly from so far below a joint to so far above: along whole bones of length 1."""
MOST, CHAIN = 5, 4
"""Fractions of the one joint, and of each joint of a chain."""
FARTHEST = 540
CHAINS = (120.0, 200.0, 270.0)
WRISTS = {"mh_human": "wrist.L", "mh_human_game": "hand_l", "human_male": "hand_l"}
TURN = 170.0
CHOICES = ("OFF", "AUTO", "3")
"""Of *Twist*, whose cost is compared."""
HELD = 0.5
"""Weight of the hand and of the bones before it from which on a vertex is at the wrist."""


def make_tube(joints: int) -> Shape:
    """A tube along z on bones of length 1, one more than so many joints, whose weights cross over along whole bones."""
    count = joints + 1
    heights = np.linspace(0.0, count, round(count / STEP) + 1)
    around = np.arange(SIDES) * 2.0 * np.pi / SIDES
    circle = RADIUS * np.tile([np.cos(around), np.sin(around)], len(heights))
    points = np.stack([*circle, heights.repeat(SIDES)], axis=1)
    faces = list_faces(len(heights))
    triangles = np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])
    path = np.interp(points[:, 2], [1.0 - RAMP, joints + RAMP], [0.0, joints])
    weights = np.maximum(0.0, 1.0 - np.abs(path[:, None] - np.arange(count)))
    chain = np.stack([np.zeros(count + 1), np.zeros(count + 1), np.arange(count + 1.0)], axis=1)
    return Shape(points, triangles, weights, chain[:-1], chain[1:], np.arange(count) - 1)


def list_faces(rings: int) -> np.ndarray:
    """The tube's faces, shape (F, 4)."""
    index = np.arange(rings * SIDES).reshape(rings, SIDES)
    after = np.roll(index, -1, axis=1)
    return np.stack([index[:-1], after[:-1], after[1:], index[1:]], axis=-1).reshape(-1, 4)


@dataclass(frozen=True)
class Twisted:
    """What was measured of a twisted tube.

    Attributes
    ----------
    section : float
        Mean radius of the narrowest ring, in radii at rest.
    end : float
        By how many degrees the last ring is turned against the first, by way of those between.
    stretch : float
        Of the edge that has become longest.
    """

    section: float
    end: float
    stretch: float


def measure_tube(shape: Shape, posed: np.ndarray) -> Twisted:
    """Measure a posed tube; its rings, one after the other, tell the turn."""
    rings, rest = (points.reshape(-1, SIDES, 3)[:, :, :2] for points in (posed, shape.points))
    radii = np.linalg.norm(rings - rings.mean(axis=1, keepdims=True), axis=2).mean(axis=1) / RADIUS
    angles = [np.unwrap(np.arctan2(rows[:, 0, 1], rows[:, 0, 0])) for rows in (rings, rest)]
    turn = angles[0] - angles[1]
    stretches = edge_stretches(shape.points, posed, mesh_edges(list_faces(len(posed) // SIDES)))
    return Twisted(float(radii.min()), float(np.degrees(turn[-1] - turn[0])), float(stretches.max()))


def run_asked(arguments: argparse.Namespace) -> None:
    """One joint, -540 to 540 degrees in steps of one, by what asks for them"""
    rows = []
    for method in arguments.methods:
        for evaluate in arguments.evaluate:
            for label, ask in ASKS.items():
                rows.append((method, evaluate.lower(), label, *sweep(method, evaluate, ask)))
    header = ("method", "by", "asked by", "smallest section", "end off by, degrees", "largest step", "longest edge")
    print_table(header, rows)


def sweep(method: str, evaluate: str, ask: Callable[[Any, float], None]) -> tuple[float, ...]:
    """Smallest section, how far the end is off, largest step of a vertex between degrees in radii, longest edge."""
    shape = make_tube(1)
    obj, armature = build_tube(shape)
    obj.supple.twist = str(MOST)
    bpy.context.view_layer.objects.active = obj
    bind(method, evaluate)
    found, before, step = [], None, 0.0
    for degrees in range(-FARTHEST, FARTHEST + 1):
        ask(armature, float(degrees))
        bpy.context.view_layer.update()
        posed = read_posed(obj)
        twisted = measure_tube(shape, posed)
        found.append((twisted.section, abs(twisted.end - degrees), twisted.stretch))
        if before is not None:
            step = max(step, float(np.linalg.norm(posed - before, axis=1).max()) / RADIUS)
        before = posed
    sections, off, stretches = np.array(found).T
    return float(sections.min()), float(off.max()), step, float(stretches.max())


def build_tube(shape: Shape) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube of two bones in a new file, with weights and an Armature modifier: the mesh and the armature."""
    new_scene()
    armature = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    mesh = bpy.data.meshes.new("Tube")
    mesh.from_pydata(shape.points.tolist(), [], shape.triangles.tolist())
    obj = bpy.data.objects.new("Tube", mesh)
    for new in (armature, obj):
        bpy.context.scene.collection.objects.link(new)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    bones: Any = armature.data.edit_bones
    for number, (head, tail) in enumerate(zip(shape.heads, shape.tails, strict=True)):
        bone = bones.new(f"bone.{number}")
        bone.head, bone.tail = head, tail
        bone.parent = bones[number - 1] if number else None
    bpy.ops.object.mode_set(mode="OBJECT")
    for number in range(len(shape.heads)):
        group = obj.vertex_groups.new(name=f"bone.{number}")
        for vertex in np.flatnonzero(shape.weights[:, number]).tolist():
            group.add([vertex], float(shape.weights[vertex, number]), "REPLACE")
    modifier: Any = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    obj.select_set(True)
    return obj, armature


def ask_by_euler(armature: Any, degrees: float) -> None:
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler[1] = np.radians(degrees)


def ask_by_property(armature: Any, degrees: float) -> None:
    """A quaternion, which knows no turns, and the custom property, rounded to half turns."""
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "QUATERNION"
    half = np.radians(0.5 * degrees)
    bone.rotation_quaternion = np.cos(half), 0.0, np.sin(half), 0.0
    bone["supple_turns"] = round(2.0 * degrees / 360.0) / 2.0
    armature.update_tag()


def ask_by_ik(armature: Any, degrees: float) -> None:
    """An IK constraint whose pole goes around the bone, and the custom property."""
    bone = armature.pose.bones["bone.1"]
    if not bone.constraints:
        target, pole = (bpy.data.objects.new(name, None) for name in ("Target", "Pole"))
        for new in (target, pole):
            bpy.context.scene.collection.objects.link(new)
        target.location = armature.data.bones["bone.1"].tail_local
        constraint = bone.constraints.new("IK")
        constraint.target, constraint.pole_target, constraint.chain_count = target, pole, 1
        constraint.pole_angle = min(np.radians([0.0, 90.0, 180.0, -90.0]), key=partial(_turn_by_pole, armature))
    _move_pole(armature, degrees)
    bone["supple_turns"] = round(2.0 * degrees / 360.0) / 2.0
    armature.update_tag()


def _move_pole(armature: Any, degrees: float) -> None:
    rest = armature.data.bones["bone.1"].matrix_local
    around = Matrix.Rotation(np.radians(degrees), 4, "Y")
    pole = armature.pose.bones["bone.1"].constraints[0].pole_target
    pole.location = rest @ around @ POLE


def _turn_by_pole(armature: Any, angle: float) -> float:
    """How far the bone is turned against rest where the pole is not moved, by an angle of the constraint."""
    bone = armature.pose.bones["bone.1"]
    bone.constraints[0].pole_angle = angle
    _move_pole(armature, 0.0)
    bpy.context.view_layer.update()
    return float((bone.bone.matrix_local.inverted() @ bone.matrix).to_quaternion().angle)


POLE = Vector((1.0, 0.5, 0.0))
"""Where the pole stands against the bone at rest."""

ASKS = {"Euler Y": ask_by_euler, "supple_turns": ask_by_property, "IK, supple_turns": ask_by_ik}


def run_chains(arguments: argparse.Namespace) -> None:
    """Chains of two joints that twist by as much each"""
    rows = []
    for method in arguments.methods:
        for turn in CHAINS:
            for level in (0, CHAIN):
                shape, degrees = make_tube(2), np.array([0.0, turn, turn])
                posed = deform(bind_shape(shape, method, np.array([0, level, level])), shape, degrees)
                found = measure_tube(shape, posed)
                rows.append((method, f"{turn:.0f} + {turn:.0f}", level, found.section, found.end, found.stretch))
    print_table(("method", "twists", "fractions", "smallest section", "end, degrees", "longest edge"), rows)


Bound = tuple[Any, Any]
"""A deformer and its binding."""


def bind_shape(shape: Shape, method: str, levels: np.ndarray) -> Bound:
    """Bind a shape whose joints have so many fractions, each."""
    return bind_rest(make_rest(shape), method, levels, 0 * levels)


def bind_rest(rest: Rest, method: str, levels: np.ndarray, counts: np.ndarray) -> Bound:
    """Bind a character whose joints have so many fractions, each, and twists spread along so many bones before."""
    fractions, spread = plan_twists(rest.joints, levels, counts)
    rest = replace(rest, joints=replace(rest.joints, fractions=fractions, spread=spread))
    return DEFORMERS[method], DEFORMERS[method].bind(rest, make_params(method))


def deform(bound: Bound, shape: Shape, degrees: np.ndarray) -> np.ndarray:
    """Posed points of a shape whose bones twist about themselves by so many degrees, each."""
    turns = {bone: rotation(shape.tails[bone] - shape.heads[bone], turn) for bone, turn in enumerate(degrees) if turn}
    pose = Pose(shape.pose(turns), hints=np.radians(degrees))
    return bound[0].deform(bound[1], pose).astype(np.float64)


def run_wrists(arguments: argparse.Namespace) -> None:
    """Wrists twisted by 170 degrees about the forearm: largest edge stretch of hand and forearm"""
    rows = []
    for name in list_at_hand(arguments.assets, WRISTS, "npz"):
        for label, found in measure_wrist(arguments.assets, name, WRISTS[name], tuple(arguments.methods)):
            rows.append((name, label, *found))
    print_table(("character", "method", "at the joint", "Spread Twist"), rows)


def measure_wrist(
    assets: Path, name: str, bone: str, methods: tuple[str, ...]
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Each method, and the largest stretches without and with Spread Twist; linear and Blender's own have none."""
    parts = read_character(assets, name, 100).parts
    part, rest = parts[0], make_rests(parts)[0]
    shape, wrist = part.shape, part.shape.names.index(bone)
    long_bones, degrees = find_long_bones(rest.joints), np.zeros(len(shape.names))
    degrees[wrist] = TURN
    counts = np.zeros(len(degrees), np.intp)
    counts[wrist] = long_bones.counts[wrist]
    arm = list_arm(shape, wrist, int(counts[wrist]))
    pose = Pose(
        shape.pose({wrist: rotation(shape.heads[wrist] - shape.heads[arm[-1]], TURN)}), hints=np.radians(degrees)
    )
    measure = partial(measure_edges, read_edges(assets, name, len(shape.points)), shape, arm)
    yield PRESERVE_VOLUME, (measure(preserve_volume(rest, pose.rest_to_pose)), float("nan"))
    for method in methods:
        choices = [0 * counts] if method == "SSD" else [0 * counts, counts]
        bound = [bind_rest(rest, method, 0 * counts, choice) for choice in choices]
        found = [measure(module.deform(binding, pose).astype(np.float64)) for module, binding in bound]
        yield method, (found[0], found[1] if len(found) > 1 else float("nan"))


def read_edges(assets: Path, name: str, count: int) -> np.ndarray:
    """Edges of the faces, not of triangles, of a character's first part of so many vertices, shape (E, 2)."""
    with np.load(assets / name / f"{name}.npz") as data:
        corners, sizes = data["poly_verts"], data["poly_size"]
    starts = np.cumsum(sizes) - sizes
    after = np.arange(len(corners)) + 1
    after[starts + sizes - 1] = starts
    edges = np.unique(np.sort(np.stack([corners, corners[after]], axis=1), axis=1), axis=0)
    return edges[(edges < count).all(axis=1)]


def list_arm(shape: Shape, wrist: int, count: int) -> list[int]:
    """A hand's bone, and those before it that its twist is spread along."""
    arm = [wrist]
    for _ in range(count):
        arm.append(int(shape.parents[arm[-1]]))
    return arm


def measure_edges(edges: np.ndarray, shape: Shape, arm: list[int], posed: np.ndarray) -> float:
    """The largest stretch of the edges that these bones hold."""
    lengths = np.linalg.norm(np.diff(shape.points[edges], axis=1)[:, 0], axis=1)
    held = shape.weights[:, arm].sum(axis=1) >= HELD * np.maximum(shape.weights.sum(axis=1), 1e-9)
    chosen = held[edges].all(axis=1)
    return float(edge_stretches(shape.points, posed, edges, SHORT_EDGE * float(np.median(lengths)))[chosen].max())


def run_cost(arguments: argparse.Namespace) -> None:
    """mh_human that plays its action: milliseconds of a step, whole character"""
    rows = []
    if not is_there(arguments.assets, "mh_human"):
        return
    for method in arguments.methods:
        for evaluate in arguments.evaluate:
            open_file(arguments.assets, "mh_human")
            character = find_character()
            bind(method, evaluate)
            rows.append((method, evaluate.lower(), *compare(character, arguments.rounds)))
    print_table(("method", "by", "off", "auto", "3 at each joint", "auto / off", "3 / off"), rows)


def compare(character: Character, rounds: int) -> tuple[float, ...]:
    """Median milliseconds of a step with each of `CHOICES`, taken in turn, and their ratios to the first."""
    found: dict[str, list[float]] = {choice: [] for choice in CHOICES}
    for _ in range(rounds):
        for choice, medians in found.items():
            for mesh in character.meshes:
                mesh.supple.twist = choice
            taken: dict[str, list[float]] = {}
            for step in character.play():
                note_time(taken, choice, step)
            medians.append(float(np.median(taken[choice][WARM:])))
    off, *others = (np.array(medians) for medians in found.values())
    ratios = [float(np.median(other / off)) for other in others]
    return (*(float(np.median(medians)) for medians in (off, *others)), *ratios)


SECTIONS = {"asked": run_asked, "chains": run_chains, "wrists": run_wrists, "cost": run_cost}


if __name__ == "__main__":
    rounds = option(7, "how often all steps are taken in turn")
    run_sections(SECTIONS, parse(__doc__, SECTIONS, methods=METHODS, evaluate=EVALUATES, rounds=rounds, assets=ASSETS))
