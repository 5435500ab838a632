"""What the demonstration does, step by step, and the table that it prints."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np

from deformers.measures.sections import smallest_section
from deformers.measures.space import Space, close_surface
from deformers.measures.stretch import EdgeStretch, measure_stretch, mesh_edges

from .arm import Arm, build_arm
from .implicit import Array
from .motion import FRAME_END, FRAME_START, POSES, KeyPose
from .patterns import render_patterns
from .picture import render_comparison
from .subjects import METHODS, Subject, build_subject, posed_points, time_frames
from .topology import triangulate
from .walk import show_walk

PLACES = {"elbow": (0.23, 0.35), "forearm": (0.35, 0.58)}
"""Where cross-sections are measured: from where to where along the arm at rest, in meters."""


@dataclass(frozen=True)
class Measure:
    """What one method makes of a pose: shares of the rest shape, 1 where nothing is lost or stretched."""

    space: Space
    section: float
    stretch: EdgeStretch


@contextmanager
def step(message: str) -> Iterator[None]:
    """Say what is being done, and then how long it took."""
    print(f"{message} ...", flush=True)
    start = time.perf_counter()
    yield
    print(f"  {time.perf_counter() - start:.1f} s", flush=True)


def show(folder: Path, vertices: int) -> None:
    """Build, pose, measure, render and bake; everything is written to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    empty = bpy.context.scene
    with step("Building an arm and its weights"):
        arm = build_arm(vertices)
    print(f"  {len(arm.points):,} vertices, {len(arm.bones)} bones, {len(arm.keys)} shape keys")
    with step("Skinning it four times: " + ", ".join(METHODS)):
        subjects = [build_subject(method, arm) for method in METHODS]
    bpy.data.scenes.remove(empty)
    with step(f"Measuring {len(POSES) - 1} poses"):
        measures = {
            (pose, subject.method): measure_pose(arm, subject, pose)
            for pose in POSES
            if pose != "rest"
            for subject in subjects
        }
    with step(f"Timing {FRAME_END - FRAME_START + 1} frames"):
        times = time_frames(subjects)
    print("\n" + "\n".join(table(measures, times)) + "\n")
    with step("Rendering the comparison"):
        captions = {key: caption(POSES[key[0]], measure) for key, measure in measures.items()}
        render_comparison(subjects, captions, folder / "comparison.png")
    with step("Laying skin patterns on an arm and rendering them"):
        render_patterns(build_subject("Centers", arm), folder / "patterns.png")
    with step("Binding a dressed human, rendering it in a walk and a squat, saving and baking it"):
        files = show_walk(folder)
    for path in (folder / "comparison.png", folder / "patterns.png", *files):
        print(f"  {path}")


def keyed_points(arm: Arm, pose: str) -> Array:
    """Return the arm's points (V, 3) at rest, with the shape keys of a pose: what the pose is measured against."""
    points = arm.points.copy()
    for name, value in POSES[pose].keys.items():
        points += value * (arm.keys[name] - arm.points)
    return points


def measure_pose(arm: Arm, subject: Subject, pose: str) -> Measure:
    """Measure one of POSES as a subject shows it."""
    rest, posed = keyed_points(arm, pose), posed_points(subject, pose)
    triangles, axis = triangulate(arm.quads), np.array([1.0, 0.0, 0.0])
    start, end = PLACES[POSES[pose].place]
    return Measure(
        space=close_surface(rest, triangles).measure(posed),
        section=smallest_section(rest, posed, triangles, start * axis, end * axis)[0],
        stretch=measure_stretch(rest, posed, mesh_edges(arm.quads)),
    )


def share(value: float) -> str:
    """Return a share as text in percent."""
    return f"{100.0 * value:.0f} %"


def caption(pose: KeyPose, measure: Measure) -> str:
    """Return what the picture says under a cell."""
    asked = f" (asked for: {share(pose.asked)})" if pose.asked != 1.0 else ""
    return f"{pose.place} keeps {share(measure.section)} of its section{asked}"


def table(measures: dict[tuple[str, str], Measure], times: dict[str, float]) -> list[str]:
    """Return the lines of the table of measures, and how to read it."""
    titles = f"{'filled':>7}{'twice':>8}   {'smallest section':<24}{'edges: rms':>11}{'extremes':>15}{'ms a pose':>13}"
    lines = [f"{'pose':<9}{'method':<17}{titles}"]
    previous = ""
    for (pose, method), measure in measures.items():
        lines += [""] * (previous not in ("", pose))
        lines.append(
            f"{pose if pose != previous else '':<9}{method:<17}{share(measure.space.filled):>7}"
            f"{100.0 * measure.space.twice:>6.1f} %   {share(measure.section):<6}{'at the ' + POSES[pose].place:<18}"
            f"{measure.stretch.rms:>11.3f}{f'{measure.stretch.low:.2f} .. {measure.stretch.high:.2f}':>15}"
            f"{times[method]:>13.2f}"
        )
        previous = pose
    return [
        *lines,
        "",
        "Against the rest shape: space that the skin fills, and fills twice where it runs through itself; area of the",
        "narrowest section; stretch of the edges, rms of stretch - 1 and what 0.1 % and 99.9 % of them are below.",
        "In `stretch` and `all` the bones' scale itself makes the forearm's section 64 % and the hand 1.5 × as long.",
        "ms a pose: median of all that Blender does to show a frame, all methods in turn.",
    ]
