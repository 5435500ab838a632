"""The page of folds by compression: a belly that bends, beside the same folds by angle."""

from __future__ import annotations

from pathlib import Path

import bpy

from benchmarks.particle_pictures import use_nodes
from benchmarks.pattern_body import SKIN, Pose, find_task, muted, open_body, plain_material, strike
from benchmarks.pattern_pages import GAP, HEADER, LABEL_SIZE, LABEL_WIDTH, TITLE_SIZE, WIDTH, Row
from benchmarks.pattern_scenes import Studio, View

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
ROWS = (
    Row("forward", {**SITTING, **bend_spine(72.0, 0.0)}, BELLY),
    Row("forward\nand aside", {**SITTING, **bend_spine(42.0, 45.0)}, BELLY),
    Row("aside", {"upperarm01.L": (0.0, 0.0, 30.0), **bend_spine(0.0, 50.0)}, BELLY),
)
COLORS = ((-0.4, (0.05, 0.2, 0.75)), (0.0, (0.75, 0.75, 0.75)), (0.4, (0.8, 0.12, 0.03)))
"""Of stretch, of nothing, and of compression: linear."""


def draw_compression(path: Path, assets: Path, studio: Studio) -> None:
    """Rows of ROWS: folds by angle, by compression, and the compression itself."""
    body, armature = open_body(assets)
    _keep_belly(body)
    pattern, skin = body.supple.patterns[0], body.data.materials[0]
    colored = _color_compression(body)
    side, height = (WIDTH - LABEL_WIDTH - 4 * GAP) / 4, 380.0
    titles = ("without", "by angle", "by compression", "compression, red")
    page, texts = studio.new_page(WIDTH, HEADER + len(ROWS) * (height + GAP)), []
    for column, title in enumerate(titles):
        left = LABEL_WIDTH + column * (side + GAP)
        texts.append((title, left + side / 2, HEADER / 2, TITLE_SIZE))
        with muted():
            pattern.show, pattern.driver = column > 0, "ANGLE" if column == 1 else "COMPRESSION"
        find_task("patterns.show").update(body)
        body.data.materials[0] = colored if column == 3 else skin
        for number, row in enumerate(ROWS):
            top = HEADER + number * (height + GAP)
            strike(armature, row.pose)
            studio.put(page, studio.shoot(row.view, side, height), left, top)
            if column == 0:
                texts.append((row.label, LABEL_WIDTH / 2, top + height / 2, LABEL_SIZE))
    studio.write(page, texts, path)


def _keep_belly(body: bpy.types.Object) -> None:
    """Leave of the patterns the folds of the belly, wide enough for the flanks, and driven by the whole spine."""
    while len(body.supple.patterns) > 1:
        find_task("patterns.edit").remove_pattern(body, len(body.supple.patterns) - 1)
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
    spread.inputs["From Min"].default_value, spread.inputs["From Max"].default_value = COLORS[0][0], COLORS[-1][0]
    elements = ramp.color_ramp.elements
    elements.new(0.5)
    for element, (_, color) in zip(elements, COLORS, strict=True):
        element.color = (*color, 1.0)
    tree.links.new(attribute.outputs["Fac"], spread.inputs["Value"])
    tree.links.new(spread.outputs[0], ramp.inputs["Fac"])
    tree.links.new(ramp.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    return material
