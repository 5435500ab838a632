"""Characters that are weighted anew, by Supple or by Blender, then posed, colored by bone and drawn by Workbench."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import bpy
import numpy as np

from harness import find, open_file, play_action, read_vertices, select
from benchmarks.pattern_body import CLOTH, CUTS, Pose, strike
from benchmarks.studio import color_by_ramp, color_joints, linear

COLORS = "Weights"  # Attribute of the colors that Workbench shows
SOFT = 0.015  # Width of the edges of painted clothes, meters: about the distance of vertices
OWN = "Own"  # Attribute of the colors of the parts
NONE = (0.18, 0.18, 0.19)  # Color of a vertex without weights; all colors are sRGB
# From weight 0 to 1
RAMP = np.array([(0.14, 0.16, 0.42), (0.10, 0.62, 0.80), (0.34, 0.78, 0.36), (0.98, 0.88, 0.25), (0.86, 0.16, 0.12)])
# Colors of the parts of characters, by how their names begin
PARTS = {
    "mh_human_body": (0.80, 0.64, 0.56), "mh_human_tights": (0.33, 0.45, 0.58), "mh_human_skirt": (0.78, 0.60, 0.28),
    "Knight_Body": (0.47, 0.55, 0.64), "Knight_Head": (0.82, 0.66, 0.56), "Knight_Arm": (0.60, 0.64, 0.68),
    "Knight_Leg": (0.56, 0.50, 0.44),
}  # fmt: skip
SIDES = re.compile(r"([._][LRlr])$")


@dataclass(frozen=True)
class Character:
    """A drawn character: the meshes that an armature deforms."""

    meshes: list[bpy.types.Object]
    armature: bpy.types.Object

    def find(self, ending: str) -> bpy.types.Object:
        """The mesh whose name ends so."""
        return next(obj for obj in self.meshes if obj.name.endswith(ending))

    def color_parts(self) -> None:
        """Show each part in its own color."""
        for obj in self.meshes:
            _show(obj.data, OWN)

    def pose(self, pose: Pose | tuple[str, int]) -> None:
        """Strike a pose, or show a frame of an action, from `strike` or by its name."""
        if isinstance(pose, tuple):
            name, frame = pose
            play_action(self.armature, name)
            bpy.context.scene.frame_set(frame)
            return
        cast(Any, self.armature.animation_data).action = None
        strike(self.armature, pose)
        bpy.context.view_layer.update()


def open_character(
    assets: Path, name: str, parts: tuple[str, ...] = (), joined: bool = False, subdivisions: int = 1
) -> Character:
    """Open the file of a character: at rest, with the parts whose names end so, as one object if `joined`.

    Without `parts`, with all that the armature deforms.
    """
    armature = open_file(assets, name)
    for obj in list(bpy.data.objects):
        is_skin = any(modifier.type == "ARMATURE" for modifier in obj.modifiers)
        if obj.type == "MESH" and not (is_skin and obj.name.endswith(parts or "")):
            bpy.data.objects.remove(obj)
    meshes = [obj for obj in bpy.data.objects if obj.type == "MESH"]
    for obj in meshes:
        paint(obj, linear(_choose_colors(obj)), OWN)
    if joined:
        select(meshes, meshes[0])
        bpy.ops.object.join()
        meshes = [meshes[0]]
    character = Character(meshes, armature)
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    character.pose({})
    for obj in meshes:
        if subdivisions:
            cast(bpy.types.Mesh, obj.data).shade_smooth()
        fine = obj.modifiers.new("Subdivision", "SUBSURF")
        fine.levels = fine.render_levels = subdivisions
    return character


def _choose_colors(obj: bpy.types.Object) -> np.ndarray:
    """The sRGB color of a part, shape (3,), or of its vertices, shape (V, 3): a runner's clothes are on a body."""
    color = np.array(next(color for name, color in PARTS.items() if obj.name.startswith(name)))
    if not obj.name.endswith("body"):
        return color
    points = read_vertices(cast(bpy.types.Mesh, obj.data).vertices)
    outside = np.min([_measure_outside(points, piece) for piece in ("top", "shorts")], axis=0)
    return color + np.clip(0.5 - outside / SOFT, 0.0, 1.0)[:, None] * (np.array(CLOTH) - color)


def _measure_outside(points: np.ndarray, piece: str) -> np.ndarray:
    """How far points, shape (V, 3), are outside of a piece of a runner's clothes: shape (V,), negative inside."""
    cuts = [(np.array(on), np.array(out)) for name, (on, out) in CUTS.items() if name.startswith(piece)]
    return np.max([(points - on) @ (out / np.linalg.norm(out)) for on, out in cuts], axis=0)


def give_weights(character: Character, method: str) -> None:
    """Weight all meshes anew, by Blender or by a method of Supple; those of the file are the artist's."""
    if method == "ARTIST":
        return
    for obj in character.meshes:
        obj.vertex_groups.clear()
    select([*character.meshes, character.armature], character.armature)
    if method != "BLENDER":
        select(character.meshes, character.meshes[0])
        bpy.ops.supple.weights_auto(method=method)
        return
    for obj in character.meshes:
        obj.modifiers.remove(next(modifier for modifier in obj.modifiers if modifier.type == "ARMATURE"))
    bpy.ops.object.parent_set(type="ARMATURE_AUTO")
    for obj in character.meshes:
        obj.modifiers.move(len(obj.modifiers) - 1, 0)  # above the subdivision


def color_by_bone(character: Character) -> None:
    """Give each vertex the colors of its bones, mixed by their weights; left and right ones have the same."""
    names = sorted({SIDES.sub("", bone.name) for bone in cast(Any, character.armature.data).bones})
    for obj in character.meshes:
        numbers = np.array([names.index(SIDES.sub("", group.name)) for group in obj.vertex_groups], float)
        _color(obj, linear(color_joints(numbers)))


def color_one_bone(character: Character, bone: str) -> None:
    """Show the weight of one bone, from blue for none to red for all."""
    for obj in character.meshes:
        shares = np.array([float(group.name == bone) for group in obj.vertex_groups])
        _color(obj, shares, RAMP)


def _color(obj: bpy.types.Object, values: np.ndarray, ramp: np.ndarray | None = None) -> None:
    """Mix values of the groups, shape (G,) or (G, 3), by the weights, into colors; by a ramp if they are shares."""
    colors, total = mix_by_weights(obj, values.reshape(len(values), -1))
    if ramp is not None:
        colors = linear(color_by_ramp(colors[:, 0], ramp))
    paint(obj, np.where(total[:, None] > 0, colors, linear(np.array(NONE))))


def mix_by_weights(obj: bpy.types.Object, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mix values of the groups, shape (G, C), by the weights: shape (V, C), and the sums of the weights, shape (V,)."""
    mesh = cast(bpy.types.Mesh, obj.data)
    entries, count = find("bridge.meshes.data").read_vertex_groups(mesh), len(mesh.vertices)
    total = np.bincount(entries.vertices, entries.values, count)
    channels = values[entries.groups].T * entries.values
    sums = np.stack([np.bincount(entries.vertices, channel, count) for channel in channels], axis=1)
    return sums / np.maximum(total, 1e-9)[:, None], total


def paint(obj: bpy.types.Object, colors: np.ndarray, name: str = COLORS) -> None:
    """Show a mesh in linear colors, one, shape (3,), or one for each vertex, shape (V, 3)."""
    mesh = cast(Any, obj.data)
    attribute = mesh.color_attributes.get(name) or mesh.color_attributes.new(name, "FLOAT_COLOR", "POINT")
    rows = np.ones((len(mesh.vertices), 4), np.float32)
    rows[:, :3] = colors
    attribute.data.foreach_set("color", rows.ravel())
    _show(mesh, name)


def _show(mesh: Any, name: str) -> None:
    """Have Workbench show these colors of a mesh."""
    mesh.color_attributes.active_color_name = name
    mesh.color_attributes.render_color_index = mesh.color_attributes.find(name)
    mesh.update()
