"""Results of Check Character: faults planted into a real character, what it says of characters as they are, its time.

    python benchmarks/check.py [--character NAME ...] [--method KEY] [--assets FOLDER]

needs an interpreter that has bpy. A planted fault is found if a line names one of its bones, or one of its vertices,
on its mesh; lines that belong to none are counted as false, but for layers that are pierced and limbs in each other:
they are the character's own. Characters are checked as they are, too, and with weights that Supple has made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import bpy
import bmesh
import numpy as np
from mathutils import Matrix

from harness import ASSETS, api, open_file, option, parse, print_table, print_versions, supple, time_call

CHARACTERS = ("mh_human", "mh_human_game", "human_male", "fox", "kaykit_knight", "cesium_man", "khronos_fox")
PLANTED_IN = "mh_human"


@dataclass(frozen=True)
class Planted:
    """A fault that was planted: the mesh, the bones and vertices that a line may name.

    `other` is the end of the name of a mesh that pierces it: a line must name that, too.
    """

    name: str
    mesh: str
    bones: tuple[str, ...]
    vertices: frozenset[int] = frozenset()
    other: str = ""

    def is_named(self, finding: Any) -> bool:
        if finding.mesh != self.mesh:
            return False
        return finding.bone in self.bones or bool(self.vertices & set(finding.vertices))

    def is_found_by(self, finding: Any) -> bool:
        return self.is_named(finding) and finding.other.endswith(self.other)


class Body:
    """The weights of a mesh, to be spoiled."""

    def __init__(self, obj: bpy.types.Object) -> None:
        self.obj = obj
        self.points = np.array([vertex.co for vertex in obj.data.vertices])

    def own(self, *bones: str, least: float = 0.5) -> np.ndarray:
        """Vertices that bones have so much of, together."""
        indices = {self.obj.vertex_groups[bone].index for bone in bones if bone in self.obj.vertex_groups}
        return np.array(
            [
                vertex.index
                for vertex in self.obj.data.vertices
                if sum(entry.weight for entry in vertex.groups if entry.group in indices) >= least
            ]
        )

    def nearest(self, bone: str, count: int) -> np.ndarray:
        """So many vertices of a bone nearest to one of them, a patch."""
        own = self.own(bone)
        middle = self.points[own].mean(axis=0)
        start = own[np.argmin(np.linalg.norm(self.points[own] - middle, axis=1))]
        return own[np.argsort(np.linalg.norm(self.points[own] - self.points[start], axis=1))[:count]]

    def assign(self, vertices: np.ndarray, weights: dict[str, float]) -> None:
        """Give vertices these weights alone."""
        for group in self.obj.vertex_groups:
            group.remove(vertices.tolist())
        for bone, weight in weights.items():
            self.obj.vertex_groups[bone].add(vertices.tolist(), weight, "REPLACE")


def plant_collapsing_wrist(body: Body) -> Planted:
    vertices = body.own("wrist.R", "lowerarm02.R", least=0.9)
    center = np.array(body.obj.find_armature().data.bones["wrist.R"].head_local)
    near = vertices[np.linalg.norm(body.points[vertices] - center, axis=1) < 0.035]
    body.assign(near, {"wrist.R": 0.4, "upperarm01.R": 0.6})
    return Planted(
        "a wrist that collapses", body.obj.name, ("wrist.R", "lowerarm02.R", "upperarm01.R"), frozenset(near)
    )


def plant_hard_elbow(body: Body) -> Planted:
    upper, lower = body.own("upperarm02.L"), body.own("lowerarm01.L")
    body.assign(upper, {"upperarm02.L": 1.0})
    body.assign(lower, {"lowerarm01.L": 1.0})
    return Planted("an elbow without blending", body.obj.name, ("upperarm02.L", "lowerarm01.L", "upperarm01.L"))


def plant_swapped_fingers(body: Body) -> Planted:
    groups = body.obj.vertex_groups
    groups["finger2-2.R"].name = "swapped"
    groups["finger4-2.R"].name = "finger2-2.R"
    groups["swapped"].name = "finger4-2.R"
    return Planted("fingers swapped", body.obj.name, tuple(f"finger{n}-{k}.R" for n in (2, 3, 4) for k in (1, 2, 3)))


def plant_wide_knee(body: Body) -> Planted:
    vertices = body.own("upperleg01.L", "upperleg02.L", least=0.6)
    low = vertices[body.points[vertices, 2] < np.median(body.points[vertices, 2])]
    body.assign(low, {"lowerleg02.L": 0.7, "upperleg02.L": 0.3})
    return Planted(
        "a thigh that follows the shin", body.obj.name, ("upperleg02.L", "lowerleg01.L", "lowerleg02.L", "upperleg01.L")
    )


def plant_torn_seam(body: Body) -> Planted:
    """Splits the mesh along a ring of the neck, whose copies follow another bone."""
    own = set(body.own("neck01", least=0.4).tolist())
    mesh = bmesh.new()
    mesh.from_mesh(cast(bpy.types.Mesh, body.obj.data))
    mesh.verts.ensure_lookup_table()
    height = np.median(body.points[list(own), 2])
    before = len(mesh.verts)
    ring = [edge for edge in mesh.edges if all(abs(v.co.z - height) < 0.012 and v.index in own for v in edge.verts)]
    bmesh.ops.split_edges(mesh, edges=ring)
    mesh.to_mesh(cast(bpy.types.Mesh, body.obj.data))
    mesh.free()
    count = len(body.obj.data.vertices)
    body.assign(np.arange(before, count), {"head": 1.0})
    return Planted("a torn seam", body.obj.name, (), frozenset(range(before, count)))


def plant_clothes_left_behind(body: Body) -> Planted:
    """The tights over a knee, which follow the thigh alone: the knee comes through them."""
    knee = np.array(body.obj.find_armature().data.bones["lowerleg01.L"].head_local)
    vertices = np.flatnonzero(np.linalg.norm(body.points - knee, axis=1) < 0.1)
    body.assign(vertices, {"upperleg02.L": 1.0})
    return Planted("tights that a knee pierces", body.obj.name, ("lowerleg01.L",), frozenset(vertices.tolist()), "body")


def plant_soft_buckle(body: Body) -> Planted:
    """A box at the hip, of three segments along each side, half of which follows the thigh."""
    mesh = bmesh.new()
    mesh.from_mesh(cast(bpy.types.Mesh, body.obj.data))
    before = len(mesh.verts)
    side = body.points[body.nearest("upperleg01.L", 1)[0]] + (0.1, 0.0, 0.0)
    made = bmesh.ops.create_cube(mesh, size=0.05, matrix=Matrix.Translation(side.tolist()))["verts"]
    edges = list({edge for vertex in made for edge in vertex.link_edges})
    bmesh.ops.subdivide_edges(mesh, edges=edges, cuts=2, use_grid_fill=True)
    mesh.to_mesh(cast(bpy.types.Mesh, body.obj.data))
    mesh.free()
    points = np.array([vertex.co for vertex in body.obj.data.vertices])[before:]
    upper = points[:, 2] > side[2]
    for chosen, weights in ((upper, {"pelvis.L": 1.0}), (~upper, {"pelvis.L": 0.4, "upperleg01.L": 0.6})):
        body.assign(before + np.flatnonzero(chosen), weights)
    return Planted("a buckle that bends", body.obj.name, (), frozenset(range(before, before + len(points))))


def plant_patch(
    name: str, bone: str, count: int, weights: dict[str, float], bones: tuple[str, ...], body: Body
) -> Planted:
    """Give other weights to `count` vertices of a bone, or to all that hardly follow another if it is 0."""
    vertices = body.nearest(bone, count) if count else body.own(bone, least=0.9)
    body.assign(vertices, weights)
    return Planted(name, body.obj.name, bones, frozenset(vertices.tolist()))


def plant_stray_in_clothes(body: Body) -> Planted:
    vertices = np.array([len(body.points) // 2])
    body.assign(vertices, {"head": 1.0})
    return Planted("a vertex of the skirt follows the head", body.obj.name, ("head",), frozenset(vertices.tolist()))


# Name of the fault, bone and number of the vertices, their new weights, and bones that a line may name
PATCHES = (
    ("a vertex of a finger follows the foot", "finger3-2.L", 1, {"foot.R": 1.0}, ("foot.R",)),
    ("a vertex without weights", "upperarm02.R", 1, {}, ()),
    ("an eye without weights", "eye.L", 0, {}, ()),
    ("a patch of one thigh follows the other", "upperleg02.L", 20, {"upperleg02.R": 1.0},
     ("upperleg02.R", "upperleg02.L")),
    ("a patch of the shin follows the root", "lowerleg01.R", 25, {"root": 1.0}, ("root", "lowerleg01.R")),
    ("a patch of the shoulder follows the foot", "upperarm01.L", 15, {"foot.L": 0.5, "upperarm01.L": 0.5},
     ("foot.L", "upperarm01.L")),
)  # fmt: skip
# Mesh and fault; the last two add vertices
FAULTS: tuple[tuple[str, Callable[[Body], Planted]], ...] = (
    *(("body", partial(plant_patch, *patch)) for patch in PATCHES),
    ("body", plant_collapsing_wrist),
    ("body", plant_hard_elbow),
    ("body", plant_swapped_fingers),
    ("body", plant_wide_knee),
    ("skirt", plant_stray_in_clothes),
    ("tights", plant_clothes_left_behind),
    ("body", plant_torn_seam),
    ("body", plant_soft_buckle),
)


def open_meshes(assets: Path, name: str) -> list[bpy.types.Object]:
    """The meshes of a character that an armature deforms."""
    open_file(assets, name)
    return [obj for obj in bpy.data.objects if obj.type == "MESH" and obj.find_armature() is not None]


def check(meshes: list[bpy.types.Object], method: str) -> tuple[Any, float]:
    """Bind meshes, except by SSD, and check them: the report and the seconds of the check."""
    character = api().Character(meshes[0].find_armature())
    if method != "SSD":
        character.bind(method, meshes=meshes)
    seconds, report = time_call(lambda: character.check(meshes=meshes))
    return report, seconds


def measure_planted(assets: Path, method: str) -> None:
    print(f"\n## Faults planted into {PLANTED_IN}, bound by {method}\n")
    meshes = open_meshes(assets, PLANTED_IN)
    planted = []
    for part, plant in FAULTS:
        body = Body(next(obj for obj in meshes if obj.name.endswith(part)))
        planted.append(plant(body))
    report, seconds = check(meshes, method)
    found, rows = report.faults, []
    for fault in planted:
        lines = [line for line in found if fault.is_found_by(line)]
        best = max(lines, key=lambda line: line.severity, default=None)
        rows.append(
            (fault.name, "found" if lines else "MISSED", "" if best is None else f"{best.bone} {best.describe()}")
        )
    print_table(("fault", "", "worst line"), rows)
    others = [line for line in found if not line.other and not any(fault.is_named(line) for fault in planted)]
    print(f"\n{len(others)} lines belong to none; {seconds:.1f} s, {report.poses} poses")
    for line in others:
        print(f"- {describe(line)}")


def describe(line: Any) -> str:
    others = ", ".join(f"{key} {value:.2f}" for key, value in line.others.items())
    return f"{line.mesh} {line.bone}: {line.describe()} ({line.severity:.2f}; {others})"


def measure_as_they_are(assets: Path, names: tuple[str, ...], method: str) -> None:
    print(f"\n## Characters as they are, and with Supple's weights, bound by {method}\n")
    rows, lines = [], []
    for name in names:
        for automatic in (False, True):
            meshes = open_meshes(assets, name)
            if automatic:
                api().Character(meshes[0].find_armature()).weights(meshes=meshes)
            report, seconds = check(meshes, method)
            kind = "Supple's" if automatic else "as they are"
            rows.append((name, kind, len(report.faults), report.poses, f"{seconds:.1f}"))
            lines += [f"- {name}, {kind}: {describe(line)}" for line in report.faults]
    print_table(("character", "weights", "lines", "poses", "seconds"), rows)
    print("\n" + "\n".join(lines))


def measure_fixes(assets: Path, names: tuple[str, ...], method: str) -> None:
    """Print the faults that Fix All leaves, by a fresh check."""
    print(f"\n## Fix All, bound by {method}\n")
    rows = []
    for name in names:
        meshes = open_meshes(assets, name)
        report, _ = check(meshes, method)
        methods = [obj.supple.method for obj in meshes]
        seconds, fixed = time_call(partial(api().Character(meshes[0].find_armature()).fix, report))
        before, after = report.faults, check(meshes, "SSD")[0].faults
        gone = {fault.key for fault in before} - {fault.key for fault in after}
        said = before if fixed.faults is None else fixed.faults
        told = {fault.key for fault in before} - {fault.key for fault in said}
        changed = sum(obj.supple.method != each for obj, each in zip(meshes, methods, strict=True))
        rows.append((name, len(before), len(told), len(gone), len(after), changed, f"{seconds:.0f}"))
    print_table(
        ("character", "faults", "said to be fixed", "gone in a fresh check", "left", "methods changed", "seconds"), rows
    )


if __name__ == "__main__":
    arguments = parse(
        __doc__, character=CHARACTERS, assets=ASSETS,
        method=option("CENTERS", "what the meshes are bound by; SSD leaves them as they are"),
    )  # fmt: skip
    with supple():
        print_versions()
        if PLANTED_IN in arguments.character:
            measure_planted(arguments.assets, arguments.method)
        measure_as_they_are(arguments.assets, arguments.character, arguments.method)
        measure_fixes(arguments.assets, arguments.character, arguments.method)
