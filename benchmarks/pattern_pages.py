"""The pages of pattern pictures: which poses, views and maps are on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import bpy
import numpy as np

from benchmarks.particle_pictures import add_mesh, colored, linear
from benchmarks.pattern_body import (
    SKIN,
    Pose,
    curl_fingers,
    open_body,
    show_as,
    show_patterns,
    strike,
)
from benchmarks.pattern_scenes import Studio, View
from deformers.patterns.library import PRESETS, draw_preset

WIDTH, GAP, HEADER = 1500.0, 10.0, 60.0
TITLE_SIZE, LABEL_SIZE = 30.0, 26.0
LABEL_WIDTH = 110.0
FINE = 3
"""How often a skin is subdivided to be displaced by folds."""


@dataclass(frozen=True)
class Row:
    """A pose and how it is seen."""

    label: str
    pose: Pose
    view: View
    rest: View | None = None


FIST = curl_fingers(1.0)
FLEX: Pose = {
    "clavicle.L": (0.0, 0.0, 8.0), "upperarm01.L": (-12.0, 0.0, 45.0), "upperarm02.L": (0.0, -50.0, 0.0),
    "lowerarm01.L": (88.0, 0.0, 0.0), "lowerarm02.L": (0.0, -70.0, 0.0), "wrist.L": (0.0, 0.0, -40.0), **FIST,
}  # fmt: skip
POSES = (
    Row(
        "bent\nforward",
        {
            "root": (-40.0, 0.0, 0.0), "upperleg01.L": (-25.0, 0.0, 6.0), "upperleg02.L": (-5.0, 0.0, 0.0),
            "lowerleg01.L": (80.0, 0.0, 0.0), "spine05": (10.0, 0.0, 0.0), "spine04": (14.0, 0.0, 0.0),
            "spine03": (20.0, 0.0, 0.0), "spine02": (18.0, 0.0, 0.0), "spine01": (10.0, 0.0, 0.0),
            "neck01": (5.0, 0.0, 0.0), "upperarm01.L": (-25.0, 0.0, -12.0),
        },
        View((0.0, -0.02, 1.06), 35.0, 0.0, 0.56),
        View((0.0, -0.02, 1.06), 35.0, 0.0, 0.56),
    ),
    Row(
        "arms up",
        {
            "clavicle.L": (0.0, 0.0, 10.0), "shoulder01.L": (0.0, 0.0, 8.0), "upperarm01.L": (0.0, 0.0, 68.0),
            "lowerarm01.L": (20.0, 0.0, 0.0), "spine02": (-6.0, 0.0, 0.0),
        },
        View((0.0, -0.05, 1.2), 0.0, 3.0, 0.56),
    ),
    Row("arms out,\nbehind", FLEX, View((0.0, -0.05, 1.2), 180.0, 3.0, 0.56)),
    Row("fists", FLEX, View((0.28, -0.05, 1.28), 0.0, 3.0, 0.5), View((0.28, -0.05, 1.14), 0.0, 3.0, 0.5)),
)  # fmt: skip
DETAILS = (
    Row(
        "neck",
        {
            "neck01": (-12.0, 0.0, 0.0), "neck02": (-14.0, 0.0, 0.0), "neck03": (-8.0, 0.0, 0.0),
            "head": (-8.0, 0.0, 0.0),
        },
        View((0.0, 0.0, 1.4), 170.0, 5.0, 0.32),
    ),
    Row(
        "wrist",
        {
            "upperarm01.L": (0.0, 0.0, 45.0), "lowerarm02.L": (0.0, -80.0, 0.0), "wrist.L": (0.0, 0.0, -42.0),
            **curl_fingers(0.3),
        },
        View((0.49, -0.15, 1.25), -38.0, -5.0, 0.2, (-22.0, 48.0)),
        View((0.42, -0.18, 0.97), -38.0, -5.0, 0.28, (-22.0, 48.0)),
    ),
    Row(
        "leg",
        {
            "upperleg01.L": (-25.0, 0.0, 0.0), "upperleg02.L": (-20.0, 0.0, 0.0), "lowerleg01.L": (80.0, 0.0, 0.0),
            "foot.L": (35.0, 0.0, 0.0), "upperleg01.R": (22.0, 0.0, 0.0), "lowerleg01.R": (10.0, 0.0, 0.0),
            "foot.R": (0.0, 0.0, 0.0),
        },
        View((0.1, -0.15, 0.45), 85.0, 5.0, 0.75),
    ),
)  # fmt: skip


def draw_poses(path: Path, assets: Path, studio: Studio) -> None:
    """Rows of POSES: at rest, posed, and posed with patterns."""
    _draw_rows(POSES, path, assets, studio)


def draw_details(path: Path, assets: Path, studio: Studio) -> None:
    """Rows of DETAILS: at rest, posed, and posed with patterns."""
    _draw_rows(DETAILS, path, assets, studio)


def _draw_rows(rows: tuple[Row, ...], path: Path, assets: Path, studio: Studio) -> None:
    body, armature = open_body(assets)
    side, height = (WIDTH - LABEL_WIDTH - 3 * GAP) / 3, 400.0
    page = studio.new_page(WIDTH, HEADER + len(rows) * (height + GAP))
    titles = ("at rest", "posed by DLBNT", "with patterns")
    lefts = [LABEL_WIDTH + column * (side + GAP) for column in range(3)]
    texts = [(title, left + side / 2, HEADER / 2, TITLE_SIZE) for title, left in zip(titles, lefts, strict=True)]
    tops = [HEADER + number * (height + GAP) for number in range(len(rows))]
    texts += [(row.label, LABEL_WIDTH / 2, top + height / 2, LABEL_SIZE) for row, top in zip(rows, tops, strict=True)]
    for shown in (True, False):
        show_patterns(body, shown)
        for row, top in zip(rows, tops, strict=True):
            if shown:
                strike(armature, {})
                studio.put(page, studio.shoot(row.rest or row.view, side, height), lefts[0], top)
            strike(armature, row.pose)
            studio.put(page, studio.shoot(row.view, side, height), lefts[2 if shown else 1], top)
    studio.write(page, texts, path)


def draw_displacement(path: Path, assets: Path, studio: Studio) -> None:
    """An upper arm's bulge and a belly's folds: not shown, as bumps, and displacing a coarse and a fine skin."""
    body, armature = open_body(assets)
    side, height = (WIDTH - LABEL_WIDTH - 4 * GAP) / 4, 330.0
    titles = ("without", "bump", "displacement,\nthe mesh's own vertices", f"displacement,\nsubdivided {FINE} times")
    rows = (
        Row("bulge", FLEX, View((0.26, -0.05, 1.27), 0.0, 3.0, 0.26)),
        Row("folds", POSES[0].pose, View((0.0, -0.06, 0.975), 70.0, 0.0, 0.2)),
    )
    page = studio.new_page(WIDTH, HEADER + 20 + len(rows) * (height + GAP))
    texts = []
    fine = body.modifiers["Subdivision"]
    for column, title in enumerate(titles):
        left = LABEL_WIDTH + column * (side + GAP)
        texts.append((title, left + side / 2, (HEADER + 20) / 2, 0.8 * TITLE_SIZE))
        show_patterns(body, column > 0)
        show_as(body, "BUMP" if column == 1 else "DISPLACEMENT", FINE if column == 3 else 0)
        fine.levels = fine.render_levels = 0
        for number, row in enumerate(rows):
            top = HEADER + 20 + number * (height + GAP)
            strike(armature, row.pose)
            studio.put(page, studio.shoot(row.view, side, height), left, top)
            if column == 0:
                texts.append((row.label, LABEL_WIDTH / 2, top + height / 2, LABEL_SIZE))
    studio.write(page, texts, path)


RELIEF_COLUMNS = 256
RAKING = -25.0, 62.0
"""Where the light of the reliefs comes from."""


def draw_library(path: Path, assets: Path, studio: Studio) -> None:
    """The library's height maps, and the relief that each gives to a flat skin."""
    del assets
    keys = list(PRESETS)
    blocks = (keys[:5], keys[5:])
    top, texts, cells = 0.0, [], []
    for block in blocks:
        scale = (WIDTH - GAP * (len(block) + 1)) / sum(_shown_width(key) for key in block)
        left, height = GAP, max(_shown_width(key) * scale * PRESETS[key].aspect for key in block)
        for key in block:
            wide = _shown_width(key) * scale
            tall = wide * PRESETS[key].aspect
            bottom = top + HEADER + height
            texts.append((PRESETS[key].label, left + wide / 2, bottom - tall - 22, 0.75 * LABEL_SIZE))
            cells.append((key, left, bottom - tall, wide, tall))
            left += wide + GAP
        top += HEADER + 2 * height + GAP
    page = studio.new_page(WIDTH, top + GAP)
    for key, left, above, wide, tall in cells:
        grey = draw_preset(key, studio.pixels(wide))[::-1]
        studio.put(page, np.repeat(grey[..., None], 3, axis=2), left, above)
        studio.put(page, _shoot_relief(key, studio, wide, tall), left, above + tall + 0.5 * GAP)
    studio.write(page, texts, path)


def _shown_width(key: str) -> float:
    """How wide a map is shown beside others."""
    return PRESETS[key].aspect ** -0.35


def _shoot_relief(key: str, studio: Studio, width: float, height: float) -> np.ndarray:
    """Render a flat skin that a pattern has risen from."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    preset = PRESETS[key]
    heights = draw_preset(key, RELIEF_COLUMNS)
    rows, columns = heights.shape
    base = 0.5 if preset.kind == "WRINKLE" else 0.0
    x, z = np.meshgrid(np.linspace(-0.5, 0.5, columns), np.linspace(-0.5, 0.5, rows) * preset.aspect)
    points = np.stack([x, -preset.strength * (heights - base), z], axis=2).reshape(-1, 3)
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    faces = np.concatenate([first[:, None] + (0, 1, columns + 1), first[:, None] + (0, columns + 1, columns)])
    corners = np.broadcast_to(linear(np.array(SKIN)), (len(faces), 3, 3))
    add_mesh(bpy.context.scene, points, faces, np.ascontiguousarray(corners), colored("Skin"))
    return studio.shoot(View((0.0, 0.0, 0.0), 0.0, 0.0, 0.97 * preset.aspect, RAKING), width, height)


DRAW = {"poses": draw_poses, "details": draw_details, "displacement": draw_displacement, "library": draw_library}
"""What draws each picture into a file: from the assets, in a studio."""
