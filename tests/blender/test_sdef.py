"""MMD models with points of SDEF, as the add-on mmd_tools stores them: by Python, by nodes, and by the formula."""

from __future__ import annotations

from itertools import product
from math import radians

import bpy
import numpy as np
import pytest
from scenes_methods import choose, without_limits
from scenes_nodes import assert_alike, bind_both

from scenes import (
    add_tube,
    add_twin,
    bind,
    clear,
    distance,
    evaluated_points,
    rest_points,
    select,
    supple_modifier,
    turn,
    update,
)
from supple.bridge.modifiers import read_input
from supple.deformers import METHODS
from supple.settings.objects import settings_of

pytestmark = [pytest.mark.usefixtures("silent_handlers", "built_groups")]
KEYS = ("mmd_sdef_c", "mmd_sdef_r0", "mmd_sdef_r1")
DEFAULT = METHODS["CENTERS"].params()
PLAIN = without_limits(DEFAULT)
JOINT = np.array((0.0, 1.5, 0.0))


def weights_of(obj: bpy.types.Object, names: list[str]) -> np.ndarray:
    """Normalized weights for the groups of these names, shape (V, names)."""
    index = {obj.vertex_groups[name].index: column for column, name in enumerate(names)}
    result = np.zeros((len(obj.data.vertices), len(names)))
    for vertex in obj.data.vertices:
        for entry in vertex.groups:
            if entry.group in index:
                result[vertex.index, index[entry.group]] = entry.weight
    return result / np.maximum(result.sum(axis=1, keepdims=True), 1e-9)


def add_keys(obj: bpy.types.Object, chosen: np.ndarray, center: np.ndarray = JOINT, apart: float = 0.3) -> None:
    """The three keys: the joint, and points on the bones to both sides of it, a bit off for each vertex."""
    obj.shape_key_add(name="Basis")
    points, off = rest_points(obj), 0.1 * rest_points(obj) * (1.0, 0.0, 1.0)
    for name, along in zip(KEYS, (0.0, -apart, 0.6 * apart), strict=True):
        key = obj.shape_key_add(name=name, from_mix=False)
        sided = center + (0.0, along, 0.05 if along > 0.0 else 0.0) + (0.0 if along == 0.0 else 1.0) * off
        key.data.foreach_set("co", np.where(chosen[:, None], sided, points).astype(np.float32).ravel())
        key.value = 0.0


def add_model(reverse: bool = False) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube of two bones, with what else mmd_tools makes: groups that are no bones', the name of the modifier."""
    obj, armature = add_tube(bones=2)
    obj.modifiers[0].name = "mmd_armature"
    if reverse:  # R0 belongs to the group that comes first
        old = obj.vertex_groups["bone.0"]
        values = {vertex.index: old.weight(vertex.index) for vertex in obj.data.vertices if has(vertex, old.index)}
        obj.vertex_groups.remove(old)
        new = obj.vertex_groups.new(name="bone.0")
        for vertex, value in values.items():
            new.add([vertex], value, "REPLACE")
    obj.vertex_groups.new(name="mmd_edge_scale").add(list(range(len(obj.data.vertices))), 1.0, "REPLACE")
    has_both = (weights_of(obj, ["bone.0", "bone.1"]) > 0.0).all(axis=1)
    add_keys(obj, has_both & (np.arange(len(has_both)) % 5 > 0))  # the others are BDEF2
    return obj, armature


def has(vertex: bpy.types.MeshVertex, group: int) -> bool:
    return any(entry.group == group for entry in vertex.groups)


def bind_by(obj: bpy.types.Object, evaluate: str) -> None:
    choose(obj, "CENTERS", PLAIN)
    bind(obj, method="CENTERS", evaluate=evaluate)


def pose(armature: bpy.types.Object) -> None:
    turn(armature, "bone.0", (0.2, 0.3, -0.1))
    turn(armature, "bone.1", (radians(100), radians(40), 0.2))
    armature.pose.bones["bone.0"].location = (0.1, 0.2, -0.3)
    update()


def skin_slowly(obj: bpy.types.Object, armature: bpy.types.Object, bones: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Which vertices have SDEF between two bones, R0's first, and where the formula has them, NaN for others."""
    matrices = [armature.pose.bones[name].matrix @ armature.data.bones[name].matrix_local.inverted() for name in bones]
    q0, q1 = (matrix.to_quaternion() for matrix in matrices)
    q1 = -q1 if q0.dot(q1) < 0.0 else q1
    m0, m1 = (np.array(matrix, np.float64) for matrix in matrices)
    c, r0, r1 = (
        np.array([point.co[:] for point in obj.data.shape_keys.key_blocks[name].data], np.float64) for name in KEYS
    )
    points, weights = rest_points(obj).astype(np.float64), weights_of(obj, bones)
    is_sdef = (c != points).any(axis=1) & (weights > 0.0).all(axis=1)
    result = np.full(points.shape, np.nan)
    for v in np.flatnonzero(is_sdef):
        w0, w1 = weights[v]
        rw = w0 * r0[v] + w1 * r1[v]
        c0, c1 = np.append(c[v] + (r0[v] - rw) / 2, 1.0), np.append(c[v] + (r1[v] - rw) / 2, 1.0)
        rotation = np.array((q0 * w0 + q1 * w1).normalized().to_matrix(), np.float64)
        result[v] = rotation @ (points[v] - c[v]) + w0 * (m0 @ c0)[:3] + w1 * (m1 @ c1)[:3]
    return is_sdef, result


@pytest.mark.versions
def test_against_the_formula(evaluator: str, subtests: pytest.Subtests) -> None:
    for reverse in (False, True):
        with subtests.test(reverse=reverse):
            clear()
            obj, armature = add_model(reverse)
            bind_by(obj, evaluator)
            update()
            assert settings_of(obj).message == ""
            np.testing.assert_allclose(evaluated_points(obj), rest_points(obj), rtol=0, atol=1e-5)
            pose(armature)
            bones = ["bone.1", "bone.0"] if reverse else ["bone.0", "bone.1"]
            is_sdef, expected = skin_slowly(obj, armature, bones)
            assert 0.3 < is_sdef.mean() < 0.8
            np.testing.assert_allclose(evaluated_points(obj)[is_sdef], expected[is_sdef], rtol=0, atol=2e-5)
            other = skin_slowly(obj, armature, bones[::-1])[1][is_sdef]
            assert np.abs(other - expected[is_sdef]).max() > 0.01
            keys = obj.data.shape_keys.key_blocks
            assert [keys[name].value for name in KEYS] == [0.0, 0.0, 0.0]


def test_both_evaluations_agree(subtests: pytest.Subtests) -> None:
    for twist, params in product(("OFF", "3", "SPREAD"), (PLAIN, DEFAULT)):
        clear()
        obj, armature = add_model()
        if twist == "SPREAD":
            armature.data.bones["bone.1"].supple.spread_twist = "ON"
        twin = bind_both(obj, "CENTERS", params, twist="AUTO" if twist == "SPREAD" else twist)
        assert read_input(supple_modifier(obj), "SDEF")
        pose(armature)
        for scale in ((1.0, 1.0, 1.0), (1.2, 0.8, 1.1), (-1.0, 1.1, 1.0)):
            with subtests.test(twist=twist, params=params, scale=scale):
                turn(armature, "bone.1", (0.3, 0.8, 0.2), scale)
                assert_alike(obj, twin)


def test_in_another_space_and_with_modifiers_above() -> None:
    obj, armature = add_model()
    obj.matrix_world = ((0.5, 0.2, 0, 1), (-0.1, 1.5, 0.3, 0), (0, 0, 2, -1), (0, 0, 0, 1))
    cast = obj.modifiers.new("Round", "CAST")
    cast.factor = 0.2
    obj.modifiers.move(1, 0)
    twin = bind_both(obj, "CENTERS", PLAIN)
    pose(armature)
    assert_alike(obj, twin)


def test_among_vertices_of_many_bones() -> None:
    """Sets with shares: some vertices follow six bones."""
    obj, armature = add_tube(bones=6, length=3.0)
    many = np.arange(len(obj.data.vertices)) % 4 == 0
    for group in obj.vertex_groups:
        group.add(np.flatnonzero(many).tolist(), 0.2, "ADD")
    weights = weights_of(obj, [f"bone.{bone}" for bone in range(6)])
    for vertex in np.flatnonzero(~many):
        for column in np.argsort(weights[vertex])[:-2]:
            obj.vertex_groups[column].remove([int(vertex)])
    add_keys(obj, np.ones(len(many), bool))
    twin = bind_both(obj, "CENTERS", PLAIN)
    for bone in range(6):
        turn(armature, f"bone.{bone}", (0.4, 0.2 * bone, 0.1))
    assert_alike(obj, twin)
    points = evaluated_points(obj)
    is_sdef, expected = skin_slowly(obj, armature, ["bone.2", "bone.3"])
    is_sdef &= ~many
    assert is_sdef.sum() > 30
    np.testing.assert_allclose(points[is_sdef], expected[is_sdef], rtol=0, atol=2e-5)


def test_keys_may_be_moved_and_deleted(evaluator: str) -> None:
    obj, armature = add_model()
    bind_by(obj, evaluator)
    pose(armature)
    before = evaluated_points(obj)
    key = obj.data.shape_keys.key_blocks["mmd_sdef_c"]
    points = np.array([point.co[:] for point in key.data])
    points[:, 2] += 0.1 * (points[:, 2] == 0.0)
    key.data.foreach_set("co", points.astype(np.float32).ravel())
    obj.data.update()
    update()
    is_sdef, expected = skin_slowly(obj, armature, ["bone.0", "bone.1"])
    assert np.abs(evaluated_points(obj) - before)[is_sdef].max() > 1e-3
    np.testing.assert_allclose(evaluated_points(obj)[is_sdef], expected[is_sdef], rtol=0, atol=2e-5)
    for name in KEYS:
        obj.shape_key_remove(obj.data.shape_keys.key_blocks[name])
    update()
    twin = add_twin(obj)
    select(twin)
    bpy.ops.supple.unbind()
    bind_by(twin, "PYTHON")
    update()
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= 1e-5
    assert settings_of(obj).message == ""


def test_what_has_no_sdef_costs_nothing() -> None:
    obj, _ = add_tube()
    bind_by(obj, "NODES")
    assert not read_input(supple_modifier(obj), "SDEF")
    assert not any(name.startswith("supple_sdef") for name in obj.data.attributes.keys())


def test_other_methods_do_not_look_at_it() -> None:
    obj, armature = add_model()
    plain = add_twin(obj)
    plain.shape_key_clear()
    for method in ("SSD", "DLBNT"):
        for one in (obj, plain):
            bind(one, method=method, evaluate="NODES")
        pose(armature)
        assert distance(evaluated_points(plain), evaluated_points(obj)) <= 1e-6


def test_unbind_leaves_the_keys() -> None:
    obj, armature = add_model()
    pose(armature)
    before = evaluated_points(obj)
    bind_by(obj, "NODES")
    assert "supple_sdef" in obj.data.attributes
    bpy.ops.supple.unbind()
    update()
    assert not any(name.startswith("supple") for name in obj.data.attributes.keys())
    assert [key.name for key in obj.data.shape_keys.key_blocks] == ["Basis", *KEYS]
    np.testing.assert_array_equal(evaluated_points(obj), before)


def test_a_subdivision_above_goes_without_the_second_part() -> None:
    obj, armature = add_model()
    obj.modifiers.new("Smooth", "SUBSURF").levels = 1
    obj.modifiers.move(1, 0)
    bind_by(obj, "NODES")
    assert not read_input(supple_modifier(obj), "SDEF")
    pose(armature)
    points = evaluated_points(obj)
    assert len(points) > len(rest_points(obj))
    assert np.isfinite(points).all()
    assert settings_of(obj).message == ""


def test_points_that_are_no_numbers_are_refused(evaluator: str) -> None:
    obj, _ = add_model()
    obj.data.shape_keys.key_blocks["mmd_sdef_r1"].data[7].co[1] = float("nan")
    choose(obj, "CENTERS", PLAIN)
    with pytest.raises(RuntimeError, match="mmd_sdef_c"):
        bind(obj, method="CENTERS", evaluate=evaluator)
