"""Measures of bodies by all deformers: the tables of particle skinning, each method in one run.

    python benchmarks/particles.py [--only SECTION ...] [--methods METHOD ...] [--set METHOD.NAME=VALUE ...]

Needs NumPy only. The cow and the real characters are read from a folder of assets that is not part of the repository
(--assets); without it their sections are left out. Times depend on the machine and its load.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from harness import ASSETS, is_there, option, parse, print_sections
from benchmarks import costs, shapes, skins
from benchmarks.characters import CHARACTERS, read_character
from benchmarks.motion import run_characters
from benchmarks.range_of_motion import bend_joint, find_axis
from benchmarks.shapes import Shape, rotation
from benchmarks.skin_measures import measure_bumps, measure_detail_change
from benchmarks.skins import bind_skin, bind_variants, label, methods, print_table
from deformers import METHODS
from deformers.geometry.neighbors import find_nearest
from deformers.geometry.solid import area_vectors, weld
from deformers.measures.sections import smallest_section
from deformers.measures.space import Solid, close_surface
from deformers.measures.windings import measure_windings

# Characters, of whose first part `run_noise` changes the vertices or the diagonals a little
SHAKEN = ("human_male", "mh_human")

SHAKEN_JOINTS = ("elbow", "knee", "hip", "arm up")
# Maximum distance of a quad's diagonals, meters, for the choice of one not to change the shape
FLAT_QUAD = 5e-4

HEIGHT = 1.8  # Nominal height of a character, meters


def run_box(_arguments: argparse.Namespace) -> None:
    """Box 2.5 x 1.2 x 1.0: space filled, smallest section of rest's; bumps in degrees, and to LBS's in the pose"""
    for weights, shape in (("smooth", shapes.box()), ("sharp", shapes.box().sharply())):
        poses = {
            "bend 90": shape.pose({1: rotation((0, 1, 0), 90)}),
            "twist 180": shape.pose({1: rotation((1, 0, 0), 180)}),
        }
        rows, solid = [], _close(shape)
        bound = bind_variants(shape, slow=True)
        for name, pose in poses.items():
            smooth = 0.0
            for method, skin in bound.items():
                posed = skin.deform(pose)
                bumps = measure_bumps(shape.points, posed, shape.triangles)
                smooth = bumps if method == "LBS" else smooth
                section, place = _smallest(shape, posed, (-1.2, 0.0, 0.0), (1.2, 0.0, 0.0))
                space = solid.measure(posed)
                rows.append((name, weights, method, space.filled, space.twice, section, place, bumps,
                             bumps / smooth if smooth else "-"))  # fmt: skip
        print_table(
            ("pose", "weights", "method", "filled", "filled twice", "smallest section", "at", "bumps", "to LBS's"), rows
        )


def _smallest(shape: Shape, posed: np.ndarray, start: tuple, end: tuple) -> tuple[float, float]:
    return smallest_section(shape.points, posed, shape.triangles, np.array(start), np.array(end))


def _close(shape: Shape) -> Solid:
    return close_surface(shape.points, shape.triangles)


def run_elbow(_arguments: argparse.Namespace) -> None:
    """Elbow of a capsule arm: skin that overlaps itself, and skin that is inside out, in % of the space at rest"""
    shape, rows = shapes.arm(), []
    space = _close(shape).volume
    bound = {method: bind_skin(method, shape) for method in methods(slow=True)}
    for degrees in (90, 120, 150):
        for method, skin in bound.items():
            posed = skin.deform(shape.pose({1: rotation((0, 1, 0), degrees)}))
            windings = measure_windings(posed, shape.triangles, axis=1)
            section, _ = _smallest(shape, posed, (0.0, 0.0, 0.0), (0.0, 0.0, shapes.ARM_LENGTH))
            bumps = measure_bumps(shape.points, posed, shape.triangles)
            rows.append((degrees, label(method), 1e2 * windings.twice / space, 1e2 * windings.inverted / space,
                         windings.once / space, section, bumps))  # fmt: skip
    print_table(("degrees", "method", "filled twice %", "inside out %", "filled", "smallest section", "bumps"), rows)


def run_head(_arguments: argparse.Namespace) -> None:
    """Finely modelled head: change of its detail, in % of the detail"""
    shape, rows = shapes.head(), []
    solid = _close(shape)
    chosen = shape.points[:, 2] > 0.02
    nod, turn = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    poses = {
        "nod 45": {bone: rotation(nod, 22.5) for bone in (1, 2)},
        "turn 60": {bone: rotation(turn, 30) for bone in (1, 2)},
        "nod 45 at the skull": {2: rotation(nod, 45)},
        "turn 60 at the skull": {2: rotation(turn, 60)},
    }
    bound = {method: bind_skin(method, shape) for method in methods(slow=True)}
    for name, turns in poses.items():
        for method, skin in bound.items():
            posed = skin.deform(shape.pose(turns))
            heights, vectors = measure_detail_change(shape.points, posed, shape.triangles, chosen)
            rows.append((name, label(method), 1e2 * heights, 1e2 * vectors, solid.measure(posed).filled))
    print_table(("pose", "method", "heights", "heights and widths", "filled"), rows)


def run_motion(arguments: argparse.Namespace) -> None:
    """Real characters over their actions"""
    run_characters(arguments.assets, arguments.step, arguments.characters)


def run_noise(arguments: argparse.Namespace) -> None:
    """Other fills: how far noise and other diagonals move posed skin, in mm for a height of 1.8 m"""
    rows = []
    for name in SHAKEN:
        if not is_there(arguments.assets, name, "npz"):
            continue
        part = read_character(arguments.assets, name, 1000).parts[0]
        poses = [bend_joint(name, part.shape, kind) for kind in SHAKEN_JOINTS]
        scale = 1e3 * HEIGHT / np.ptp(part.shape.points[:, 2])
        expected, fill = None, np.empty((0, 3))
        for change, shape in _shake(part.shape):
            skin = bind_skin("PARTICLES", shape)
            posed = np.stack([skin.deform(pose) for pose in poses])
            particles = skin.module.particles(skin.binding).points
            space = [part.solid.measure(points) for points in posed]
            if expected is None:
                expected, fill = posed, particles
            others = int((find_nearest(particles, fill, 1)[1][:, 0] > 1e-3 * shape.diagonal).sum())
            moves = scale * np.linalg.norm(posed - expected, axis=2)
            worst, joint = moves.max(axis=1), int(moves.max(axis=1).argmax())
            sections = [
                _section(name, part.shape, points, kind) for kind, points in zip(SHAKEN_JOINTS, posed, strict=True)
            ]
            rows.append((name, change, float(worst.max()), SHAKEN_JOINTS[joint], float(np.quantile(moves, 0.999)),
                         len(particles), others, min(each.filled for each in space),
                         1e2 * max(each.twice for each in space), *sections[:2]))  # fmt: skip
    print_table(
        ("character", "change", "most", "at", "99.9 %", "particles", "of them others", "least filled",
         "filled twice %", "section, elbow", "knee"), rows,
    )  # fmt: skip


def _shake(shape: Shape) -> Iterator[tuple[str, Shape]]:
    """A body as it is, and with little changes that nobody sees, each with its name."""
    yield "none", shape
    size = np.ptp(shape.points[:, 2]) / HEIGHT
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(0.0, 1e-6 * size, shape.points.shape)
        yield f"noise of 1e-6 m, {seed}", replace(shape, points=shape.points + noise[weld(shape.points)])
    moved = (shape.points + size).astype(np.float32)
    yield "float32, 1 m off", replace(shape, points=moved.astype(float) - size)
    yield "float32", replace(shape, points=shape.points.astype(np.float32))
    quads = _find_quads(shape)
    for seed in range(3):
        some = np.random.default_rng(seed).choice(quads, 10, replace=False)
        yield f"10 diagonals, {seed}", replace(shape, triangles=_turn_diagonals(shape, some))
    flat = quads[_measure_gaps(shape, quads) < FLAT_QUAD * size]
    for name, chosen in ((f"diagonals of {len(flat)} flat quads", flat), (f"all {len(quads)} diagonals", quads)):
        yield name, replace(shape, triangles=_turn_diagonals(shape, chosen))


def _find_quads(shape: Shape) -> np.ndarray:
    """Triangles that are a convex quad with the one that follows: int array, shape (N,)."""
    shared = (shape.triangles[:-1, :, None] == shape.triangles[1:, None]).any(axis=2).sum(axis=1) == 2
    fits, rows = np.flatnonzero(shared), np.zeros(len(shape.triangles) - 1, bool)
    turned = _turn_diagonals(shape, fits, apart=True)
    flat = area_vectors(shape.points, shape.triangles)
    flat = (flat[:-1] + flat[1:])[fits]
    rows[fits] = (np.einsum("qti,qi->qt", area_vectors(shape.points, turned).reshape(-1, 2, 3), flat) > 0).all(axis=1)
    index = np.arange(len(rows))
    first = np.maximum.accumulate(np.where(rows & ~np.roll(rows, 1), index, 0))
    return np.flatnonzero(rows & ((index - first) % 2 == 0))


def _measure_gaps(shape: Shape, quads: np.ndarray) -> np.ndarray:
    """Distance of the two diagonals of quads: how far the other one moves the surface, shape (N,)."""
    turned = shape.points[_turn_diagonals(shape, quads, apart=True).reshape(-1, 2, 3)]
    start, right, end, left = turned[:, 0, 0], turned[:, 0, 1], turned[:, 0, 2], turned[:, 1, 1]
    normals = np.cross(end - start, left - right)
    return np.abs(np.einsum("qi,qi->q", right - start, normals)) / np.linalg.norm(normals, axis=1)


def _turn_diagonals(shape: Shape, quads: np.ndarray, apart: bool = False) -> np.ndarray:
    """Triangles, shape (T, 3), with the other diagonal in some quads; only those, (2 N, 3), if `apart`."""
    one, two = shape.triangles[quads], shape.triangles[quads + 1]
    corner = (~(one[:, :, None] == two[:, None]).any(axis=2)).argmax(axis=1)
    start, right, left = (np.take_along_axis(one, ((corner + step) % 3)[:, None], 1)[:, 0] for step in range(3))
    corner = (~(two[:, :, None] == one[:, None]).any(axis=2)).argmax(axis=1)
    end = np.take_along_axis(two, corner[:, None], 1)[:, 0]
    new = np.stack([np.stack([start, right, end], axis=1), np.stack([end, left, start], axis=1)], axis=1)
    if apart:
        return new.reshape(-1, 3)
    triangles = shape.triangles.copy()
    triangles[quads], triangles[quads + 1] = new[:, 0], new[:, 1]
    return triangles


def _section(character: str, shape: Shape, posed: np.ndarray, kind: str) -> float:
    """Smallest section along the two bones of a joint, relative to rest's."""
    bone = find_axis(character, shape, kind)[0]
    start, end = shape.heads[shape.parents[bone]], shape.tails[bone]
    return smallest_section(shape.points, posed, shape.triangles, start, end)[0]


def run_scaled(_arguments: argparse.Namespace) -> None:
    """Scaled bones: space filled of rest's, and to DLBNT's in the same pose"""
    shape, rows = shapes.arm(), []
    solid = _close(shape)
    bend = rotation((0, 1, 0), 60)
    poses = {
        "forearm x 1.5": {1: 1.5 * np.eye(3)},
        "forearm x 0.7, 0.7, 1.3": {1: np.diag([0.7, 0.7, 1.3])},
        "forearm x 1.3, 1.3, 0.7, bent": {1: bend @ np.diag([1.3, 1.3, 0.7])},
        "upper arm x 1, 1, 1.5, bent": {0: np.diag([1.0, 1.0, 1.5]), 1: bend},
        "all x 2, bent": {0: 2.0 * np.eye(3), 1: bend},
        "all x 0.05, bent": {0: 0.05 * np.eye(3), 1: bend},
    }
    bound = {method: bind_skin(method, shape) for method in dict.fromkeys(["DLBNT", *methods()])}
    for name, linear in poses.items():
        pose = shape.pose(linear)
        reference = solid.measure(bound["DLBNT"].deform(pose)).filled
        for method, skin in bound.items():
            posed = skin.deform(pose)
            ratio = solid.measure(posed).filled
            apart = np.linalg.norm(posed - bound["DLBNT"].deform(pose), axis=1).max() / np.cbrt(reference)
            rows.append((name, label(method), ratio, ratio / reference, 1e2 * float(apart) / shape.diagonal))
    print_table(("pose", "method", "filled", "to DLBNT's", "off DLBNT, most, % of diagonal"), rows)


def run_exact(_arguments: argparse.Namespace) -> None:
    """Exactness: largest error at rest and in rigid motion, of the size; same bytes for the same pose"""
    shape, rows = shapes.arm(), []
    turn = shape.pose({0: rotation((1, 2, 3), 70)}, {0: np.array([0.4, -0.3, 0.2])})
    bends = [shape.pose({1: rotation((0, 1, 0), degrees)}) for degrees in (30, 90, 140)]
    for method in methods():
        skin = bind_skin(method, shape)
        still = np.abs(skin.deform(shape.pose({})) - shape.points).max() / shape.diagonal
        there = shape.points @ turn[0, :3, :3].T + turn[0, :3, 3]
        moved = np.abs(skin.deform(turn) - there).max() / shape.diagonal
        forward = [skin.deform(pose).tobytes() for pose in bends]
        backward = [skin.deform(pose).tobytes() for pose in bends[::-1]][::-1]
        anew = bind_skin(method, shape)
        alone = [anew.deform(bends[index]).tobytes() for index in (1, 2, 0)]
        rows.append((label(method), f"{still:.1e}", f"{moved:.1e}", "same" if forward == backward else "OTHERS",
                     "same" if alone == [forward[index] for index in (1, 2, 0)] else "OTHERS"))  # fmt: skip
    print_table(("method", "rest", "rigid motion", "frames backward", "bound again, other order"), rows)


SECTIONS = {
    "box": run_box, "head": run_head, "elbow": run_elbow, "cow": costs.run_cow_space, "counts": costs.run_cow_counts,
    "characters": run_motion, "noise": run_noise, "scaled": run_scaled, "exact": run_exact,
    "times": costs.run_skin_times, "fill": costs.run_fill_counts, "steps": costs.run_step_times,
}  # fmt: skip


if __name__ == "__main__":
    arguments = parse(
        __doc__, SECTIONS, methods=tuple(METHODS), characters=CHARACTERS, assets=ASSETS,
        step=option(4, "measure every nth of a real character's poses"),
        set=option([], "parameters other than usual", nargs="+", metavar="METHOD.NAME=VALUE", type=str),
    )  # fmt: skip
    for setting in arguments.set:
        name, _, value = setting.partition("=")
        method, _, parameter = name.partition(".")
        skins.settings.setdefault(method, {})[parameter] = ast.literal_eval(value)
    skins.chosen[:] = arguments.methods
    print_sections(SECTIONS, arguments)
