"""Render frames of a file into a folder; run by Blender itself, which needs no Supple for it.

    blender --background --python render_frames.py -- hero_baked.blend --frames=-3-20:2 --output=DIR

Blender's own --render-frame and --frame-start read -3 as three frames before the end. A frame that is there already is
rendered again. No two braces stand together here: engines would read them as a name.

Blender prints names of a file as they are, with line breaks, and engines obey printed lines. So the script opens the
file itself, in `guarded_output`, as Supple's commands do.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import itertools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    import bpy

# Seconds that the last of what was printed may take to be relayed
LAST_LINES = 10.0


def escape(text: str) -> str:
    """A text as one line, without the word by which a worker of Flamenco finds an image to show."""
    line = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    return line.replace("Saved:", "Saved\\u003a")


def print_line(text: str, stream: TextIO | None) -> None:
    """Print a text as one line; nothing if there is no stream, as where Windows starts Blender without a console."""
    if stream is not None:
        stream.write(escape(text) + "\n")
        stream.flush()


@contextlib.contextmanager
def guarded_output() -> Iterator[tuple[TextIO | None, TextIO | None]]:
    """Standard output and standard error for the caller's lines alone; None for one that is closed.

    Output of Blender and others follows on standard error, escaped, each line after "Blender: ". A process of its own
    does this, so it works even if Blender crashes.
    """
    out, err = _copy_stream(sys.stdout, 1), _copy_stream(sys.stderr, 2)
    process = _start_relay(err)
    to_relay = process.stdin.fileno() if process else os.open(os.devnull, os.O_WRONLY)
    before = [_redirect(number, to_relay) for number in (1, 2)]
    try:
        yield out, err
    finally:
        _flush()
        for number, earlier in zip((1, 2), before, strict=True):
            os.dup2(earlier, number)
            os.close(earlier)
        if process:
            _end_relay(process)
        else:
            os.close(to_relay)
        for stream in (out, err):
            if stream not in (None, sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):
                    stream.close()


def _copy_stream(stream: TextIO | None, number: int) -> TextIO | None:
    """A stream for the current target of standard output or error; the stream itself if Python's is another object."""
    try:
        if stream is None or stream.closed or stream.fileno() != number:
            return stream
        return os.fdopen(os.dup(number), "w", encoding=stream.encoding, errors=stream.errors)
    except OSError:  # io.UnsupportedOperation, too
        return stream


def _start_relay(err: TextIO | None) -> subprocess.Popen[bytes] | None:
    """Start the process that relays lines to standard error; None without a file to write to, or a Python to start."""
    try:
        return subprocess.Popen(
            [sys.executable or "", "-I", __file__, "--relay", err.encoding],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=err.fileno(),
            stderr=subprocess.DEVNULL,
        )
    except (AttributeError, OSError, ValueError):  # AttributeError: it is closed, or none
        return None


def _end_relay(process: subprocess.Popen[bytes]) -> None:
    process.stdin.close()
    try:
        process.wait(LAST_LINES)
    except subprocess.TimeoutExpired:  # another process that goes on has it open, too
        process.kill()
        process.wait()


def relay(encoding: str) -> None:
    """Print the lines of standard input, to the end, whether or not somebody reads them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl C reaches this process, too, before what Blender says of it
    for line in sys.stdin.buffer:
        text = escape(line.decode(errors="backslashreplace").rstrip("\r\n"))
        with contextlib.suppress(OSError):
            sys.stdout.buffer.write(f"Blender: {text}\n".encode(encoding, "backslashreplace"))
            sys.stdout.flush()


def _redirect(number: int, target: int) -> int:
    """Redirect a file descriptor to another's file; returns a copy of the former one."""
    try:
        before = os.dup(number)
    except OSError:  # it is closed
        before = os.open(os.devnull, os.O_RDWR)
    _flush()
    os.dup2(target, number)
    return before


def _flush() -> None:
    """Flush the output buffers of Python and C."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None).fflush(None)


# What a command line says of scripts in files; the last counts
SCRIPTS = {"-y": True, "--enable-autoexec": True, "-Y": False, "--disable-autoexec": False}


def are_scripts_allowed(path: Path) -> bool:
    """Whether this Blender was told to run Python of a file that it opens: by its command line, or its preferences.

    Whether it was allowed for a single file (*Allow Execution*) does not count, nor whether a script was blocked:
    Blender notes only those that it has evaluated.
    """
    import bpy

    own = itertools.takewhile(lambda word: word not in ("--", "-c", "--command"), sys.argv)
    told = [SCRIPTS[word] for word in own if word in SCRIPTS] if bpy.app.binary_path else []
    if told:
        return told[-1]
    preferences = bpy.context.preferences.filepaths
    return preferences.use_scripts_auto_execute and not any(
        path.match(excluded.path) if excluded.use_glob else path.is_relative_to(excluded.path)
        for excluded in bpy.context.preferences.autoexec_paths
        if excluded.path
    )


def turn_off_style_modules() -> bool:
    """Turn off Freestyle's style modules in the open file, unsaved; whether a render would have run any.

    They are texts of the file in Python, which Blender runs whether or not it may run other scripts.
    """
    import bpy

    was_on = False
    for scene in bpy.data.scenes:
        for layer in scene.view_layers:
            settings = layer.freestyle_settings
            for module in settings.modules:
                was_on |= module.use and settings.mode == "SCRIPT" and scene.render.use_freestyle
                module.use = False
    return was_on


def read_frames(text: str) -> range:
    """The frames of a range such as -3-20:2; ArgumentTypeError for anything else."""
    match = re.fullmatch(r"(-?\d+)(?:-(-?\d+))?(?::(\d+))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a frame range: write 1-250 or 1-250:2")
    start, end, step = match.groups()
    return range(int(start), int(end or start) + 1, int(step or 1))


def render_frame(scene: bpy.types.Scene, frame: int, folder: str, pattern: str) -> str:
    """Render one frame, and return the image's path.

    `pattern`: output path of the file, which gives the image its name.
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


def _write_image(path: str, out: TextIO | None) -> None:
    """Name an image in the one line that `escape` lets nobody else write, by which Flamenco shows it."""
    if out is not None:
        out.write(f"Saved: '{escape(path)}'\n")


def main() -> None:
    """Render by the arguments after `--`."""
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
            if not are_scripts_allowed(Path(chosen.file)) and turn_off_style_modules():
                print_line("render_frames.py: Freestyle's style modules are off: scripts of the file may not run", err)
            scene = bpy.context.scene
            pattern = scene.render.filepath
            os.makedirs(chosen.output, exist_ok=True)
            for done, frame in enumerate(chosen.frames, start=1):
                path = render_frame(scene, frame, chosen.output, pattern)
                share = 100.0 * done / len(chosen.frames)
                _write_image(path, out)
                print_line(f"openjd_progress: {share:.1f}" if is_openjd else f"Progress: {share:.1f}%", out)
        except (OSError, RuntimeError) as error:
            if is_openjd:
                print_line(f"openjd_fail: {error}", out)
            print_line(f"render_frames.py: error: {error}", err)
            sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1] == "--relay":
        relay(sys.argv[2])
    else:
        main()
