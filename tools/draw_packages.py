"""Draw the packages and what each may import: docs/images/packages.svg, from the table in house_rules/layers.py.

python tools/draw_packages.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from house_rules.layers import MAY_IMPORT

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "packages.svg"

WIDTH = 1180
NOT_DRAWN = {"__init__", "bridge/owned", "deformers/errors", "deformers/option", "deformers/method"}
"""What stands in the text of a box instead."""

FONT = "font-family='Helvetica Neue, Helvetica, Arial, sans-serif'"
INK, SOFT, LINE = "#1f2430", "#5b6375", "#8a93a6"
PALETTE = {
    "start": ("#eef0f4", "#b9c0cd"),
    "interface": ("#e3eefb", "#8db4e2"),
    "tasks": ("#e2f3e6", "#86c497"),
    "data": ("#fdf1d9", "#e0b562"),
    "methods": ("#efe8fa", "#b39ddb"),
}
"""Fill and border of the boxes of a layer."""
TIP = (
    "<marker id='tip' viewBox='0 0 10 10' refX='9' refY='5' markerWidth='7' markerHeight='7' orient='auto'>"
    f"<path d='M0 0 L10 5 L0 10 z' fill='{LINE}'/></marker>"
)


@dataclass(frozen=True)
class Box:
    """A package in the picture; one that others are drawn in has a light fill."""

    title: str
    line: str
    x: int
    y: int
    width: int
    height: int
    layer: str
    holds_others: bool = False

    @property
    def right(self) -> int:
        return self.x + self.width

    @property
    def bottom(self) -> int:
        return self.y + self.height


def tall(title: str, line: str, x: int, y: int, width: int, layer: str) -> Box:
    return Box(title, line, x, y, width, 54, layer)


# Rows of MAY_IMPORT. A name that ends in a slash is the top folder of a package that has others in it.
BOXES = {
    "registration": tall("registration", "the parts in order; called by __init__", 440, 24, 300, "start"),
    "ui": tall("ui", "panels: draw, nothing else", 30, 128, 250, "interface"),
    "operators": tall("operators", "buttons: read settings, call one task, report", 330, 128, 400, "interface"),
    "cli": tall("cli", "the command line", 970, 128, 180, "interface"),
    "api": tall("api", "scripts", 970, 232, 180, "interface"),
    "translations": tall("translations", "Japanese texts", 30, 336, 160, "interface"),
    "viewport": tall("viewport", "drawing over the 3D View", 330, 232, 250, "interface"),
    "live": tall("live", "handlers: features follow changes", 620, 232, 280, "interface"),
    "tasks": Box("tasks", "what a user can do, on Blender's objects", 330, 336, 820, 726, "tasks", True),
    "tasks/features": tall("features", "all that Supple puts into a file, in its order", 356, 388, 768, "tasks"),
    "tasks/farm": tall("farm", "jobs for engines", 356, 474, 130, "tasks"),
    "tasks/bake": tall("bake", "caches, keys, join", 356, 646, 140, "tasks"),
    "tasks/check": tall("check", "pose, find faults", 662, 474, 126, "tasks"),
    "tasks/skin": tall("skin", "bind, live, looks", 356, 732, 330, "tasks"),
    "tasks/side_by_side": tall("side_by_side", "ghosts, heat", 498, 474, 152, "tasks"),
    "tasks/engine_copy": tall("engine_copy", "copy, export, measure", 958, 474, 166, "tasks"),
    "tasks/corrections": tall("corrections", "sculpt a pose, keep", 800, 646, 146, "tasks"),
    "tasks/flesh": tall("flesh", "the best shape", 800, 560, 146, "tasks"),
    "tasks/patterns": tall("patterns", "lay, show, place, save", 356, 818, 330, "tasks"),
    "tasks/weights": tall("weights", "find, edit, check, copy", 794, 818, 330, "tasks"),
    "tasks/pose": tall("pose", "drag the skin", 962, 646, 162, "tasks"),
    "tasks/handles": tall("handles", "points, cages", 962, 732, 162, "tasks"),
    "tasks/layers": tall("layers", "stay outside, mend", 800, 732, 146, "tasks"),
    "tasks/motion": tall("motion", "loops, joins", 698, 732, 90, "tasks"),
    "tasks/fit": tall("fit", "a skeleton", 512, 646, 170, "tasks"),
    "tasks/swing": tall("swing", "tails, ears", 698, 646, 90, "tasks"),
    "tasks/subject": tall(
        "subject", "who is deformed, by what and when: character, stack, bones", 356, 904, 540, "tasks"
    ),
    "tasks/installed": tall("installed", "the life of a feature", 912, 904, 212, "tasks"),
    "tasks/": tall("names, reports, steps", "what all tasks share", 356, 990, 768, "tasks"),
    "settings": tall("settings", "what is stored in the file", 30, 1122, 250, "data"),
    "options": tall("options", "what tasks let choose", 30, 1524, 250, "data"),
    "bridge": Box("bridge", "Blender's data as arrays, and back", 330, 1122, 820, 358, "data", True),
    "bridge/rigs": tall("rigs", "bones, poses, joints", 356, 1168, 240, "data"),
    "bridge/animation": tall("animation", "curves, drivers", 356, 1246, 240, "data"),
    "bridge/meshes": tall("meshes", "points, groups, attributes", 356, 1324, 240, "data"),
    "bridge/images": tall("images", "materials, pictures", 660, 1246, 180, "data"),
    "bridge/files": tall("files", "whole or not at all", 860, 1324, 180, "data"),
    "bridge/": tall(
        "arrays, modifiers, changes, owned", "what they share; owned: the marks in files", 356, 1402, 484, "data"
    ),
    "nodes": tall("nodes", "patterns and layers as node groups", 330, 1524, 400, "data"),
    "deformers": Box(
        "deformers", "the methods; errors.py, option.py and method.py serve them", 30, 1658, 1120, 568, "methods", True
    ),
    "deformers/flesh": tall("flesh", "skins as functions of bones", 456, 1710, 210, "methods"),
    "deformers/": tall("__init__", "DEFORMERS: the table of methods", 56, 1794, 380, "methods"),
    "deformers/particles": tall("particles", "a solid under the skin", 56, 1878, 380, "methods"),
    "deformers/measures": tall("measures", "space, stretch, sections", 456, 1878, 220, "methods"),
    "deformers/weight_editing": tall("weight_editing", "smooth, mirror, transfer", 700, 1878, 196, "methods"),
    "deformers/engine_copy": tall("engine_copy", "bones and keys for engines", 686, 1794, 210, "methods"),
    "deformers/corrections": tall("corrections", "keys that poses bring in", 456, 1794, 210, "methods"),
    "deformers/skinning": tall("skinning", "blends of joints: SSD, DLBNT, Centers", 56, 1962, 330, "methods"),
    "deformers/automatic_weights": tall("automatic_weights", "from bones and skin", 582, 1962, 164, "methods"),
    "deformers/anatomy": tall("anatomy", "which bone is what", 760, 1962, 152, "methods"),
    "deformers/patterns": tall("patterns", "height maps on the skin", 926, 1962, 200, "methods"),
    "deformers/rig": tall("rig", "rest, pose, skeleton, limbs", 56, 2052, 330, "methods"),
    "deformers/layers": tall("layers", "clothes over bodies", 432, 1962, 136, "methods"),
    "deformers/algebra": tall("algebra", "sparse solvers, rotations", 56, 2146, 330, "methods"),
    "deformers/posing": tall("posing", "bones that follow the skin", 926, 1794, 200, "methods"),
    "deformers/motion": tall("motion", "frames that are alike", 926, 2052, 200, "methods"),
    "deformers/swing": tall("swing", "springs, chains", 926, 1878, 200, "methods"),
    "deformers/fit": tall("fit", "joints in a mesh", 446, 2052, 210, "methods"),
    "deformers/preset_files": tall("preset_files", "presets as JSON", 956, 2146, 170, "methods"),
    "deformers/geometry": tall("geometry", "meshes, solids, distances", 400, 2146, 540, "methods"),
}
LANES = {
    ("deformers/particles", "deformers/geometry"): 418,
    ("deformers/layers", "deformers/geometry"): 480,
    ("ui", "settings"): 235,
}
"""Where an arrow goes down beside the boxes between, as x."""


def read_links() -> list[tuple[str, str]]:
    """What each package may import, without what it reaches by another one."""
    links = {(name, other) for name, below in MAY_IMPORT.items() for other in below}
    links = {(_whole(name, other), _whole(other, name)) for name, other in links if not NOT_DRAWN & {name, other}}
    reached = {name: set(find_reached(name, links)) for name, _ in links}
    return sorted(
        (name, other)
        for name, other in links
        if not any(other in reached.get(between, ()) for start, between in links if start == name)
    )


def _whole(name: str, other: str) -> str:
    """A package that another one imports from is one box, whatever is in it."""
    part = name.partition("/")[0]
    return name if part == other.partition("/")[0] else part


def find_reached(name: str, links: set[tuple[str, str]]) -> Iterator[str]:
    """Yield all that arrows lead to from a package, by way of others too."""
    for start, other in links:
        if start == name:
            yield other
            yield from find_reached(other, links)


def draw_box(box: Box) -> Iterator[str]:
    fill, border = PALETTE[box.layer]
    opacity = " fill-opacity='0.45'" if box.holds_others else ""
    yield (
        f"<rect x='{box.x}' y='{box.y}' width='{box.width}' height='{box.height}' rx='9' fill='{fill}'{opacity} "
        f"stroke='{border}' stroke-width='1.5'/>"
    )
    if box.holds_others:
        yield (
            f"<text x='{box.x + 26}' y='{box.y + 34}' {FONT} font-size='18' font-weight='bold' fill='{INK}'>"
            f"{escape(box.title)}<tspan dx='14' font-size='14' font-weight='normal' fill='{SOFT}'>"
            f"{escape(box.line)}</tspan></text>"
        )
        return
    middle = box.x + box.width // 2
    for text, y, style in (
        (box.title, 23, f"font-size='16' font-weight='bold' fill='{INK}'"),
        (box.line, 43, f"font-size='13.5' fill='{SOFT}'"),
    ):
        yield f"<text x='{middle}' y='{box.y + y}' text-anchor='middle' {FONT} {style}>{escape(text)}</text>"


def draw_link(above: Box, below: Box, lane: int | None = None) -> str:
    """An arrow down: straight where one box is over the other, else a curve."""
    left, right = max(above.x, below.x), min(above.right, below.right)
    if lane is not None:
        start = end = lane
    elif right - left > 40:
        start = end = (left + right) // 2
    else:
        start = min(max(below.x + below.width // 2, above.x + 36), above.right - 36)
        end = min(max(above.x + above.width // 2, below.x + 36), below.right - 36)
    bend = (below.y + above.bottom) // 2
    tip = below.y - 2
    return (
        f"<path d='M{start} {above.bottom} C{start} {bend} {end} {bend} {end} {tip}' fill='none' stroke='{LINE}' "
        "stroke-width='1.8' marker-end='url(#tip)'/>"
    )


def draw_notes() -> Iterator[str]:
    y = BOXES["deformers"].y - 34
    yield f"<path d='M30 {y} H1150' stroke='{LINE}' stroke-width='1.2' stroke-dasharray='7 6'/>"
    notes = (
        (790, 1438, "An arrow leads down to what a package may import."),
        (790, 1459, "What it reaches by another arrow is left out;"),
        (790, 1480, "the whole table is in tools/house_rules/layers.py."),
        (790, y - 12, "Above this line Blender is known,"),
        (790, y + 22, "below it NumPy alone."),
    )
    for x, height, text in notes:
        yield f"<text x='{x}' y='{height}' {FONT} font-size='13.5' fill='{SOFT}'>{escape(text)}</text>"


def draw() -> str:
    """The whole picture, as SVG."""
    height = max(box.bottom for box in BOXES.values()) + 24
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' height='{height}'>",
        "<title>The packages of Supple, and what each may import</title>",
        f"<defs>{TIP}</defs>",
        f"<rect width='{WIDTH}' height='{height}' fill='#ffffff'/>",
        *(line for box in BOXES.values() if box.holds_others for line in draw_box(box)),
        *(draw_link(BOXES[above], BOXES[below], LANES.get((above, below))) for above, below in read_links()),
        *(line for box in BOXES.values() if not box.holds_others for line in draw_box(box)),
        *draw_notes(),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
    print(PICTURE.relative_to(ROOT))
