"""Another Blender, without a window, that computes beside this one: the window stays alive, and Esc ends it at once.

Copies of the input go there, and copies of the result come back, through files in a folder that only this user can
read. Blender's own data stays here: an opaque reference stands for it there.
"""

from __future__ import annotations

import copyreg
import io
import math
import pickle
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import mathutils
from mathutils import Matrix, Quaternion, Vector

from ...deformers import SkinningError
from .temporary import temporary_folder, writing_temporary

SESSION = Path(__file__).with_name("child_session.py")
ROOT = Path(__file__).resolve().parents[2]
PACKAGE = __name__.removesuffix(".bridge.files.child")

# Files of the folder, by the number of the order
ORDER, RESULT, SHARE = "order-{}", "result-{}", "share-{}"

# Seconds between two shares that are told
BETWEEN_SHARES = 0.05


def find_command() -> list[str]:
    """The command that starts a Blender without a window to run a script, except the script's path and arguments.

    It runs no Python of the user's files, whether or not this Blender may.
    """
    if bpy.app.binary_path:
        return [
            *(bpy.app.binary_path, "--background", "--factory-startup", "--disable-autoexec"),
            *("--python-exit-code", "1", "--python"),
        ]
    return [sys.executable]  # Blender as a module of Python


def start_blender(command: Sequence[str], script: Path, *words: str) -> subprocess.Popen[bytes]:
    """Start a Blender without window that runs a script of Supple's; raises OSError if the system refuses.

    The script must end with its input, which ends with this Blender.

    Parameters
    ----------
    command : sequence of str
        From `find_command`.
    words : sequence of str
        Arguments of the script.
    """
    between = ["--"] if len(command) > 1 else []
    return subprocess.Popen(
        [*command, str(script), *between, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,  # whatever Blender prints, also names of the file
        stderr=subprocess.DEVNULL,
    )


def end_blender(process: subprocess.Popen[bytes]) -> None:
    """End what `start_blender` has started, whatever it is at."""
    if process.poll() is None:
        process.kill()
    process.wait()
    with suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()


class Child:
    """A Blender that computes functions, one after the other.

    Raises
    ------
    OSError
        If it cannot be started.
    SkinningError
        If there is no room for temporary files.
    """

    def __init__(self) -> None:
        self._number, self._kept = 0, list[Any]()
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(temporary_folder())
        words = str(self._folder), str(ROOT), PACKAGE
        try:
            self.process = start_blender(find_command(), SESSION, *words)
        except OSError:
            self._stack.close()
            raise

    def order(self, function: Callable[[Callable[[float], None]], Any]) -> None:
        """Order a function: a module's function, alone or in a `functools.partial` with its arguments.

        Raises SkinningError if there is no room for temporary files.

        Parameters
        ----------
        function : callable
            Takes a function to tell the share that is done.
        """
        self._number += 1
        with writing_temporary():
            data, self._kept = pack(function)
            self._file(ORDER).write_bytes(data)
        with suppress(OSError):  # it has ended: `take` says so
            stdin = self.process.stdin
            assert stdin is not None
            stdin.write(b"%d\n" % self._number)
            stdin.flush()

    @property
    def is_done(self) -> bool:
        """Whether there is a result, or will be none."""
        return self._file(RESULT).is_file() or self.process.poll() is not None

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        with suppress(OSError, ValueError):  # nothing is told yet, or just now
            return float(self._file(SHARE).read_text(encoding="ascii"))
        return 0.0

    def take(self) -> Any:
        """The result, once it is done; raises the function's own error.

        Raises SkinningError if the process has ended without one.
        """
        path = self._file(RESULT)
        if not path.is_file():
            raise SkinningError(
                f"The computation stopped early (code {self.process.poll()}): close other programs to free memory, and "
                "try again"
            )
        result, error = unpack(path.read_bytes(), self._kept.__getitem__)
        path.unlink()
        if error is not None:
            raise error
        return result

    def end(self) -> None:
        """End it, whatever it is at; its files go, too."""
        end_blender(self.process)
        self._stack.close()

    def _file(self, name: str) -> Path:
        return self._folder / name.format(self._number)


@dataclass(frozen=True)
class Reference:
    """Stands in the other Blender for data of this one."""

    number: int


def answer_orders(folder: Path, numbers: Iterable[str]) -> None:
    """In the other Blender: compute order after order, as their numbers come in."""
    for number in map(int, numbers):
        told = -math.inf

        def tell(share: float) -> None:
            nonlocal told
            if time.monotonic() - told > BETWEEN_SHARES:
                told = time.monotonic()
                (folder / SHARE.format(number)).write_text(f"{share:.4f}", encoding="ascii")  # noqa: B023 - at once

        path = folder / RESULT.format(number)
        try:
            function = unpack((folder / ORDER.format(number)).read_bytes(), Reference)
            data, _ = pack((function(tell), None))
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            data, _ = pack((None, error if isinstance(error, SkinningError) else RuntimeError(traceback.format_exc())))
        beside = path.with_suffix(".part")
        beside.write_bytes(data)
        beside.replace(path)


def _make(name: str, values: Any) -> Any:
    """Make a vector, quaternion or matrix: their types do not name their module."""
    return getattr(mathutils, name)(values)


class _Packer(pickle.Pickler):
    """Pickles objects; a number stands for data of Blender's."""

    dispatch_table = copyreg.dispatch_table | {
        Matrix: lambda matrix: (_make, ("Matrix", [*map(tuple, matrix)])),
        Quaternion: lambda quaternion: (_make, ("Quaternion", tuple(quaternion))),
        Vector: lambda vector: (_make, ("Vector", tuple(vector))),
    }

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self.kept: list[Any] = []

    def persistent_id(self, obj: Any) -> int | None:
        if isinstance(obj, Reference):
            return obj.number
        if not isinstance(obj, bpy.types.bpy_struct):
            return None
        self.kept.append(obj)
        return len(self.kept) - 1


class _Unpacker(pickle.Unpickler):
    """Finds Blender's own data by its numbers."""

    def __init__(self, data: bytes, find: Callable[[int], Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._find = find

    def persistent_load(self, pid: int) -> Any:
        return self._find(pid)


def pack(value: Any) -> tuple[bytes, list[Any]]:
    """Pickle an object into bytes, and list the data of Blender's that stays here."""
    stream = io.BytesIO()
    packer = _Packer(stream)
    packer.dump(value)
    return stream.getvalue(), packer.kept


def unpack(data: bytes, find: Callable[[int], Any]) -> Any:
    """Unpickle in this process or the other; `find` takes the numbers of Blender's data."""
    return _Unpacker(data, find).load()
