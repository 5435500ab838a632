"""Flesh as an elastic solid on real characters: seconds, inverted tetrahedra, volume and distortion.

    python benchmarks/flesh_solid.py [--characters NAME ...] [--kinds knee hip ...] [--fineness 3.6] [--assets DIR]

Needs no Blender. Characters are read from a folder of assets that is not part of the repository; their clothes are
solved with them. Distortion: rms of log2 of the stretch of edges within 3 radii of the joint, weighted by length.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from harness import ASSETS, list_at_hand, option, parse, print_table
from benchmarks.bound_characters import BLENDERS, find_deform
from benchmarks.characters import read_character
from benchmarks.range_of_motion import BONES, CHARACTERS, HUMAN, bend_joint
from deformers.errors import SkinningError
from deformers.flesh import solid
from deformers.flesh.body import read_body
from deformers.measures.stretch import MIN_EDGE, edge_stretches, mesh_edges
from deformers.rig.rest import Joints

KINDS = ("elbow", "knee", "hip", "arm up")
NEAR = 3.0  # radii from the joint within which skin is measured


def measure_distortion(rest: np.ndarray, posed: np.ndarray, edges: np.ndarray) -> float:
    """Root mean square of log2 of the stretch of edges (E, 2) between points (V, 3), weighted by their lengths."""
    lengths = np.linalg.norm(rest[edges[:, 0]] - rest[edges[:, 1]], axis=1)
    least = MIN_EDGE * float(np.median(lengths))
    squares = np.log2(np.maximum(edge_stretches(rest, posed, edges, least), 0.1)) ** 2
    return float(np.sqrt(np.average(squares, weights=lengths)))


def count_inverted(lattice: solid.Lattice, nodes: np.ndarray) -> int:
    """Tetrahedra that posed nodes (N, 3) turn inside out."""
    rest, posed = (points[lattice.corners] for points in (lattice.nodes, nodes))
    return int((np.linalg.det(posed[:, 1:] - posed[:, :1]) * np.linalg.det(rest[:, 1:] - rest[:, :1]) < 0).sum())


def measure(assets: Path, name: str, kinds: tuple[str, ...], params: solid.Params) -> Iterator[tuple]:
    """Rows of figures, one for each kind of joint that a character has."""
    parts = read_character(assets, name, 10**6).parts
    shapes = [part.shape for part in parts]
    starts = np.cumsum([0, *(len(shape.points) for shape in shapes)])
    points, weights = (np.concatenate([getattr(shape, key) for shape in shapes]) for key in ("points", "weights"))
    triangles = np.concatenate([s.triangles + start for s, start in zip(shapes, starts, strict=False)])
    joints, edges = Joints(shapes[0].heads, shapes[0].parents, shapes[0].tails), mesh_edges(triangles)
    body = read_body(points, triangles, weights, joints)
    deforms = [find_deform(parts, method) for method in BLENDERS]
    for kind in (kind for kind in kinds if kind in BONES[name]):
        pose = bend_joint(name, shapes[0], kind)
        seconds = [time.process_time()]
        try:
            binding = solid.bind(body, pose, params)
        except SkinningError as error:
            print(f"{name}, {kind}: {error}", flush=True)
            continue
        seconds.append(time.process_time())
        nodes, volumes = solid.solve(binding, pose)
        seconds.append(time.process_time())
        skins = [np.concatenate(deform(pose)) for deform in deforms]
        skins.append(solid.deform(binding, nodes, skins[0]))
        joint = body.find_turned_joints(pose)[0]
        away = np.linalg.norm(points[edges].mean(axis=1) - joints.centers[joint], axis=1)
        near = edges[away < NEAR * body.radii[0][joint]]
        lattice = binding.lattice
        linear = np.einsum("bij,nj->nbi", pose[:, :3, :3], lattice.nodes) + pose[:, :3, 3]
        inverted = (count_inverted(lattice, each) for each in (np.einsum("nb,nbi->ni", lattice.weights, linear), nodes))
        yield (
            name, kind, len(volumes), *np.diff(seconds), *inverted, float(volumes.mean()),
            *(measure_distortion(points, skin, near) for skin in skins), int(binding.thin.sum()),
        )  # fmt: skip


def main() -> None:
    arguments = parse(
        __doc__,
        characters=option(CHARACTERS, choices=CHARACTERS),
        kinds=option(KINDS, choices=tuple(HUMAN)),
        fineness=solid.Params.fineness,
        assets=ASSETS,
    )
    run(arguments)


def run(arguments: argparse.Namespace) -> None:
    params = solid.Params(fineness=arguments.fineness)
    rows = [
        row
        for name in list_at_hand(arguments.assets, arguments.characters, "npz")
        for row in measure(arguments.assets, name, tuple(arguments.kinds), params)
    ]
    header = ("character", "joint", "tetrahedra", "bind, s", "solve, s", "inverted: linear", "solid", "volume")
    print_table((*header, "distortion: linear", "Preserve Volume", "solid", "thin"), rows)


if __name__ == "__main__":
    main()
