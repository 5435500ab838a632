"""Render frames of a file into a folder; run by Blender itself, which needs no Supple for it.

    blender --background --python render_frames.py -- hero_baked.blend --frames=-3-20:2 --output=DIR

Blender's own --render-frame and --frame-start read -3 as three frames before the end. A frame that is there already is
rendered again. No two braces stand together here: engines would read them as a name.

Blender prints names of a file as they are, line breaks too, and engines obey lines of what is printed. So the script
opens the file itself, in `guarded_output`, in which Supple's commands run, too.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import bpy

BETWEEN_READINGS = 0.2
"""Seconds between two looks at what Blender has printed."""


def escape(text: str) -> str:
    """A text as one line, without what a worker of Flamenco takes for the name of an image to show."""
    line = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    return line.replace("Saved:", "Saved\\u003a")


@contextlib.contextmanager
def guarded_output() -> Iterator[tuple[TextIO | None, TextIO | None]]:
    """Standard output and standard error for the caller's lines alone; None for one that is closed.

    What Blender and others print meanwhile follows on standard error, escaped, and "Blender: " begins each line.
    """
    out, err = _copy_stream(sys.stdout, 1), _copy_stream(sys.stderr, 2)
    log = _open_log()  # a pipe would fill up while Blender prints and lets no other Python run
    before = [_redirect(number, log) for number in (1, 2)]
    ended = threading.Event()
    relay = threading.Thread(target=_relay, args=(log, err, ended), daemon=True)
    relay.start()
    try:
        yield out, err
    finally:
        _flush()
        for number, earlier in zip((1, 2), before, strict=True):
            os.dup2(earlier, number)
            os.close(earlier)
        ended.set()
        relay.join()
        os.close(log)
        for stream in (out, err):
            if stream not in (None, sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):
                    stream.close()


def _copy_stream(stream: TextIO | None, number: int) -> TextIO | None:
    """A stream for what standard output or error has led to so far; itself where Python's is something else."""
    try:
        if stream is None or stream.closed or stream.fileno() != number:
            return stream
        return os.fdopen(os.dup(number), "w", encoding=stream.encoding, errors=stream.errors)
    except OSError:  # io.UnsupportedOperation, too
        return stream


def _open_log() -> int:
    """A file without a name whose writers add to its end, wherever others read; where there is no room, nothing."""
    try:
        created, path = tempfile.mkstemp(prefix="supple-")
        os.close(created)
    except OSError:
        return os.open(os.devnull, os.O_RDWR)
    log = os.open(path, os.O_RDWR | os.O_APPEND | getattr(os, "O_TEMPORARY", 0))
    if not hasattr(os, "O_TEMPORARY"):  # by it Windows removes the file when it is closed
        os.unlink(path)
    return log


def _redirect(number: int, log: int) -> int:
    """Have a file descriptor lead to the log; returns what it has led to."""
    try:
        before = os.dup(number)
    except OSError:  # it is closed
        before = os.open(os.devnull, os.O_RDWR)
    _flush()
    os.dup2(log, number)
    return before


def _flush() -> None:
    """Write what Python and C keep in memory of what was printed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush(None)


def _relay(log: int, err: TextIO | None, ended: threading.Event) -> None:
    """Print the lines of the log, to the end that it has when `ended` is set."""
    position, rest, is_last = 0, b"", False
    while not is_last:
        is_last = ended.wait(BETWEEN_READINGS)
        os.lseek(log, position, os.SEEK_SET)
        while new := os.read(log, 1 << 16):
            position += len(new)
            *lines, rest = (rest + new).split(b"\n")
            _print_foreign(lines, err)
    _print_foreign([rest] if rest else [], err)


def _print_foreign(lines: list[bytes], err: TextIO | None) -> None:
    with contextlib.suppress(OSError, ValueError):
        for line in lines if err else ():
            text = escape(line.decode(errors="backslashreplace").rstrip("\r"))
            print(f"Blender: {text}", file=err, flush=True)


def read_frames(text: str) -> range:
    """The frames of a range such as -3-20:2; ArgumentTypeError for anything else."""
    match = re.fullmatch(r"(-?\d+)(?:-(-?\d+))?(?::(\d+))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a frame range: write 1-250 or 1-250:2")
    start, end, step = match.groups()
    return range(int(start), int(end or start) + 1, int(step or 1))


def render_frame(scene: bpy.types.Scene, frame: int, folder: str, pattern: str) -> str:
    """Render one frame, and return the image's path.

    Parameters
    ----------
    pattern : str
        Output path of the file, which gives the image its name.
    """
    import bpy

    scene.frame_set(frame)
    scene.render.filepath = pattern
    path = os.path.join(folder, os.path.basename(scene.render.frame_path(frame=frame)))
    # From Blender 4.5 on, braces in a path enclose the name of a variable.
    scene.render.filepath = re.sub("[{}]", r"\g<0>\g<0>", path) if bpy.app.version >= (4, 5, 0) else path
    bpy.ops.render.render(write_still=True)
    if not (os.path.exists(path) or scene.render.use_multiview):
        raise RuntimeError(f"'{path}' was not written: choose a folder that can be written to, or make space")
    return path


def main() -> None:
    """Render what the words after `--` ask for."""
    import bpy

    parser = argparse.ArgumentParser(prog="render_frames.py")
    parser.add_argument("file")
    parser.add_argument("--frames", type=read_frames, required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--progress", choices=("percent", "openjd"), default="percent")
    chosen = parser.parse_args(sys.argv[sys.argv.index("--") + 1 :])
    is_openjd = chosen.progress == "openjd"
    with guarded_output() as (out, err):
        try:
            bpy.ops.wm.open_mainfile(filepath=chosen.file, load_ui=False)
            scene = bpy.context.scene
            pattern = scene.render.filepath
            os.makedirs(chosen.output, exist_ok=True)
            for done, frame in enumerate(chosen.frames, start=1):
                path = render_frame(scene, frame, chosen.output, pattern)
                share = 100.0 * done / len(chosen.frames)
                print(f"Saved: '{escape(path)}'", file=out)  # Flamenco shows it
                print(f"openjd_progress: {share:.1f}" if is_openjd else f"Progress: {share:.1f}%", file=out, flush=True)
        except (OSError, RuntimeError) as error:
            if is_openjd:
                print("openjd_fail:", escape(str(error)), file=out, flush=True)
            print(escape(f"render_frames.py: error: {error}"), file=err, flush=True)
            sys.exit(1)


if __name__ == "__main__":
    main()
