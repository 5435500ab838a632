"""The arm's quads, built as a modeler would: rings along the limb and along every digit. NumPy only.

A ring runs over the palm side, the side away from the thumb, the back, and the thumb's side:
`columns + 1` palm points, 1 side point, `columns + 1` back points in reverse, 1 side point. The limb has 11 columns; at
the webs its end opens into four fingers of 2 columns with a web of 1 column between each two; a thumb of 4 columns
grows from a hole in the palm's side. Lengths are millimeters, and the points are only guesses: `surface.py` lays them
onto the implicit surface.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .anatomy import DIGITS, PALMAR, Digit, digits
from .implicit import Array, axes_along

Indices = NDArray[np.int64]

COLUMNS = 11
"""Quads across the palm: two for each finger and one for each web."""

LANES = np.array([-45, -35, -26, -21, -10.5, 0, 4.5, 14, 23.5, 28.5, 37, 45], dtype=float)
"""Where the lines between the columns lie across the palm at the webs (y)."""

WEBS = np.array([672, 676, 680, 680, 683, 682, 682, 680, 674, 673, 666, 656], dtype=float)
"""Where these lines end (x)."""

WRIST, PALM_START = 562.0, 582.0
"""Where the rings begin to take the palm's outline, and where those of the palm begin (x)."""

HOLE = np.linspace(PALM_START, 624.0, 5)
"""Where the rings lie at the hole in the palm's side, two quads high, that the thumb grows from (x)."""


def triangulate(quads: Indices) -> Indices:
    """Return the triangles (2 * F, 3) of quads (F, 4)."""
    return np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


@dataclass(frozen=True)
class DigitRoot:
    """How a digit leaves the palm: `rings` belong to the palm, then its own begin at `start` from its first joint."""

    start: float
    rings: int


FINGER_ROOT, THUMB_ROOT = DigitRoot(36.0, 0), DigitRoot(60.0, 3)


@dataclass
class Cage:
    """A quad surface under construction."""

    points: list[Array] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    """For each point its digit's number in DIGITS, or -1 for the limb and the palm."""
    quads: list[Indices] = field(default_factory=list)

    def add_points(self, points: Array, owner: int = -1) -> Indices:
        """Add points (N, 3) and return their indices."""
        first = len(self.points)
        self.points.extend(points)
        self.owners.extend([owner] * len(points))
        return np.arange(first, first + len(points))

    def bridge(self, first: Indices, second: Indices, skip: tuple[int, ...] = ()) -> None:
        """Join two rings of equal size by quads, without the quads that start at the `skip` positions."""
        keep = np.setdiff1d(np.arange(len(first)), skip)
        after = (keep + 1) % len(first)
        self.quads.append(np.stack([first[keep], first[after], second[after], second[keep]], axis=1))

    def fill(self, grid: Indices) -> None:
        """Fill a grid of indices (R, C) with quads."""
        corners = (grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1])
        self.quads.append(np.stack([corner.ravel() for corner in corners], axis=1))

    def open_grid(self, ring: Indices, owner: int = -1, rise: Array | None = None) -> Indices:
        """Return a ring as a grid (3, columns + 1): palm side, a new middle line (moved by `rise`), back."""
        columns = (len(ring) - 4) // 2
        palm, back = ring[: columns + 1], ring[columns + 2 : -1][::-1]
        positions = np.array(self.points)
        middle = (positions[palm] + positions[back])[1:-1] / 2.0 + (0.0 if rise is None else rise)
        line = [ring[-1], *self.add_points(middle, owner), ring[columns + 1]]
        return np.stack([palm, np.array(line), back])


def limb_ring(x: float, palm_share: float = 0.0, radius: float = 38.0) -> Array:
    """Return a guess (26, 3) of the limb's ring at x: a circle, the palm's outline (`palm_share` = 1), or between."""
    size = 2 * COLUMNS + 4
    angles = (np.pi / 2.0 + np.pi * COLUMNS / size) - np.arange(size) * (2.0 * np.pi / size)
    circle = np.stack([np.full(size, x), radius * np.cos(angles), radius * np.sin(angles)], axis=1)
    palm = np.stack([x + (WEBS - WEBS.max()), LANES, np.full(COLUMNS + 1, 9.0)], axis=1)
    sides = palm[[-1, 0]] * (1.0, 1.0, 0.0) + ((0.0, 3.0, 0.0), (0.0, -3.0, 0.0))
    outline = np.concatenate([palm, sides[:1], palm[::-1] * (1.0, 1.0, -1.0), sides[1:]])
    return circle + (outline - circle) * palm_share


def chain_point(joints: Array, length: float) -> tuple[Array, Array]:
    """Return the point and the direction (3,) at a length along a chain of joints (J, 3), or past its end."""
    steps = np.diff(joints, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    ends = np.cumsum(lengths)
    segment = min(int(np.searchsorted(ends, length)), len(steps) - 1)
    direction = steps[segment] / lengths[segment]
    return joints[segment + 1] + (length - ends[segment]) * direction, direction


def digit_ring(digit: Digit, size: int, length: float) -> tuple[Array, Array]:
    """Return a ring (size, 3) around a digit at a length along its joints, and the digit's direction (3,) there."""
    columns = (size - 4) // 2
    angles = (np.pi / 2.0 + np.pi * columns / size) - np.arange(size) * (2.0 * np.pi / size)
    center, direction = chain_point(digit.joints, length)
    tip = np.linalg.norm(np.diff(digit.joints, axis=0), axis=1).sum()
    radius = np.interp(length, np.linspace(0.0, tip, len(digit.radii)), digit.radii[:, 0])
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ axes_along(direction, PALMAR)[1:]
    return center + radius * circle, direction


def add_digit(cage: Cage, base: Indices, digit: Digit, root: DigitRoot, spacing: float) -> None:
    """Grow a digit from the ring `base`: rings along its joints to the tip, and a cap."""
    owner = DIGITS.index(digit.name)
    tip = float(np.linalg.norm(np.diff(digit.joints, axis=0), axis=1).sum())
    ring, start = base, np.array(cage.points)[base]
    first = digit_ring(digit, len(base), root.start)[0]
    for share in np.arange(1, root.rings + 1) / (root.rings + 1.0):
        guess = start + (first - start) * share
        outward = guess - guess.mean(axis=0)
        outward /= np.linalg.norm(outward, axis=1, keepdims=True)
        following = cage.add_points(guess + 6.0 * outward)
        cage.bridge(ring, following)
        ring = following
    for length in np.linspace(root.start, tip + 2.0, max(round((tip - root.start) / spacing), 4)):
        following = cage.add_points(digit_ring(digit, len(base), length)[0], owner)
        cage.bridge(ring, following)
        ring = following
    cage.fill(cage.open_grid(ring, owner, rise=digit.radii[-1, 0] * chain_point(digit.joints, tip)[1]))


def add_limb(cage: Cage, spacing: float) -> tuple[Indices, Indices]:
    """Build the limb from the shoulder's cut to the webs; return its last ring and the thumb's hole as a ring."""
    ring = shoulder = cage.add_points(limb_ring(0.0))
    for radius in (30.0, 22.0):
        inner = cage.add_points(limb_ring(0.0, radius=radius))
        cage.bridge(inner, shoulder)
        shoulder = inner
    cage.fill(cage.open_grid(shoulder)[::-1])
    arm = np.linspace(0.0, HOLE[0], round(HOLE[0] / spacing) + 1)
    palm = np.linspace(HOLE[-1], WEBS.max(), max(round((WEBS.max() - HOLE[-1]) / spacing), 2) + 1)
    rims = []
    for x in (*arm[1:], *HOLE[1:], *palm[1:]):
        following = cage.add_points(limb_ring(x, float(np.clip((x - WRIST) / 110.0, 0.0, 1.0))))
        at_thumb = HOLE[0] < x <= HOLE[-1]
        cage.bridge(ring, following, skip=(len(ring) - 2, len(ring) - 1) if at_thumb else ())
        if HOLE[0] <= x <= HOLE[-1]:
            rims.append(following)
        ring = following
    hole = [*(rim[0] for rim in rims), rims[-1][-1], *(rim[-2] for rim in reversed(rims)), rims[0][-1]]
    return ring, np.array(hole)


def build_cage(spacing: float) -> tuple[Array, Indices, Indices]:
    """Return the cage with rings about `spacing` apart: points (V, 3), quads (F, 4) wound outward, owners (V,)."""
    cage = Cage()
    ring, hole = add_limb(cage, spacing)
    thumb, *fingers = digits()
    add_digit(cage, hole, thumb, THUMB_ROOT, spacing)
    grid = cage.open_grid(ring)
    for web in (2, 5, 8):
        cage.fill(grid[:, web : web + 2])
    for line, finger in zip((0, 3, 6, 9), fingers, strict=True):
        palm, middle, back = grid[:, line : line + 3]
        add_digit(cage, np.array([*palm, middle[2], *back[::-1], middle[0]]), finger, FINGER_ROOT, spacing)
    used, quads = np.unique(np.concatenate(cage.quads), return_inverse=True)
    quads = quads.reshape(-1, 4)
    points = np.array(cage.points)[used]
    first, second, third = points[quads[:, 0]], points[quads[:, 1]], points[quads[:, 2]]
    inward = np.einsum("ni,ni->", first - points.mean(axis=0), np.cross(second - first, third - first)) < 0.0
    return points, quads[:, ::-1] if inward else quads, np.array(cage.owners)[used]
