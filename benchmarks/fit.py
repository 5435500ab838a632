"""How near fitted skeletons are to those of artists, on characters without their armature.

    python benchmarks/fit.py [--only SECTION ...] [--assets FOLDER] [--characters NAME ...]

Distances are in % of the height. Where the artist's rig has a preset of Supple's, bones of that preset are compared.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from harness import ASSETS, ROOT, parse, print_section, print_table
from benchmarks.characters import read_poses
from benchmarks.fit_bodies import Mesh, join, make_spindle
from benchmarks.fit_characters import ARTISTS, VARIANTS, Bare, below, list_variants, read_bare, refine
from benchmarks.surfaces import read_obj
from deformers.automatic_weights.solid_heat import solve
from deformers.errors import SkinningError
from deformers.fit.bones import FitPreset, find_axis, make_bones, read_fit_preset
from deformers.fit.fitting import fit_joints
from deformers.fit.joints import FINGERS, HUMAN, LEFT, QUADRUPED, RIGHT, Fit, remove_side
from deformers.measures.stretch import mesh_edges

NEAR, FAR, NEAR_ANIMAL = 4.0, 8.0, 6.0
HANGING = "down 70"


def read_preset(name: str) -> FitPreset:
    """A preset of Supple's."""
    return read_fit_preset(name, json.loads((ROOT / "presets" / "fit" / f"{name}.json").read_text(encoding="utf-8")))


def measure(bare: Bare, fit: Fit) -> dict[str, float]:
    """Distance of each joint that the artist has."""
    if bare.preset:
        bones, matrix = make_bones(fit, read_preset(bare.preset)), fit.frame.matrix
        heads = {bone.name: matrix[:3, :3] @ bone.head + matrix[:3, 3] for bone in bones}
        points = {joint: heads[bone] for joint, bone in bare.bones.items() if bone in heads}
    else:
        points = {joint: fit.locate(joint) for joint in bare.joints if joint in fit.joints}
    return {joint: bare.measure(joint, point) for joint, point in points.items()}


def run(bare: Bare) -> tuple[Fit, dict[str, float], float] | str:
    start = time.process_time()
    try:
        fit = fit_joints(bare.points, bare.triangles, bare.kind)
    except SkinningError as error:
        return str(error)
    return fit, measure(bare, fit), time.process_time() - start


def joints(arguments: argparse.Namespace) -> None:
    """Joints of all characters in all variants"""
    rows, groups = [], {}
    for name in arguments.characters:
        bare = read_bare(arguments.assets, name)
        near = NEAR if bare.kind == HUMAN else NEAR_ANIMAL
        for variant, changed in list_variants(bare):
            result = run(changed)
            if isinstance(result, str):
                rows.append((name, variant, "-", "-", "-", "-", result))
                continue
            fit, errors, seconds = result
            values = np.array(list(errors.values()))
            far = {remove_side(joint) for joint, error in errors.items() if error > near}
            listed = ", ".join(
                f"{joint} {error:.1f}{' (marked)' if joint in fit.doubtful else ''}"
                for joint, error in errors.items()
                if error > near and not joint.endswith(RIGHT)
            )
            assert all(
                np.array_equal(fit.joints[joint] * [-1, 1, 1], fit.joints[joint.replace(LEFT, RIGHT)])
                for joint in fit.joints
                if joint.endswith(LEFT)
            )
            rows.append(
                (name, variant, float(values.mean()), f"{100 * (values <= near).mean():.0f} %", len(far),
                 f"{seconds:.2f} s", listed)
            )  # fmt: skip
            group = bare.kind if variant != HANGING else HANGING
            marked = np.array([joint in fit.doubtful for joint in errors])
            groups.setdefault(group if bare.kind == HUMAN else name, []).append((values, marked, len(far)))
    print_table(("character", "variant", "mean", "near", "drags", "time", "beyond"), rows)
    print()
    rows = []
    for group, found in groups.items():
        values, marked = (np.concatenate([row[number] for row in found]) for number in (0, 1))
        near = NEAR if group in (HUMAN, HANGING) else NEAR_ANIMAL
        far, good = values > FAR, values <= near
        rows.append(
            (group, float(values.mean()), f"{100 * good.mean():.1f} %", f"{int(far.sum())} of {len(values)}",
             f"{int((far & marked).sum())} of {int(far.sum())}", f"{100 * marked[good].mean():.1f} %",
             max(row[2] for row in found))
        )  # fmt: skip
    print_table(("all", "mean", "near", "beyond 8", "of these marked", "of near ones marked", "most drags"), rows)


def refused(arguments: argparse.Namespace) -> None:
    """Meshes that are neither a human nor an animal on four legs"""
    human, fox = (read_bare(arguments.assets, name) for name in ("human_male", "fox"))
    rows = []
    for name, (points, triangles), kinds in list_wrong(arguments.assets, human, fox):
        for kind in kinds:
            try:
                fit = fit_joints(points, triangles, kind)
                said = f"fitted, symmetry {fit.frame.symmetry:.2f}"
            except SkinningError as error:
                said = str(error)
            rows.append((name, kind, said))
    print_table(("mesh", "as", "said"), rows)


def list_wrong(
    assets: Path, human: Bare, fox: Bare
) -> list[tuple[str, tuple[np.ndarray, np.ndarray], tuple[str, ...]]]:
    both = (HUMAN, QUADRUPED)
    ball = make_ball()
    legs = [make_ball((0.5 * np.cos(a), 0.5 * np.sin(a), 0.2), (0.06, 0.06, 0.2)) for a in np.arange(8) * np.pi / 4]
    feelers = [make_ball((0.4 * np.cos(a), 0.4 * np.sin(a), 0.4), (0.2, 0.2, 0.05)) for a in np.arange(8) * np.pi / 4]
    walk = _pose(assets, "mh_human", "cmu_02_01_walk")
    cow, faces = read_obj(assets / "spot" / "spot.obj")
    return [
        ("ball", ball, both),
        ("two humans", join((human.points, human.triangles), move(human, 2.2, 0.0)), both),
        ("human behind human", join((human.points, human.triangles), move(human, 0.0, 1.0)), both),
        ("spider", join(make_ball((0, 0, 0.4), (0.3, 0.3, 0.15)), *legs, *feelers), both),
        ("walking human", walk, (HUMAN,)),
        ("cow on its side", (cow[:, [1, 2, 0]], faces), both),
        ("cow as a human", (cow[:, [0, 2, 1]] * [1, -1, 1], faces), (HUMAN,)),
        ("fox as a human", (fox.points, fox.triangles), (HUMAN,)),
        ("human as an animal", (human.points, human.triangles), (QUADRUPED,)),
        ("column", make_ball((0, 0, 1), (0.2, 0.2, 1)), both),
    ]


def _pose(assets: Path, name: str, action: str) -> Mesh:
    data = np.load(assets / name / f"{name}.npz")
    bare = read_bare(assets, name)
    poses = read_poses(data, action)
    moves = poses[len(poses) // 3]
    points = np.concatenate([bare.points, np.ones((len(bare.points), 1))], axis=1)
    return np.einsum("vb,bij,vj->vi", bare.weights, moves, points)[:, :3], bare.triangles


def make_ball(center: tuple[float, ...] = (0.0, 0.0, 1.0), radii: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Mesh:
    """An ellipsoid."""
    points, triangles = make_spindle((0.0, 0.0, -1.0), (0.0, 0.0, 1.0), *np.sqrt(1.0 - np.linspace(-1.0, 1.0, 13) ** 2))
    return points * np.array(radii) + np.array(center), triangles


def move(bare: Bare, x: float, y: float) -> Mesh:
    return bare.points + np.array([x, y, 0.0]), bare.triangles


def axes(arguments: argparse.Namespace) -> None:
    """Hinge axes to the artist's, in degrees, where his chain bends by 10 degrees"""
    rows = []
    for name in arguments.characters:
        bare = read_bare(arguments.assets, name)
        if bare.kind != HUMAN:
            continue
        for variant in ("rest", "T", "A"):
            changed = VARIANTS[variant](bare)
            result = run(changed)
            if isinstance(result, str):
                continue
            fit = result[0]
            for axis, limb in (("elbow", ("shoulder", "elbow", "wrist")), ("knee", ("hip", "knee", "ankle"))):
                first, second, third = (changed.joints[joint + LEFT] for joint in limb)
                normal = np.cross(second - first, third - second)
                sine = np.linalg.norm(normal) / np.linalg.norm(second - first) / np.linalg.norm(third - second)
                if sine < np.sin(np.radians(10.0)):
                    continue
                found = find_axis(fit.joints, axis, LEFT) @ fit.frame.axes
                cosine = abs(found @ normal) / np.linalg.norm(normal)
                rows.append((name, variant, axis, np.degrees(np.arcsin(sine)), np.degrees(np.arccos(min(cosine, 1.0)))))
    print_table(("character", "variant", "hinge", "bend", "off by"), rows)


ARTISTS_FINGERS = {
    "mh_human": [[f"finger{number}-{bone}.L" for bone in (1, 2, 3)] for number in range(1, 6)],
    **{
        name: [[f"{finger}_0{bone}_l" for bone in (1, 2, 3)] for finger in FINGERS]
        for name in ("mh_human_game", "human_male")
    },
}


def fingers(arguments: argparse.Namespace) -> None:
    """Fingers: distance of their joints to the artist's"""
    rows = []
    for name in arguments.characters:
        bare = read_bare(arguments.assets, name)
        if bare.kind != HUMAN:
            continue
        fit = fit_joints(bare.points, bare.triangles, bare.kind)
        if "thumb1" + LEFT not in fit.joints or name not in ARTISTS_FINGERS:
            rows.append((name, "no fingers" if "thumb1" + LEFT not in fit.joints else "found", "-", "-", "-"))
            continue
        data = np.load(arguments.assets / name / f"{name}.npz")
        heads = dict(zip(map(str, data["bone_names"]), data["bone_head"].astype(float), strict=True))
        for finger, bones in zip(FINGERS, ARTISTS_FINGERS[name], strict=True):
            found = [fit.locate(f"{finger}{number}{LEFT}") for number in (1, 2, 3)]
            errors = [
                100 * float(np.linalg.norm(at - heads[bone])) / bare.height
                for at, bone in zip(found, bones, strict=True)
            ]
            rows.append((name, finger, *errors))
    print_table(("character", "finger", "first joint", "second", "third"), rows)


# Bones that are rotated, and by how many degrees about the axes of the world
BENDS = {
    "arm up": ("upperarm_{}", (0.0, -60.0, 0.0)),
    "elbow": ("lowerarm_{}", (0.0, 0.0, 90.0)),
    "thigh forward": ("thigh_{}", (-80.0, 0.0, 0.0)),
    "knee": ("calf_{}", (90.0, 0.0, 0.0)),
    "spine": ("spine_02", (0.0, 0.0, 30.0)),
    "head": ("head", (0.0, 0.0, 40.0)),
}


def skins(arguments: argparse.Namespace) -> None:
    """Skin by Solid Heat on the fitted bones, to skin by Solid Heat on the artist's: linear, both rotated alike"""
    rows = []
    preset = read_preset("unreal")
    for name in ("mh_human_game", "human_male"):
        bare = read_bare(arguments.assets, name)
        result = run(bare)
        assert not isinstance(result, str)
        bones, matrix = make_bones(result[0], preset), result[0].frame.matrix
        names = [bone.name for bone in bones]
        parents = [names.index(bone.parent) if bone.parent else -1 for bone in bones]
        fitted = [[matrix[:3, :3] @ end + matrix[:3, 3] for end in (bone.head, bone.tail)] for bone in bones]
        data = np.load(arguments.assets / name / f"{name}.npz")
        index = {str(bone): number for number, bone in enumerate(data["bone_names"])}
        artist = [[data[key][index[bone]].astype(float) for key in ("bone_head", "bone_tail")] for bone in names]
        edges = mesh_edges(bare.triangles)
        found = {}
        for rig, ends in (("fitted", np.array(fitted)), ("artist", np.array(artist))):
            weights = solve(bare.points, bare.triangles, ends[:, 0], ends[:, 1]).weights
            found[rig] = {
                pose: _rotate(bare.points, weights, ends[:, 0], names, parents, bone, degrees)
                for pose, (bone, degrees) in BENDS.items()
            }
        for pose in BENDS:
            stretches = []
            for rig in ("fitted", "artist"):
                before, after = (
                    np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
                    for points in (bare.points, found[rig][pose])
                )
                kept = before > 1e-6
                stretches.append(float(np.sqrt(np.mean((after[kept] / before[kept] - 1.0) ** 2))))
            apart = np.linalg.norm(found["fitted"][pose] - found["artist"][pose], axis=1)
            rows.append((name, pose, stretches[0] / stretches[1], 100 * np.sqrt(np.mean(apart**2)) / bare.height))
    print_table(("character", "pose", "stretch, of the artist's", "apart, rms, % of the height"), rows)


def _rotate(
    points: np.ndarray,
    weights: np.ndarray,
    heads: np.ndarray,
    names: list[str],
    parents: list[int],
    bone: str,
    degrees: tuple[float, ...],
) -> np.ndarray:
    """Points with a bone and all below it rotated, on both sides in mirrored ways."""
    result = points.astype(float).copy()
    for side, sign in (("l", 1.0), ("r", -1.0)) if "{}" in bone else (("", 1.0),):
        top = names.index(bone.format(side))
        axis = np.radians(np.array(degrees)) * [1.0, sign, sign]
        angle = float(np.linalg.norm(axis))
        cross = np.cross(np.eye(3), axis / angle) * -1.0
        rotation = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross
        share = weights[:, below(parents, top)].sum(axis=1)[:, None]
        result += share * ((points - heads[top]) @ (rotation - np.eye(3)).T)
    return result


def times(arguments: argparse.Namespace) -> None:
    """Seconds of the processor, in one thread"""
    bare = read_bare(arguments.assets, "mh_human")
    rows = []
    for changed in (bare, refine(bare)):
        result = run(changed)
        rows.append((len(changed.points), result if isinstance(result, str) else f"{result[2]:.2f} s"))
    print_table(("vertices", "time"), rows)


SECTIONS = {"joints": joints, "axes": axes, "fingers": fingers, "skins": skins, "refused": refused, "times": times}

if __name__ == "__main__":
    given = parse(__doc__, SECTIONS, assets=ASSETS, characters=tuple(ARTISTS))
    for section in given.only:
        print_section(SECTIONS[section], given)
