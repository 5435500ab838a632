"""Render frames of the open file into a folder; run by Blender itself, which needs no Supple for it.

    blender --background hero_baked.blend --python render_frames.py -- --frames=-3-20:2 --output=DIR

Blender's own --render-frame and --frame-start read -3 as three frames before the end. A frame that is there already is
rendered again. No two braces stand together here: engines would read them as a name.
"""

import argparse
import os
import re
import sys

import bpy


def read_frames(text: str) -> range:
    match = re.fullmatch(r"(-?\d+)(?:-(-?\d+))?(?::(\d+))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is not a frame range: write it as 1-250 or 1-250:2")
    start, end, step = match.groups()
    return range(int(start), int(end or start) + 1, int(step or 1))


def render_frame(scene: bpy.types.Scene, frame: int, folder: str, pattern: str) -> None:
    """Render one frame; `pattern` is the output path as the file has it, which gives the file its name."""
    scene.frame_set(frame)
    scene.render.filepath = pattern
    path = os.path.join(folder, os.path.basename(scene.render.frame_path(frame=frame)))
    # From Blender 4.5 on, braces in a path enclose the name of a variable.
    scene.render.filepath = re.sub("[{}]", r"\g<0>\g<0>", path) if bpy.app.version >= (4, 5, 0) else path
    bpy.ops.render.render(write_still=True)
    if not (os.path.exists(path) or scene.render.use_multiview):
        raise RuntimeError(f"'{path}' was not written: choose a folder that can be written to, or make space")


def main() -> None:
    parser = argparse.ArgumentParser(prog="render_frames.py")
    parser.add_argument("--frames", type=read_frames, required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--progress", choices=("percent", "openjd"), default="percent")
    chosen = parser.parse_args(sys.argv[sys.argv.index("--") + 1 :])
    scene, is_openjd = bpy.context.scene, chosen.progress == "openjd"
    pattern = scene.render.filepath
    try:
        os.makedirs(chosen.output, exist_ok=True)
        for done, frame in enumerate(chosen.frames, start=1):
            render_frame(scene, frame, chosen.output, pattern)
            share = 100.0 * done / len(chosen.frames)
            print(f"openjd_progress: {share:.1f}" if is_openjd else f"Progress: {share:.1f}%", flush=True)
    except (OSError, RuntimeError) as error:
        if is_openjd:
            print("openjd_fail:", *str(error).split(), flush=True)
        raise


if __name__ == "__main__":
    main()
