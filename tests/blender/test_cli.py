"""The command line: `main(argv)` in this process, and in others as a user of the bpy wheel runs it.

On stdout Blender itself writes lines such as `Read blend: "hero.blend"` and `Error: Cannot open file ...`, before the
JSON of `--json`: a caller takes what follows from the first line that is `{`. Supple's own messages go to stderr.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_bake import read_cache
from scenes_cli import DONE, FAILED, FRAMES, USAGE, add_character, assert_refused, main, own_errors, own_output, start
from scenes_methods import BLEND_KEYS

from scenes import add_tube, bind, distance, link, open_file, points_at, save, without_blenders_own
from supple.settings.objects import settings_of
from supple.tasks.subject.stack import find_supple_modifier

TOLERANCE = 1e-5
"""In diagonals of the posed mesh."""
FILE_KEYS = {"file", "frame_start", "frame_end", "objects"}
OBJECT_KEYS = {
    "name", "vertices", "vertex_groups", "shape_keys", "armature", "deforming_bones", "joints",
    "bound", "method", "order", "evaluate", "linear_group", "bake", "patterns", "problem",
}  # fmt: skip


def live_points(file: Path, method: str) -> np.ndarray:
    """The character as the viewport shows it at each frame, bound by a method: shape (F, V, 3)."""
    open_file(file)
    obj = bpy.data.objects["Tube"]
    bind(obj, method=method)
    return np.stack([points_at(obj, frame) for frame in FRAMES])


def assert_same(live: np.ndarray, points: Sequence[np.ndarray]) -> None:
    assert max(distance(live[0], one) for one in live) > 100 * TOLERANCE
    for expected, one in zip(live, points, strict=True):
        assert distance(expected, one) <= TOLERANCE


# Other processes


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert "Traceback" not in err, err
    return process.returncode, out, "\n".join(own_errors(without_blenders_own(err)))


def json_in(out: str) -> Any:
    """The JSON that a command writes to stdout; what Blender says there may come before it, and after it."""
    return json.JSONDecoder().raw_decode(out[f"\n{out}".index("\n{\n") :])[0]


def test_other_processes_do_the_same(tmp_path, plain_file):
    described = start(tmp_path / "first", "info", plain_file, "--json")
    binding = start(
        tmp_path / "second", "bind", plain_file, "--method", "DLBNT", "--output", tmp_path / "by process.blend"
    )
    code, out, err = finish(described)
    assert (code, err) == (DONE, "")
    told = json_in(out)
    assert told["file"] == str(plain_file)
    assert [one["name"] for one in told["objects"]] == ["Tube"]
    code, _, err = finish(binding)
    assert (code, err) == (DONE, "")

    source = tmp_path / "by process.blend"
    bake = ("bake", source, "--object", "Tube")
    late = start(tmp_path / "first", *bake, "--frames", "5-8", "--output", tmp_path / "late")
    early = start(tmp_path / "second", *bake, "--frames", "1-4", "--output", tmp_path / "early")
    for process in (late, early):
        code, _, err = finish(process)
        assert (code, err.splitlines()[-1]) == (DONE, "Progress: 100.0%")
    assert main("join", tmp_path / "early", tmp_path / "late", "--output", tmp_path / "joined") == DONE
    assert main(*bake, "--frames", "1-8", "--output", tmp_path / "whole") == DONE
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()
    assert_same(live_points(plain_file, "DLBNT"), read_cache(tmp_path / "whole")[1])


def test_another_process_fails_with_the_same_codes(tmp_path):
    missing = start(tmp_path / "first", "info", tmp_path / "no.blend", "--json")
    wrong = start(tmp_path / "second", "bake")
    code, out, err = finish(missing)
    assert code == FAILED
    assert re.fullmatch(r"supple: error: There is no file '.*no\.blend': check the path \(SUP-\w{5}\)", err)
    assert own_output(out) == []
    code, out, err = finish(wrong)
    assert code == USAGE
    assert err.splitlines()[-1].startswith("supple: error: ")
    assert out == ""


# info


def test_info_as_json(plain_file, capsys):
    before = plain_file.read_bytes()
    capsys.readouterr()
    assert main("info", plain_file, "--json") == DONE
    assert plain_file.read_bytes() == before
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert own_errors(captured.err) == []
    assert set(told) == FILE_KEYS
    (one,) = told["objects"]
    assert set(one) == OBJECT_KEYS
    assert (told["file"], told["frame_start"], told["frame_end"]) == (str(plain_file), 1, 8)
    assert one == {
        "name": "Tube",
        "vertices": 96,
        "vertex_groups": 3,
        "shape_keys": 2,
        "armature": "Rig",
        "deforming_bones": 3,
        "joints": 3,
        "bound": False,
        "method": "DLB",
        "order": "GH",
        "evaluate": "BLENDER",
        "linear_group": "",
        "bake": "NONE",
        "patterns": 0,
        "problem": "",
    }


def test_info_tells_what_is_bound_and_baked_and_what_cannot_be(tmp_path, capsys):
    obj = add_character()
    bind(obj, method="DLB")
    bpy.ops.supple.bake_cache(filepath=str(tmp_path / "a.pc2"), frame_end=2)
    add_tube(rings=12, sides=8)[0].vertex_groups.clear()
    link(bpy.data.objects.new("Prop", bpy.data.meshes.new("Prop")))
    file = save(tmp_path / "saved.blend")

    capsys.readouterr()
    assert main("info", file, "--json") == DONE
    first, second = json.loads(capsys.readouterr().out)["objects"]
    assert (first["name"], first["bound"], first["method"], first["bake"], first["problem"]) == (
        "Tube", True, "DLB", "PC2", "",
    )  # fmt: skip
    assert (second["name"], second["bound"]) == ("Tube.001", False)
    assert "has no vertex groups: parent it to the armature" in second["problem"]

    assert main("info", file) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{file}: frames 1-8"
    assert lines[1] == "  Tube: 96 vertices, 3 bones of 'Rig', bound by DLB"
    assert lines[2].startswith("  Tube.001: 96 vertices, 3 bones of 'Rig.001', 'Tube.001' has no vertex groups")
    assert len(lines) == 3


# bind


@pytest.mark.versions
def test_bind_saves_a_file_that_is_live(tmp_path, plain_file, subtests):
    before = plain_file.read_bytes()
    for method in BLEND_KEYS:
        with subtests.test(method):
            new = tmp_path / "new.blend"
            assert main("bind", plain_file, "--object", "Tube", "--method", method, "--output", new) == DONE
            assert plain_file.read_bytes() == before
            open_file(new)
            obj = bpy.data.objects["Tube"]
            assert (settings_of(obj).is_bound, settings_of(obj).method) == (True, method)
            assert find_supple_modifier(obj).show_viewport
            points = [points_at(obj, frame) for frame in FRAMES]
            assert_same(live_points(plain_file, method), points)


def test_bind_takes_the_choices_of_a_method(tmp_path, plain_file):
    assert main("bind", plain_file, "--method", "DLBNT", "--order", "HG", "--output", tmp_path / "new.blend") == DONE
    open_file(tmp_path / "new.blend")
    settings = settings_of(bpy.data.objects["Tube"])
    assert (settings.method, settings.order) == ("DLBNT", "HG")

    given = ("--sharpness", "0.6", "--bulge-limit", "0.75")
    assert main("bind", plain_file, "--method", "CENTERS", *given, "--output", tmp_path / "new.blend") == DONE
    open_file(tmp_path / "new.blend")
    settings = settings_of(bpy.data.objects["Tube"])
    chosen = settings.method, settings.sharpness, settings.bulge_limit
    assert chosen == ("CENTERS", pytest.approx(0.6), 0.75)


def test_bind_takes_the_objects_that_are_named_or_all(tmp_path):
    names = [add_character().name, add_character().name]
    link(bpy.data.objects.new("Prop", bpy.data.meshes.new("Prop")))
    file = save(tmp_path / "two.blend")
    for named in ((), ("Tube",), ("Tube", "Tube.001")):
        chosen = [text for name in named for text in ("--object", name)]
        assert main("bind", file, *chosen, "--method", "SSD", "--output", tmp_path / "new.blend") == DONE
        open_file(tmp_path / "new.blend")
        assert [obj.name for obj in bpy.data.objects if settings_of(obj).is_bound] == list(named or names)


# bake and join


def test_update_brings_characters_up_and_says_what_changes(tmp_path, capsys):
    file, new = Path(__file__).parent.parent / "fixtures" / "1.0" / "looks.blend", tmp_path / "new.blend"
    before = file.read_bytes()
    for words, updated in ((("--object", "Fast"), ["Fast"]), ((), ["Fast", "Flesh"])):
        capsys.readouterr()
        assert main("update", file, *words, "--output", new) == DONE
        captured = capsys.readouterr()
        assert own_errors(captured.err) == []
        told = [re.fullmatch(r"(.+): up to [\d.]+ mm at '.+'", line) for line in own_output(captured.out)]
        assert sorted(match[1] for match in told if match) == updated
        open_file(new)
        assert sorted(obj.name for obj in bpy.data.objects if settings_of(obj).is_bound) == updated
    assert file.read_bytes() == before


def test_bake_by_a_method_whatever_the_file_is_bound_by(tmp_path, plain_file, subtests, capsys):
    bound_file = tmp_path / "bound.blend"
    assert main("bind", plain_file, "--method", "DLB", "--output", bound_file) == DONE
    for file, method in product((plain_file, bound_file), BLEND_KEYS):
        with subtests.test(f"{file.stem} {method}"):
            capsys.readouterr()
            assert main("bake", file, "--object", "Tube", "--method", method, "--output", tmp_path / "a.pc2") == DONE
            captured = capsys.readouterr()
            assert (captured.out, own_errors(captured.err)) == ("", ["Progress: 100.0%"])
            assert_same(live_points(file, method), read_cache(tmp_path / "a.pc2")[1])


def test_frames_of_a_bake(tmp_path, bound_file, subtests):
    for text, frames in (("3", [3]), ("3-3", [3]), ("3-4:2", [3]), ("-3--1", [-3, -2, -1]), ("1-8:3", [1, 4, 7])):
        with subtests.test(text):
            words = ("--object", "Tube", f"--frames={text}", "--output", tmp_path / "a.pc2")
            assert main("bake", bound_file, *words) == DONE
            samples = read_cache(tmp_path / "a.pc2")[1]
            open_file(bound_file)
            for frame, points in zip(frames, samples, strict=True):
                assert distance(points_at(bpy.data.objects["Tube"], frame), points) <= TOLERANCE


# weights


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A file with a tube that has an armature and no weights."""
    add_tube(rings=12, sides=8)[0].vertex_groups.clear()
    return save(tmp_path / "bare.blend")


def test_weights_are_saved_and_told_as_json(tmp_path, bare, subtests, capsys):
    new = tmp_path / "new.blend"
    for method in ("solid", "surface", "bbw"):
        with subtests.test(method):
            capsys.readouterr()
            assert main("weights", bare, "--method", method, "--limit", 1, "--output", new, "--report", "json") == DONE
            captured = capsys.readouterr()
            assert own_errors(captured.err) == []
            told = json_in(captured.out)
            (one,) = told.pop("armatures")
            assert told == {"file": str(new), "method": method, "mode": "replace"}
            assert (one["armature"], one["bones"], one["bones_without_weights"]) == ("Rig", 3, [])
            assert one["objects"] == [{"name": "Tube", "vertices": 96, "weighted": 96}]
            open_file(new)
            counts = [len(vertex.groups) for vertex in bpy.data.objects["Tube"].data.vertices]
            assert set(counts) == {1}


def test_weights_are_told_as_text(tmp_path, bare, capsys):
    capsys.readouterr()
    assert main("weights", bare, "--output", tmp_path / "new.blend") == DONE
    assert own_output(capsys.readouterr().out) == ["'Tube': all 96 vertices have weights, by Solid Heat."]


def test_weights_take_the_only_armature_or_the_one_that_is_named(tmp_path, capsys):
    chosen = ("--object", "Tube", "--output", tmp_path / "new.blend")
    for armature in ("Rig", "Rig.001"):
        obj, _ = add_tube(rings=12, sides=8, has_weights=False)
        obj.modifiers.clear()
        file = save(tmp_path / "file.blend")
        named = ("--armature", armature) if armature == "Rig.001" else ()
        if named:
            capsys.readouterr()
            refused = main("weights", file, *chosen)
            assert_refused(refused, capsys.readouterr(), "No armature deforms 'Tube': name one with --armature")
            open_file(file)
        assert main("weights", file, *chosen, *named) == DONE
        open_file(tmp_path / "new.blend")
        obj = bpy.data.objects["Tube"]
        assert (obj.modifiers[0].object.name, len(obj.vertex_groups)) == (armature, 3)
        open_file(file)


def test_weights_take_the_mode(tmp_path):
    obj, _ = add_tube(rings=12, sides=8)
    obj.vertex_groups.clear()
    obj.vertex_groups.new(name="bone.2").add(list(range(8)), 1.0, "REPLACE")
    file = save(tmp_path / "some.blend")
    for mode, expected in (("add", 0.5), ("unweighted", 1.0)):
        assert main("weights", file, "--mode", mode, "--output", tmp_path / "new.blend") == DONE
        open_file(tmp_path / "new.blend")
        obj = bpy.data.objects["Tube"]
        number = obj.vertex_groups["bone.2"].index
        (weight,) = (one.weight for one in obj.data.vertices[0].groups if one.group == number)
        assert weight == pytest.approx(expected, abs=0.05)
        assert all(vertex.groups for vertex in obj.data.vertices)
