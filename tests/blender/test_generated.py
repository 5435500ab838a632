"""The generated characters that benchmarks measure."""

import bpy
import numpy as np
import pytest

from benchmarks.generated import HUMAN, add_parts, add_person
from benchmarks.timing import find_character
from scenes import distance, evaluated_points


def test_person_is_like_a_real_character_and_moves():
    character = find_character(add_person())
    meshes, vertices, bones = character.describe()
    assert (meshes, len(character.meshes), bones) == (4, 4, f"{HUMAN} of {HUMAN}")
    assert 17_000 < vertices < 19_000
    body = bpy.data.objects["Body"]
    counts = np.bincount([len(vertex.groups) for vertex in body.data.vertices])
    assert counts[0] == 0
    assert counts[4:].sum() > 0.2 * counts.sum()
    weights = [sum(entry.weight for entry in vertex.groups) for vertex in body.data.vertices]
    assert min(weights) > 0.8

    scene = bpy.context.scene
    scene.frame_set(1)
    rest = [evaluated_points(obj) for obj in character.meshes]
    bpy.ops.supple.bind(method="SSD", evaluate="PYTHON")
    scene.frame_set(20)
    bound = [evaluated_points(obj) for obj in character.meshes]
    bpy.ops.supple.unbind()
    scene.frame_set(20)
    for obj, before, after in zip(character.meshes, rest, bound, strict=True):
        assert distance(before, after) > 1e-2
        assert distance(evaluated_points(obj), after) < 1e-5


@pytest.mark.parametrize(("bones", "meshes"), [(20, 1), (71, 4), (706, 1)])
def test_parts_have_the_size_that_is_wanted(bones, meshes):
    found, vertices, deforming = find_character(add_parts(6000, bones, meshes)).describe()
    assert (found, deforming) == (meshes, f"{bones} of {bones}")
    assert vertices == pytest.approx(6000, abs=4 * meshes)
