"""The pictures of docs/patterns.md: a human in poses that bring patterns out, how they are shown, and the library.

    python benchmarks/pattern_pictures.py [--output DIR] [--samples COUNT] [--only NAME ...]

Needs Blender's module bpy; takes 8 minutes on two cores. The human is read from a folder of assets that
is not part of the repository (--assets); without it only the library is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from harness import find, is_there, new_scene
from benchmarks.pattern_body import FLEX, SKIN, Pose, curl_fingers, muted, open_body, show_as, show_patterns, strike
from benchmarks.studio import GAP, WIDTH, Page, Studio, View, add_figure, colored, draw, plain_material, use_nodes
from deformers.patterns.library import PRESETS, draw_preset

PAGE: dict[str, Any] = {"label_width": 110.0, "sizes": (30.0, 26.0)}  # How pages are laid out
HEADER, LABEL_SIZE = 60.0, 26.0  # Sizes on the page of the library
FINE = 3  # Subdivisions of skin that folds displace


@dataclass(frozen=True)
class Row:
    """A pose and how it is seen."""

    label: str
    pose: Pose
    view: View
    rest: View | None = None


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


def draw_rows(arguments: Any, name: str) -> None:
    """Rows at rest, posed, and posed with patterns."""
    rows, studio, height = ROWS[name], Studio.of(arguments), 400.0
    if not is_there(arguments.assets, "mh_human"):
        return
    body, armature = open_body(arguments.assets)
    titles = ("at rest", "posed by DLBNT", "with patterns")
    page = Page(studio, titles, [row.label for row in rows], [height] * len(rows), **PAGE)
    for shown in (True, False):
        show_patterns(body, shown)
        for number, row in enumerate(rows):
            if shown:
                strike(armature, {})
                page.put(number, 0, studio.shoot(row.rest or row.view, page.width, height))
            strike(armature, row.pose)
            page.put(number, 2 if shown else 1, studio.shoot(row.view, page.width, height))
    page.write(arguments.output / f"patterns-{name}.png")


def draw_columns(
    arguments: Any, name: str, rows: tuple[Row, ...], titles: tuple[str, ...], height: float,
    show: Callable[[bpy.types.Object, int], None], **page: Any,
) -> None:  # fmt: skip
    """Rows of the body as a function shows it in each column."""
    studio = Studio.of(arguments)
    if not is_there(arguments.assets, "mh_human"):
        return
    body, armature = open_body(arguments.assets)
    sheet = Page(studio, titles, [row.label for row in rows], [height] * len(rows), **PAGE | page)
    for column in range(len(titles)):
        show(body, column)
        for number, row in enumerate(rows):
            strike(armature, row.pose)
            sheet.put(number, column, studio.shoot(row.view, sheet.width, height))
    sheet.write(arguments.output / f"patterns-{name}.png")


def draw_displacement(arguments: Any, name: str) -> None:
    """An upper arm's bulge and a belly's folds: not shown, as bumps, and displacing a coarse and a fine skin."""
    rows = (
        Row("bulge", FLEX, View((0.26, -0.05, 1.27), 0.0, 3.0, 0.26)),
        Row("folds", POSES[0].pose, View((0.0, -0.06, 0.975), 70.0, 0.0, 0.2)),
    )

    def show(body: bpy.types.Object, column: int) -> None:
        fine = body.modifiers["Subdivision"]
        show_patterns(body, column > 0)
        show_as(body, "BUMP" if column == 1 else "DISPLACEMENT", FINE if column == 3 else 0)
        fine.levels = fine.render_levels = 0

    titles = ("without", "bump", "displacement,\nthe mesh's own vertices", f"displacement,\nsubdivided {FINE} times")
    draw_columns(arguments, name, rows, titles, 330.0, show, header=80.0, sizes=(24.0, 26.0))


RELIEF_COLUMNS = 256
RAKING = -25.0, 62.0  # Direction of the light on reliefs


def draw_library(arguments: Any, name: str) -> None:
    """The library's height maps, and the relief that each gives to a flat skin."""
    studio, path = Studio.of(arguments), arguments.output / f"patterns-{name}.png"
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
    new_scene()
    preset = PRESETS[key]
    heights = draw_preset(key, RELIEF_COLUMNS)
    rows, columns = heights.shape
    base = 0.5 if preset.kind == "WRINKLE" else 0.0
    x, z = np.meshgrid(np.linspace(-0.5, 0.5, columns), np.linspace(-0.5, 0.5, rows) * preset.aspect)
    points = np.stack([x, -preset.strength * (heights - base), z], axis=2).reshape(-1, 3)
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    faces = np.concatenate([first[:, None] + (0, 1, columns + 1), first[:, None] + (0, columns + 1, columns)])
    add_figure(points, faces, SKIN, colored("Skin"))
    return studio.shoot(View((0.0, 0.0, 0.0), 0.0, 0.0, 0.97 * preset.aspect, RAKING), width, height)


SPINE = ("spine05", "spine04", "spine03", "spine02", "spine01")


def bend_spine(forward: float, aside: float) -> Pose:
    """A spine bent by angles, degrees, in all."""
    shares = (0.1, 0.2, 0.3, 0.25, 0.15)
    return {name: (share * forward, 0.0, share * aside) for name, share in zip(SPINE, shares, strict=True)}


SITTING: Pose = {
    "root": (-30.0, 0.0, 0.0), "upperleg01.L": (-25.0, 0.0, 6.0), "lowerleg01.L": (70.0, 0.0, 0.0),
    "upperarm01.L": (-25.0, 0.0, 12.0),
}  # fmt: skip
BELLY = View((0.0, -0.06, 1.0), 20.0, 0.0, 0.42)
COMPRESSION_ROWS = (
    Row("forward", {**SITTING, **bend_spine(72.0, 0.0)}, BELLY),
    Row("forward\nand aside", {**SITTING, **bend_spine(42.0, 45.0)}, BELLY),
    Row("aside", {"upperarm01.L": (0.0, 0.0, 30.0), **bend_spine(0.0, 50.0)}, BELLY),
)
# Colors of stretch, rest and compression, linear
COMPRESSION_COLORS = ((-0.4, (0.05, 0.2, 0.75)), (0.0, (0.75, 0.75, 0.75)), (0.4, (0.8, 0.12, 0.03)))


def draw_compression(arguments: Any, name: str) -> None:
    """A belly that bends: folds by angle, by compression, and the compression itself."""
    materials: list[Any] = []

    def show(body: bpy.types.Object, column: int) -> None:
        if not column:
            _keep_belly(body)
            materials[:] = body.data.materials[0], _color_compression(body)
        pattern = body.supple.patterns[0]
        with muted():
            pattern.show, pattern.driver = column > 0, "ANGLE" if column == 1 else "COMPRESSION"
        find("tasks.patterns.write").update(body)
        body.data.materials[0] = materials[column == 3]

    titles = ("without", "by angle", "by compression", "compression, red")
    draw_columns(arguments, name, COMPRESSION_ROWS, titles, 380.0, show)


def lift_thigh(left: float, right: float, lean: float) -> Pose:
    """Thighs lifted by angles, degrees, of a body whose hips lean back and whose spine bends forward as much."""
    pose: Pose = {"root": (-lean, 0.0, 0.0), **bend_spine(lean, 0.0), "upperarm01.L": (-15.0, 0.0, 25.0)}
    for side, angle in (("L", left), ("R", right)):
        pose[f"upperleg01.{side}"] = (-angle, 0.0, 0.0)
        pose[f"lowerleg01.{side}"] = (0.9 * angle, 0.0, 0.0)
    return pose


LIFTED = View((0.0, -0.1, 0.95), 20.0, 0.0, 0.55)
DEPTH_ROWS = (
    Row("half", lift_thigh(60.0, 0.0, 5.0), LIFTED),
    Row("lifted", lift_thigh(105.0, 0.0, 15.0), LIFTED),
    Row("both,\nsitting", lift_thigh(100.0, 100.0, 20.0), LIFTED),
)


def draw_depth(arguments: Any, name: str) -> None:
    """A belly that thighs press: without folds, and with folds by the depth of the thighs."""

    def show(body: bpy.types.Object, column: int) -> None:
        if not column:
            _keep_belly(body)
            pattern = body.supple.patterns[0]
            with muted():
                pattern.driver, pattern.bone, pattern.first_bone = "DEPTH", "upperleg02.L", "upperleg01.L"
                pattern.other_bone, pattern.compression_start, pattern.compression_full = "upperleg01.R", 6.0, 30.0
                pattern.location, pattern.strength = (0.0, -0.3, 0.93), 0.65 * pattern.strength
        with muted():
            body.supple.patterns[0].show = column > 0
        find("tasks.patterns.write").update(body)

    draw_columns(arguments, name, DEPTH_ROWS, ("without", "by limb depth"), 380.0, show)


def _keep_belly(body: bpy.types.Object) -> None:
    """Leave of the patterns the folds of the belly, wide enough for the flanks, and driven by the whole spine."""
    while len(body.supple.patterns) > 1:
        find("tasks.patterns.edit").remove_pattern(body, len(body.supple.patterns) - 1)
    pattern = body.supple.patterns[0]
    with muted():
        pattern.size = [1.35 * side for side in pattern.size]
        pattern.bone, pattern.first_bone, pattern.start, pattern.full = "spine01", "spine05", 0.1, 0.7
        pattern.compression_start, pattern.compression_full = 8.0, 35.0


def _color_compression(body: bpy.types.Object) -> bpy.types.Material:
    """A material that shows compression under the pattern."""
    material = plain_material("Compression", SKIN, 0.7)
    use_nodes(material)
    tree = material.node_tree
    attribute = tree.nodes.new("ShaderNodeAttribute")
    attribute.attribute_name = f"supple_{body.supple.pattern_key}_compression_0"
    ramp = tree.nodes.new("ShaderNodeValToRGB")
    spread = tree.nodes.new("ShaderNodeMapRange")
    for name, (value, _) in (("From Min", COMPRESSION_COLORS[0]), ("From Max", COMPRESSION_COLORS[-1])):
        spread.inputs[name].default_value = value
    elements = ramp.color_ramp.elements
    elements.new(0.5)
    for element, (_, color) in zip(elements, COMPRESSION_COLORS, strict=True):
        element.color = (*color, 1.0)
    tree.links.new(attribute.outputs["Fac"], spread.inputs["Value"])
    tree.links.new(spread.outputs[0], ramp.inputs["Fac"])
    tree.links.new(ramp.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    return material


ROWS = {"poses": POSES, "details": DETAILS}
PAGES = {
    "library": draw_library, "poses": draw_rows, "details": draw_rows, "displacement": draw_displacement,
    "compression": draw_compression, "depth": draw_depth,
}  # fmt: skip

if __name__ == "__main__":
    draw(__doc__, PAGES, samples=48)
