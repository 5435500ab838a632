"""Skin patterns: height maps on the skin that appear and disappear with the angles of joints.

Suzuki & Oshita, "Pattern-based skin deformation of human model". A pattern is a height map laid on the skin, and the
angle of a joint sets how much of it shows. Angles are in radians and 0 at rest, heights in the object's units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError, find_unusable
from ..geometry.vectors import smooth_step

KINDS = ("WRINKLE", "BULGE", "BONE")
AXES = ("X", "Y", "Z")
LAWS = ("RANGE", "LOG")
DIRECTIONS = ("POSITIVE", "NEGATIVE", "BOTH")

BASES = {"WRINKLE": 0.5, "BULGE": 0.0, "BONE": 0.0}  # gray values of flat skin

MIN_DIVISOR = 1e-6

MIN_EDGE = 1e-4  # width of an edge that is not softened, as a share of the height map


@dataclass(frozen=True)
class Response:
    """The amount of a pattern at each angle.

    Attributes
    ----------
    law : str
        "RANGE": 0 up to `start`, 1 above `full`, smooth between. "LOG", the paper's: `gain * log(angle - start + 1)`.
    direction : str
        Direction of the rotations that show the pattern: "POSITIVE", "NEGATIVE" or "BOTH".
    start, full : float
        Angles, radians.
    gain : float
        The paper's k.
    """

    law: str = "RANGE"
    direction: str = "POSITIVE"
    start: float = 0.0
    full: float = np.pi / 2
    gain: float = 1.0

    def __post_init__(self) -> None:
        for name, known in (("law", LAWS), ("direction", DIRECTIONS)):
            if getattr(self, name) not in known:
                raise SkinningError(f"A pattern has no {name} '{getattr(self, name)}': choose {', '.join(known)}")
        if problem := self._find_problem():
            raise SkinningError(problem)

    def _find_problem(self) -> str:
        """Describe numbers that make no sense; empty if there are none."""
        if find_unusable(np.array((self.start, self.full, self.gain))).any():
            return "The angles and the gain of a pattern must be numbers, and not too large: set them again"
        if self.law == "RANGE" and self.full <= self.start:
            return (
                f"The pattern is fully visible at {np.degrees(self.full):.1f} degrees, but starts at "
                f"{np.degrees(self.start):.1f}: set the full angle above the start"
            )
        return ""


@dataclass(frozen=True)
class Relief:
    """The heights that the gray values of a height map stand for.

    Attributes
    ----------
    kind : str
        "WRINKLE", "BULGE" or "BONE".
    strength : float
        Height of white above black, in the object's units.
    softness : float
        Width of the edge over which the pattern fades out, as a share of half of the height map.
    depth : float
        Depth of a bone at rest: 1 is just under the skin; 0, as in the paper, is fully visible.
    """

    kind: str
    strength: float = 1.0
    softness: float = 0.0
    depth: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SkinningError(f"There is no kind of pattern '{self.kind}': choose {', '.join(KINDS)}")
        if find_unusable(np.array((self.strength, self.softness, self.depth))).any():
            raise SkinningError(
                "The strength, soft edge and depth of a pattern must be numbers, and not too large: set them again"
            )


def respond(response: Response, angles: np.ndarray | float) -> np.ndarray:
    """Find the amounts of a pattern at angles, shape (...), radians: float64 array, 0 for nothing, 1 for all of it.

    Notes
    -----
    "LOG" is the factor k log(theta + 1) of equations 1 to 3, with theta relative to the start angle, where it has a
    corner. "RANGE" has zero first and second derivatives at both ends.
    """
    rotated = np.asarray(angles, np.float64)
    rotated = {"POSITIVE": rotated, "NEGATIVE": -rotated, "BOTH": np.abs(rotated)}[response.direction]
    if response.law == "LOG":
        return response.gain * np.log1p(np.maximum(rotated - response.start, 0.0))
    share = np.clip((rotated - response.start) / (response.full - response.start), 0.0, 1.0)
    return share**3 * (share * (6.0 * share - 15.0) + 10.0)


def _rise(heights: np.ndarray, amount: float | np.floating | np.ndarray, depth: float, scratch: np.ndarray) -> None:
    """Clip heights over the skin to 0 to 1, in place, and round them where they emerge.

    Notes
    -----
    The clip max(h, 0) becomes (h + w)^2 / 4w for |h| < w. The width w is depth times amount (1 - amount), so that a
    bone keeps its exact shape at both ends.
    """
    share = np.clip(amount, 0.0, 1.0)
    width = share * (1.0 - share) * depth
    np.add(heights, width, out=scratch)
    scratch /= np.maximum(2.0 * width, MIN_DIVISOR)
    np.clip(scratch, 0.0, 1.0, out=scratch)
    np.square(scratch, out=scratch)
    scratch *= width
    heights -= width
    np.maximum(heights, 0.0, out=heights)
    heights += scratch
    np.minimum(heights, 1.0, out=heights)


def soften_edges(coordinates: np.ndarray, softness: float) -> np.ndarray:
    """Find the share of a pattern that shows near its edges: 0 on them and outside, 1 farther inside.

    Parameters
    ----------
    coordinates : array, shape (..., 2)
        (s, t) in the height map, which fills 0 to 1.
    softness : float
        See `Relief`.

    Returns
    -------
    array, shape (...)
    """
    inside = np.minimum(coordinates, 1.0 - coordinates).min(axis=-1)
    return smooth_step(inside / max(0.5 * softness, MIN_EDGE))


def sample_values(values: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Sample a height map, shape (H, W), bottom row first, at (s, t), shape (N, 2), by cubic B-splines: shape (N,).

    Slopes are smooth, so that no grid of pixels shows in close-up, as linear interpolation would show it. Beyond the
    centers of the outermost pixels, their values continue.
    """
    height, width = values.shape
    columns, across = _find_taps(coordinates[:, 0], width)
    rows, upward = _find_taps(coordinates[:, 1], height)
    return _blend([_blend([values[row, column] for column in columns], across) for row in rows], upward)


def _blend(taps: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Blend four arrays, shape (N,), by weights, shape (4, N), whose sum is 1; exact if all four are equal."""
    base = taps[1]
    return base + sum(weights[index] * (taps[index] - base) for index in (0, 2, 3))


def _find_taps(coordinates: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the four pixels along an axis that a sample blends, and their weights: two arrays, shape (4, N)."""
    at = np.clip(coordinates * count - 0.5, -1.0, float(count))
    first = np.floor(at)
    x = at - first
    weights = (1.0 - x) ** 3, (3.0 * x - 6.0) * x * x + 4.0, ((3.0 - 3.0 * x) * x + 3.0) * x + 1.0, x**3
    pixels = first.astype(np.intp) + np.arange(-1, 3)[:, None]
    return np.clip(pixels, 0, count - 1), np.stack(weights) / 6.0


@dataclass(frozen=True)
class LaidPattern:
    """A pattern laid on samples: pixels of a map, or points of a mesh.

    Attributes
    ----------
    window : tuple of slices
        Rows and columns of the map that it reaches.
    values : float32 array, the window's shape
        Gray values minus the base of the kind, or minus the depth of a bone.
    gains : float32 array, the window's shape
        Height of white above black, in the object's units: the strength, faded to 0 outside of the pattern.
    shapes : float32 array, the window's shape
        Heights at amount 1, if no value is clipped.
    inside : tuple of int arrays, shape (N,)
        Row and column in the window of each sample, in their order.
    """

    relief: Relief
    window: tuple[slice, slice]
    values: np.ndarray
    gains: np.ndarray
    shapes: np.ndarray
    inside: tuple[np.ndarray, np.ndarray]

    def spread(self, amounts: np.ndarray) -> np.ndarray:
        """Arrange amounts of the samples, shape (N,), in the window's shape, as `draw_heights` needs them."""
        spread = np.zeros(self.values.shape, np.float32)
        spread[self.inside] = amounts
        return spread


@dataclass(frozen=True)
class HeightMap:
    """Patterns laid on a map of shape (H, W), or on N points as a map of shape (1, N)."""

    shape: tuple[int, int]
    patterns: tuple[LaidPattern, ...]


def lay_pattern(
    relief: Relief, image: np.ndarray, shape: tuple[int, int], samples: np.ndarray, coordinates: np.ndarray
) -> LaidPattern:
    """Lay a pattern on a map.

    Raises SkinningError if the image does not have two dimensions.

    Parameters
    ----------
    image : array, shape (h, w)
        Gray values, 0 to 1, bottom row first.
    shape : tuple of int
        Shape of the map, (H, W).
    samples : int array, shape (N,)
        Samples of the map that the pattern touches, row by row from the bottom, without duplicates.
    coordinates : array, shape (N, 2)
        (s, t) in the image for each sample.
    """
    if image.ndim != 2 or image.size == 0:
        raise SkinningError(
            f"A pattern needs a gray image, not an array of shape {image.shape}: pass an array of shape (H, W)"
        )
    rows, columns = np.divmod(samples, shape[1])
    low, left = (int(indices.min(initial=0)) for indices in (rows, columns)) if len(samples) else (0, 0)
    high, right = (int(indices.max(initial=-1)) + 1 for indices in (rows, columns))
    values, gains = np.zeros((2, high - low, right - left), np.float32)
    inside = (rows - low, columns - left)
    sampled = sample_values(image, coordinates)
    reached = relief.strength * soften_edges(coordinates, relief.softness)
    values[inside] = sampled - (relief.depth if relief.kind == "BONE" else BASES[relief.kind])
    gains[inside] = np.where(sampled > 0.0, reached, 0.0) if relief.kind == "BONE" else reached
    return LaidPattern(relief, (slice(low, high), slice(left, right)), values, gains, values * gains, inside)


def draw_heights(heights: HeightMap, amounts: Sequence[float | np.ndarray]) -> np.ndarray:
    """Draw the heights of patterns at their amounts: float32 array, shape (H, W), bottom row first, object units.

    Raises SkinningError if the number of amounts differs from that of patterns.

    Parameters
    ----------
    amounts : sequence of float or float32 array
        For each pattern, see `respond`. An array has the shape of the pattern's window.

    Notes
    -----
    The values of each pattern are clipped to 0 to 1 (equations 1 to 3), reduced by the base, and softened at the edge.
    Heights of overlapping patterns add up, in any order, and the sum is not clipped.
    """
    if len(amounts) != len(heights.patterns):
        raise SkinningError(
            f"There are {len(heights.patterns)} patterns, but {len(amounts)} amounts: give one for each"
        )
    drawn = np.zeros(heights.shape, np.float32)
    largest = max((pattern.values.size for pattern in heights.patterns), default=0)
    scratch = np.empty((2, largest), np.float32)  # shared by all patterns: allocating takes as long as drawing
    for pattern, amount in zip(heights.patterns, amounts, strict=True):
        shape = pattern.values.shape
        raised, spare = scratch[:, : pattern.values.size].reshape(2, *shape)
        _raise_laid(pattern, amount if isinstance(amount, np.ndarray) else np.float32(amount), raised, spare)
        drawn[pattern.window] += raised
    return drawn


def _raise_laid(pattern: LaidPattern, amount: np.float32 | np.ndarray, out: np.ndarray, scratch: np.ndarray) -> None:
    """Write the heights of one pattern to `out`.

    Notes
    -----
    Equation 3 is printed as a product, as equation 2; the text says twice that the heights are raised by a constant
    amount, so that a bone keeps its shape. This follows the text. `depth` goes beyond it: at 0 a bone is fully visible
    at rest and a cliff rises around it, at 1 it rises through the skin, rounded where it emerges.
    """
    kind = pattern.relief.kind
    if kind == "BONE":
        np.add(pattern.values, amount, out=out)
        _rise(out, amount, pattern.relief.depth, scratch)
        out *= pattern.gains
    elif np.ndim(amount) == 0 and (-1.0 if kind == "WRINKLE" else 0.0) <= amount <= 1.0:
        np.multiply(pattern.shapes, amount, out=out)  # nothing is clipped
    else:
        np.multiply(pattern.values, amount, out=out)
        np.clip(out, 0.0 - BASES[kind], 1.0 - BASES[kind], out=out)
        out *= pattern.gains


def measure_range(heights: HeightMap) -> float:
    """Find the largest height, up or down, that patterns can reach together, in the object's units."""
    total = np.zeros(heights.shape, np.float32)
    for pattern in heights.patterns:
        total[pattern.window] += np.abs(pattern.gains) * np.float32(1.0 - BASES[pattern.relief.kind])
    return float(total.max(initial=0.0))


def displace_points(points: np.ndarray, normals: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Move points, shape (V, 3), along unit normals by heights, shape (V,): equation 4, P_out = P_in + N h."""
    return points + normals * heights[:, None]
