"""Measures of tubes and of real characters by Centers, next to linear blending, DLB and DLBNT.

    python benchmarks/centers.py [--only tube characters] [--set bulge_limit=0] [--assets DIR]

Needs no Blender. Characters are read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from harness import ASSETS, list_at_hand, option, parse, print_sections, print_table
from benchmarks.bound_characters import find_deform
from benchmarks.character_measures import ACTION, Figures, list_poses, read_subject
from benchmarks.range_of_motion import CHARACTERS
from benchmarks.shapes import Shape, on_two_bones, rotation
from benchmarks.skins import bind_skin, settings
from benchmarks.surfaces import revolve
from deformers.measures.sections import smallest_section
from deformers.measures.space import close_surface
from deformers.measures.stretch import edge_stretches, mesh_edges
from deformers.rig.skeleton import distances_to_bones

RADIUS, SIDES, STEP = 0.25, 48, 0.03
RAMPS = (0.2, 0.35, 0.5)
POSES = (("bend", 90.0), ("bend", 120.0), ("bend", 150.0), ("twist", 175.0))
# Skin is measured up to this distance from the joint, in bone lengths: without the flat ends of the tube
AWAY_FROM_ENDS = 0.9
TUBE_SKINS = (
    ("SSD", "SSD", {}), ("DLB", "DLB", {}), ("DLBNT", "DLBNT", {}), ("Centers", "CENTERS", {}),
    ("Centers, sharpness 0", "CENTERS", {"sharpness": 0.0}),
)  # fmt: skip
METHODS = ("SSD", "DLBNT", "CENTERS")


def make_tube(ramp: float) -> Shape:
    """A tube along z on two bones of length 1; weights cross over from `ramp` below the joint to `ramp` above it."""
    heights = np.linspace(-1.0, 1.0, round(2.0 / STEP) + 1)
    heights = np.concatenate([[-1.0], heights, [1.0]])
    radii = np.full(len(heights), RADIUS)
    radii[[0, -1]] = 0.0
    return on_two_bones(revolve(radii, heights, SIDES), (-1.0, 0.0, 1.0), 2.0 * ramp)


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
    ratio = centers / other if other > 1e-3 else float("nan")
    return [
        (
            *start, method, own.rms, ratio if method == "CENTERS" else "", round(100.0 * own.twice, 3),
            round(own.tears, 1), own.section if np.isfinite(own.section) else np.nan, own.farthest,
        )
        for method, own in figures.items()
    ]  # fmt: skip


SECTIONS = {"tube": run_tube, "characters": run_characters}


if __name__ == "__main__":
    arguments = parse(
        __doc__, SECTIONS, characters=CHARACTERS, assets=ASSETS,
        set=option([], "parameters of Centers", nargs="+", metavar="NAME=VALUE", type=str),
    )  # fmt: skip
    settings["CENTERS"] = {name: float(value) for name, value in (entry.split("=") for entry in arguments.set)}
    print_sections(SECTIONS, arguments)
