"""Skin patterns on the arm: a muscle that swells and creases at the wrist, brought out by its joints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import bpy

from .picture import CLAY, INK, LABEL_WIDTH, Row, add_camera, add_mesh, add_text, plain_material, render
from .subjects import Subject, show_pose


@dataclass(frozen=True)
class Laid:
    """A pattern of Supple's library: the bone whose rotation about X brings it out from 0 to `full` degrees.

    `center` is on the skin at rest, `size` its width and height, `strength` its height, all in
    meters; `rotation` is in degrees.
    """

    preset: str
    bone: str
    center: tuple[float, float, float]
    size: tuple[float, float]
    strength: float
    full: float
    rotation: float = 0.0


PATTERNS = (
    Laid("BULGE_STEEP", "forearm", (0.165, -0.003, 0.047), (0.19, 0.105), 0.018, 110.0),
    Laid("FOLDS_WRIST", "hand", (0.553, 0.0, 0.018), (0.062, 0.034), 0.0045, 45.0, 90.0),
)
WRIST_ANGLE = 55.0
LEVEL = 1
"""How often the skin is subdivided under the patterns."""

ROW = Row("elbow\n130°,\nwrist\n55°", 0.72, (0.0, 8.0, 28.0), 2.3, (0.165, 0.0, 0.095))
TOP = 0.16
"""Height of the titles."""


def add_patterns(subject: Subject) -> None:
    """Lay PATTERNS on a subject, displaced, as Workbench shows no bumps."""
    bpy.context.view_layer.objects.active = subject.obj
    settings = subject.obj.supple
    settings.pattern_display, settings.pattern_level = "DISPLACEMENT", LEVEL
    for shown in PATTERNS:
        bpy.ops.supple.pattern_add(preset=shown.preset, bone=shown.bone)
        bpy.ops.supple.pattern_place(location=shown.center, angle=math.radians(shown.rotation), size=shown.size)
        settings.patterns[-1].strength, settings.patterns[-1].full = shown.strength, math.radians(shown.full)


def bend_arm(subject: Subject) -> bpy.types.Object:
    """Bend a subject's arm and wrist, without its shape keys, and return its evaluated mesh object."""
    show_pose(subject, "bend")
    for block in subject.obj.data.shape_keys.key_blocks[1:]:
        block.mute = True
    subject.armature.pose.bones["hand"].rotation_euler[0] = math.radians(WRIST_ANGLE)
    return subject.obj.evaluated_get(bpy.context.evaluated_depsgraph_get())


def render_patterns(subject: Subject, path: Path) -> None:
    """Render a bent arm without and with PATTERNS, which stay on it, into a PNG file."""
    bare = bpy.data.meshes.new_from_object(bend_arm(subject))
    add_patterns(subject)
    patterned = bpy.data.meshes.new_from_object(bend_arm(subject))
    scene = bpy.data.scenes.new("Patterns")
    bpy.context.window.scene = scene
    ink, clay = plain_material("Ink", INK), plain_material("Clay", CLAY)
    for column, (title, mesh) in enumerate((("Supple Centers", bare), ("with patterns", patterned))):
        middle = LABEL_WIDTH + column + 0.5
        add_text(scene, title, (middle, -TOP / 2.0), 0.06, ink)
        add_mesh(scene, mesh, ROW, (middle, -TOP - ROW.height / 2.0), clay)
    add_text(scene, ROW.label, (LABEL_WIDTH / 2.0, -TOP - ROW.height / 2.0), 0.05, ink)
    add_camera(scene, LABEL_WIDTH + 2.0, TOP + ROW.height + 0.04)
    render(scene, path)
