"""Patterns by compression: exactness of compression, and the time of a step next to patterns by angle.

    python benchmarks/pattern_compression.py [--only SECTION ...] [--rounds N]

needs an interpreter that has bpy. Steps are run in turn, so that noise hits all alike: compare them with one another.
Ratios are of the fastest tenth of the steps, since other work of the machine only ever adds to them.
"""

from __future__ import annotations

import argparse
import math
import statistics
from contextlib import redirect_stdout
from io import StringIO

import bpy
import numpy as np

from harness import option, parse, print_table, run_sections
from benchmarks.patterns import lay_out, make_body, measure_frames
from benchmarks.surfaces import join_rings
from benchmarks.timing import FAST, WAYS, bind
from deformers.patterns.chart_mesh import ChartMesh, make_chart_mesh
from deformers.patterns.charts import chart_by_surface
from deformers.patterns.compression import make_gauge, make_layer, measure_compression
from deformers.patterns.library import PRESETS
from deformers.patterns.surface_points import locate_point

COUNT = 4
DISPLAYS = ("BUMP", "KIND", "DISPLACEMENT")
TARGET = 1.3

LENGTH, RADIUS = 2.0, 0.3  # Of the cylinder


def run_exact(_arguments: argparse.Namespace) -> None:
    """A cylinder bent by 90 degrees, smoothly and by two bones: compression against the formula, under a pattern"""
    rows = []
    for rings, sides in ((41, 24), (41, 48), (161, 96)):
        mesh = _make_cylinder(rings, sides)
        chart = chart_by_surface(mesh, locate_point(mesh, [RADIUS, 0.0, 0.5 * LENGTH]), 0.0, (0.5, 0.8))
        for name, pose in (("rest", _rest), ("rigid motion", _move), ("arc", _bend), ("two bones", _blend)):
            posed, exact = pose(mesh.points)
            gauge = make_gauge(mesh, chart, (0.5, 0.8), 0.5 * math.pi, 0.0)
            layer = make_layer(mesh, [gauge], [1], ["VERTEX"])
            found = measure_compression(layer, posed.astype(np.float32))
            inside = np.setdiff1d(
                mesh.corner_vertices[gauge.corners], mesh.corner_vertices[~np.isin(mesh.corner_faces, gauge.faces)]
            )
            largest, error = np.abs(exact[inside]).max(), np.abs(found - exact)[inside].max()
            target = "2 %" if largest else "1e-6"
            shown = f"{100.0 * error / largest:.2g} %" if largest else f"{error:.1e}"
            rows.append((f"{rings} x {sides}", name, f"{100.0 * largest:.1f} %", shown, target))
    print_table(("rings x sides", "pose", "largest", "largest error, of it", "target"), rows)


def _make_cylinder(rings: int, sides: int) -> ChartMesh:
    angles = np.arange(sides) * math.tau / sides
    z = np.repeat(np.linspace(0.0, LENGTH, rings), sides)
    points = np.stack([RADIUS * np.tile(np.cos(angles), rings), RADIUS * np.tile(np.sin(angles), rings), z], axis=1)
    faces = join_rings(rings, sides)
    return make_chart_mesh(points.astype(np.float32), faces.ravel(), np.arange(len(faces)) * 4)


def _rest(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return points, np.zeros(len(points))


def _move(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turned by quarters and moved by powers of 2: in single precision, what is not rounded stays exact."""
    return points[:, [1, 2, 0]] + np.array([0.5, -0.25, 1.0]), np.zeros(len(points))


def _bend(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    radius = LENGTH / (0.5 * math.pi)
    away, turned = radius - points[:, 0], points[:, 2] / radius
    posed = np.stack([radius - away * np.cos(turned), points[:, 1], away * np.sin(turned)], axis=1)
    return posed, points[:, 0] / radius


def _blend(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Linear blending of two bones that meet in the middle at a right angle, with smooth weights."""
    offset = points - [0.0, 0.0, 0.5 * LENGTH]
    share = np.clip(0.7 * offset[:, 2] / (0.5 * LENGTH) + 0.5, 0.0, 1.0)
    weight, slope = share * share * (3.0 - 2.0 * share), 6.0 * share * (1.0 - share) * 1.4 / LENGTH
    turned = np.stack([offset[:, 2], offset[:, 1], -offset[:, 0]], axis=1)
    along = np.stack([weight, np.zeros_like(weight), 1.0 - weight], axis=1) + slope[:, None] * (turned - offset)
    return offset + weight[:, None] * (turned - offset), 1.0 - np.linalg.norm(along, axis=1)


def run_steps(arguments: argparse.Namespace) -> None:
    """Whole live steps of a body of 4,320 vertices with four patterns: by compression, to those by angle"""
    body, times = make_body(), {}
    for _ in range(arguments.rounds):
        bind(WAYS[FAST])
        measure_frames(times, f"{FAST}, no patterns")
        for driver in ("ANGLE", "COMPRESSION", "BOTH"):
            lay_out(body, list(PRESETS)[:COUNT], driver=driver)
            for display in DISPLAYS:
                body.obj.supple.pattern_display = display
                measure_frames(times, f"{FAST}, {display}, {driver}")
            with redirect_stdout(StringIO()):
                bpy.ops.supple.pattern_remove_all()
        bpy.ops.supple.unbind()
    fast = {name: statistics.quantiles(values, n=10)[0] for name, values in times.items()}
    rows = []
    for name, duration in fast.items():
        start, _, driver = name.rpartition(", ")
        base = fast.get(f"{start}, ANGLE")
        ratio = None if base is None or driver == "ANGLE" else duration / base
        met = "-" if ratio is None else "yes" if ratio <= TARGET else "no"
        rows.append((name, statistics.median(times[name]), duration, "-" if ratio is None else f"{ratio:.2f}", met))
    print_table(("step", "median, ms", "fastest tenth, ms", "of these, to those by angle", f"at most {TARGET}"), rows)


SECTIONS = {"exact": run_exact, "steps": run_steps}


if __name__ == "__main__":
    run_sections(SECTIONS, parse(__doc__, SECTIONS, rounds=option(8, "rounds of six frames of each step")))
