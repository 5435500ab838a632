"""Quality and cost of automatic weights, next to Blender's own and those of artists.

    python benchmarks/weights.py [--only SECTION ...] [--assets FOLDER]

needs an interpreter that has bpy, and real characters. Weights are made by the operators that users press. A posed
error is the distance of a skin from that with the artist's weights, both blended linearly: the mean of all vertices and
of poses of all actions, in % of the diagonal of the character's bounding box.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from harness import ASSETS, find, find_file, open_file, option, parse, print_table, run_sections, supple, time_call
from benchmarks.characters import read_poses, read_weights
from deformers.automatic_weights import METHODS

ALL = ("mh_human", "mh_human_game", "kaykit_knight", "khronos_fox", "cesium_man", "fox", "human_male")
ARTISTS = ALL[:5]  # Characters whose weights an artist made; those of the others are mostly Blender's own

# Parts as they were imported; in one object; in one object, with the vertices that lie at one position made one
VARIANTS = ("raw", "joined", "welded")

POSES = 12  # Of each action
WHOLE = 0.99  # A vertex belongs to a finger whose bones have at least this share of its artist's weights
LARGE = 140_000  # Minimum vertices of a large mesh: the coarsest object is subdivided
LEAK = 0.05  # Weight of another finger's bones that counts as an error


class Character:
    """A character of the assets, opened at rest without weights.

    Parameters
    ----------
    variant : str
        One of `VARIANTS`.
    """

    def __init__(self, assets: Path, name: str, variant: str) -> None:
        self.armature = open_file(assets, name)
        self.data = np.load(find_file(assets, name, "npz"))
        self.bones = [str(bone) for bone in self.data["bone_names"]]
        self.variant = variant
        self.armature.data.pose_position = "REST"
        parts = [bpy.data.objects[str(part)] for part in self.data["part_names"]]
        self.objects = parts if variant == "raw" else [self._make_whole(variant == "welded")]
        for obj in bpy.context.view_layer.objects:
            obj.hide_set(False)
            obj.select_set(obj in self.objects or obj == self.armature)
        for obj in self.objects:
            matrix = obj.matrix_world.copy()
            obj.vertex_groups.clear()
            obj.modifiers.clear()
            obj.parent = None
            obj.matrix_world = matrix
        bpy.context.view_layer.objects.active = self.armature

    def _make_whole(self, is_welded: bool) -> bpy.types.Object:
        points, triangles = self.data["V"].astype(float), self.data["tris"]
        if is_welded:
            merged = self.data["weld"]
            points = np.zeros((int(self.data["n_welded"]), 3))
            points[merged] = self.data["V"]
            triangles = merged[triangles]
            triangles = triangles[(triangles != np.roll(triangles, 1, axis=1)).all(axis=1)]
        mesh = bpy.data.meshes.new("Whole")
        mesh.from_pydata(points.tolist(), [], triangles.tolist())
        mesh.validate()
        obj = bpy.data.objects.new("Whole", mesh)
        obj.matrix_world = self.armature.matrix_world
        bpy.context.scene.collection.objects.link(obj)
        return obj

    def read_weights(self) -> np.ndarray:
        """Weights of all bones, shape (V, B), vertices of the raw parts; rows sum to 1, or 0."""
        found = []
        for obj in self.objects:
            weights = np.zeros((len(obj.data.vertices), len(self.bones)))
            columns = {group.index: self.bones.index(group.name) for group in obj.vertex_groups}
            for vertex in obj.data.vertices:
                for entry in vertex.groups:
                    weights[vertex.index, columns[entry.group]] = entry.weight
            found.append(weights)
        weights = np.concatenate(found)
        weights = weights[self.data["weld"]] if self.variant == "welded" else weights
        return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)

    def read_artist(self) -> np.ndarray:
        """The artist's weights, shape (V, B)."""
        return read_weights(self.data)

    def read_poses(self) -> np.ndarray:
        """Rest to pose of all bones, shape (F, B, 4, 4)."""
        chosen = []
        for action in self.data["actions"]:
            poses = read_poses(self.data, action)
            chosen.append(poses[np.unique(np.linspace(0, len(poses) - 1, POSES).astype(int))])
        return np.concatenate(chosen)

    def weigh(self, method: str) -> float:
        """Make weights by a method, or by Blender's own; seconds that it took."""
        operators: Any = bpy.ops
        if method != "BLENDER":
            return time_call(lambda: operators.supple.weights_auto(method=method))[0]
        start = time.perf_counter()
        with suppress(RuntimeError):  # "Bone Heat Weighting: failed to find solution", and no weights
            bpy.ops.object.parent_set(type="ARMATURE_AUTO")
        return time.perf_counter() - start


def measure_error(character: Character, weights: np.ndarray) -> float:
    """The posed error of weights, %; vertices without weights stay at rest."""
    points = character.data["V"].astype(float)
    whole = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    artist = character.read_artist()
    total = 0.0
    poses = character.read_poses()
    for pose in poses:
        matrices = pose[:, :3]
        right, found = (np.einsum("vij,vj->vi", np.tensordot(w, matrices, 1), whole) for w in (artist, weights))
        found = np.where(np.any(weights, axis=1, keepdims=True), found, points)
        total += float(np.linalg.norm(right - found, axis=1).mean())
    return 100.0 * total / len(poses) / float(np.linalg.norm(np.ptp(points, axis=0)))


def characters(arguments: argparse.Namespace) -> None:
    """Vertices without weights, and posed error in %, by method"""
    rows = []
    for name in ALL:
        for variant in VARIANTS:
            row = [name, variant]
            for method in ("BLENDER", *METHODS):
                character = Character(arguments.assets, name, variant)
                seconds = character.weigh(method)
                weights = character.read_weights()
                bare = int((~weights.any(axis=1)).sum())
                _, first, merged = np.unique(character.data["weld"], return_index=True, return_inverse=True)
                torn = int((np.abs(weights - weights[first[merged.reshape(-1)]]).max(axis=1) > 1e-6).sum())
                error = f"{measure_error(character, weights):.2f}" if name in ARTISTS else "-"
                row.append(f"{error} / {bare} / {torn} / {seconds:.1f} s")
            rows.append(row)
            print(*row, flush=True)
    print("\nEach: posed error in % / vertices without weights / vertices at one position with other weights / time\n")
    print_table(("character", "as", "Blender", *METHODS), rows)


def fingers(arguments: argparse.Namespace) -> None:
    """Vertices of fingers that another finger's bones influence"""
    rows = []
    for method in ("BLENDER", *METHODS):
        character = Character(arguments.assets, "mh_human", "raw")
        character.weigh(method)
        weights, artist = character.read_weights(), character.read_artist()
        count, leaking, most = 0, 0, 0.0
        hands: dict[str, dict[str, list[int]]] = {"L": {}, "R": {}}
        for index, bone in enumerate(character.bones):
            if found := re.match(r"finger(\d)-\d\.([LR])$", bone):
                hands[found[2]].setdefault(found[1], []).append(index)
        for hand in hands.values():
            for finger, own in hand.items():
                others = [bone for other, bones in hand.items() if other != finger for bone in bones]
                leaks = weights[artist[:, own].sum(axis=1) > WHOLE][:, others].sum(axis=1)
                count, leaking = count + len(leaks), leaking + int((leaks > LEAK).sum())
                most = max(most, float(leaks.max()))
        rows.append([method, f"{count}", f"{leaking} ({100.0 * leaking / count:.2f} %)", f"{most:.2f}"])
    print_table(("method", "vertices", f"above {LEAK}", "largest"), rows)


def large(arguments: argparse.Namespace) -> None:
    """Seconds and memory, read and written by the operator, each in a process of its own"""
    rows = []
    for method in METHODS:
        for name in ("mh_human", "mh_human_game", "mh_human large", "mh_human_game large"):
            answer = subprocess.run(
                [sys.executable, __file__, "--assets", arguments.assets, "--large", name, method],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            rows.append([method, name, *answer.stdout.strip().splitlines()[-1].split("|")])
            print(*rows[-1], flush=True)
    print()
    print_table(("method", "character", "vertices", "bones", "solving", "in all", "memory"), rows)


def _measure_large(assets: Path, name: str, method: str) -> None:
    """One line: vertices, bones, seconds, megabytes."""
    character = Character(assets, name.split()[0], "raw")
    if name.endswith("large"):
        while sum(len(obj.data.vertices) for obj in character.objects) < LARGE:
            coarsest = min(character.objects, key=lambda obj: len(obj.data.vertices))
            bpy.context.view_layer.objects.active = coarsest
            modifier = coarsest.modifiers.new("Fine", "SUBSURF")
            modifier.subdivision_type, modifier.levels = "SIMPLE", 1
            bpy.ops.object.modifier_apply(modifier=modifier.name)
        bpy.context.view_layer.objects.active = character.armature
    automatic = find("tasks.weights.automatic")
    solving, solve = [], automatic.run_method

    def run_timed(*arguments: Any) -> Any:
        seconds, result = time_call(lambda: solve(*arguments))
        solving.append(seconds)
        return result

    automatic.run_method = run_timed
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = character.weigh(method)
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    vertices = sum(len(obj.data.vertices) for obj in character.objects)
    deforming = int(character.data["bone_deform"].sum())
    print(f"{vertices}|{deforming}|{sum(solving):.2f}|{seconds:.2f}|{memory:.0f} MB")


SECTIONS = {"characters": characters, "fingers": fingers, "large": large}


if __name__ == "__main__":
    apart = option(None, argparse.SUPPRESS, nargs=2, metavar=("CHARACTER", "METHOD"))
    arguments = parse(__doc__, SECTIONS, assets=ASSETS, large=apart)
    if not arguments.large:
        run_sections(SECTIONS, arguments)
        raise SystemExit
    with supple():
        _measure_large(arguments.assets, *arguments.large)
