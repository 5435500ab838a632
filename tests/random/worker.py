"""Runs sequences of actions in one Blender, and writes what each step gave.

python worker.py JOBS OUTPUT [--without-supple]

JOBS is a JSON list of sequences: {"name", "character", "only_linear", and "actions" or "seed" and "count"}. Into the
folder OUTPUT go, for each, <name>.log, all that was printed, and <name>.steps, one pickle after another.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import re
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

RESOURCES = Path(tempfile.mkdtemp(prefix="random-use-"))
os.environ["BLENDER_USER_RESOURCES"] = str(RESOURCES)
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path += [str(ROOT / "tools"), str(ROOT / "tests" / "blender"), str(ROOT)]

import bpy
import actions_all
import actions_file
import actions_mesh
import actions_rig
import actions_supple
import characters
import state
from world import ACTIONS, NothingToDoError, World, draw_actions, enable, is_enabled

import checkout

MODULES = (actions_all, actions_file, actions_mesh, actions_rig, actions_supple)
"""What enters actions."""
ALARMS = re.compile(r"Traceback|Exception ignored|RuntimeWarning|DeprecationWarning|Error in|Error: Python")


class Log:
    """All that Blender and Python print, in a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.read = path, 0
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(file, stream)
        os.close(file)

    def find_alarms(self) -> list[str]:
        """What was printed since the last call, if that tells of an error."""
        sys.stdout.flush()
        sys.stderr.flush()
        with open(self.path, "rb") as file:
            file.seek(self.read)
            text = file.read().decode(errors="replace")
            self.read = file.tell()
        return [text[-4000:]] if ALARMS.search(text) else []


def run_action(world: World, name: str, seed: int) -> str:
    """Run an action: what it has chosen, in words."""
    world.rng = random.Random(seed)
    function, _, any_mode = ACTIONS[name]
    print(f"## {name} {seed}", flush=True)
    try:
        if not any_mode:
            world.leave_modes()
        return function(world) or ""
    except NothingToDoError:
        return "-"
    except Exception:  # noqa: BLE001 an error here is a finding, or a mistake of the action
        world.problems.append(f"error in an action: {traceback.format_exc()[-3000:]}")
        return "error"


def observe(world: World, log: Log, **more: Any) -> dict[str, Any]:
    """The state after a step."""
    bpy.context.view_layer.update()
    found = {"points": state.evaluated_points(), "states": state.skin_states(), **more}
    found["problems"] = [*world.problems, *log.find_alarms()]
    world.problems.clear()
    return found


def run(job: dict[str, Any], output: Path, without_supple: bool) -> None:
    log = Log(output / f"{job['name']}.log")
    folder = Path(tempfile.mkdtemp(prefix="random-files-"))
    if not is_enabled():
        enable()
    world = World(folder, without_supple, job["only_linear"])
    with open(output / f"{job['name']}.steps", "wb") as steps:

        def write(found: dict[str, Any]) -> None:
            pickle.dump(found, steps)
            steps.flush()

        characters.load(world, job["character"])
        if without_supple:
            actions_supple.take_supple_away()
        path = folder / "start.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(path))
        world.open(path)
        actions = job.get("actions") or draw_actions(random.Random(job["seed"]), job["count"], job["left_out"])
        write({"actions": actions})
        world.push("start")
        write(observe(world, log, action=["start", 0], text=""))
        for name, seed in actions:
            start = time.perf_counter()
            text = run_action(world, name, seed)
            bpy.context.view_layer.update()
            world.push(name)
            write(observe(world, log, action=[name, seed], text=text, seconds=time.perf_counter() - start))
        world.leave_modes()
        actions_file.check_frames(world)
        write(observe(world, log, action=["frames", 0], text=""))
        problems = actions_supple.take_supple_away() if not without_supple else []
        for scene in bpy.data.scenes:
            bpy.context.window.scene = scene
            bpy.context.view_layer.update()
        bpy.data.orphans_purge(do_local_ids=True, do_linked_ids=True, do_recursive=True)
        world.problems += problems
        write(observe(world, log, action=["end", 0], text="", dump=state.dump()))
        write({"done": True, "used": world.used})
    shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    jobs, output = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    log = Log(output / "worker.log")
    checkout.enable(RESOURCES / "checkout")
    for job in jobs:
        run(job, output, "--without-supple" in sys.argv)
    del log
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    checkout.disable()
    shutil.rmtree(RESOURCES, ignore_errors=True)
    os._exit(0)  # what happens at the end of Python is for other tests


if __name__ == "__main__":
    main()
