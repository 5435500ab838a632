"""What Centers keeps of tubes and of real characters, and what it costs, beside linear blending, DLB and DLBNT.

    python benchmarks/centers.py [--only tube characters time] [--set bulge_limit=0] [--assets DIR]

Needs no Blender. Characters are read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import numpy as np

from harness import ASSETS, list_at_hand, note_time, option, parse, print_sections, print_table, time_call
from benchmarks.bound_characters import BoundCharacter, bind_character, find_deform, make_rests
from benchmarks.character_measures import ACTION, FRAMES, STORED, Figures, list_poses, read_subject
from benchmarks.characters import Part, read_character
from benchmarks.range_of_motion import CHARACTERS
from benchmarks.shapes import Shape, rotation
from benchmarks.skins import bind_skin, make_params, settings
from benchmarks.surfaces import revolve
from deformers import DEFORMERS, Rest
from deformers.measures.sections import smallest_section
from deformers.measures.space import close_surface
from deformers.measures.stretch import edge_stretches, mesh_edges
from deformers.rig.skeleton import distances_to_bones
from deformers.skinning.center_table import find_centers

RADIUS, SIDES, STEP = 0.25, 48, 0.03
RAMPS = (0.2, 0.35, 0.5)
POSES = (("bend", 90.0), ("bend", 120.0), ("bend", 150.0), ("twist", 175.0))
AWAY_FROM_ENDS = 0.9
"""How far from the joint, in lengths of a bone, skin is measured: the flat ends of the tube are left out."""
TUBE_SKINS = (
    ("SSD", "SSD", {}), ("DLB", "DLB", {}), ("DLBNT", "DLBNT", {}), ("Centers", "CENTERS", {}),
    ("Centers, sharpness 0", "CENTERS", {"sharpness": 0.0}),
)  # fmt: skip
METHODS = ("SSD", "DLBNT", "CENTERS")
WORSE = 1.05
"""Against the worse of SSD and DLBNT, from which on a joint is listed."""
FLOORS = {"rms": 1e-3, "twice": 5e-4, "tears": 1.0, "farthest": 0.01}
"""Differences that are too small to be listed."""
LARGE_VERTICES, LARGE_BONES, INFLUENCES = 22000, 71, 4
ROUNDS = 40


def make_tube(ramp: float) -> Shape:
    """A tube along z on two bones of length 1; weights cross over from `ramp` below the joint to `ramp` above it."""
    heights = np.linspace(-1.0, 1.0, round(2.0 / STEP) + 1)
    heights = np.concatenate([[-1.0], heights, [1.0]])
    radii = np.full(len(heights), RADIUS)
    radii[[0, -1]] = 0.0
    points, triangles = revolve(radii, heights, SIDES)
    share = np.clip((points[:, 2] + ramp) / (2.0 * ramp), 0.0, 1.0)
    share = share * share * (3.0 - 2.0 * share)
    chain = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    return Shape(points, triangles, np.stack([1.0 - share, share], axis=1), chain[:-1], chain[1:], np.array([-1, 0]))


def run_tube(_arguments: argparse.Namespace) -> None:
    """Tube: radius .25 of its bones"""
    rows = []
    for ramp in RAMPS:
        shape = make_tube(ramp)
        skins = [(label, bind_skin(method, shape, **chosen)) for label, method, chosen in TUBE_SKINS]
        for kind, degrees in POSES:
            axis = (1.0, 0.0, 0.0) if kind == "bend" else (0.0, 0.0, 1.0)
            matrices = shape.pose({1: rotation(axis, degrees)})
            rows += [
                (ramp, f"{kind} {degrees:.0f}", label, *measure_tube(shape, skin.deform(matrices), matrices))
                for label, skin in skins
            ]
    header = ("ramp", "pose", "method", "farthest, radii", "filled, %", "twice, %", "largest stretch")
    print_table((*header, "smallest section"), rows)


def measure_tube(shape: Shape, posed: np.ndarray, matrices: np.ndarray) -> tuple[float, ...]:
    """Farthest skin in radii, space filled and filled twice in percent, largest edge stretch, smallest section."""
    near = np.abs(shape.points[:, 2]) < AWAY_FROM_ENDS
    heads, tails = (
        np.einsum("bij,bj->bi", matrices[:, :3, :3], ends) + matrices[:, :3, 3] for ends in (shape.heads, shape.tails)
    )
    distances = distances_to_bones(posed[near][:, None], heads, tails).min(axis=1)
    space = close_surface(shape.points, shape.triangles).measure(posed)
    stretches = edge_stretches(shape.points, posed, mesh_edges(shape.triangles))
    end = np.array([0.0, 0.0, AWAY_FROM_ENDS])
    section, _ = smallest_section(shape.points, posed, shape.triangles, -end, end)
    farthest, twice = float(distances.max()) / RADIUS, round(100.0 * space.twice, 2)
    return farthest, 100.0 * space.filled, twice, float(stretches.max()), section


def run_characters(arguments: argparse.Namespace) -> None:
    """Characters: the range of motion of each kind of joint, and actions"""
    measured: dict[tuple[str, str], dict[str, Figures]] = {}
    for name in list_at_hand(arguments.assets, arguments.characters, "npz"):
        for kind, figures in measure_character(arguments.assets, name).items():
            measured[name, kind] = figures
    if not measured:
        return
    rows = [row for (name, kind), figures in measured.items() for row in list_rows((name, kind), figures)]
    header = ("joint", "method", "rms stretch", "Centers / DLBNT", "twice, %", "tears a pose", "section", "farthest")
    print_table(("character", *header), rows)
    print("\nMeans over characters; of sections and farthest skin the extremes:\n")
    kinds = list(dict.fromkeys(kind for _, kind in measured))
    groups = [(kind, [kind]) for kind in kinds] + [("all joints", [k for k in kinds if k != ACTION]), ("all", kinds)]
    rows = []
    for label, members in groups:
        chosen = [figures for (_, kind), figures in measured.items() if kind in members]
        rows += list_rows((label,), {method: average([figures[method] for figures in chosen]) for method in METHODS})
    print_table(header, rows)
    print(f"\nWorse than the worse of SSD and DLBNT by over {100 * (WORSE - 1):.0f} %:\n")
    print_table(("character", "joint", "what", "SSD", "DLBNT", "Centers"), list_worse(measured))


def average(rows: list[Figures]) -> Figures:
    """Means of several characters or joints; of sections and farthest skin the extremes."""
    twice = [row.twice for row in rows if not np.isnan(row.twice)]
    return Figures(
        rms=float(np.mean([row.rms for row in rows])),
        twice=float(np.mean(twice)) if twice else np.nan,
        tears=float(np.mean([row.tears for row in rows])),
        section=min(row.section for row in rows),
        farthest=max(row.farthest for row in rows),
    )


def measure_character(assets: Path, name: str) -> dict[str, dict[str, Figures]]:
    """Figures by kind of joint and method."""
    subject = read_subject(assets, name)
    found: dict[str, dict[str, list[Figures]]] = {}
    deforms = {method: find_deform(subject.character.parts, method) for method in METHODS}
    for pose in list_poses(subject):
        for method, deform in deforms.items():
            figures = subject.measure(deform(pose.matrices), pose)
            found.setdefault(pose.kind, {}).setdefault(method, []).append(figures)
    return {kind: {method: Figures.over(rows) for method, rows in own.items()} for kind, own in found.items()}


def list_rows(start: tuple[str, ...], figures: dict[str, Figures]) -> list[tuple]:
    """A row for each method."""
    centers, other = figures["CENTERS"].rms, figures["DLBNT"].rms
    ratio = centers / other if other > FLOORS["rms"] else float("nan")
    return [
        (
            *start, method, own.rms, ratio if method == "CENTERS" else "", round(100.0 * own.twice, 3),
            round(own.tears, 1), own.section if np.isfinite(own.section) else np.nan, own.farthest,
        )
        for method, own in figures.items()
    ]  # fmt: skip


def list_worse(measured: dict[tuple[str, str], dict[str, Figures]]) -> list[tuple]:
    """A row for each measure of each joint in which Centers is clearly worse than both others."""
    rows: list[tuple] = []
    for (name, kind), figures in measured.items():
        linear, dual, centers = (figures[method] for method in METHODS)
        for what, floor in FLOORS.items():
            values = [getattr(own, what) for own in (linear, dual, centers)]
            if values[2] > max(WORSE * max(values[:2]), max(values[:2]) + floor):
                rows.append((name, kind, what, *values))
        values = [own.section for own in (linear, dual, centers)]
        if values[2] < min(values[:2]) / WORSE:
            rows.append((name, kind, "section", *values))
    return rows


def make_large() -> Shape:
    """A long tube of many vertices on a chain of many bones, each vertex on the nearest few."""
    rings = LARGE_VERTICES // SIDES
    heights = np.concatenate([[0.0], np.linspace(0.0, LARGE_BONES, rings), [LARGE_BONES]]).astype(float)
    radii = np.full(len(heights), RADIUS)
    radii[[0, -1]] = 0.0
    points, triangles = revolve(radii, heights, SIDES)
    chain = np.stack([np.zeros(LARGE_BONES + 1), np.zeros(LARGE_BONES + 1), np.arange(LARGE_BONES + 1.0)], axis=1)
    away = np.abs(points[:, 2:] - (np.arange(LARGE_BONES) + 0.5))
    weights = np.maximum(0.5 * INFLUENCES - away, 0.0) ** 2
    weights /= weights.sum(axis=1, keepdims=True)
    return Shape(points, triangles, weights, chain[:-1], chain[1:], np.arange(LARGE_BONES) - 1)


def run_time(arguments: argparse.Namespace) -> None:
    """Time: bind and poses, in turns"""
    large = make_large()
    part = Part("Tube", large, mesh_edges(large.triangles), close_surface(large.points, large.triangles), {})
    poses = [large.pose(dict.fromkeys(range(1, LARGE_BONES), rotation((1, 0, 0), angle))) for angle in (10.0, 30.0)]
    subjects = {f"tube, {len(large.points):,} vertices, {LARGE_BONES} bones": ([part], poses)}
    for name in list_at_hand(arguments.assets, ("mh_human",), "npz"):
        character = read_character(arguments.assets, name, STORED // FRAMES)
        motion = [
            triple[1] for action, own in character.actions.items() if action in ("cmu_05_06_dance",) for triple in own
        ]
        count = sum(len(part.shape.points) for part in character.parts)
        subjects[f"{name}, {count:,} vertices, {len(character.parts[0].shape.heads)} bones"] = character.parts, motion
    print_table(
        ("character", "bind DLBNT, s", "bind Centers, s", "of it the centers, s"),
        [
            (label, *(time_all(parts, find_bind(method)) for method in ("DLBNT", "CENTERS")), time_all(parts, _centers))
            for label, (parts, _) in subjects.items()
        ],
    )
    print("\nMilliseconds of a pose, and the median of its ratios to DLBNT and to SSD in the same turn:\n")
    rows = []
    for label, (parts, motion) in subjects.items():
        skins = {
            "SSD": bind_character(parts, "SSD"),
            "DLBNT": bind_character(parts, "DLBNT"),
            "Centers": bind_character(parts, "CENTERS"),
            "Centers, no limit": bind_character(parts, "CENTERS", bulge_limit=0.0),
        }
        rows += [(label, *row) for row in time_poses(skins, motion)]
    print_table(("character", "method", "ms", "/ DLBNT", "/ SSD"), rows)


def find_bind(method: str) -> Callable[[Rest], object]:
    """What binds a mesh by a method with its usual parameters."""
    module, params = DEFORMERS[method], make_params(method)
    return lambda rest: module.bind(rest, params)


def _centers(rest: Rest) -> np.ndarray:
    return find_centers(rest.surfaces[0], rest.surfaces, len(rest.joints.parents))


def time_all(parts: list[Part], step: Callable[[Rest], object]) -> float:
    """Median seconds of a step for all parts, on surfaces of which nothing is known yet."""
    seconds = []
    for _ in range(5):
        rests = make_rests(parts)
        seconds.append(time_call(lambda rests=rests: [step(rest) for rest in rests])[0])
    return statistics.median(seconds)


def time_poses(skins: dict[str, BoundCharacter], motion: list[np.ndarray]) -> list[tuple]:
    """For each skin: name, milliseconds of a pose, and median ratios to DLBNT and SSD."""
    times: dict[str, list[float]] = {}
    turns = cycle(motion)
    for number in range(ROUNDS + 3):
        pose = next(turns)
        for name, skin in skins.items():
            note_time(times if number >= 3 else {}, name, lambda skin=skin, pose=pose: skin.deform(pose))
    found = {name: np.array(own) for name, own in times.items()}
    return [
        (name, float(np.median(own)), *(float(np.median(own / found[base])) for base in ("DLBNT", "SSD")))
        for name, own in found.items()
    ]


SECTIONS = {"tube": run_tube, "characters": run_characters, "time": run_time}


if __name__ == "__main__":
    arguments = parse(
        __doc__, SECTIONS, characters=CHARACTERS, assets=ASSETS,
        set=option([], "parameters of Centers", nargs="+", metavar="NAME=VALUE", type=str),
    )  # fmt: skip
    settings["CENTERS"] = {name: float(value) for name, value in (entry.split("=") for entry in arguments.set)}
    print_sections(SECTIONS, arguments)
