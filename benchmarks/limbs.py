"""Limbs of real characters that take up twist, the effect on their skin, and their first joints.

    python benchmarks/limbs.py [--character NAME ...] [--assets DIR]

Needs Blender's module bpy. Stretch is the rms of |posed over rest length - 1| of the edges that a twist of 90 degrees,
or the roll against it, can stretch, both sides together. Gains of linear blending are millimeters of a character
of 1.8 m.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from harness import (
    ASSETS,
    find,
    list_at_hand,
    new_scene,
    open_file,
    parse,
    print_table,
    print_versions,
    put_to_rest,
    supple,
    time_call,
)
from deformers.rig.limbs import plan_limbs
from deformers.skinning.limb_choice import choose_limbs, measure_limbs
from deformers.skinning.limb_roots import find_limb_roots, find_linear_shares, measure_linear_gain

CHARACTERS = (
    "cesium_man", "fox", "horse", "human_male", "kaykit_knight", "khronos_fox", "mh_human", "mh_human_game", "spider",
)  # fmt: skip


def read_twists(armature: Any, skeleton: Any) -> np.ndarray:
    """The largest twist of each joint in all actions of the file, radians, shape (B,)."""
    largest = find("bridge.rigs.twists").measure_largest_twists(armature, bpy.data.actions)
    found = np.zeros(len(skeleton.joints.parents))
    found[skeleton.first_joints] = [largest.get(name, 0.0) for name in skeleton.names]
    return found


def measure_character(name: str, armature: Any) -> tuple[list[tuple], list[tuple], tuple]:
    """Rows of the tables of limbs, of meshes and of roots."""
    character, skeleton = find("tasks.subject.character"), find("bridge.rigs.armatures").read_skeleton(armature)
    joints, twists = skeleton.joints, read_twists(armature, skeleton)
    put_to_rest(armature)
    meshes = character.list_deformed(bpy.context.view_layer, armature)
    rests = [character.read_character(character.find_skinned(mesh), skeleton).rest for mesh in meshes]
    may_roll = ~np.isin(np.arange(len(joints.parents)), skeleton.bendy_joints)
    planning, planned = time_call(lambda: plan_limbs(joints, may_roll, twists))
    measuring, stretches = time_call(lambda: measure_limbs(planned, rests))
    rolling = choose_limbs(planned, rests)
    rows = [
        (name, limb.kind.lower(), name_bones(skeleton, limb.bones), skeleton.name_joint(limb.source),
         round(float(np.degrees(limb.twist))), stretches[limb.pair].before, stretches[limb.pair].after,
         "rolls" if limb in rolling else "left")
        for limb in planned
    ]  # fmt: skip
    found = np.flatnonzero(find_limb_roots(joints))
    vertices = sum(len(rest.points) for rest in rests)
    summary = name, vertices, 1e3 * planning, 1e3 * measuring, name_bones(skeleton, found)
    gains = [
        (name, mesh.name, measure_linear_gain(rest, shares))
        for mesh, rest in zip(meshes, rests, strict=True)
        for shares in [find_linear_shares(rest.weights, joints, len(rest.points))]
    ]
    return rows, gains, summary


def name_bones(skeleton: Any, joints: Any) -> str:
    return ", ".join(skeleton.name_joint(int(joint)) for joint in joints)


def main() -> None:
    arguments = parse(__doc__, character=CHARACTERS, assets=ASSETS)
    with supple():
        print_versions()
        limbs, gains, roots = [], [], []
        for name in list_at_hand(arguments.assets, arguments.character):
            new_scene()
            of_limbs, of_meshes, summary = measure_character(name, open_file(arguments.assets, name))
            limbs, gains, roots = limbs + of_limbs, gains + of_meshes, [*roots, summary]
        print("\n## Limbs\n")
        print_table(("character", "limb", "bones", "twisted by", "twist in actions", "without", "with", "roll"), limbs)
        print("\n## Gain of linear blending, mm\n")
        print_table(("character", "mesh", "gain"), gains)
        print("\n## Where limbs begin\n")
        print_table(("character", "vertices", "planned in ms", "measured in ms", "roots"), roots)


if __name__ == "__main__":
    main()
