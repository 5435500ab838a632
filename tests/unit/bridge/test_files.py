"""Files take their names when they are whole, and what processes that have ended left half written is removed."""

import errno
import os
import re
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from supple.bridge.files import writing as files
from supple.bridge.files.writing import filling, folder_in, make_folder, open_replacing, read_json
from supple.deformers.errors import SkinningError

from ..cases import each


def write(path: Path, data: bytes = b"new") -> None:
    with open_replacing(path) as stream:
        stream.write(data)


def tree(folder: Path) -> dict[str, object]:
    return {
        path.relative_to(folder).as_posix(): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else stat.S_IFMT(path.lstat().st_mode)
        for path in folder.rglob("*")
    }


POSIX = os.name == "posix"


@pytest.mark.parametrize("name", ["new", "old", "-x", "é", *(["n" * 255, "two\nlines"] if POSIX else [])])
def test_a_file_is_new_or_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / "old").write_bytes(b"older")
    write(tmp_path / name)
    assert tree(tmp_path) == {"old": b"older"} | {name: b"new"}


def test_a_file_is_replaced_while_another_reads_it(tmp_path: Path) -> None:
    """Windows lets nobody replace a file that is open: what reads it here ends soon."""
    path = tmp_path / "old"
    path.write_bytes(b"old")
    wait = "import sys, time; stream = open(sys.argv[1]); print(flush=True); time.sleep(0.5)"
    with subprocess.Popen([sys.executable, "-c", wait, path], stdout=subprocess.PIPE) as reader:
        reader.stdout.readline()
        write(path)
    assert tree(tmp_path) == {"old": b"new"}


def test_a_file_is_beside_until_it_is_whole(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    with open_replacing(tmp_path / "old") as stream:
        stream.write(b"new")
        assert (tmp_path / "old").read_bytes() == b"old"
        (beside,) = set(os.listdir(tmp_path)) - {"old"}
        assert files.BESIDE.fullmatch(beside)
    assert tree(tmp_path) == {"old": b"new"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SkinningError, OSError(errno.ENOSPC, "Full")])
def test_what_fails_leaves_the_old_file(tmp_path: Path, error: type[BaseException] | OSError) -> None:
    (tmp_path / "old").write_bytes(b"old")

    def fail() -> None:
        with open_replacing(tmp_path / "old") as stream:
            stream.write(b"new")
            raise error

    with pytest.raises(SkinningError if isinstance(error, OSError) else error):
        fail()
    assert tree(tmp_path) == {"old": b"old"}


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "choose another folder, or free some space"),
        (errno.ESTALE, "choose another folder, or reconnect its drive"),
        (errno.EROFS, "choose a folder that can be written to"),
    ],
)
def test_what_is_to_be_done_depends_on_what_is_wrong(tmp_path: Path, number: int, remedy: str) -> None:
    with pytest.raises(SkinningError) as caught, open_replacing(tmp_path / "new"):
        raise OSError(number, "Wrong")
    assert str(caught.value) == f"Cannot write '{tmp_path / 'new'}' (Wrong): {remedy}"
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(("to", "name"), [("folder/old", "old"), ("folder/new", "new"), ("link to old", "old")])
def test_links_are_followed(tmp_path: Path, to: str, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").write_bytes(b"old")
    (tmp_path / "link to old").symlink_to("folder/old")
    (tmp_path / "link").symlink_to(to)
    links = {path.name: os.readlink(path) for path in tmp_path.iterdir() if path.is_symlink()}
    write(tmp_path / "link")
    assert {path.name: os.readlink(path) for path in tmp_path.iterdir() if path.is_symlink()} == links
    assert (tmp_path / "folder" / name).read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path / "folder")) == sorted({"old", name})


@pytest.mark.skipif(not POSIX, reason="has no other rights")
def test_rights_stay(tmp_path: Path) -> None:
    (tmp_path / "old").touch(mode=0o600)
    write(tmp_path / "old")
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o600


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    socket.socket(socket.AF_UNIX).bind(str(path))


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


def make_link_to_device(path: Path) -> None:
    path.symlink_to(os.devnull)


def make_link_to_nowhere(path: Path) -> None:
    path.symlink_to("nowhere/at all")


BAD_OUTPUTS: dict[str, Callable[[Path], object]] = {
    "pipe": make_pipe,
    "socket": make_socket,
    "loop": make_loop,
    "device": make_link_to_device,
    "link to nowhere": make_link_to_nowhere,
    "folder": Path.mkdir,
    "in/no/folder": lambda _path: None,
    "n" * 256: lambda _path: None,
    "/".join(["n" * 200] * 10): lambda path: path.parent.mkdir(parents=True),
    "..": lambda _path: None,
    "file/below": lambda path: path.parent.touch(),
}


@pytest.mark.skipif(not POSIX, reason="has no such files")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("name", BAD_OUTPUTS)
def test_what_is_no_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path has to be short
    BAD_OUTPUTS[name](Path(name))
    before = tree(tmp_path)
    with pytest.raises(SkinningError, match=r"Cannot write '.+' \(.+\): choose ") as caught:
        write(Path(name))
    assert "\n" not in str(caught.value)
    assert tree(tmp_path) == before


@each("path", [".", "/", os.devnull])
def test_devices_and_folders_are_refused(path: str) -> None:
    before = os.stat(path).st_mode
    with pytest.raises(SkinningError, match=r"Cannot write '.+' \((Is a directory|Not a regular file)\)"):
        write(Path(path))
    assert os.stat(path).st_mode == before


@pytest.mark.skipif(not POSIX, reason="has no folders that are read-only")
@pytest.mark.parametrize("name", ["read-only", "folder/new"])
def test_what_is_read_only_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(os, "access", lambda path, _mode: bool(os.stat(path).st_mode & 0o200))  # as for other than root
    (tmp_path / "read-only").touch(mode=0o400)
    (tmp_path / "folder").mkdir(mode=0o500)
    with pytest.raises(SkinningError, match="Permission denied"):
        write(tmp_path / name)
    assert sorted(tree(tmp_path)) == ["folder", "read-only"]


@pytest.mark.skipif(not POSIX, reason="lets nobody remove an open file")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_vanishes_meanwhile_is_reported(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()

    def vanish() -> None:
        with open_replacing(folder / "new") as stream:
            stream.write(b"new")
            (beside,) = folder.iterdir()
            beside.unlink()
            if what == "folder":
                folder.rmdir()

    with pytest.raises(SkinningError, match="No such file or directory"):
        vanish()
    assert tree(tmp_path) == ({} if what == "folder" else {"folder": stat.S_IFDIR})


# Folders


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    for _ in range(2):
        make_folder(tmp_path / "new")
    (tmp_path / "file").touch()
    for name in ("file", "no/new", "file/new"):
        with pytest.raises(SkinningError, match=re.escape(f"Cannot write '{tmp_path / name}' (")):
            make_folder(tmp_path / name)
    assert tree(tmp_path) == {"new": stat.S_IFDIR, "file": b""}


def fill(folder: Path) -> None:
    with filling(folder) as beside:
        (beside / "a").write_bytes(b"new a")
        (beside / "b").write_bytes(b"new b")


def test_a_folder_gets_all_files_at_the_end(tmp_path: Path) -> None:
    fill(tmp_path / "new")
    (tmp_path / "new" / "c").touch()
    fill(tmp_path / "new")
    assert tree(tmp_path / "new") == {"a": b"new a", "b": b"new b", "c": b""}


def test_a_disk_that_is_full_at_the_last_file_leaves_all_of_a_folder(tmp_path: Path, monkeypatch) -> None:
    """Some systems say so only when a file is flushed."""
    for name in "ab":
        (tmp_path / name).write_text("old")
    flushed = []

    def flush(number: int) -> None:
        flushed.append(number)
        if len(flushed) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", flush)
    with pytest.raises(SkinningError, match="free some space"):
        fill(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old", "b": "old"}


@pytest.mark.parametrize("is_new", [True, False])
def test_a_folder_that_is_not_filled_is_as_before(tmp_path: Path, is_new: bool) -> None:
    if not is_new:
        (tmp_path / "folder").mkdir()
    before = tree(tmp_path)

    def fail() -> None:
        with filling(tmp_path / "folder") as beside:
            (beside / "a").touch()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert tree(tmp_path) == before


def test_a_link_in_a_folder_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "folder" / "a").symlink_to(tmp_path / "mine")
    (tmp_path / "folder" / "b").symlink_to(tmp_path / "gone")
    fill(tmp_path / "folder")
    assert tree(tmp_path / "folder") == {"a": b"new a", "b": b"new b"}
    assert (tmp_path / "mine").read_bytes() == b"mine"
    assert not (tmp_path / "gone").exists()


def test_all_files_go_to_a_folder_or_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    (tmp_path / "b").mkdir()
    with pytest.raises(SkinningError, match="Is a directory"):
        fill(tmp_path)
    assert tree(tmp_path) == {"a": b"old", "b": stat.S_IFDIR}


# What killed runs left


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


HERE, ELSEWHERE = files.name_machine(), "00000000"
DAYS = 24 * 3600
LITTER = {
    "of a process that has ended": (HERE, ended_process, 0, False),
    "of a number that no process has": (HERE, lambda: 10**30, 0, False),
    "of this number, not of this process": (HERE, os.getpid, 0, False),
    "of a process that goes on": (HERE, os.getppid, 9 * DAYS, True),
    "of another machine, new": (ELSEWHERE, ended_process, 0, True),
    "of another machine, a day old": (ELSEWHERE, os.getppid, 2 * DAYS, False),
}


@pytest.mark.skipif(not POSIX, reason="cannot ask for processes")
@pytest.mark.parametrize("kind", ["file", "folder", "blender's"])
@pytest.mark.parametrize("case", LITTER)
def test_litter_goes_when_its_process_has_ended(tmp_path: Path, case: str, kind: str) -> None:
    machine, process, age, stays = LITTER[case]
    litter = tmp_path / f".supple-{machine}-{process()}-7{'@' if kind == 'blender' else ''}"
    if kind == "folder":
        litter.mkdir()
        (litter / "Body_0001.png").touch()
    else:
        litter.touch()
    os.utime(litter, (time.time() - age,) * 2)
    write(tmp_path / "new")
    assert litter.exists() == stays
    with folder_in(tmp_path) as folder:
        assert litter.exists() == stays
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    fill(tmp_path)
    assert litter.exists() == stays
    assert sorted(os.listdir(tmp_path)) == sorted(["a", "b", "new", *([litter.name] if stays else [])])


def test_litter_is_looked_for_once_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "new")
    litter = tmp_path / f".supple-{HERE}-{10**30}-1"
    litter.touch()
    os.utime(litter, (time.time() - 2 * DAYS,) * 2)  # where nobody can ask whether its process runs
    write(tmp_path / "new")
    assert litter.exists()
    (tmp_path / "other").mkdir()
    write(tmp_path / "other" / "new")
    monkeypatch.setattr(files, "BETWEEN_LOOKS", 0.0)
    write(tmp_path / "new")
    assert not litter.exists()


def test_what_this_process_writes_stays(tmp_path: Path) -> None:
    with open_replacing(tmp_path / "first") as stream:
        stream.write(b"1")
        write(tmp_path / "second", b"2")
        fill(tmp_path)
    assert tree(tmp_path) == {"first": b"1", "second": b"2", "a": b"new a", "b": b"new b"}


@pytest.mark.parametrize("name", [".supple", ".supple-1-2-3", "x.supple-00000000-1-1", ".supple-00000000-1-1.blend"])
def test_files_of_other_names_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    os.utime(tmp_path / name, (0, 0))
    write(tmp_path / "new")
    assert set(os.listdir(tmp_path)) == {name, "new"}


@pytest.mark.skipif(not POSIX, reason="cannot ask for processes")
def test_links_of_such_names_go_and_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").touch()
    (tmp_path / f".supple-{HERE}-{10**30}-1").symlink_to("folder")
    write(tmp_path / "new")
    assert tree(tmp_path) == {"folder": stat.S_IFDIR, "folder/file": b"", "new": b"new"}


# JSON


@pytest.mark.parametrize(
    "data", [b"", b"[1]", b"{", b"\xff\xfe", b'{"a": NaN, }', b"[" * 100000, b'{"a":' * 100000, b"1" * 5000]
)
def test_what_is_no_json_object_says_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.json").write_bytes(data)
    assert read_json(tmp_path / "a.json") == {}


@pytest.mark.skipif(not POSIX, reason="has no pipes in folders")
def test_nobody_waits_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.json")
    assert read_json(tmp_path / "a.json") == {}
