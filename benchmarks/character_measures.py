"""Measures of a whole character, all parts together, in poses of one joint and of its actions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.characters import SCULPTED, Character, read_character
from benchmarks.range_of_motion import BONES, list_bends
from deformers import Joints, Weights
from deformers.measures.limbs import Limbs, find_limbs, find_owners
from deformers.measures.stretch import measure_stretch

ACTION = "actions"  # Kind of the frames of stored actions
FRAMES = 8  # Frames of each action that are measured
STORED = 40  # Approximate number of stored poses of an action


@dataclass(frozen=True)
class Posed:
    """A pose to measure: its kind, its name, and its matrices (B, 4, 4)."""

    kind: str
    label: str
    matrices: np.ndarray


@dataclass(frozen=True)
class Figures:
    """Measures of a method in some poses.

    Attributes
    ----------
    rms : float
        Of edge stretch - 1, over all parts and poses.
    twice : float
        Space filled twice over what it is at rest, as a share of the space at rest: mean; NaN if nothing is closed.
    tears : float
        Edges stretched beyond `stretch.MIN_TEAR`, in a pose.
    section : float
        Smallest of any limb or, at one joint, of both its bones.
    farthest : float
        Skin from the bones, against rest, of these limbs.
    """

    rms: float
    twice: float
    tears: float
    section: float
    farthest: float

    @classmethod
    def over(cls, rows: list[Figures]) -> Figures:
        """Those of several poses, or of several kinds of poses."""
        values = np.array([(row.rms, row.twice, row.tears, row.section, row.farthest) for row in rows])
        return cls(
            rms=float(np.sqrt(np.mean(values[:, 0] ** 2))),
            twice=float(np.mean(values[:, 1])),
            tears=float(np.mean(values[:, 2])),
            section=float(np.nanmin(values[:, 3], initial=np.inf)),
            farthest=float(np.nanmax(values[:, 4], initial=0.0)),
        )


@dataclass(frozen=True)
class Subject:
    """A character, and the parts of it to measure."""

    name: str
    character: Character

    @cached_property
    def points(self) -> np.ndarray:
        """Of all parts, at rest."""
        return np.concatenate([part.shape.points for part in self.character.parts])

    @cached_property
    def edges(self) -> np.ndarray:
        """Of all parts."""
        return np.concatenate(
            [part.edges + start for part, start in zip(self.character.parts, self._starts, strict=True)]
        )

    @cached_property
    def _starts(self) -> np.ndarray:
        counts = [len(part.shape.points) for part in self.character.parts]
        return np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int)

    @cached_property
    def limbs(self) -> Limbs:
        """Of the closed parts: clothes hide how thick limbs are."""
        chosen = [part.solid.is_closed for part in self.character.parts]
        shapes = [part.shape for part in self.character.parts]
        used = [
            shape.triangles + start
            for shape, start, is_used in zip(shapes, self._starts, chosen, strict=True)
            if is_used or not any(chosen)
        ]
        weights = Weights.from_dense(np.concatenate([shape.weights for shape in shapes]))
        owners = find_owners(weights, len(self.points), len(shapes[0].heads))
        triangles = np.concatenate(used)
        owners = np.where(np.isin(np.arange(len(owners)), triangles), owners, -1)
        return find_limbs(self.points, triangles, owners, Joints(shapes[0].heads, shapes[0].parents, shapes[0].tails))

    def measure(self, posed: list[np.ndarray], pose: Posed) -> Figures:
        """Measure the parts in a pose."""
        stretch = measure_stretch(self.points, together := np.concatenate(posed), self.edges)
        sections = self.limbs.measure_sections(together)
        reaches = self.limbs.measure_reaches(together, pose.matrices)
        if pose.kind != ACTION:
            shape = self.character.parts[0].shape
            bone = shape.names.index(BONES[self.name][pose.kind])
            both = [bone, shape.parents[bone]]
            sections, reaches = sections[both], reaches[both]
        return Figures(
            stretch.rms,
            self._measure_twice(posed),
            stretch.tears,
            float(np.nanmin(sections, initial=np.inf)),
            float(np.nanmax(reaches, initial=0.0)),
        )

    def _measure_twice(self, posed: list[np.ndarray]) -> float:
        solids = [(part.solid, own) for part, own in zip(self.character.parts, posed, strict=True)]
        more = [(solid.volume, solid.measure(own).twice - solid.rest.twice) for solid, own in solids if solid.is_closed]
        return sum(volume * twice for volume, twice in more) / sum(volume for volume, _ in more) if more else np.nan


def read_subject(assets: Path, name: str) -> Subject:
    """Read a character with `FRAMES` or a few more poses of each action."""
    return Subject(name, read_character(assets, name, STORED // FRAMES))


def list_poses(subject: Subject) -> Iterator[Posed]:
    """The range of motion of each kind of joint, and the stored actions."""
    shape = subject.character.parts[0].shape
    for kind, share, matrices in list_bends(subject.name, shape):
        yield Posed(kind, f"{kind}, {100 * share:.0f} %", matrices)
    yield from list_frames(subject)


def list_frames(subject: Subject) -> Iterator[Posed]:
    """Poses of the stored actions, about `FRAMES` of each; those that benchmarks make up are left out."""
    for action, triples in subject.character.actions.items():
        if action in SCULPTED:
            continue
        step = max(1, round(len(triples) / FRAMES))
        for number in range(0, len(triples), step):
            yield Posed(ACTION, f"{action}, {number}", triples[number][1])
