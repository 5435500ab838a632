"""Bodies that nothing can be done with: each operator says why, and changes nothing; the others work on them."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from scenes import evaluated_points, reset, save, select, take_away, turn, update
from supple.settings.objects import settings_of

from .bodies import BODIES, add_body
from .conftest import Case
from .operators import AUTOMATIC, BIND, CALLS, COPY, CORRECTIONS, EDITS, LINES, PATTERNS, add_copy, take_snapshot

FAR = "positions are not numbers, or are too far away: repair the mesh"
WRONG = "infinite or too large coordinates: delete them or fix the source mesh"
SPACE = "is too far away, or has a scale that is not a number or is too large: move or scale it"
BONE = "has zero length, or is too far away: move it in Edit Mode"
COLLAPSED = "All faces of the mesh have zero area: repair the faces"
FLAT = "has zero scale: give it a scale other than 0"
ABOUT_POINTS = {
    **dict.fromkeys([*BIND, *PATTERNS, *CORRECTIONS], FAR),
    **dict.fromkeys([*AUTOMATIC, *EDITS, *LINES], WRONG),
}
ABOUT_SPACE = dict.fromkeys([*BIND, *AUTOMATIC, *EDITS, *LINES, *CORRECTIONS, "pattern"], SPACE)
ABOUT_BONES = dict.fromkeys([*BIND, *AUTOMATIC, *EDITS, *LINES, *CORRECTIONS], BONE)
FILLING = ("solid heat", "biharmonic", "smooth solid", "surface heat")

REFUSED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("vertex at 1e+20", "vertex at -1e+30", "vertex at inf", "vertex at nan"), ABOUT_POINTS),
    **dict.fromkeys(("size 1e+20", "size 1e+38", "away 1e+30"), ABOUT_POINTS),
    **dict.fromkeys(("scale nan", "scale 1e+20", "scale 3e+38"), ABOUT_SPACE),
    **dict.fromkeys(("armature scale nan", "armature scale 1e+20", "armature scale 3e+38"), ABOUT_SPACE),
    **dict.fromkeys(("bone at 1e+20", "bone at 3e+38", "bone at nan", "bones at 1e+30"), ABOUT_BONES),
    "bones at nan": ABOUT_BONES,
    **dict.fromkeys(("on a line", "vertex at 1e+10", "thin 1e-10"), dict.fromkeys([*FILLING, *PATTERNS], COLLAPSED)),
    **dict.fromkeys(("scale 0", "flat scale", "armature scale 0"), dict.fromkeys([*AUTOMATIC, *EDITS], FLAT)),
    "at a point": {
        **dict.fromkeys(AUTOMATIC, "All vertices of 'Tube' are at the same location: select a mesh that has a size"),
        **dict.fromkeys(PATTERNS, COLLAPSED),
    },
    **dict.fromkeys(("away 1e+06", "away 1e+10"), dict.fromkeys(AUTOMATIC, "No deforming bone of 'Rig' is in or near")),
    "no vertices": {
        **dict.fromkeys(BIND, "'Tube' has no vertices: select another mesh"),
        **dict.fromkeys(AUTOMATIC, "'Tube' has no faces and no volume: add faces"),
        **dict.fromkeys(PATTERNS, "'Tube' has no faces: select a mesh with faces"),
        **dict.fromkeys(LINES, "have no weight on 'Tube': give them some weight first"),
        "transfer from": "'Tube' has no faces and no volume",
        "smooth": "No vertices in 'Tube': select a mesh that has vertices",
    },
    "no faces": {
        **dict.fromkeys(AUTOMATIC, "'Tube' has no faces and no volume: add faces"),
        **dict.fromkeys(PATTERNS, "'Tube' has no faces: select a mesh with faces"),
        "smooth solid": "no faces, so no volume to smooth through. Add faces, or smooth along the surface",
        "transfer from": "'Tube' has no faces and no volume",
    },
    "locked groups": {
        **dict.fromkeys(AUTOMATIC, "The vertex groups of all target bones are locked: unlock some"),
        **dict.fromkeys(("smooth", "sharpen", "limit", "normalize", "prune", "mirror"), "unlock vertex groups"),
        **dict.fromkeys(LINES, "The line of 'bone.1' cannot move: unlock its vertex group"),
    },
    "no groups": {
        **dict.fromkeys(BIND, "'Tube' has no vertex groups: parent it to the armature with automatic weights"),
        **dict.fromkeys(LINES, "have no weight on 'Tube': give them some weight first"),
        "transfer from": "The source has no face with weights: select a mesh with vertex groups of the bones",
    },
    "weight nan": dict.fromkeys(BIND, "Some weights are not numbers: normalize the vertex groups and bind again"),
    **dict.fromkeys(("UV nan", "UV 1e+30"), dict.fromkeys(PATTERNS, "Some UVs are not numbers, or are too large")),
    "UV 0.5": {"pattern by UV": "There is no face at UV (0.500, 0.500): choose a UV on an island"},
    "no UV map": {"pattern by UV": "The mesh has no UV map: unwrap it, or place the pattern on the surface"},
}  # fmt: skip
"""By body and operator: words of the message."""

SESSION = (
    "check", "smooth", "mirror", "transfer from", "lines", "solid heat", "surface heat", "normalize", "bind",
    "as published", "centers", "particles", "pattern", "correct",
)  # fmt: skip
"""Operators in the order in which they are tried on one body."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a body that is not spoiled, its copy, and the node groups that Bind would build."""
    reset()
    obj, _ = add_body()
    add_copy(obj)
    settings_of(obj).particles.target_count = 30
    return save(tmp_path_factory.mktemp("body") / "whole.blend", compress=False)


def check_refusal(obj: bpy.types.Object, call: str, words: str, before: str) -> None:
    """What is refused changes nothing, so that the next operator finds the body whole."""
    select(obj)
    with pytest.raises(RuntimeError) as found:
        CALLS[call](obj)
    assert words in str(found.value)
    assert "Traceback" not in str(found.value)
    update()
    assert take_snapshot(obj, bpy.data.objects[COPY]) == before


def check_session(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    was_finite = np.isfinite(evaluated_points(obj)).all()
    for call in SESSION:
        select(obj)
        problem = ""
        try:
            CALLS[call](obj)
        except RuntimeError as error:
            problem = str(error)
        assert "Traceback" not in problem, call
        update()
        assert np.isfinite(evaluated_points(obj)).all() or not was_finite, call
    turn(armature, armature.pose.bones[1].name, (0.5, 0.3, 0.0))
    assert np.isfinite(evaluated_points(obj)).all() or not was_finite
    select(obj)
    take_away()
    assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE"]
    assert not [one.name for one in obj.data.attributes if one.name.startswith("supple_")]


@pytest.mark.parametrize("kind", dict.fromkeys(body.split()[0] for body in BODIES))
def test_operators_work_on_any_body_or_say_why_not(kind: str, whole: Path, case: Case) -> None:
    for body in [body for body in BODIES if body.split()[0] == kind]:
        bpy.ops.wm.open_mainfile(filepath=str(whole))
        obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
        BODIES[body](obj, armature)
        update()
        before = take_snapshot(obj, bpy.data.objects[COPY])
        for call, words in REFUSED.get(body, {}).items():
            with case(f"{body}: {call}"):
                check_refusal(obj, call, words, before)
        with case(body):
            check_session(obj, armature)
