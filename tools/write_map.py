"""Write the map in docs/how-it-works.md: where each feature lives, found by the names of modules and folders.

python tools/write_map.py
"""

from __future__ import annotations

import re

from house_rules.sources import ROOT, read_product

PAGE = ROOT / "docs" / "how-it-works.md"
BEGIN, END = "<!-- The map: python tools/write_map.py writes it. -->\n\n", "<!-- The end of the map. -->\n"
SEEN = ("settings", "operators", "ui", "viewport", "cli")
COLUMNS = (("deformers",), ("bridge", "nodes"), ("tasks", "live"), SEEN)
HEAD = "| feature | numbers | Blender's data | what a user can do | how a user reaches it |\n|---|---|---|---|---|\n"

# The page of each feature, and what the paths of its modules have in them; `$` is the end of a module's name.
FEATURES = {
    "[Bind, live](binding.md)": r"/skinning/|tasks/skin/|^live$|/(carriers|stretch_armatures|scaled_bones)$"
    r"|/(bind|looks)$|settings/objects$|ui/(panels|first|fine_tune)$",
    "[All features](#the-life-of-a-feature)": r"/installed($|/)|tasks/features$|/owned$|/restoring$",
    "[Centers](centers.md)": r"center(s|_table)$|/bulge_limit$",
    "[Twist](twist.md)": r"/twists?$|/limbs$|/limb_choice$|/rolls$|/segments$",
    "[Particles](particles.md)": r"/particles|/geometry/solid",
    "[Bakes](binding.md#bakes)": r"/bak(e|ed|es|ing|e_arguments)($|/)|/point_caches$",
    "[Farm](farms.md)": r"/farm",
    "[Patterns](patterns.md)": r"pattern|/compression$|bridge/images/",
    "[Corrections](corrections.md)": r"/correct|/flesh/|/posed_copies$|measures/folds$",
    "[Check](checks.md)": r"(tasks|operators/character|settings|ui)/checks?($|/)|/measures/",
    "[Layers](layers.md)": r"/layer(s|ed)(/|$)|measures/crossings$",
    "[Side by Side](side-by-side.md)": r"/side_by_side|/ghosts$|/heat$|ui/compare$",
    "[Engine Copy](engine-copy.md)": r"/engine_copy|/exchange|ui/hand_over$",
    "[Weights](weights.md)": r"/automatic_weights/|/weight_editing/|(?<!copy/)weights(/|$)|/weight_",
    "[Weight lines](weights.md#weight-lines)": r"weight_line|/weight_editing/line|/weights/line|/line_splines$|/iso_",
    "[Fit Skeleton](fit.md)": r"/fit(_markers)?($|/)|/fitted$",
    "[Handles](handles.md)": r"/handles",
    "[Drag Skin](posing.md)": r"/posing/|tasks/pose/|/drag_skin$|/dragging$|/pins$|/pose_limits$",
    "[Motion](motions.md)": r"(?<!engine_copy)/motion",
    "[Swing](swing.md)": r"/swings?(/|$)|/swung$",
}


def find_rooms(pattern: str, modules: list[str]) -> dict[str, str]:
    """By top folder what matches a pattern, as Markdown: whole folders, and modules."""
    found = [f"{module}.py" for module in modules if re.search(pattern, module)]
    folders = {file[: file.rfind("/") + 1] for file in found}
    whole = {folder for folder in folders if all(f"{m}.py" in found for m in modules if m.startswith(folder))} - {""}
    rooms: dict[str, str] = {}
    for room in sorted({next((folder for folder in sorted(whole) if file.startswith(folder)), file) for file in found}):
        part = re.split(r"[/.]", room)[0]
        rooms[part] = f"{rooms[part]}, `{room}`" if part in rooms else f"`{room}`"
    return rooms


def write_map() -> str:
    """The table of features, as Markdown."""
    modules = [source.module for source in read_product() if not source.file.endswith("__init__.py")]
    text = HEAD
    for feature, pattern in FEATURES.items():
        rooms = find_rooms(pattern, modules)
        cells = (", ".join(rooms[part] for part in parts if part in rooms) for parts in COLUMNS)
        text += f"| {feature} | {' | '.join(cells)} |\n"
    return text


def replace_map(text: str) -> str:
    """A page with the map as it is now."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + write_map() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(replace_map(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(PAGE.relative_to(ROOT))
