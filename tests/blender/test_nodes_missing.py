"""Blenders without the nodes that read bones: Python deforms, and nodes that are asked for are refused in words.

In a Blender that has them, they are said to be missing.
"""

from collections.abc import Callable

import bpy
import pytest

from scenes import add_tube, add_twin, bind, distance, evaluated_points, select, snapshot, turn
from supple import properties
from supple.deformers import SkinningError
from supple.properties import settings_of
from supple.tasks import bind as tasks
from supple.tasks import nodes

REASON = properties.NODES_PROBLEM or "Nodes that read bones need Blender 5.1 or later"
needs_nodes = pytest.mark.skipif(bool(properties.NODES_PROBLEM), reason=properties.NODES_PROBLEM)


@pytest.fixture
def take_away(monkeypatch) -> Callable[[], None]:
    """Have this Blender be without the nodes from now on."""
    return lambda: monkeypatch.setattr(nodes, "NODES_PROBLEM", REASON)


def assert_follows(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    turn(twin.modifiers["Armature"].object, "bone.1", (1.0, 0.4, 0.0), (1.2, 0.9, 1.1))
    assert settings_of(obj).message == ""
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= 1e-5


def test_the_default_is_what_this_blender_can():
    obj, _ = add_tube()
    assert settings_of(obj).evaluate == ("NODES" if bpy.app.version >= (5, 1, 0) else "PYTHON")
    assert bool(properties.NODES_PROBLEM) == (bpy.app.version < (5, 1, 0))
    select(obj)
    bpy.ops.supple.bind()
    assert settings_of(obj).evaluate == ("NODES" if bpy.app.version >= (5, 1, 0) else "PYTHON")
    assert settings_of(obj).evaluate_problem == ""


def test_nodes_asked_for_are_refused(take_away):
    obj, _ = add_tube()
    take_away()
    before = snapshot(obj)
    with pytest.raises(RuntimeError, match=REASON):
        bind(obj, evaluate="NODES")
    with pytest.raises(SkinningError, match=REASON):
        tasks.bind([obj], "SSD", "NODES")
    assert snapshot(obj) == before
    assert not settings_of(obj).is_bound


@pytest.mark.parametrize("bound", [False, True], ids=["before bind", "while bound"])
def test_nodes_chosen_in_the_settings_fall_back_to_python(take_away, bound):
    obj, _ = add_tube()
    twin = add_twin(obj)
    take_away()
    if bound:
        bind(obj, method="SSD", evaluate="PYTHON")
    settings_of(obj).evaluate = "NODES"
    if not bound:
        select(obj)
        bpy.ops.supple.bind(method="SSD")
    assert (settings_of(obj).evaluate, settings_of(obj).evaluate_problem) == ("PYTHON", REASON)
    assert_follows(obj, twin)


@needs_nodes
def test_a_file_bound_by_nodes_is_reported_and_python_can_take_over(take_away, tmp_path):
    obj, _ = add_tube()
    add_twin(obj).name = "Twin"
    bind(obj, method="SSD", evaluate="NODES")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "bound.blend"))
    take_away()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "bound.blend"))
    bpy.context.scene.frame_set(2)
    obj = bpy.data.objects["Tube"]
    assert settings_of(obj).message == f"'Tube' is evaluated by nodes. {REASON}. Here, evaluate by Python"
    settings_of(obj).evaluate = "PYTHON"
    assert_follows(obj, bpy.data.objects["Twin"])
