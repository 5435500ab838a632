"""Engine copies as USD: fitted as for other formats, whatever method the character is bound by."""

import subprocess
from pathlib import Path

import bpy
import numpy as np
import pytest

from scenes import add_face_key, add_tube, add_twin, animate_key, bind, diagonal, evaluated_points, reset
from supple.options import CopyOptions
from supple.tasks.engine_copy.copy import find_copy
from supple.tasks.engine_copy.run import make_engine_copy
from supple.tasks.steps import take_all

PYTHON_WITH_PXR = Path(__file__).resolve().parents[2] / ".venv" / "engine-copy" / "bin" / "python"


@pytest.fixture
def tube():
    """A tube bound by dual quaternions, with a face key, that moves without scale."""
    obj, armature = add_tube(rings=12, sides=8)
    for frame, bend, twist in ((1, 0.1, 0.0), (4, 0.7, 0.4), (8, -0.3, 0.9)):
        for number, bone in enumerate(armature.pose.bones):
            bone.rotation_mode = "XYZ"
            bone.rotation_euler = bend * number, 0.5 * twist * number, 0.1
            bone.keyframe_insert("rotation_euler", frame=frame)
    animate_key(add_face_key(obj))
    bind(obj, method="DLB")
    return obj, armature


def make(objects, output, **options):
    return take_all(make_engine_copy(objects, CopyOptions(target="usd", helpers=1, keys=0, **options), output))


@pytest.mark.versions
@pytest.mark.parametrize("ending", [".usda", ".usdc"])
def test_a_copy_is_fitted_and_blended_linearly(tmp_path, tube, ending):
    obj, _ = tube
    path = tmp_path / f"tube{ending}"
    report = make([obj], path)
    assert report.helpers > 0
    assert report.influences == 4
    assert report.copy.largest < 0.5 * report.linear.largest
    assert report.linear.largest > 10.0
    if ending == ".usda":
        text = path.read_text()
        assert "skinningMethod" not in text
        assert text.count("SkelAnimation") >= 1
        assert 'blendShapes = ["Face"]' in text
        assert "Tube__Face" not in text  # what drives the key stays out
    expected = []
    for frame in range(1, 9):
        bpy.context.scene.frame_set(frame)
        expected.append(obj.data.shape_keys.key_blocks["Face"].value)
    reset()
    bpy.ops.wm.usd_import(filepath=str(path))
    (mesh,) = [other for other in bpy.data.objects if other.type == "MESH"]
    values = []
    for frame in range(8):
        bpy.context.scene.frame_set(frame)
        values.append(mesh.data.shape_keys.key_blocks["Face"].value)
    assert np.ptp(expected) > 0.5
    assert values == pytest.approx(expected, abs=1e-4)


@pytest.mark.skipif(not PYTHON_WITH_PXR.is_file(), reason="make test-engine-copy")
@pytest.mark.parametrize("has_face_key", [False, True])
def test_pixars_own_library_shows_the_copy(tmp_path, tube, has_face_key):
    """To it the file is the copy to 1e-4 of the size, and it knows the face key with its curve."""
    obj, armature = tube
    other = add_twin(obj)
    other.shape_key_clear()
    obj = obj if has_face_key else other
    bind(obj, method="DLB")
    armature.location = (1.0, 2.0, 3.0)
    armature.rotation_euler = (0.2, 0.3, 0.4)
    bpy.context.view_layer.update()
    make([obj], tmp_path / "tube.usda")
    command = [PYTHON_WITH_PXR, Path(__file__).with_name("read_usd.py"), tmp_path / "tube.usda", tmp_path / "read.npz"]
    subprocess.run(command, check=True)
    read = np.load(tmp_path / "read.npz")
    assert set(read["methods"]) == {"classicLinear"}
    keys = obj.data.shape_keys
    (copy,) = [other for other in find_copy(armature, "usd").objects if other.type == "MESH"]
    for frame in range(1, 9):
        bpy.context.scene.frame_set(frame)
        if has_face_key:
            assert read["names"].tolist() == ["Face"]
            assert read["keys"][frame - 1] == pytest.approx([keys.key_blocks["Face"].value], abs=1e-4)
            continue
        world = np.array(copy.matrix_world)
        expected = evaluated_points(copy) @ world[:3, :3].T + world[:3, 3]
        assert np.abs(read["points"][frame - 1] - expected).max() < 1e-4 * diagonal(expected)
