"""The picture of docs/flesh.md: poses by linear blending, Preserve Volume, and with Add Flesh.

    python benchmarks/flesh_pictures.py [--output DIR]

Needs Blender's module bpy; the characters are read from a folder of assets that is not part of the repository
(--assets). 3 minutes on two cores.
"""

from __future__ import annotations

import textwrap
from typing import Any

from harness import list_at_hand
from benchmarks.blind import pose_all, shoot
from benchmarks.blind_key import FLESH, Sheet
from benchmarks.blind_poses import make_pose
from benchmarks.bound_characters import BLENDERS
from benchmarks.center_pictures import set_stage
from benchmarks.studio import Row, Studio, draw, name_row, write_page

WIDE = 10  # Letters in a line beside a row
METHODS = (*BLENDERS, FLESH)
TITLES = ("rest", "linear", "Preserve Volume", "Add Flesh")
# By character: kinds of poses of the blind sheets, and degrees
POSES = {"mh_human": (("arm up", 80.0), ("hip and knee", 90.0), ("elbow", 130.0)), "human_male": (("knee", 130.0),)}


def draw_poses(arguments: Any) -> None:
    """A row for each pose."""
    studio, rows = Studio.of(arguments), []
    for name in list_at_hand(arguments.assets, POSES, "npz"):
        posed = pose_all(arguments.assets, name, METHODS, POSES[name])
        stage = set_stage(arguments.assets, name)
        for index, (kind, degrees) in enumerate(POSES[name]):
            own = {method: points[index] for method, points in posed.items()}
            pose = make_pose(name, stage.shape, kind, degrees)
            cells = shoot(stage, Sheet("", name, kind, degrees, METHODS), own, pose, studio)
            rows.append(Row(name_row(name, textwrap.fill(kind, WIDE)), [views[-1] for views in cells]))
    if rows:
        write_page(rows, TITLES, studio, arguments.output / "flesh.png")


if __name__ == "__main__":
    draw(__doc__, draw_poses)
