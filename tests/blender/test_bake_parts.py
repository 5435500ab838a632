"""Bakes in parts: joined they are the bytes of one bake, and what is missing, damaged or of other inputs is named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import bpy
import pytest
from scenes_bake import add_character
from scenes_state import refuse

from scenes import bind
from supple.bridge.files.writing import make_folder
from supple.deformers import SkinningError
from supple.tasks.bake.caches import bake_cache
from supple.tasks.bake.joining import join_parts
from supple.tasks.bake.made_from import Inputs
from supple.tasks.bake.parts import Part, bake_parts, name_part, plan_parts
from supple.tasks.subject.frames import cut_frames, parse_frames

INPUTS = Inputs("0.1.0", "5.2", "ab" * 32)
LATER = replace(INPUTS, file="cd" * 32)


@pytest.fixture
def tubes() -> list[bpy.types.Object]:
    """Two bound characters."""
    tubes = []
    for name in ("Body", "Skirt: long"):
        obj, _ = add_character("keyed")
        obj.name = name
        tubes.append(obj)
    bind(*tubes)
    return tubes


def bake(
    objects: Sequence[bpy.types.Object],
    frames: str,
    folder: Path,
    size: int = 10**6,
    inputs: Inputs = INPUTS,
    choices: tuple[str, ...] = (),
) -> list[Part]:
    """Bake chunks that are not there, as workers do; returns what was baked."""
    make_folder(folder)
    baked = []
    for chunk in cut_frames(parse_frames(frames), size):
        plan = plan_parts(objects, chunk, inputs, choices, is_part=True)
        plan = {obj: part for obj, part in plan.items() if not part.is_there(folder)}
        if plan:
            assert list(bake_parts(plan, bpy.context.scene, folder)) == list(range(1, len(chunk) + 1))
        baked += plan.values()
    return baked


def join(folder: Path, frames: str, expected: Inputs | None = None) -> dict[str, bytes]:
    """The PC2 files that the parts in a folder are joined to."""
    output = folder / "joined"
    shutil.rmtree(output, ignore_errors=True)
    parts = join_parts(folder, parse_frames(frames), output, expected)
    assert sorted(os.listdir(output)) == sorted(f"{part.name}{end}" for part in parts for end in (".json", ".pc2"))
    for part in parts:
        assert Part.read(output / f"{part.name}.json") == part
        assert part.is_whole(output)
    return {part.name: part.cache_in(output).read_bytes() for part in parts}


def one_bake(obj: bpy.types.Object, frames: str, folder: Path) -> bytes:
    (wanted,) = parse_frames(frames)
    list(bake_cache(obj, bpy.context.scene, folder / "one", wanted))
    return (folder / "one").read_bytes()


def test_parts_join_to_the_bytes_of_one_bake(
    tmp_path: Path, tubes: list[bpy.types.Object], subtests: pytest.Subtests
) -> None:
    for frames, size in (("1-10", 3), ("1-10", 1), ("1-10", 50), ("-3-2", 4), ("1-10:2", 2), ("1-10:3", 1), ("7", 1)):
        with subtests.test(f"{frames} by {size}"):
            folder = tmp_path / f"{frames} by {size}"
            bake(tubes, frames, folder, size)
            joined = join(folder, frames)
            assert list(joined) == ["Body", "Skirt__long"]
            for obj, data in zip(tubes, joined.values(), strict=True):
                assert data == one_bake(obj, frames, tmp_path)


def test_several_ranges_are_several_files(tmp_path: Path, tubes: list[bpy.types.Object]):
    bake(tubes[:1], "-2-1,4,5-9:2", tmp_path, 2)
    assert [path.stem for path in sorted(tmp_path.glob("*.pc2"))] == [
        "Body_-2--1", "Body_0-1", "Body_4-4", "Body_5-7x2", "Body_9-9x2",
    ]  # fmt: skip
    joined = join(tmp_path, "-2-1,4,5-9:2")
    assert set(joined) == {"Body_-2-1", "Body_4-4", "Body_5-9x2"}
    for frames, name in (("-2-1", "Body_-2-1"), ("4", "Body_4-4"), ("5-9:2", "Body_5-9x2")):
        assert joined[name] == one_bake(tubes[0], frames, tmp_path)


def test_parts_may_be_cut_in_any_way(tmp_path: Path, tubes: list[bpy.types.Object], subtests: pytest.Subtests) -> None:
    for number, (wanted, *baked) in enumerate(
        (
            ("3-7", "1-10"),
            ("1-9:2", "1-10"),
            ("1-10", "1-9:2", "2-10:2"),
            ("1-10", "1-4", "3-8", "7-10"),
            ("2-9", "1-10:3", "2", "3", "5-6", "8-9"),
            ("4-6", "1-10", "4-6"),
            ("1-9:4", "1-9:2"),
        )
    ):
        with subtests.test(f"{wanted} of {baked}"):
            folder = tmp_path / str(number)
            for frames in baked:
                bake(tubes[:1], frames, folder)
            assert join(folder, wanted) == {"Body": one_bake(tubes[0], wanted, tmp_path)}


# What is there


def test_what_is_there_is_not_baked_again(tmp_path: Path, tubes: list[bpy.types.Object]):
    assert len(bake(tubes, "1-6", tmp_path, 3)) == 4
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert bake(tubes, "1-6", tmp_path, 3) == []
    (tmp_path / "Body_4-6.pc2").unlink()
    assert [part.name for part in bake(tubes, "1-6", tmp_path, 3)] == ["Body_4-6"]
    changed = [path.name for path, time in before.items() if path.stat().st_mtime_ns != time]
    assert sorted(changed) == ["Body_4-6.json", "Body_4-6.pc2"]


def test_a_link_with_the_name_of_a_part_is_replaced_and_what_it_leads_to_stays(
    tmp_path: Path, tubes: list[bpy.types.Object]
):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "parts").mkdir()
    for end in ("pc2", "json"):
        (tmp_path / "parts" / f"Body_1-2.{end}").symlink_to(tmp_path / "mine")
    bake(tubes[:1], "1-2", tmp_path / "parts")
    assert (tmp_path / "mine").read_text() == "mine"
    assert not any(path.is_symlink() for path in (tmp_path / "parts").iterdir())


def test_an_object_that_was_baked_alone_counts_with_others(tmp_path: Path, tubes: list[bpy.types.Object]):
    bake(tubes[:1], "1-3", tmp_path)
    assert [part.object for part in bake(tubes, "1-3", tmp_path)] == ["Skirt: long"]
    os.remove(tmp_path / "Skirt__long_1-3.json")
    refuse(r"'Skirt__long' 1-3\. Bake", join, tmp_path, "1-3")


def spoil_json(folder: Path, **changes: object) -> None:
    path = folder / "Body_1-3.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def cut(path: Path, length: int) -> None:
    os.truncate(path, length)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)


SPOILED = {
    "no JSON": lambda folder: (folder / "Body_1-3.json").unlink(),
    "empty JSON": lambda folder: cut(folder / "Body_1-3.json", 0),
    "half a JSON": lambda folder: cut(folder / "Body_1-3.json", 99),
    "no PC2": lambda folder: (folder / "Body_1-3.pc2").unlink(),
    "half a PC2": lambda folder: cut(folder / "Body_1-3.pc2", 1000),
    "a flipped bit": lambda folder: flip(folder / "Body_1-3.pc2"),
    "another file": lambda folder: spoil_json(folder, inputs={"supple": "0.1.0", "blender": "5.2", "file": "00" * 32}),
    "another Supple": lambda folder: spoil_json(folder, inputs={**vars_of(INPUTS), "supple": "0.0.9"}),
    "another Blender": lambda folder: spoil_json(folder, inputs={**vars_of(INPUTS), "blender": "4.2"}),
    "no inputs": lambda folder: spoil_json(folder, inputs={}),
    "other inputs": lambda folder: spoil_json(folder, inputs={**vars_of(INPUTS), "date": "today"}),
    "other frames": lambda folder: spoil_json(folder, frames=[2, 4, 1]),
    "no frames": lambda folder: spoil_json(folder, frames=[3, 1, 1]),
    "a step of 0": lambda folder: spoil_json(folder, frames=[1, 3, 0]),
    "words for frames": lambda folder: spoil_json(folder, frames="abc"),
    "endless frames": lambda folder: spoil_json(folder, frames=[1, 10**12, 1]),
    "another stem": lambda folder: spoil_json(folder, stem="../Body"),
    "words for points": lambda folder: spoil_json(folder, points="96"),
    "more points": lambda folder: spoil_json(folder, points=97),
    "another size": lambda folder: spoil_json(folder, size=12),
    "another digest": lambda folder: spoil_json(folder, sha256="00" * 32),
    "no name": lambda folder: spoil_json(folder, object=None),
    "a name that is none": lambda folder: spoil_json(folder, object="\ud800"),
    "a number for a digest": lambda folder: spoil_json(folder, sha256=[1]),
    "half a point": lambda folder: spoil_json(folder, points=96.0),
    "one key more": lambda folder: spoil_json(folder, comment=""),
}


def vars_of(inputs: Inputs) -> dict[str, str]:
    return {"supple": inputs.supple, "blender": inputs.blender, "file": inputs.file}


def test_only_what_is_whole_counts(tmp_path: Path, tubes: list[bpy.types.Object], subtests: pytest.Subtests) -> None:
    bake(tubes[:1], "1-6", tmp_path / "whole", 3)
    one = one_bake(tubes[0], "1-6", tmp_path)
    for how, spoil in SPOILED.items():
        with subtests.test(how):
            folder = shutil.copytree(tmp_path / "whole", tmp_path / how)
            spoil(folder)
            refuse(r"^Frames are missing in '.+': 'Body' 1-3[.;]", join, folder, "1-6", INPUTS)
            assert list(folder.glob("joined/*")) == []
            assert [part.name for part in bake(tubes[:1], "1-6", folder, 3)] == ["Body_1-3"]
            assert join(folder, "1-6", INPUTS) == {"Body": one}


def test_other_choices_are_baked_again(tmp_path: Path, tubes: list[bpy.types.Object]):
    bake(tubes[:1], "1-3", tmp_path, choices=("--method", "SSD"))
    assert len(bake(tubes[:1], "1-3", tmp_path, choices=("--method", "DLB"))) == 1


def test_what_a_method_binds_together_is_baked_together(tmp_path: Path, tubes: list[bpy.types.Object]):
    """One may follow the other, and that one is where it is only if it was bound, too."""
    choices = ("--method", "SSD")
    bake(tubes[:1], "1-3", tmp_path, choices=choices)
    assert len(bake(tubes, "1-3", tmp_path, choices=choices)) == 2
    bake(tubes[:1], "4-6", tmp_path, choices=choices)
    refuse(r"missing in .+'Body' .+'Skirt: long' 4-6", join, tmp_path, "1-6")


# What is missing


def test_all_that_is_missing_is_named_at_once(tmp_path: Path, tubes: list[bpy.types.Object]):
    bake(tubes, "1-2,5-6,9-10", tmp_path, 2)
    flip(tmp_path / "Body_5-6.pc2")
    os.remove(tmp_path / "Skirt__long_9-10.pc2")
    with pytest.raises(SkinningError) as caught:
        join(tmp_path, "1-10", INPUTS)
    assert str(caught.value) == (
        f"Frames are missing in '{tmp_path}': 'Body' 3-4,7-8; 'Skirt: long' 3-4,7-10; changed since they were baked: "
        "Skirt__long_9-10. Bake what is missing with --part, then join again"
    )


def test_damage_that_only_reading_finds_is_named_with_all_else(tmp_path: Path, tubes: list[bpy.types.Object]):
    bake(tubes, "1-6", tmp_path, 2)
    for name in ("Body_3-4", "Skirt__long_1-2", "Skirt__long_5-6"):
        flip(tmp_path / f"{name}.pc2")
    with pytest.raises(SkinningError) as caught:
        join(tmp_path, "1-6")
    assert "'Body' 3-4; 'Skirt: long' 1-2,5-6; changed since they were baked: Body_3-4, Skirt__long_1-2, S" in str(
        caught.value
    )
    assert os.listdir(tmp_path / "joined") == []


def test_frames_of_a_damaged_part_are_taken_from_others(tmp_path: Path, tubes: list[bpy.types.Object]):
    bake(tubes[:1], "1-6", tmp_path, 6)
    bake(tubes[:1], "1-6", tmp_path, 2)
    flip(tmp_path / "Body_1-6.pc2")
    assert join(tmp_path, "1-6") == {"Body": one_bake(tubes[0], "1-6", tmp_path)}


def test_parts_of_another_file_do_not_count_and_are_named(tmp_path: Path, tubes: list[bpy.types.Object]):
    bake(tubes[:1], "1-6", tmp_path, 2)
    bake(tubes[:1], "3-4", tmp_path, 2, inputs=LATER)  # the file was saved while the job ran
    for expected in (INPUTS, None):
        refuse(r"'Body' 3-4; made with another file, Supple or Blender: Body_3-4\. ", join, tmp_path, "1-6", expected)
    refuse("'Body' 1-2,5-6; made with another file, Supple or Blender: Body_1-2, Body", join, tmp_path, "1-6", LATER)
    refuse(r"missing in '.+': all; made with another", lambda: join(tmp_path, "1-6", replace(INPUTS, supple="9.9.9")))


def test_a_message_stays_short(tmp_path: Path, tubes: list[bpy.types.Object]):
    bake(tubes[:1], "1-20", tmp_path, 1)
    bake(tubes[:1], "21", tmp_path, 1, inputs=LATER)
    refuse(
        r"'Body' 1-20; made with .+: Body_1-1, Body_10-10, .+, Body_16-16 and 12 more\. ", join, tmp_path, "1-21", LATER
    )
    refuse(r"'Body' 21; made with .+: Body_21-21\. ", join, tmp_path, "1-21", INPUTS)


def test_of_two_bakes_one_has_to_be_chosen(tmp_path: Path, tubes: list[bpy.types.Object]):
    bake(tubes[:1], "1-6", tmp_path, 2)
    bake(tubes[:1], "1-6", tmp_path, 3, inputs=LATER)
    with pytest.raises(SkinningError) as caught:
        join(tmp_path, "1-6")
    assert f"contains 2 bakes: choose one with --expect {INPUTS.describe()} or {LATER.describe()}" in str(caught.value)
    assert join(tmp_path, "1-6", LATER) == {"Body": one_bake(tubes[0], "1-6", tmp_path)}


def test_two_methods_are_not_mixed(tmp_path: Path, tubes: list[bpy.types.Object]):
    bake(tubes[:1], "1-6", tmp_path, 3, choices=("--method", "SSD"))
    bake(tubes[:1], "1-4", tmp_path, 4, choices=("--method", "DLB"))
    assert len(join(tmp_path, "1-6")) == 1
    bake(tubes[:1], "5-6", tmp_path, 4, choices=("--method", "DLB"))
    refuse("contains 2 bakes of 'Body', with different methods or settings: bake into another", join, tmp_path, "1-6")


def test_what_is_no_folder_of_parts_is_refused(tmp_path: Path):
    (tmp_path / "a.json").write_text("{}")
    for name, message in (("none", "No such file or directory"), ("", "contains no parts of a bake")):
        refuse(message, join_parts, tmp_path / name, parse_frames("1-2"), tmp_path / "joined")


# Names


def test_names_of_parts():
    for frames, name in {"1-37": "B_1-37", "-3--1": "B_-3--1", "1-37:2": "B_1-37x2", "7": "B_7-7"}.items():
        assert name_part("B", *parse_frames(frames)) == name
