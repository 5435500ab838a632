"""Measure: what the panel says of a pose, against numbers worked out by hand, and what it refuses."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from panels import draw
from scenes import add_face_key, add_tube, bind, evaluated_points, select, snapshot, turn, update
from supple.deformers import SkinningError
from supple.tasks.check.this_frame import Measures, measure_shown
from supple.tasks.steps import take_all


def measure(obj: bpy.types.Object) -> Measures:
    return take_all(measure_shown(obj, bpy.context.scene, bpy.context.evaluated_depsgraph_get()))


@pytest.fixture
def tube() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Its holes are small enough for a solid."""
    return add_tube(radius=0.3)


def twist(armature: bpy.types.Object, angle: float = np.pi) -> None:
    turn(armature, "bone.2", (0.0, angle, 0.0))


@pytest.mark.usefixtures("evaluator")
@pytest.mark.parametrize("method", ["SSD", "DLBNT"])
def test_rest_keeps_all(tube, method):
    obj, armature = tube
    bind(obj, method=method)
    armature.location = (3.0, 1.0, 0.5)
    armature.rotation_euler = (0.3, 0.2, 1.0)
    obj.parent = armature
    update()
    measures = measure(obj)
    assert (measures.space.filled, measures.space.twice) == pytest.approx((1.0, 0.0), abs=1e-4)
    assert measures.stretch.rms < 1e-5
    assert measures.section.area == pytest.approx(1.0, abs=1e-4)
    assert measures.reach.share == pytest.approx(1.0, abs=1e-4)
    assert max(measures.from_linear.largest, measures.from_preserve_volume.largest) < 2e-2


def test_a_mesh_in_another_space_than_its_armature_has_the_same_limbs(tube):
    obj, armature = tube
    twist(armature, 1.0)
    before = measure(obj)
    offset = Matrix.Translation((2.0, 0.0, 1.0)) @ Matrix.Rotation(0.7, 4, "Z")
    obj.data.transform(offset.inverted())
    obj.matrix_world = offset
    update()
    measures = measure(obj)
    assert measures.section.area == pytest.approx(before.section.area, rel=1e-3)
    assert measures.reach.share == pytest.approx(before.reach.share, rel=1e-3)


@pytest.mark.usefixtures("evaluator")
def test_a_linear_twist_collapses_and_is_like_blenders_own(tube):
    obj, armature = tube
    bind(obj, method="SSD")
    twist(armature)
    measures = measure(obj)
    assert measures.section_bone in ("bone.1", "bone.2")
    assert measures.section.area < 0.1
    assert measures.space.filled < 0.95
    assert measures.from_linear.largest < 2e-2
    obj.modifiers["Armature"].use_deform_preserve_volume = True
    linear = evaluated_points(obj)
    bpy.ops.supple.unbind()
    apart = 1e3 * np.linalg.norm(evaluated_points(obj) - linear, axis=1)
    assert measures.from_preserve_volume.largest == pytest.approx(apart.max(), rel=1e-3)
    assert measures.from_preserve_volume.rms == pytest.approx(np.sqrt(np.mean(apart**2)), rel=1e-3)


@pytest.mark.versions
def test_what_blender_deforms_is_measured_too(tube):
    obj, armature = tube
    obj.modifiers["Armature"].use_deform_preserve_volume = True
    twist(armature, 1.0)
    measures = measure(obj)
    assert measures.title == "Frame 1, Armature modifier"
    assert measures.from_preserve_volume.largest < 0.1
    assert measures.from_linear.largest > 10.0


def test_differences_are_in_millimeters_of_the_world(tube):
    obj, armature = tube
    bind(obj, method="SSD")
    twist(armature, 1.0)
    meters = measure(obj)
    bpy.context.scene.unit_settings.scale_length = 0.01
    assert measure(obj).from_preserve_volume.largest == pytest.approx(0.01 * meters.from_preserve_volume.largest)
    bpy.context.scene.unit_settings.scale_length = 1.0
    obj.scale = armature.scale = (2.0, 2.0, 2.0)
    update()
    scaled = measure(obj)
    assert scaled.from_preserve_volume.largest == pytest.approx(2.0 * meters.from_preserve_volume.largest, rel=1e-3)
    assert scaled.section.area == pytest.approx(meters.section.area, rel=1e-3)


def test_shape_keys_are_part_of_rest(tube):
    obj, _ = tube
    key = add_face_key(obj)
    bind(obj, method="SSD")
    key.value = 1.0
    update()
    measures = measure(obj)
    assert measures.stretch.rms < 1e-5
    assert measures.space.filled == pytest.approx(1.0, abs=1e-4)


def test_the_panel_shows_the_latest_report(tube):
    obj, armature = tube
    compare = "VIEW3D_PT_supple_compare"
    bind(obj, method="DLBNT")
    select(obj)
    assert draw(compare)[-1] == "supple.measure"
    twist(armature)
    before = snapshot(obj)
    assert bpy.ops.supple.measure() == {"FINISHED"}
    assert snapshot(obj) == before
    shown = draw(compare)
    *lines, close = shown[shown.index("supple.measure") + 1 :]
    assert close == "supple.close_report"
    assert lines == measure(obj).describe()
    assert lines[0] == "Frame 1, DQ with Stretch"
    starts = (
        "Filled space",
        "Edge stretch",
        "Farthest skin",
        "Smallest cross-section",
        "Distance from Linear",
        "Distance from Preserve Volume",
    )
    assert all(line.startswith(start) for line, start in zip(lines[1:], starts, strict=True))


def test_an_open_mesh_has_no_space():
    obj, _ = add_tube(length=1.0)
    assert "Filled space: none, because the mesh is open" in measure(obj).describe()


def test_what_cannot_be_measured_is_said(tube):
    obj, _ = tube
    obj.modifiers.new("Subdivision", "SUBSURF")
    update()
    with pytest.raises(SkinningError, match=r"has \d+ vertices, but \d+ are shown: disable modifiers"):
        measure(obj)
    obj.hide_viewport = True
    update()
    with pytest.raises(SkinningError, match="'Tube' is disabled in this view layer"):
        measure(obj)
    with pytest.raises(SkinningError, match="Nothing to measure: select a mesh"):
        measure(None)
