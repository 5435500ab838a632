"""Skin patterns on the arm: a muscle that swells and creases at the wrist, brought out by its joints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import bpy

from .enable import load_api
from .picture import Row, render_sheet
from .subjects import Subject, copy_shown, show_pose


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
LEVEL = 1  # subdivisions of the skin: finer ones cost memory and are not seen

ROW = Row("elbow\n130°,\nwrist\n55°", 0.72, (0.0, 8.0, 28.0), 2.3, (0.165, 0.0, 0.095))


def add_patterns(subject: Subject) -> None:
    """Lay PATTERNS on a subject, displaced, as Workbench shows no bumps."""
    character, settings = load_api().Character(subject.armature), subject.obj.supple
    settings.pattern_display, settings.pattern_level = "DISPLACEMENT", LEVEL
    for shown in PATTERNS:
        layout = {"location": shown.center, "angle": math.radians(shown.rotation), "size": shown.size}
        character.pattern(subject.obj, shown.preset, shown.bone, **layout)
        settings.patterns[-1].strength, settings.patterns[-1].full = shown.strength, math.radians(shown.full)


def bend_arm(subject: Subject) -> list[bpy.types.Mesh]:
    """Bend a subject's arm and wrist, without its shape keys, and return a new mesh of what is shown."""
    show_pose(subject, "bend")
    for block in subject.obj.data.shape_keys.key_blocks[1:]:
        block.mute = True
    subject.armature.pose.bones["hand"].rotation_euler[0] = math.radians(WRIST_ANGLE)
    return [copy_shown(subject.obj)]


def render_patterns(subject: Subject, path: Path) -> None:
    """Render a bent arm without and with PATTERNS, which stay on it, into a PNG file."""
    cells = {(subject.method, "bend"): bend_arm(subject)}
    add_patterns(subject)
    render_sheet(path, {"bend": ROW}, cells | {("with patterns", "bend"): bend_arm(subject)})
