"""Draw the picture of docs/fit.md: fitted joints in front of characters, beside those of their artists.

    python benchmarks/fit_pictures.py [--assets FOLDER] [--variant NAME] [--output FILE]

Blue discs are fitted joints, orange ones doubtful; black dots are the artist's. From the front, and from the left.
"""

from __future__ import annotations

import numpy as np

from harness import ASSETS, IMAGES, option, parse
from benchmarks.fit_characters import ARTISTS, HUMANS_ONLY, VARIANTS, Bare, read_bare
from benchmarks.png import as_bytes, write_png
from deformers.errors import SkinningError
from deformers.fit.fitting import fit_joints
from deformers.fit.joints import HUMAN, Fit
from deformers.geometry.solid import area_vectors
from deformers.geometry.solid_skin import sample_triangles
from deformers.geometry.vectors import normalize

HEIGHT, MARGIN, WIDEST = 420, 14, 1750  # Pixels of a human's height, around each character, and of a row of them
PAPER, CLAY = (0.93, 0.93, 0.92), np.array((0.80, 0.74, 0.69))
FITTED, DOUBTFUL, ARTIST, LINE = (0.10, 0.50, 0.90), (0.95, 0.40, 0.05), (0.05, 0.05, 0.05), (0.30, 0.60, 0.90)


def draw_character(bare: Bare, fit: Fit) -> list[np.ndarray]:
    """The front, and the left side, as images (H, W, 3)."""
    size = HEIGHT if bare.kind == HUMAN else 0.6 * HEIGHT
    points = fit.frame.to_body(bare.points)
    artist = fit.frame.to_body(np.array(list(bare.joints.values())))
    images, markers = [], fit.list_markers()
    for across, sign, depth, toward in ((0, 1.0, 1, -1.0), (1, 1.0, 0, 1.0)):
        flat = np.stack([sign * points[:, across], points[:, 2], toward * points[:, depth]], axis=1) * size
        used = flat[np.unique(bare.triangles)]
        low, high = used[:, :2].min(axis=0) - MARGIN, used[:, :2].max(axis=0) + MARGIN
        image = shade(flat, bare.triangles, low, np.ceil(high - low).astype(int)[::-1])

        def place(body: np.ndarray, across: int = across, sign: float = sign, low: np.ndarray = low) -> np.ndarray:
            return np.array([sign * body[across], body[2]]) * size - low

        for start, end in fit.list_lines():
            first, last = place(fit.joints[start]), place(fit.joints[end])
            for share in np.linspace(0.0, 1.0, 60):
                draw_disc(image, first + share * (last - first), 1.2, LINE)
        for name, joint in fit.joints.items():
            radius = 5.0 if name in markers else 1.4
            draw_disc(image, place(joint), radius, DOUBTFUL if name in fit.doubtful else FITTED)
        for joint in artist:
            draw_disc(image, place(joint), 2.4, ARTIST)
        images.append(image[::-1])
    return images


def shade(flat: np.ndarray, triangles: np.ndarray, low: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Triangles seen along the third axis, shape (H, W, 3), rows from below."""
    samples, owners = sample_triangles(flat, triangles, 0.7)
    normals = normalize(area_vectors(flat, triangles))[owners]
    columns, rows = (samples[:, :2] - low).astype(int).T
    order = np.argsort(samples[:, 2], kind="stable")  # nearer ones are written last
    image = np.tile(np.array(PAPER), (*shape, 1))
    light = 0.55 + 0.45 * np.abs(normals @ normalize(np.array([[-0.3, 0.5, 0.8]]))[0])
    image[rows[order], columns[order]] = CLAY * light[order, None]
    return image


def draw_disc(image: np.ndarray, center: np.ndarray, radius: float, color: tuple[float, ...]) -> None:
    """A disc with a soft rim at (x, y) of an image (H, W, 3)."""
    reach = int(radius + 2)
    x, y = np.rint(center).astype(int)
    rows, columns = np.mgrid[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1]
    part = image[max(y - reach, 0) : y + reach + 1, max(x - reach, 0) : x + reach + 1]
    rows, columns = rows[: part.shape[0], : part.shape[1]], columns[: part.shape[0], : part.shape[1]]
    share = np.clip(radius + 0.5 - np.hypot(columns - center[0], rows - center[1]), 0.0, 1.0)[..., None]
    part[...] = (1.0 - share) * part + share * np.array(color)


def join_images(images: list[np.ndarray]) -> np.ndarray:
    """Images beside each other, on one floor."""
    height = max(len(image) for image in images)
    columns = []
    for image in images:
        column = np.tile(np.array(PAPER), (height, image.shape[1], 1))
        column[height - len(image) :] = image
        columns.append(column)
    return np.concatenate(columns, axis=1)


def stack_rows(rows: list[np.ndarray]) -> np.ndarray:
    """Images below each other, each in the middle."""
    width = max(row.shape[1] for row in rows)
    result = []
    for row in rows:
        wide = np.tile(np.array(PAPER), (len(row), width, 1))
        left = (width - row.shape[1]) // 2
        wide[:, left : left + row.shape[1]] = row
        result.append(wide)
    return np.concatenate(result)


if __name__ == "__main__":
    given = parse(
        __doc__,
        assets=ASSETS,
        variant=option("rest", "how they are changed"),
        output=option(IMAGES / "fit-joints.png", "file to write"),
    )
    rows: list[list[np.ndarray]] = [[]]
    for name in ARTISTS:
        if name == "mh_human_game":  # the body of mh_human
            continue
        bare = read_bare(given.assets, name)
        if bare.kind != HUMAN and given.variant in HUMANS_ONLY:
            continue
        bare = VARIANTS[given.variant](bare)
        try:
            fit = fit_joints(bare.points, bare.triangles, bare.kind)
        except SkinningError as error:
            print(name, error)
            continue
        front, side = draw_character(bare, fit)
        drawn = [front, side] if bare.kind == HUMAN else [side]
        if sum(image.shape[1] for image in rows[-1] + drawn) > WIDEST:
            rows.append([])
        rows[-1] += drawn
    write_png(given.output, as_bytes(stack_rows([join_images(row) for row in rows])))
