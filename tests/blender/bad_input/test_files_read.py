"""Files that are cut, foreign or tampered with: what reads them says so, nothing is changed, and no memory is taken."""

from __future__ import annotations

import gzip
import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import pytest
import scenes_maps
from scenes_bake import HEADER, pack
from scenes_cli import DONE, main
from scenes_state import refuse

from scenes import reset, save
from supple.bridge.files import point_caches
from supple.bridge.images import thumbnails
from supple.operators.patterns.library import list_presets
from supple.tasks.patterns import library

from .cases import assert_refused, name_of
from .conftest import read_folder

FOREIGN = {
    "nothing": b"",
    "a byte": b"B",
    "zeros": bytes(4096),
    "text": b"This is no such file\n" * 100,
    "PNG": b"\x89PNG\r\n\x1a\n" + bytes(500),
    "program": b"\x7fELF" + bytes(500),
    "archive": b"PK\3\4" + bytes(500),
    "JSON": b'{"object": "Tube"}',
    "ones": b"\xff" * 4096,
}

# Point caches


def header(**fields: Any) -> bytes:
    """A header by fields, and as many points as a sound one announces."""
    sound = {"signature": b"POINTCACHE2\0", "version": 1, "points": 2, "start": 1.0, "step": 1.0, "samples": 2}
    return HEADER.pack(*(sound | fields).values()) + bytes(48)


INTEGERS = (0, -1, -2, -(2**31), 2**31 - 1, 3, 1)
NUMBERS = (math.nan, math.inf, -math.inf)
CACHES = {
    **FOREIGN,
    **{f"{name} {value}": header(**{name: value}) for name in ("points", "samples") for value in INTEGERS},
    **{f"{name} {value}": header(**{name: value}) for name in ("start", "step") for value in NUMBERS},
    **{f"step {value}": header(step=value) for value in (0.0, -0.0, -1.0, -1e30)},
    **{f"version {value}": header(version=value) for value in (0, 2, -1, 2**31 - 1)},
    **{
        f"signature {value!r}": header(signature=value)
        for value in (b"POINTCACHE1\0", b"pointcache2\0", b"POINTCACHE2 ")
    },
    "no points, no samples": header(points=0, samples=0),
    "2**62 bytes": header(points=2**31 - 1, samples=2**31 - 1),
    "points and samples below 0": header(points=-2, samples=-2),
    **{f"{count} bytes": pack()[:count] for count in (1, 11, 12, 31, 32, 33, 55, 56, 79)},
    **{f"{count} bytes after the end": pack() + bytes(count) for count in (1, 12, 24, 4096)},
    "other bytes first": struct.pack(">12siiffi", b"POINTCACHE2\0", 1, 2, 1.0, 1.0, 2) + bytes(48),
}


JOINED = {"alone": ["bad.pc2"], "first": ["bad.pc2", "good.pc2"], "last": ["good.pc2", "bad.pc2"]}


@pytest.mark.parametrize("place", JOINED)
def test_caches_to_join(tmp_path: Path, place: str, subtests: pytest.Subtests, capsys) -> None:
    (tmp_path / "good.pc2").write_bytes(pack(start=3.0 if place == "first" else 1.0))
    parts = [tmp_path / part for part in JOINED[place]]
    for name, data in CACHES.items():
        with subtests.test(name):
            (tmp_path / "bad.pc2").write_bytes(data)
            before = read_folder(tmp_path)
            assert "bad.pc2" in assert_refused(["join", *parts, "--output", tmp_path / "whole.pc2"], capsys)
            assert read_folder(tmp_path) == before


def test_caches_that_can_be_joined(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for start in (0.0, -5.0, 0.5, 1e6, 3e38):
        with subtests.test(start=start):
            (tmp_path / "good.pc2").write_bytes(pack(start=start))
            assert main("join", tmp_path / "good.pc2", "--output", tmp_path / "whole.pc2") == DONE
            assert (tmp_path / "whole.pc2").read_bytes() == pack(start=start)


def test_parts_of_more_frames_than_a_file_can_count(tmp_path: Path, capsys) -> None:
    """Files of zeros that take no space on the disk."""
    count, parts = 2**30, [tmp_path / "first.pc2", tmp_path / "second.pc2"]
    for path, start in zip(parts, (0.0, float(count)), strict=True):
        with path.open("wb") as stream:
            stream.write(HEADER.pack(b"POINTCACHE2\0", 1, 1, start, 1.0, count))
            stream.truncate(32 + 12 * count)
    assert "cannot contain 2,147,483,648 frames" in assert_refused(
        ["join", *parts, "--output", tmp_path / "new"], capsys
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.pc2", "second.pc2"]


# .blend files


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bytes of a file, by how it is compressed."""
    reset()
    scenes_maps.add_body()
    folder = tmp_path_factory.mktemp("sources")
    plain = save(folder / "plain.blend", compress=False).read_bytes()
    return {
        "plain": plain,
        "zstd": save(folder / "zstd.blend", compress=True).read_bytes(),
        "gzip": gzip.compress(plain, 1),
    }


CUTS = (*(share / 20 for share in range(20)), 0.98, 0.995, 0.999)


def test_blend_files_that_are_cut(tmp_path: Path, sources: dict[str, bytes], subtests, capsys) -> None:
    file = tmp_path / "cut.blend"
    for kind, data in sources.items():
        for cut in CUTS:
            with subtests.test(kind, cut=cut):
                file.write_bytes(data[: int(cut * len(data))])
                before = read_folder(tmp_path)
                line = assert_refused(["bind", file, "--output", tmp_path / "new.blend"], capsys)
                assert f"Cannot open '{file}'" in line
                assert read_folder(tmp_path) == before


def test_blend_files_that_lack_their_last_bytes(tmp_path: Path, sources: dict[str, bytes], subtests, capsys) -> None:
    file = tmp_path / "cut.blend"
    for kind in ("plain", "zstd"):
        for count in (1, 2, 4, 8, 9, 13, 16, 17, 20, 24, 31, 32, 33, 100):
            with subtests.test(kind, count=count):
                file.write_bytes(sources[kind][:-count])
                assert f"Cannot open '{file}'" in assert_refused(["info", file], capsys)


@pytest.mark.versions
def test_whole_blend_files_open(tmp_path: Path, sources: dict[str, bytes], subtests: pytest.Subtests) -> None:
    file = tmp_path / "whole.blend"
    for kind, data in sources.items():
        with subtests.test(kind):
            file.write_bytes(data)
            assert main("info", file) == DONE


LEGACY, LARGE = b"BLENDER-v402", b"BLENDER17-01v0502"
BLENDS = {
    **FOREIGN,
    "header alone": LEGACY,
    "large header alone": LARGE,
    "a header of no version": b"BLENDER-vabc" + bytes(500),
    "a header of zeros": LEGACY + bytes(500),
    "a large header of zeros": LARGE + bytes(500),
    "only an end": LEGACY + b"ENDB" + bytes(20),
    "only a large end": LARGE + b"ENDB" + bytes(28),
    "a block longer than the file": LEGACY + b"DATA" + struct.pack("<iQii", 2**31 - 1, 0, 0, 1),
    "a block of length below 0": LEGACY + b"DATA" + struct.pack("<iQii", -24, 0, 0, 1) + bytes(100),
    "a large block of 2**62 bytes": LARGE + b"DATA" + struct.pack("<iQqq", 0, 0, 2**62, 1) + bytes(100),
    "a large block of length below 0": LARGE + b"DATA" + struct.pack("<iQqq", 0, 0, -(2**63), 1) + bytes(100),
    "a block in circles": LEGACY + b"DATA" + struct.pack("<iQii", 0, 0, 0, 1) * 20,
    "zstd alone": b"\x28\xb5\x2f\xfd",
    "zstd, then zeros": b"\x28\xb5\x2f\xfd" + bytes(500),
    "zstd with a table of 2**32 parts": b"\x28\xb5\x2f\xfd"
    + bytes(500)
    + struct.pack("<IBI", 2**32 - 1, 0, 0x8F92EAB1),
    "zstd with a table of no part": b"\x28\xb5\x2f\xfd" + bytes(500) + struct.pack("<IBI", 0, 0, 0x8F92EAB1),
    "gzip alone": b"\x1f\x8b",
    "gzip of text": gzip.compress(b"This is no such file\n" * 100),
    "point cache": pack(),
}


@pytest.mark.versions
def test_files_that_are_no_blend_files(tmp_path: Path, subtests: pytest.Subtests, capsys) -> None:
    file = tmp_path / "bad.blend"
    for name, data in BLENDS.items():
        with subtests.test(name):
            file.write_bytes(data)
            before = read_folder(tmp_path)
            line = assert_refused(["weights", file, "--output", tmp_path / "new.blend"], capsys)
            assert f"Cannot open '{file}'" in line
            assert read_folder(tmp_path) == before


# What stands beside height maps, and in the library

TAMPERED = (
    *FOREIGN.values(),
    b"[]",
    b"null",
    b"1e999",
    b"[" * 100000,
    b'{"frames": ' * 10000,
    b'{"frames": 5}',
    b'{"frames": ["a", null, [1], {}, 1.5, true, 1e999]}',
    b'{"label": 5, "kind": "WRINKLE", "description": ""}',
)


def test_descriptions_of_height_maps(tmp_path: Path, animated_body: bpy.types.Object, subtests) -> None:
    for data in TAMPERED:
        with subtests.test(name_of(data)):
            (tmp_path / "Tube_heights.json").write_bytes(data)
            scenes_maps.write_all(animated_body, tmp_path, [1], width=8)
            assert json.loads((tmp_path / "Tube_heights.json").read_text())["frames"] == [1]


def test_frames_in_a_description_that_are_none(tmp_path: Path, animated_body: bpy.types.Object) -> None:
    path = tmp_path / "Tube_heights.json"
    scenes_maps.write_all(animated_body, tmp_path, [1, 2], width=8)
    told = json.loads(path.read_text())
    path.write_text(json.dumps(told | {"frames": [1, 2, "3", None, [4], {}, 1.5, 10**400, -7]}))
    scenes_maps.write_all(animated_body, tmp_path, [2], width=8)
    assert json.loads(path.read_text()) == told


SOUND = {"label": "Folds", "kind": "WRINKLE", "description": "Saved from Tube", "width": 0.1}
ENTRIES = (
    *({**SOUND, name: value} for name in ("label", "kind", "description", "axis") for value in (5, None, [], {}, True)),
    *(
        {**SOUND, name: value}
        for name in ("width", "aspect", "strength", "start", "full")
        for value in ("1", None, [], math.nan, math.inf, -math.inf, 1e30, 10**400)
    ),
    *({**SOUND, name: value} for name in ("width", "aspect") for value in (0, -1)),
    {**SOUND, "kind": "DENT"},
    {**SOUND, "axis": "W"},
    {**SOUND, "key": "USER_x"},
    {**SOUND, "draw": "x"},
    {**SOUND, "unknown": 1},
    {"label": "Folds"},
    {},
)


@pytest.fixture
def library_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of saved patterns, with a sound one."""
    monkeypatch.setattr(library, "find_folder", lambda create=False: tmp_path)
    (tmp_path / "sound.json").write_text(json.dumps(SOUND))
    return tmp_path


def test_saved_patterns(library_folder: Path, subtests: pytest.Subtests) -> None:
    for saved in (*ENTRIES, *TAMPERED):
        with subtests.test(name_of(saved)):
            data = saved if isinstance(saved, bytes) else json.dumps(saved).encode()
            (library_folder / "tampered.json").write_bytes(data)
            assert list(library.saved_entries()) == ["USER_sound"]


def test_images_of_saved_patterns(library_folder: Path, subtests: pytest.Subtests) -> None:
    """The menu of patterns is shown all the same."""
    for name, data in FOREIGN.items():
        with subtests.test(name):
            if data:  # else there is no file
                (library_folder / "sound.png").write_bytes(data)
            items = [item[:4] for item in list_presets(None, None)]
            assert ("USER_sound", "Folds", "Saved from Tube", thumbnails.NONE) in items
            refuse("sound", library.find_entry("USER_sound").draw, 8)


# What changes while it is read


def become(samples: int) -> Callable[[Path], object]:
    return lambda part: part.write_bytes(pack(samples=samples))


@pytest.mark.parametrize(
    ("change", "words"), [(become(1), "changed while"), (become(3), "changed while"), (Path.unlink, "Cannot read")]
)
def test_a_part_that_changes_or_goes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys, change: Callable[[Path], object], words: str
) -> None:
    part, original = tmp_path / "a.pc2", point_caches.join_pieces
    part.write_bytes(pack())
    monkeypatch.setattr(point_caches, "join_pieces", lambda *given: (change(part), original(*given))[1])
    assert words in assert_refused(["join", part, "--output", tmp_path / "new.pc2"], capsys)
    assert [path.name for path in tmp_path.iterdir()] == ["a.pc2"] * (change is not Path.unlink)
