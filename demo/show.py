"""The steps of the demonstration."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy

from .arm import build_arm
from .enable import load_api
from .motion import FRAME_END, FRAME_START, POSES
from .patterns import render_patterns
from .picture import Row, render_sheet
from .subjects import ARM_METHODS, build_subject, show_pose, time_frames
from .walk import show_walk

ROWS = {
    "bend": Row("bend\n130°", 0.66, (0.0, 8.0, 28.0), 1.6, (0.165, 0.0, 0.085)),
    "twist": Row("twist\n175°", 0.36, (0.0, 0.0, 12.0), 1.2, (0.38, 0.0, -0.01)),
    "stretch": Row("stretch\n1.4 ×", 0.62, (0.0, 47.0, 12.0), 1.08, (0.27, 0.0, 0.235)),
}


@contextmanager
def step(message: str) -> Iterator[None]:
    """Print a message, and then how long the step took."""
    print(f"{message} ...", flush=True)
    start = time.perf_counter()
    yield
    print(f"  {time.perf_counter() - start:.1f} s", flush=True)


def show(folder: Path, vertices: int) -> None:
    """Build, pose, time, check, render and bake; all files are written to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    empty = bpy.context.scene
    with step("Building an arm and its weights"):
        arm = build_arm(vertices)
    print(f"  {len(arm.points):,} vertices, {len(arm.bones)} bones, {len(arm.keys)} shape keys")
    with step(f"Skinning it {len(ARM_METHODS)} times: {', '.join(ARM_METHODS)}"):
        subjects = [build_subject(method, arm) for method in ARM_METHODS]
    bpy.data.scenes.remove(empty)
    with step(f"Timing {FRAME_END - FRAME_START + 1} frames"):
        times = time_frames(subjects)
    for method, milliseconds in times.items():  # the median of all that Blender does to show a frame
        print(f"  {method}: {milliseconds:.2f} ms a frame")
    with step(f"Checking {len(POSES) - 1} poses of the arm with linear blending"):
        bpy.context.window.scene = subjects[0].scene
        frames = [pose.frame for name, pose in POSES.items() if name != "rest"]
        report = load_api().Character(subjects[0].armature).check(("DLB",), frames=frames)
    for line in report.describe()[:5]:
        print(f"  {line}")
    with step("Rendering the comparison"):
        cells = {(each.method, pose): [show_pose(each, pose)] for each in subjects for pose in ROWS}
        render_sheet(folder / "comparison.png", ROWS, cells)
    with step("Laying skin patterns on an arm and rendering them"):
        render_patterns(build_subject("Supple Fast", arm), folder / "patterns.png")
    with step("Binding a dressed human, rendering it in a walk and a squat, saving and baking it"):
        files = show_walk(folder)
    for path in (folder / "comparison.png", folder / "patterns.png", *files):
        print(f"  {path}")
