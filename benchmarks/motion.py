"""Measures of real characters over their actions by deformers, next to DQS and DLBNT in the same poses."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from harness import list_at_hand
from benchmarks.characters import CHARACTERS, Part, read_character
from benchmarks.skin_measures import count_inverted, measure_distortion, second_differences
from benchmarks.skins import Skin, bind_skin, count_particles, label, methods, print_table
from deformers.geometry.neighbors import find_nearest
from deformers.measures.stretch import edge_stretches

LEAST_EDGE = 0.003  # Share of the diagonal; shorter edges count as this long when stretch is compared
NEIGHBORS = 12  # Neighbors of a particle that tell whether it is inside out

# For each triple of frames the name of its action, and matrices (3, B, 4, 4) or points (3, V, 3)
Motion = list[tuple[str, np.ndarray]]


@dataclass
class Record:
    """Measures of a part over all its actions by a deformer.

    Attributes
    ----------
    finite : bool
        No position was infinite or not a number; poses that hold one are not measured further.
    stretch, off : floats
        The largest ratio of an edge's length to that at rest; the largest distance of a vertex from DLBNT's.
    filled, beside : tuples of floats
        Least and largest space that is filled, to that at rest and to that under DLBNT.
    twice : float
        Most space that is filled twice, beyond that at rest, to the space at rest.
    jolts : list of float arrays, shape (V,)
        Lengths of the second differences, for each triple of frames.
    deviations, distortions : dicts from a detail to lists of float
        Mean square distance from DLBNT's; distortion of the detail's edges against rest.
    seconds : list of float
        What each pose took.
    inverted : int
        Most particles inside out in a pose; -1 if the method has none, or does not tell.
    binding : float
        Seconds to bind.
    """

    finite: bool = True
    stretch: float = 0.0
    off: float = 0.0
    filled: tuple[float, float] = (np.inf, -np.inf)
    beside: tuple[float, float] = (np.inf, -np.inf)
    twice: float = 0.0
    worst: dict[str, str] = field(default_factory=dict)
    jolts: list[np.ndarray] = field(default_factory=list)
    deviations: dict[str, list[float]] = field(default_factory=dict)
    distortions: dict[str, list[float]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    inverted: int = -1
    particles: int | str = "-"
    binding: float = 0.0

    def add(self, part: Part, action: str, posed: np.ndarray, reference: np.ndarray) -> None:
        """Add three frames (3, V, 3), and DLBNT's points in them."""
        if not np.isfinite(posed).all():
            self.finite = False
            return
        self.jolts.append(second_differences(*posed))
        points = posed[1]
        stretches = edge_stretches(part.shape.points, points, part.edges, LEAST_EDGE * part.shape.diagonal)
        self.stretch = max(self.stretch, float(stretches.max()))
        self.off = max(self.off, float(np.linalg.norm(points - reference[1], axis=1).max()))
        if part.solid.is_closed:
            self._add_space(part, action, points, reference[1])
        for detail, chosen in part.details.items():
            apart = np.sum((points - reference[1])[chosen] ** 2, axis=1)
            self.deviations.setdefault(detail, []).append(float(apart.mean()))
            edges = part.edges[chosen[part.edges].all(axis=1)]
            self.distortions.setdefault(detail, []).append(measure_distortion(part.shape.points, points, edges))

    def _add_space(self, part: Part, action: str, points: np.ndarray, reference: np.ndarray) -> None:
        space = part.solid.measure(points)
        ratio, beside = space.filled, space.filled / part.solid.measure(reference).filled
        if ratio < self.filled[0]:
            self.worst["least"] = action
        if ratio > self.filled[1]:
            self.worst["largest"] = action
        self.filled = min(self.filled[0], ratio), max(self.filled[1], ratio)
        self.beside = min(self.beside[0], beside), max(self.beside[1], beside)
        self.twice = max(self.twice, space.twice - part.solid.rest.twice)


def measure_skin(part: Part, skin: Skin, motion: Motion, reference: Motion) -> Record:
    """Run a part through the actions; `reference` has DLBNT's points."""
    record = Record(particles=count_particles(skin), binding=skin.seconds)
    centers = skin.find_particles()
    nearest = np.empty((0, NEIGHBORS), int)
    if centers is not None:
        nearest = find_nearest(centers, centers, NEIGHBORS + 1)[0][:, 1:]
    for (action, triple), (_, expected) in zip(motion, reference, strict=True):
        start = time.perf_counter()
        posed = np.stack([skin.deform(pose) for pose in triple])
        record.seconds.append((time.perf_counter() - start) / 3.0)
        record.add(part, action, posed, expected)
        if centers is not None:
            inverted = count_inverted(centers, skin.pose_particles(triple[1]), nearest)
            record.inverted = max(record.inverted, inverted)
    return record


def measure_part(part: Part, motion: Motion) -> list[tuple]:
    """Bind a part by each method, run it through the actions, and return the rows of the table.

    A method that raises what it should not gets a row that says so, so that the others are still measured.
    """
    skin = bind_skin("DLBNT", part.shape)
    reference = [(action, np.stack([skin.deform(pose) for pose in triple])) for action, triple in motion]
    rule = measure_skin(part, skin, motion, reference)
    dual = np.concatenate(measure_skin(part, bind_skin("DLB", part.shape), motion, reference).jolts)
    rows = []
    for method in methods():
        try:
            record = measure_skin(part, bind_skin(method, part.shape), motion, reference)
        except (ArithmeticError, LookupError, ValueError) as error:
            rows.append((part.name, label(method), f"raises {type(error).__name__}", *["-"] * 14))
            continue
        rows.append((part.name, label(method), *_row(part, record, rule, dual)))
    return rows


def run_characters(assets: Path, step: int, wanted: tuple[str, ...] = CHARACTERS) -> None:
    """Measure and print one table for each character."""
    for name in list_at_hand(assets, wanted, "npz"):
        character = read_character(assets, name, step)
        motion = [(action, triple) for action, triples in character.actions.items() for triple in triples]
        print(f"### {name}: {', '.join(character.actions)}; {len(motion)} poses\n")
        rows = [row for part in character.parts for row in measure_part(part, motion)]
        print_table(
            ("part", "method", "finite", "longest edge to rest's: own / DLBNT's",
             "off DLBNT at most, % of diagonal", "space filled", "in", "to DLBNT's", "filled twice",
             "off DLBNT, fingers, face: % of diagonal", "distortion there: own / DLBNT's",
             "2nd difference to DQS: rms", "max", "inverted", "ms", "bind s", "particles"), rows
        )  # fmt: skip
        print()


def _row(part: Part, record: Record, reference: Record, dual: np.ndarray) -> tuple:
    costs = (1e3 * float(np.median(record.seconds)), record.binding, record.particles)
    if not record.jolts:
        return ("NO", *["-"] * 11, *costs)
    jolts = np.concatenate(record.jolts)
    space = ("open", "-", "open", "open")
    if part.solid.is_closed:
        filled, beside = (f"{low:.4f} - {high:.4f}" for low, high in (record.filled, record.beside))
        space = filled, f"{record.worst['least']}, {record.worst['largest']}", beside, f"{record.twice:.4f}"
    deviations = [
        f"{1e2 * np.sqrt(np.mean(values)) / part.shape.diagonal:.3f}" for values in record.deviations.values()
    ]
    distortions = [
        f"{np.sqrt(np.mean(np.square(values))):.4f} / {np.sqrt(np.mean(np.square(reference.distortions[detail]))):.4f}"
        for detail, values in record.distortions.items()
    ]
    return (
        "yes" if record.finite else "NO", f"{record.stretch:.2f} / {reference.stretch:.2f}",
        1e2 * record.off / part.shape.diagonal, *space, ", ".join(deviations) or "-", ", ".join(distortions) or "-",
        float(np.sqrt(np.mean(jolts**2) / np.mean(dual**2))), float(jolts.max() / dual.max()),
        record.inverted if record.inverted >= 0 else "-", *costs,
    )  # fmt: skip
