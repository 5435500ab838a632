"""Weight lines moved on both sides of the armature alike."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from mathutils import Matrix

from ...deformers.weight_editing.line_moves import find_mirror_mixing
from ...deformers.weight_editing.lines import JointLines
from ..subject.character import object_to_armature
from .lines import WeightLines


def add_mirrored(bones: Sequence[str], armature: bpy.types.Object) -> list[str]:
    """Names of bones, and after them those of the other side's bones that the armature has."""
    flipped = [bpy.utils.flip_name(name) for name in bones]
    return list(dict.fromkeys([*bones, *(name for name in flipped if name in armature.data.bones)]))


class LineMirror:
    """Moves the lines of the other side's bones, across the armature's X axis."""

    def __init__(self, lines: WeightLines) -> None:
        self._lines = lines
        space = object_to_armature(lines.obj, lines.armature)
        self._mirror = np.array(space.inverted_safe() @ Matrix.Scale(-1.0, 4, (1.0, 0.0, 0.0)) @ space, np.float64)
        self._mixings: dict[int, np.ndarray] = {}

    def mirror_moves(self, joint: JointLines) -> None:
        """Move the lines of the other side's bone like those of a joint, if it has any here."""
        lines = self._lines
        other = bpy.utils.flip_name(lines.names[joint.bone])
        twin = next((found for found in lines.joints if lines.names[found.bone] == other), None)
        if twin is None or twin is joint:
            return
        mixing = self._mixings.get(twin.bone)
        if mixing is None:
            mixing = find_mirror_mixing(lines.points, twin.field, joint.field, self._mirror)
            self._mixings[twin.bone] = mixing
        lines.moves[twin.bone] = lines.moves[joint.bone].mix(mixing, twin.field.line_count)
