"""Write files: each gets its name only when it is whole and on the disk; remains of killed runs are removed.

Until then it stands beside, under a name that says who writes it: `.supple-<machine>-<process>-<number>`.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import itertools
import json
import math
import os
import platform
import re
import shutil
import stat
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from ...deformers.errors import SkinningError

BESIDE = re.compile(r"\.supple-([0-9a-f]{8})-(\d+)-\d+@?")  # Blender appends the @ while it writes a .blend file
DAY = 24 * 3600.0
# Bytes of the longest path that Blender keeps
LONGEST_PATH = 1023

# Bytes: what is longer is cut, and then it is no JSON
LARGEST_JSON = 1 << 26

# Bytes that are read at once
BLOCK = 1 << 20

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NO_DRIVE = (errno.EIO, errno.ESTALE, errno.ENODEV, errno.ENOTCONN, errno.ETIMEDOUT, errno.EHOSTUNREACH)

# Windows' numbers for a file that cannot be replaced because a program has it open
IN_USE = (5, 32)

# Seconds that a program may go on reading a file that is to be replaced, as scanners do: on Windows only
HELD = 2.0

# Seconds between two looks into a folder for litter: in one of thousands of parts they are most of the work
BETWEEN_LOOKS = 60.0

_numbers = itertools.count()
# When folders were last looked into, in seconds of `time.monotonic`
_looked_at: dict[Path, float] = {}
# Names beside that this process writes to
_in_use: set[str] = set()


@contextmanager
def open_replacing(path: Path, follows_link: bool = True) -> Iterator[BinaryIO]:
    """Open a file to write that appears under its name only when it is whole; on any error nothing is left behind.

    Raises SkinningError if the file cannot be written.

    Parameters
    ----------
    follows_link : bool
        Whether to write the target of a link instead of replacing it: for names that the user has chosen.
    """
    with replacing(path, follows_link) as beside, beside.open("xb") as stream:
        yield stream


@contextmanager
def replacing(path: Path, follows_link: bool = True) -> Iterator[Path]:
    """Give a name beside a file, to write there; at the end that takes the file's name, or the one a link leads to.

    Raises SkinningError if the file cannot be written, or is neither new nor a regular file.
    """
    with _reported(path):
        target = _find_target(path, follows_link)
        with _beside(target.parent) as beside:
            yield beside
            _flush(beside)
            _put(beside, target)


@contextmanager
def filling(folder: Path) -> Iterator[Path]:
    """Give a folder for files that go to `folder` at the end, which is made if need be; on any error nothing is left.

    A link there is replaced, because nobody has chosen its target. Raises SkinningError if the files cannot be written.
    """
    with _reported(folder):
        is_new = not folder.exists()
        if is_new:
            folder.mkdir()
        try:
            with _beside(folder) as beside:
                beside.mkdir()
                yield beside
                moves = [(path, _find_target(folder / path.name, False)) for path in sorted(beside.iterdir())]
                for path, _ in moves:
                    _flush(path)
                for path, target in moves:  # what does not fit on the disk is known before the first of them
                    _put(path, target)
        except BaseException:  # whatever ends it early, also the generator being closed
            if is_new:
                with suppress(OSError):  # others may have put something there
                    folder.rmdir()
            raise


@contextmanager
def folder_in(parent: Path) -> Iterator[Path]:
    """Give a new folder in another, which is gone afterwards, or after a kill when next one is made there.

    Raises OSError if it cannot be made.
    """
    with _beside(parent) as folder:
        folder.mkdir(0o700)
        yield folder


def open_regular(path: Path) -> BinaryIO:
    """Open a file to read; raises OSError if it is none, such as a pipe, which would keep us waiting."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Not a regular file")
    return path.open("rb")


def digest_file(path: Path) -> str:
    """SHA-256 of a file, which is read in blocks; raises OSError if it cannot be read."""
    digest = hashlib.sha256()
    with open_regular(path) as stream:
        while data := stream.read(BLOCK):
            digest.update(data)
    return digest.hexdigest()


def parse_json(text: str | bytes) -> Any:
    """Parse JSON; raises ValueError if it is invalid, or holds unprintable characters."""
    try:
        found = json.loads(text)
        json.dumps(found, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError(text[:100]) from error
    return found


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON file; empty if it cannot be read, or is not Supple's."""
    try:
        with open_regular(path) as stream:
            found = parse_json(stream.read(LARGEST_JSON))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def make_folder(folder: Path) -> None:
    """Make a folder, if it is not there; raises SkinningError if that, or writing to it, is not possible."""
    with _reported(folder):
        folder.mkdir(exist_ok=True)
        _check_access(folder, os.W_OK | os.X_OK)


def check_writable(path: Path) -> None:
    """Raise SkinningError if a file cannot be written: now, not after hours."""
    with _reported(path):
        _find_target(path)


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "a folder that can be written to"
        if error.errno in NO_SPACE:
            remedy = "another folder, or free some space"
        elif error.errno in NO_DRIVE:
            remedy = "another folder, or reconnect its drive"
        elif getattr(error, "winerror", None) in IN_USE:
            remedy = "another name, or close the program that has it open"
        raise SkinningError(f"Cannot write '{path}' ({error.strerror or error}): choose {remedy}") from error


def _find_target(path: Path, follows_link: bool = True) -> Path:
    """The file that a path leads to; raises OSError if it can be neither made nor replaced."""
    is_link = path.is_symlink() and not follows_link
    with suppress(FileNotFoundError):
        mode = path.stat(follow_symlinks=not is_link).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not (stat.S_ISREG(mode) or is_link):
            raise OSError(errno.EINVAL, "Not a regular file")
        if not is_link:
            _check_access(path, os.W_OK)
    target = Path(os.path.realpath(path.parent)) / path.name if is_link else Path(os.path.realpath(path))
    if len(os.fsencode(target)) > LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    _check_access(target.parent, os.W_OK | os.X_OK)
    return target


def _check_access(path: Path, mode: int) -> None:
    if not os.access(path, mode):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """Give a new name in a folder, for a file or a folder that is gone afterwards."""
    _remove_litter(folder)
    path = folder / f".supple-{name_machine()}-{os.getpid()}-{next(_numbers)}"
    _in_use.add(path.name)
    try:
        yield path
    finally:
        _remove(path)
        _in_use.discard(path.name)


def _flush(path: Path) -> None:
    """Flush a file to the disk: only this shows whether it fits."""
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def _put(path: Path, target: Path) -> None:
    """Rename a file; on Windows, wait for readers of the file it replaces."""
    if target.is_file() and not target.is_symlink():
        shutil.copymode(target, path)
    until = time.monotonic() + HELD
    while True:
        try:
            path.replace(target)
        except PermissionError as error:
            if getattr(error, "winerror", None) not in IN_USE or time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


# What killed runs left


@functools.cache
def name_machine() -> str:
    """Eight digits that identify the machine of a process number: two machines may share a folder and a name."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"))
        parts.append(os.readlink("/proc/self/ns/pid"))
    return f"{zlib.crc32(' '.join(parts).encode()):08x}"


def _remove_litter(folder: Path) -> None:
    """Remove half-written files of ended processes from a folder, unless that was done just now."""
    now = time.monotonic()
    if now - _looked_at.get(folder, -math.inf) < BETWEEN_LOOKS:
        return
    _looked_at[folder] = now
    with os.scandir(folder) as entries:
        for entry in entries:
            if BESIDE.fullmatch(entry.name) and _is_abandoned(entry):
                _remove(Path(entry.path))


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    """Whether the process that wrote it has ended; of other machines' nobody knows before a day without a change."""
    machine, process = BESIDE.fullmatch(entry.name).groups()
    if machine == name_machine() and os.name == "posix":  # elsewhere signal 0 is not for asking
        if int(process) == os.getpid():
            return entry.name.rstrip("@") not in _in_use
        return not _is_running(int(process))
    try:
        return time.time() - entry.stat(follow_symlinks=False).st_mtime > DAY
    except OSError:  # it is gone
        return False


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
