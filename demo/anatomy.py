"""The arm in numbers: its joints, and the shapes that make its surface. NumPy only.

A right arm lies along +X, from a cut below the shoulder, at the origin, to the finger tips. The palm and the inside of
the elbow look to +Z, the thumb points to -Y. Lengths are millimeters, angles degrees. Sizes are those of an adult.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .implicit import Array, Ellipsoid, Field, Loft, Plane, Shapes, Stroke, Tube, axes_along, hermite

PALMAR = np.array([0.0, 0.0, 1.0])
"""Direction that the palm and the inside of the elbow face."""
FINGERS = ("index", "middle", "ring", "pinky")
DIGITS = ("thumb", *FINGERS)

LIMB = np.array(
    [  # x, radius to -Y (thumb side), to +Y, to +Z (palm side), to -Z
        [-30, 44, 43, 43, 47],
        [0, 44, 43, 43, 47],
        [60, 41, 38, 38, 44],
        [130, 35, 34, 36, 39],
        [190, 33, 33, 34, 36],
        [245, 35, 35, 34, 35],
        [290, 40, 39, 33, 37],
        [330, 40, 38, 34, 36],
        [370, 39, 37, 33, 34],
        [430, 36, 34, 30, 30],
        [490, 31, 29, 24, 24],
        [535, 28, 27, 20, 20],
        [562, 28, 27.5, 18, 18],
        [588, 32, 31, 17, 16.5],
        [615, 38, 37, 16, 15],
        [645, 42, 40, 14.5, 13],
        [672, 43, 41, 12.5, 11],
        [720, 44, 42, 10, 9],
    ],
    dtype=float,
)

MUSCLES = (
    # center, half lengths (along, side, palmar), direction, blend
    ((28, -20, -2), (105, 34, 44), (1, 0.08, 0), 24),  # deltoid
    ((170, -3, 18), (88, 29, 29), (1, 0.0, -0.03), 18),  # biceps
    ((118, -17, -22), (92, 22, 26), (1, 0.0, 0.06), 16),  # triceps, lateral head
    ((108, 18, -24), (100, 22, 26), (1, 0.0, 0.05), 16),  # triceps, long head
    ((325, -28, 8), (112, 18, 24), (1, 0.05, 0.02), 22),  # brachioradialis
    ((352, 20, 8), (88, 23, 28), (1, -0.08, 0.0), 18),  # flexors
    ((352, -8, -16), (86, 28, 21), (1, 0.06, 0.04), 18),  # extensors
    ((286, 4, -27), (36, 14, 13), (1, 0, 0.08), 24),  # olecranon
    ((280, 31, -5), (28, 12, 13), (1, 0, 0), 24),  # medial epicondyle
    ((545, 17, -8), (19, 10, 10), (1, 0, 0), 14),  # head of the ulna
    ((600, -28, 11), (34, 15, 14), (0.8, -0.58, 0.25), 18),  # thenar
    ((612, 25, 8), (44, 15, 13), (1, 0.05, -0.05), 18),  # hypothenar
)

FINGER_RADII = np.array(
    [  # to both sides, to the palmar side, to the back
        [10.4, 10.2, 10.2],  # knuckle
        [9.7, 10.4, 8.8],
        [9.8, 9.4, 9.0],  # first joint
        [8.9, 9.2, 7.6],
        [8.5, 8.2, 7.3],  # second joint
        [8.1, 8.6, 6.2],
        [6.4, 6.0, 4.6],  # tip
    ]
)

THUMB_RADII = np.array(
    [
        [14.5, 14.5, 13.0],
        [12.5, 13.0, 11.5],
        [11.6, 11.2, 10.6],
        [10.6, 11.2, 9.2],
        [11.0, 10.2, 9.2],
        [11.2, 10.4, 7.6],
        [8.0, 7.2, 5.4],
    ]
)


@dataclass(frozen=True)
class Digit:
    """A thumb or finger at rest.

    `joints` (4, 3) hold its joints, tip last, `palmar` (3,) is where its pad looks, `blend` the rounding at its root.
    `radii` (7, 3) hold, at the joints and the middles of the phalanges, the radius to both sides, to the palmar side
    and to the back.
    """

    name: str
    joints: Array
    palmar: Array
    blend: float
    radii: Array


def bent_chain(start: Array, forward: Array, palmar: Array, lengths: Array, curls: Array) -> Array:
    """Return the joints (4, 3) of three phalanges, each rotated by its curl (degrees) from `forward` to `palmar`."""
    angles = np.radians(np.cumsum(curls))
    steps = lengths[:, None] * (np.cos(angles)[:, None] * forward + np.sin(angles)[:, None] * palmar)
    return np.concatenate([start[None], start + np.cumsum(steps, axis=0)])


def finger(name: str, knuckle: tuple[float, ...], yaw: float, lengths: tuple[float, ...], girth: float) -> Digit:
    """Return a finger that leaves its knuckle at `yaw` degrees from +X toward +Y, curled a little as at rest."""
    forward = np.array([np.cos(np.radians(yaw)), np.sin(np.radians(yaw)), 0.0])
    palmar = np.array([0.0, 0.0, 1.0])
    joints = bent_chain(np.array(knuckle), forward, palmar, np.array(lengths), np.array([6.0, 10.0, 6.0]))
    return Digit(name, joints, palmar, 10.0, girth * FINGER_RADII)


def thumb() -> Digit:
    """Return the thumb, rotated so that its pad faces the fingers."""
    forward = np.array([0.74, -0.62, 0.26])
    forward /= np.linalg.norm(forward)
    across = np.array([0.45, 0.62, 0.64])
    palmar = across - (across @ forward) * forward
    palmar /= np.linalg.norm(palmar)
    joints = bent_chain(
        np.array([580.0, -24.0, 6.0]), forward, palmar, np.array([46.0, 33.0, 25.0]), np.array([0.0, 12.0, 8.0])
    )
    return Digit("thumb", joints, palmar, 24.0, THUMB_RADII)


def digits() -> tuple[Digit, ...]:
    """Return thumb, index, middle, ring, pinky."""
    return (
        thumb(),
        finger("index", (654.0, -30.5, -1.0), -9.0, (46.0, 26.0, 19.0), 1.0),
        finger("middle", (657.0, -9.5, -2.0), -2.0, (51.0, 30.0, 20.0), 1.03),
        finger("ring", (651.0, 11.5, -1.0), 5.5, (46.0, 28.0, 20.0), 0.97),
        finger("pinky", (640.0, 30.0, 1.0), 14.0, (40.0, 22.0, 18.0), 0.87),
    )


def digit_tube(digit: Digit) -> Tube:
    """Return a digit as a tube: a smooth line through its joints, with the radii interpolated along it."""
    positions = np.linspace(0.0, 3.0, 19)
    line = hermite(np.arange(4.0), digit.joints, positions)
    radii = hermite(np.arange(7.0) / 2.0, digit.radii, positions)
    side = axes_along(digit.joints[3] - digit.joints[0], digit.palmar)[1]
    return Tube(line, radii, side, digit.blend)


def muscle(center: Sequence[float], radii: Sequence[float], direction: Sequence[float], blend: float) -> Ellipsoid:
    """Return one of MUSCLES as a shape."""
    axes = axes_along(np.array(direction, dtype=float), np.array([0.0, 0.0, 1.0]))
    return Ellipsoid(np.array(center, dtype=float), np.array(radii, dtype=float), axes, blend)


def knuckles() -> tuple[Ellipsoid, ...]:
    """Return the heads of the four metacarpals, which show on the back of the hand."""
    return tuple(
        muscle((finger.joints[0] - (3.0, 0.0, 4.5)).tolist(), (14, 7, 7.2), (1, 0, 0.1), 12) for finger in digits()[1:]
    )


def tendons() -> list[Stroke]:
    """Return the tendons to the knuckles on the back of the hand, and two on the inside of the wrist."""
    ridges = []
    for finger in digits()[1:]:
        knuckle = finger.joints[0] - (6.0, 0.0, 11.0)
        ridges.append(Stroke(np.array([585.0, 0.3 * knuckle[1], -16.0]), knuckle, 3.0, 0.8))
    wrist = [Stroke(np.array([505.0, 1.2 * y, 23.0]), np.array([568.0, y, 17.0]), 3.5, 0.5) for y in (-5.0, 3.0)]
    return ridges + wrist


def on_tube(tube: Tube, position: float, around: float) -> Array:
    """Return a point (3,) on a digit: `position` in phalanges from its first joint, `around` in degrees."""
    index = round(position * 6.0)
    palmar = np.cross(tube.tangents[index], tube.side)
    side, palm, back = tube.radii[index]
    angle = np.radians(around)
    return (
        tube.line[index] + side * np.cos(angle) * tube.side + (palm if around > 0.0 else back) * np.sin(angle) * palmar
    )


def creases_and_nail(digit: Digit) -> list[Stroke]:
    """Return the furrows of a digit: across the palmar side of its two outer joints, and around its nail."""
    tube = digit_tube(digit)
    furrows = []
    for position in (1.0, 2.0):
        arc = [on_tube(tube, position, around) for around in (25.0, 65.0, 115.0, 155.0)]
        furrows += [Stroke(start, end, 1.6, -0.45) for start, end in pairwise(arc)]
    rim = ((3.0, -35.0), (2.4, -38.0), (2.34, -90.0), (2.4, -142.0), (3.0, -145.0))
    nail = [on_tube(tube, position, around) for position, around in rim]
    return furrows + [Stroke(start, end, 1.2, -0.55) for start, end in pairwise(nail)]


PALM_LINES = (
    ((588, -8, 18), (606, -5, 17), (626, -14, 16), (638, -32, 15)),  # around the thenar
    ((645, -38, 14), (636, -12, 15), (622, 14, 16)),
    ((640, 36, 15), (646, 12, 15), (655, -8, 14)),
)


def strokes() -> tuple[Stroke, ...]:
    """Return tendons, creases and the rims of the nails."""
    furrows = [
        Stroke(np.array(start, dtype=float), np.array(end, dtype=float), 2.8, -0.4)
        for line in PALM_LINES
        for start, end in pairwise(line)
    ]
    return (*tendons(), *furrows, *(stroke for digit in digits() for stroke in creases_and_nail(digit)))


def arm_field() -> Field:
    """Return the whole arm as one implicit surface."""
    return Field(
        limb=Loft(LIMB[:, 0], LIMB[:, 1:]),
        muscles=Shapes((*(muscle(*row) for row in MUSCLES), *knuckles())),
        cuts=(
            (Plane(np.array([-1.0, 0.0, 0.0]), 0.0), 12.0),
            (Plane(np.array([0.87, 0.0, -0.5]), 589.0, 0.011, -6.0), 14.0),
        ),
        digits=Shapes(tuple(digit_tube(digit) for digit in digits())),
        strokes=Shapes(strokes()),
    )
