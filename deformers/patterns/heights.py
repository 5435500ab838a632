"""Skin patterns: height maps that come and go with the joints' angles.

Suzuki & Oshita, "Pattern-based skin deformation of human model". A pattern is a height map laid on the skin; the
angle of a joint sets how much of it is seen. Angles are in radians and 0 at rest, heights in the object's units.
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

BASES = {"WRINKLE": 0.5, "BULGE": 0.0, "BONE": 0.0}
"""Gray value of each kind where the skin is flat."""

LEAST_DIVISOR = 1e-6
"""Divisors are at least this."""

SHARPEST_EDGE = 1e-4
"""Width of an edge that is not softened, as a fraction of the height map."""


@dataclass(frozen=True)
class Response:
    """How much of a pattern an angle brings out.

    Attributes
    ----------
    law : str
        "RANGE": 0 at `start`, 1 from `full` on, smooth between. "LOG", the paper's: `gain * log(angle - start + 1)`.
    direction : str
        Sign of the rotation that counts: "POSITIVE", "NEGATIVE" or "BOTH".
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
        """A message on numbers that make no sense; empty where they do."""
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
    """What the gray values of a pattern's height map mean.

    Attributes
    ----------
    kind : str
        "WRINKLE", "BULGE" or "BONE".
    strength : float
        Height of a full step of gray, from 0 to 1, in the object's units.
    softness : float
        Width of the edge over which the pattern fades out, as a fraction of half of the height map.
    depth : float
        Of a bone: how deep it lies at rest. At 1 it is just under the skin, at 0, the paper's, in full view.
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
    """Find how much of a pattern angles bring out.

    Parameters
    ----------
    angles : float array, shape (...)
        Radians.

    Returns
    -------
    float64 array, shape (...)
        Amounts: 0 for nothing, 1 for all of the pattern.

    Notes
    -----
    "LOG" is the factor k log(theta + 1) of equations 1 to 3, theta counted from the start angle. It has a corner there;
    "RANGE" joins with its first two derivatives zero at both ends.
    """
    rotated = np.asarray(angles, np.float64)
    rotated = {"POSITIVE": rotated, "NEGATIVE": -rotated, "BOTH": np.abs(rotated)}[response.direction]
    if response.law == "LOG":
        return response.gain * np.log1p(np.maximum(rotated - response.start, 0.0))
    share = np.clip((rotated - response.start) / (response.full - response.start), 0.0, 1.0)
    return share**3 * (share * (6.0 * share - 15.0) + 10.0)


def _rise(heights: np.ndarray, amount: float | np.floating | np.ndarray, depth: float, scratch: np.ndarray) -> None:
    """Clip heights over the skin to 0 to 1, in place; softly where they come out, by how deep the rest still lies."""
    share = np.clip(amount, 0.0, 1.0)
    width = share * (1.0 - share) * depth
    np.add(heights, width, out=scratch)
    scratch /= np.maximum(2.0 * width, LEAST_DIVISOR)
    np.clip(scratch, 0.0, 1.0, out=scratch)
    np.square(scratch, out=scratch)
    scratch *= width
    heights -= width
    np.maximum(heights, 0.0, out=heights)
    heights += scratch
    np.minimum(heights, 1.0, out=heights)


def soften_edges(coordinates: np.ndarray, softness: float) -> np.ndarray:
    """Find what is left of a pattern near its edges: 0 on them and outside, 1 farther in.

    Parameters
    ----------
    coordinates : array, shape (..., 2)
        (s, t) in the height map, which fills 0 to 1.
    softness : float
        See `Relief`.

    Returns
    -------
    array, shape (...,)
    """
    inside = np.minimum(coordinates, 1.0 - coordinates).min(axis=-1)
    return smooth_step(inside / max(0.5 * softness, SHARPEST_EDGE))


def sample_values(values: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    """Sample a height map, shape (H, W), bottom row first, at (s, t), shape (N, 2), by cubic B-splines: shape (N,).

    Slopes are smooth, so that no grid of pixels shows in close-up, as it does where values are interpolated linearly.
    Beyond the centers of its outermost pixels the height map goes on with their values.
    """
    height, width = values.shape
    columns, across = _find_taps(coordinates[:, 0], width)
    rows, upward = _find_taps(coordinates[:, 1], height)
    return _blend([_blend([values[row, column] for column in columns], across) for row in rows], upward)


def _blend(taps: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Blend four arrays, shape (N,), by weights, shape (4, N), whose sum is 1: exact where all are the same."""
    base = taps[1]
    return base + sum(weights[index] * (taps[index] - base) for index in (0, 2, 3))


def _find_taps(coordinates: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The four pixels along an axis that a sample is made of, and their weights: two arrays, shape (4, N)."""
    at = np.clip(coordinates * count - 0.5, -1.0, float(count))
    first = np.floor(at)
    x = at - first
    weights = (1.0 - x) ** 3, (3.0 * x - 6.0) * x * x + 4.0, ((3.0 - 3.0 * x) * x + 3.0) * x + 1.0, x**3
    pixels = first.astype(np.intp) + np.arange(-1, 3)[:, None]
    return np.clip(pixels, 0, count - 1), np.stack(weights) / 6.0


@dataclass(frozen=True)
class LaidPattern:
    """A pattern laid on some of a number of samples: pixels of a map, or points of a mesh.

    Attributes
    ----------
    window : tuple of slices
        Which of the samples, rows and columns.
    values : float32 array, the window's shape
        Gray values there, less what the kind's law takes off: the base, or a bone's depth.
    gains : float32 array, the window's shape
        Height of a full step of gray, in the object's units: the strength, 0 where the pattern does not reach.
    shapes : float32 array, the window's shape
        Heights at amount 1, as long as no value is clipped.
    inside : tuple of int arrays, shape (N,)
        Row and column in the window of each sample that it was laid on, in their order.
    """

    relief: Relief
    window: tuple[slice, slice]
    values: np.ndarray
    gains: np.ndarray
    shapes: np.ndarray
    inside: tuple[np.ndarray, np.ndarray]

    def spread(self, amounts: np.ndarray) -> np.ndarray:
        """Amounts of the samples that it was laid on, shape (N,), as `draw_heights` takes them: the window's shape."""
        spread = np.zeros(self.values.shape, np.float32)
        spread[self.inside] = amounts
        return spread


@dataclass(frozen=True)
class HeightMap:
    """Patterns laid on a map of height H and width W.

    Attributes
    ----------
    shape : tuple of int
        (H, W), or (1, N) for N points.
    """

    shape: tuple[int, int]
    patterns: tuple[LaidPattern, ...]


def lay_pattern(
    relief: Relief, image: np.ndarray, shape: tuple[int, int], samples: np.ndarray, coordinates: np.ndarray
) -> LaidPattern:
    """Lay a pattern on a map.

    Parameters
    ----------
    image : array, shape (h, w)
        Gray values, 0 to 1, bottom row first.
    shape : tuple of int
        Of the map, (H, W).
    samples : int array, shape (N,)
        The samples of the map that the pattern touches, counted row by row from the bottom, each once.
    coordinates : array, shape (N, 2)
        (s, t) in the image of each of them.

    Returns
    -------
    LaidPattern

    Raises
    ------
    SkinningError
        Where the image has not two dimensions.
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
    """Draw the heights of all patterns at their amounts, bottom row first, in the object's units.

    Parameters
    ----------
    amounts : sequence of float or float32 array
        Of each pattern, see `respond`; an array of its window's shape where amounts differ over it.

    Returns
    -------
    float32 array, shape (H, W)

    Raises
    ------
    SkinningError
        Where there are more or fewer amounts than patterns.

    Notes
    -----
    Each pattern's values are clipped to 0 to 1 (equations 1 to 3), its base taken off, its edge softened. The heights
    of patterns that overlap are added, so that their order does not matter; the sum is not clipped.
    """
    if len(amounts) != len(heights.patterns):
        raise SkinningError(
            f"There are {len(heights.patterns)} patterns, but {len(amounts)} amounts: give one for each"
        )
    drawn = np.zeros(heights.shape, np.float32)
    largest = max((pattern.values.size for pattern in heights.patterns), default=0)
    scratch = np.empty((2, largest), np.float32)
    for pattern, amount in zip(heights.patterns, amounts, strict=True):
        shape = pattern.values.shape
        raised, spare = scratch[:, : pattern.values.size].reshape(2, *shape)
        _raise_laid(pattern, amount if isinstance(amount, np.ndarray) else np.float32(amount), raised, spare)
        drawn[pattern.window] += raised
    return drawn


def _raise_laid(pattern: LaidPattern, amount: np.float32 | np.ndarray, out: np.ndarray, scratch: np.ndarray) -> None:
    """Heights of one pattern, whose values have the base or depth taken off already.

    Notes
    -----
    Equation 3 is printed as a product, as equation 2; the text says twice that the heights are raised by a constant
    amount, so that a bone keeps its shape. This follows the text. `depth` goes beyond it: at 0 a bone is in full view
    at rest and a cliff rises around it, at 1 it rises through the skin, which rounds where it comes out.
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
    """Find the largest height, up or down, that patterns can give together, in the object's units; 0 for no pattern."""
    total = np.zeros(heights.shape, np.float32)
    for pattern in heights.patterns:
        total[pattern.window] += np.abs(pattern.gains) * np.float32(1.0 - BASES[pattern.relief.kind])
    return float(total.max(initial=0.0))


def displace_points(points: np.ndarray, normals: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Move points along their normals: equation 4, P_out = P_in + N h.

    Parameters
    ----------
    points, normals : arrays, shape (V, 3)
        Normals of length 1.
    heights : array, shape (V,)
        In the points' units.

    Returns
    -------
    array, shape (V, 3)
    """
    return points + normals * heights[:, None]
