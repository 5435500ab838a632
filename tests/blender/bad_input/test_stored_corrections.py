"""What files may hold of corrections, as JSON: damaged, or tampered with. It is refused in words, and can go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_corrections import correct

import panels
from scenes import add_tube, bind, evaluated_points, open_tube, reset, rest_points, save, select, snapshot, turn, update
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.corrections.posed_copy import find_posed_copy

from .cases import name_of

SOUND = [1.0, 0.0, 0.0, 0.0]
TEXTS = (
    "", "null", "7", "[]", "{}", '"x"', "[[]]", "[null]", "[" * 100_000, '{"bone.1": ' * 10_000, "1e999", "{",
    *(json.dumps([numbers]) for numbers in (SOUND[:3], [*SOUND, 0.0], ["1", None, {}, []], [10**400, 0, 0, 0], "abcd")),
    *(f"[[{number}, 0, 0, 0]]" for number in ("NaN", "Infinity", "1e999")),
    json.dumps([SOUND, SOUND]),
    *(json.dumps({"bone.1": one}) for one in (None, 5, SOUND, "abcdefghij", [None] * 10, [[]] * 10, [10**400] * 10)),
    '{"bone.1": [NaN, 0, 0, 1, 0, 0, 0, 1, 1, 1]}',
    '{"\\ud800": [0, 0, 0, 1, 0, 0, 0, 1, 1, 1]}',
)  # fmt: skip


def call(name: str, **options: Any) -> str:
    """What an operator says: no traceback."""
    said = ""
    try:
        getattr(bpy.ops.supple, name)(**options)
    except RuntimeError as error:
        said = str(error)
    assert "Traceback" not in said
    return said


@pytest.fixture(scope="module")
def corrected_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tube with two corrections of one bone, and a posed copy that is being sculpted."""
    reset()
    obj, armature = add_tube(rings=12, sides=8)
    bind(obj, method="DLBNT")
    for angle, name in ((0.7, "Bent"), (1.4, "More")):
        turn(armature, "bone.1", (angle, 0, 0))
        correct(obj, rest_points(obj)[40], 1.0, (0.1, 0, 0), name=name)
    select(obj)
    path = save(tmp_path_factory.mktemp("corrected") / "corrected.blend")
    assert bpy.ops.supple.correct_pose() == {"FINISHED"}
    save(path.with_name("sculpted.blend"))
    return path


def remove_all(obj: bpy.types.Object) -> None:
    """Delete all corrections, also the last of several that are damaged."""
    while settings_of(obj).corrections:
        count = len(settings_of(obj).corrections)
        assert not call("correction_remove")
        assert len(settings_of(obj).corrections) == count - 1
    assert obj.data.shape_keys is None
    update()
    assert np.isfinite(evaluated_points(obj)).all()


@pytest.mark.parametrize("field", ["rotations", "pose"])
def test_a_correction(corrected_file: Path, field: str, subtests: pytest.Subtests) -> None:
    for text in TEXTS:
        if (field, text) == ("pose", "{}"):  # at rest
            continue
        with subtests.test(name_of(text)):
            obj = open_tube(corrected_file)
            for entry in settings_of(obj).corrections:
                setattr(entry, field, text)
            bones = bpy.data.objects["Rig"].pose.bones
            before, posed = snapshot(), [bone.matrix_basis.copy() for bone in bones]
            panels.draw("VIEW3D_PT_supple_corrections")
            assert ("damaged" in call("correction_pose")) == (field == "pose")
            assert ("damaged" in call("correction_edit")) == (field == "pose")
            if field == "pose":
                assert [bone.matrix_basis for bone in bones] == posed
                assert snapshot() == before
            else:
                call("correction_discard")
                turn(bpy.data.objects["Rig"], "bone.1", (1.0, 0, 0))
                with pytest.raises(SkinningError, match="damaged"):
                    correct(obj, rest_points(obj)[40], 1.0, (0.1, 0, 0))
                call("correction_discard")
            remove_all(obj)


STATES = (
    *TEXTS, '["{}", {}, {}]', '["{}", {}, {}, 5]', '["", {}, {}, "DLBNT"]', '["{}", [], {}, "DLBNT"]',
    '["{}", {"a": "b"}, {}, "DLBNT"]',
    '["{}", {"a": []}, {"a": [1, 0, 0, 0]}, "DLBNT"]', '["{}", {}, {"a": [1]}, "DLBNT"]',
)  # fmt: skip


def test_a_posed_copy(corrected_file: Path, subtests: pytest.Subtests) -> None:
    for text in STATES:
        with subtests.test(name_of(text)):
            copy = find_posed_copy(open_tube(corrected_file.with_name("sculpted.blend")))
            settings_of(copy).corrected_pose = text
            assert "damaged" in call("correction_keep")
            assert not call("correction_discard")
            assert find_posed_copy(bpy.data.objects["Tube"]) is None
