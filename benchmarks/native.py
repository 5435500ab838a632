"""Exactness of characters that Blender's own modifiers deform, as *Make Supple* binds them, Fast.

    python benchmarks/native.py [--only SECTION ...] [--characters NAME ...] [--assets DIR]

Needs Blender's module bpy. Characters are read from a folder of assets that is not part of the repository. Lengths are
millimeters of a character that is 1.8 m tall.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from harness import ASSETS, find, list_at_hand, open_file, parse, print_table, put_to_rest, read_posed, run_sections
from benchmarks.timing import Character, find_character, make
from deformers.geometry.vectors import transform_points

CHARACTERS = ("mh_human", "mh_human_game", "human_male", "kaykit_knight", "cesium_man", "fox")
TALL = 1800.0
FARTHEST, STEP = 540, 10  # Degrees
LARGEST_STEP = 1.7  # Maximum step of a vertex relative to that of a rigid turn
HELD = 0.95  # Minimum weight of a limb's bones for skin to be measured
SLABS, FEWEST = 12, 12  # Number of slabs along a limb, and minimum number of vertices in one
POSES, SEED = 8, 1
FRAMES = 3
SIZE = 512  # Pixels of a rendered picture


def open_made(assets: Path, name: str) -> Character:
    """A character that was made supple."""
    open_file(assets, name)
    character = find_character()
    make("FAST")
    return character


def read_all(character: Character) -> np.ndarray:
    """Posed points of all meshes, armature space, shape (V, 3)."""
    found = []
    for obj in character.meshes:
        space = np.array(character.armature.matrix_world.inverted() @ obj.matrix_world)
        found.append(transform_points(space, read_posed(obj)))
    return np.concatenate(found)


def measure_off(one: np.ndarray, other: np.ndarray) -> float:
    """The largest distance of a vertex between two poses, mm at 1.8 m."""
    return TALL * float(np.linalg.norm(one - other, axis=1).max() / np.ptp(other, axis=0).max())


# Turns


def run_turns(arguments: argparse.Namespace) -> None:
    """Limbs twisted from -540 to 540 degrees: mean radius of slabs along them, to that at rest; the largest step of a
    vertex, to that of a rigid turn; and up to which twist no step is larger than 1.7"""
    rows = []
    for name in list_at_hand(arguments.assets, arguments.characters):
        put_to_rest(open_file(arguments.assets, name))
        character = find_posed()
        for bone in character.armature.pose.bones:
            bone.rotation_mode = "YXZ"
        make("FAST")
        rolls = find("bridge.rigs.segments").read_rolls(character.armature)
        for source in dict.fromkeys(roll.source for roll in rolls):
            limb = [roll for roll in rolls if roll.source == source]
            rows.append((name, ", ".join(roll.bone for roll in limb), source, *turn_limb(character, limb)))
    print_table(("character", "limb", "twisted by", "least radius", "largest", "largest step", "even up to"), rows)


def find_posed() -> Character:
    """The scene's character, if its armature has no animation."""
    armature = next(obj for obj in bpy.context.view_layer.objects if obj.type == "ARMATURE")
    meshes = [obj for obj in bpy.context.view_layer.objects if obj.find_armature() == armature]
    bpy.context.view_layer.objects.active = armature
    return Character(meshes, armature, [])


def turn_limb(character: Character, limb: list[Any]) -> tuple[float, float, float, int]:
    """Twist a limb's source about the limb, and measure the skin that its bones hold."""
    bones = character.armature.data.bones
    start, end = (np.array(point) for point in (bones[limb[0].bone].head_local, bones[limb[-1].bone].tail_local))
    axis, rest = (end - start) / np.linalg.norm(end - start), read_all(character)
    own = read_held(character, [*(roll.bone for roll in limb), limb[0].source]) > HELD
    heights = (rest - start) @ axis / np.linalg.norm(end - start)
    slabs = np.where(own & (heights > 0.0) & (heights < 1.0), (heights * SLABS).astype(int), -1)
    usable = [slab for slab in range(SLABS) if (slabs == slab).sum() >= FEWEST]
    radii, steps, before = [], [], None
    for degrees in range(-FARTHEST, FARTHEST + 1, STEP):
        posed = pose_turned(character, limb[0], degrees)
        distances = [np.linalg.norm(np.cross(points - start, axis), axis=1) for points in (posed, rest)]
        radii.append([np.divide(*(each[slabs == slab].mean() for each in distances)) for slab in usable])
        if before is not None:
            steps.append(np.linalg.norm((posed - before)[own], axis=1).max() / (STEP_CHORD * distances[1][own].max()))
        before = posed
    pose_turned(character, limb[0], 0.0)
    starts = np.arange(-FARTHEST, FARTHEST, STEP)
    large = np.maximum(np.abs(starts), np.abs(starts + STEP))[np.array(steps) > LARGEST_STEP]
    even = int(large.min() - STEP) if len(large) else FARTHEST
    return float(np.min(radii, initial=np.inf)), float(np.max(radii, initial=0.0)), float(max(steps)), even


STEP_CHORD = 2.0 * np.sin(np.radians(STEP / 2.0))  # Step of a point at distance 1


def read_held(character: Character, bones: list[str]) -> np.ndarray:
    """Sum of the weights of some bones over all deforming bones, shape (V,)."""
    names = [bone.name for bone in character.armature.data.bones if bone.use_deform]
    is_own, found = np.isin(names, bones), []
    for obj in character.meshes:
        weights = find("bridge.meshes.weights").read_weights(obj, names)
        found.append(weights[:, is_own].sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9))
    return np.concatenate(found)


def pose_turned(character: Character, roll: Any, degrees: float) -> np.ndarray:
    """Points with the source of a roll turned about the roll's axis."""
    bone, axis = character.armature.pose.bones[roll.source], Vector(roll.axis)
    angle = np.radians(degrees)
    if axis.y > 0.9:
        bone.rotation_euler = 0.0, angle, 0.0
    else:
        bone.rotation_euler = Quaternion(axis, angle).to_euler("YXZ", bone.rotation_euler)
    bpy.context.view_layer.update()
    return read_all(character)


# Exactness


def pose_at_random(
    character: Character,
    random: np.random.Generator,
    stretched: Collection[str] = (),
    axes: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Rotate all bones, and stretch some; bones with an axis rotate across it: they do not twist."""
    for bone in character.armature.pose.bones:
        axis = random.normal(size=3)
        if axes and (along := axes.get(bone.name)) is not None:
            axis -= along * (axis @ along) / (along @ along)
        rotation = Quaternion(Vector(axis.tolist()), np.radians(random.uniform(-50.0, 50.0)))
        scale = (1.0, random.uniform(0.8, 1.3), 1.0) if bone.name in stretched else (1.0, 1.0, 1.0)
        bone.matrix_basis = Matrix.LocRotScale(None, rotation, Vector(scale))
    bpy.context.view_layer.update()


def run_still(arguments: argparse.Namespace) -> None:
    """Supple against Preserve Volume, mm: at rest; and, without Supple Linear, where limbs stretch and bend, but do not
    twist"""
    rows = []
    for name in list_at_hand(arguments.assets, arguments.characters):
        character = open_made(arguments.assets, name)
        armature = character.armature
        rolls = find("bridge.rigs.segments").read_rolls(armature)
        rest_bones(armature)
        posed = read_all(character)
        armature.data.pose_position = "REST"
        bpy.context.view_layer.update()
        at_rest = measure_off(posed, read_all(character))
        armature.data.pose_position = "POSE"
        rows.append((name, len(rolls), at_rest, measure_bent(character, rolls)))
    print_table(("character", "bones that roll", "at rest", "stretched and bent"), rows)


def measure_bent(character: Character, rolls: Sequence[Any]) -> float:
    """Largest motion of vertices by segments in poses without twist."""
    axes = {roll.source: np.array(roll.axis) for roll in rolls}
    random, limbs, off = np.random.default_rng(SEED), {roll.bone for roll in rolls}, 0.0
    with find("bridge.changes").without_changes():  # Supple would show what is hidden again
        for modifier in character.modifiers:
            modifier.show_viewport = not modifier.name.startswith("Supple Linear")
        for _ in range(POSES):
            pose_at_random(character, random, limbs, axes)
            shown = read_all(character)
            with plain_bones(character.armature, limbs):
                off = max(off, measure_off(shown, read_all(character)))
    return off


def rest_bones(armature: Any) -> None:
    """Put bones to rest; drivers stay, the action goes."""
    armature.animation_data.action = None
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    bpy.context.view_layer.update()


@contextmanager
def plain_bones(armature: Any, names: set[str]) -> Iterator[None]:
    """Bones without segments, as long as the context lasts."""
    before = {name: armature.data.bones[name].bbone_segments for name in names}
    for count in (dict.fromkeys(before, 1), before):
        for name, segments in count.items():
            armature.data.bones[name].bbone_segments = segments
        bpy.context.view_layer.update()
        if count is not before:
            yield


# Without Supple


RENDER = """
import sys, bpy
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
assert not hasattr(bpy.types.Object, "supple")
for frame in map(int, sys.argv[3:]):
    bpy.context.scene.frame_set(frame)
    bpy.context.scene.render.filepath = f"{sys.argv[2]}/without-{frame}.png"
    bpy.ops.render.render(write_still=True)
"""


def run_rendered(arguments: argparse.Namespace) -> None:
    """Pictures by Workbench with Supple, and of the saved file by a Blender without it: pixels that differ"""
    rows = []
    for name in list_at_hand(arguments.assets, arguments.characters):
        character, scene = open_made(arguments.assets, name), bpy.context.scene
        set_camera(scene, read_all(character), character.armature)
        frames = sorted(set(character.frames))
        frames = frames[:: max(1, len(frames) // FRAMES)][:FRAMES]
        with tempfile.TemporaryDirectory() as folder:
            bpy.ops.wm.save_as_mainfile(filepath=f"{folder}/made.blend", copy=True)
            for frame in frames:
                scene.frame_set(frame)
                scene.render.filepath = f"{folder}/with-{frame}.png"
                bpy.ops.render.render(write_still=True)
            words = [f"{folder}/made.blend", folder, *map(str, frames)]
            subprocess.run([sys.executable, "-c", RENDER, *words], check=True, stdout=subprocess.DEVNULL)
            pictures = [[read_image(f"{folder}/{way}-{frame}.png") for way in ("with", "without")] for frame in frames]
        drawn = min(float((one != one[0]).any(axis=1).mean()) for one, _ in pictures)
        rows.append((name, len(frames), f"{drawn:.0%}", sum(int((a != b).any(axis=1).sum()) for a, b in pictures)))
    print_table(("character", "frames", "pixels that show it, at least", "pixels that differ"), rows)


def set_camera(scene: Any, points: np.ndarray, armature: Any) -> None:
    """Look at a character from the front by Workbench."""
    corners = transform_points(np.array(armature.matrix_world), points)
    middle, size = 0.5 * (corners.min(axis=0) + corners.max(axis=0)), float(np.ptp(corners, axis=0).max())
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    scene.camera.data.type, scene.camera.data.ortho_scale = "ORTHO", 1.4 * size
    scene.camera.data.clip_end = 20.0 * size
    scene.camera.location, scene.camera.rotation_euler = middle - (0.0, 5.0 * size, 0.0), (np.pi / 2.0, 0.0, 0.0)
    scene.render.engine = "BLENDER_WORKBENCH"
    scene.render.resolution_x = scene.render.resolution_y = SIZE


def read_image(path: str) -> np.ndarray:
    """Pixels, shape (N, 4)."""
    image = bpy.data.images.load(path)
    pixels = np.empty(4 * image.size[0] * image.size[1], np.float32)
    image.pixels.foreach_get(pixels)
    return pixels.reshape(-1, 4)


SECTIONS = {"turns": run_turns, "still": run_still, "rendered": run_rendered}


if __name__ == "__main__":
    run_sections(SECTIONS, parse(__doc__, SECTIONS, characters=CHARACTERS, assets=ASSETS))
