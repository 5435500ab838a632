"""Cost of particles: counts, set-up, time for a pose, and the error of fewer particles or iterations."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from harness import is_there
from benchmarks import shapes
from benchmarks.all_pairs import step_all_pairs
from benchmarks.shapes import Shape, rotation
from benchmarks.skins import (
    Skin,
    bind_skin,
    bind_variants,
    count_particles,
    has,
    label,
    median_time,
    methods,
    print_table,
)
from benchmarks.surfaces import make_box
from deformers.geometry.solid import read_surface
from deformers.measures.space import close_surface
from deformers.particles import fill, fill_2010, forces_2010

COUNTS = (307, 618, 1313, 2861, 3638, 6000)
CONVERGED = 80  # Iterations after which a pose counts as converged
FINEST = 8000  # Number of particles of the reference
COW_RADIUS, COW_COUNT = 0.04, 7090  # Table 1: radius, and particles of one size, of the paper's cow
PAPER_TABLE_1 = {"box": (4641, 3452), "board": (4257, 4757), "cow": (7090, 5933)}


def with_iterations(skin: Skin, iterations: int) -> Skin:
    """The same binding with another number of iterations for a pose."""
    params = replace(skin.binding.params, iterations=iterations)
    return replace(skin, binding=replace(skin.binding, params=params))


@contextmanager
def one_size() -> Iterator[None]:
    """Particles of one radius only, in place of radii that follow the thickness."""
    usual, fill.MAX_RATIO = fill.MAX_RATIO, 1.0
    try:
        yield
    finally:
        fill.MAX_RATIO = usual


def _distances(first: list[np.ndarray], second: list[np.ndarray], size: float) -> tuple[float, float]:
    """Rms and largest distance between the points of poses, in % of `size`."""
    away = np.concatenate([np.linalg.norm(a - b, axis=1) for a, b in zip(first, second, strict=True)])
    return 1e2 * float(np.sqrt(np.mean(away**2))) / size, 1e2 * float(away.max()) / size


def run_cow_counts(arguments: argparse.Namespace) -> None:
    """Cow: time and error by the number of particles, in five poses"""
    # "To converged": the distance from the same particles after many more iterations. "To finest": the distance of
    # those from many more particles, the mean of those by thickness and of one size, to favor neither. Both are
    # without the correction of volume; times are with it.
    if not is_there(arguments.assets, "spot", "obj"):
        return
    shape = shapes.cow(arguments.assets)
    poses = list(shapes.cow_poses(shape).values())
    for method in (name for name in methods() if has(name, "target_count", "iterations", "volume")):
        graded = with_iterations(bind_skin(method, shape, target_count=FINEST, volume=0.0), CONVERGED)
        with one_size():
            even = with_iterations(bind_skin(method, shape, target_count=FINEST, volume=0.0), CONVERGED)
        reference = [0.5 * (graded.deform(pose) + even.deform(pose)) for pose in poses]
        rows = []
        for count in COUNTS:
            rows.append(_count_row(method, shape, poses, reference, "by thickness", target_count=count))
            if count <= 3000:
                with one_size():
                    rows.append(_count_row(method, shape, poses, reference, "one", target_count=count))
        print(f"{label(method)}\n")
        print_table(
            ("radii", "asked", "particles", "bind s", "ms", "to converged, % of diagonal: rms", "max", "to finest: rms",
             "max", "filled, raw"), rows
        )  # fmt: skip


def _count_row(
    method: str, shape: Shape, poses: list[np.ndarray], reference: list[np.ndarray], radii: str, **chosen: Any
) -> tuple:
    full = bind_skin(method, shape, **chosen)
    raw = replace(full, binding=replace(full.binding, params=replace(full.binding.params, volume=0.0)))
    posed = [raw.deform(pose) for pose in poses]
    converged = [with_iterations(raw, CONVERGED).deform(pose) for pose in poses]
    solid = close_surface(shape.points, shape.triangles)
    filled = [solid.measure(points).filled for points in posed]
    return (
        radii, chosen["target_count"], count_particles(full), full.seconds, full.time(poses),
        *_distances(posed, converged, shape.diagonal), *_distances(converged, reference, shape.diagonal),
        f"{min(filled):.4f} - {max(filled):.4f}",
    )  # fmt: skip


def run_cow_space(arguments: argparse.Namespace) -> None:
    """Cow on 13 bones: space filled, relative to rest, in five poses; "raw" without correction of volume"""
    if not is_there(arguments.assets, "spot", "obj"):
        return
    shape = shapes.cow(arguments.assets)
    poses = shapes.cow_poses(shape)
    solid, rows = close_surface(shape.points, shape.triangles), []
    for name, skin in bind_variants(shape).items():
        ratios = [solid.measure(skin.deform(pose)).filled for pose in poses.values()]
        rows.append((name, *ratios))
    print_table(("method", *poses), rows)
    print()


def run_skin_times(_arguments: argparse.Namespace) -> None:
    """Time for a pose of 30,000 vertices, in ms: total, one iteration, and without iterations"""
    shape = shapes.box(0.021)
    poses = [shape.pose({1: rotation((0, 1, 0), degrees)}) for degrees in (20, 40, 60, 80)]
    rows = []
    for method in methods():
        skin = bind_skin(method, shape)
        total = skin.time(poses, 8)
        if not has(method, "iterations"):
            rows.append((label(method), len(shape.points), "-", total, "-", total))
            continue
        few, many = (with_iterations(skin, count).time(poses, 8) for count in (2, 18))
        each = (many - few) / 16.0
        rows.append((label(method), len(shape.points), count_particles(skin), total, each, few - 2.0 * each))
    print_table(("method", "vertices", "particles", "ms", "an iteration", "all but the iterations"), rows)


def run_fill_counts(arguments: argparse.Namespace) -> None:
    """The paper's Table 1: particles of one radius, of two radii, and of radii by thickness"""
    bodies = [("box", shapes.box().points, shapes.box().triangles, 0.05),
              ("board", shapes.board().points, shapes.board().triangles, 0.05)]  # fmt: skip
    if is_there(arguments.assets, "spot", "obj"):
        cow = shapes.cow(arguments.assets)  # scaled to hold the paper's number of particles of one radius
        volume = COW_COUNT * 4.0 * np.sqrt(2.0) * COW_RADIUS**3
        scale = np.cbrt(volume / close_surface(cow.points, cow.triangles).volume)
        bodies.append(("cow", scale * cow.points, cow.triangles, COW_RADIUS))
    bodies += [(f"sheet of {thick}", *make_box((2.5, 1.2, thick), 0.05), 0.05) for thick in (0.08, 0.04, 0.02)]
    rows = []
    for name, points, triangles, radius in bodies:
        uniform, two = (
            len(function(points, triangles, radius)[0])
            for function in (fill_2010.fill_uniform, fill_2010.fill_two_levels)
        )
        ours = len(fill.fill_solid(read_surface(points, triangles), radius, 0).points)
        printed = PAPER_TABLE_1.get(name)
        rows.append((name, radius, f"{printed[0]} -> {printed[1]}" if printed else "-", uniform, two, ours,
                     two / uniform if uniform else "-", ours / uniform if uniform else "-"))  # fmt: skip
    print_table(
        ("body", "radius", "paper", "one radius", "two radii", "by thickness", "two / one", "by thickness / one"), rows
    )


STEP_COUNTS = (238, 711, 3448, 6696)
PAPER_TABLE_3 = {238: 5.74, 711: 52.1}  # Milliseconds of a step, by the number of particles
MOST_FOR_ALL_PAIRS = 1000


def run_step_times(_arguments: argparse.Namespace) -> None:
    """The paper's Table 3: a step of the published method, in ms, for all pairs and with lists of neighbors"""
    rows = []
    for wanted in STEP_COUNTS:
        centers, radii = _fill_with(wanted)
        springs = forces_2010.find_springs(centers, radii)
        masses = forces_2010.find_masses(radii)
        points = np.ascontiguousarray(centers.T)
        state = (points, np.zeros_like(points), points + 0.01 * np.sin(points), masses)
        near = 1e3 * median_time(lambda state=state, springs=springs: forces_2010.step_with_neighbors(*state, springs))
        every: float | str = "-"
        if len(radii) <= MOST_FOR_ALL_PAIRS:
            every = 1e3 * median_time(lambda state=state, radii=radii: step_all_pairs(*state, radii))
        rows.append((len(radii), PAPER_TABLE_3.get(wanted, "-"), every, near))
    print_table(("particles", "paper, ms a step", "all pairs", "neighbors"), rows)


def _fill_with(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Fill the box with particles of one size, as near to `count` as one of 80 radii comes."""
    shape = shapes.box()
    radius = np.cbrt(close_surface(shape.points, shape.triangles).volume / (count * 4.0 * np.sqrt(2.0)))
    fills = (
        fill_2010.fill_uniform(shape.points, shape.triangles, factor * radius) for factor in np.linspace(0.95, 1.15, 80)
    )
    return min(fills, key=lambda filled: abs(len(filled[1]) - count))
