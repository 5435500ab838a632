"""The job type of Flamenco, compiled as the Manager compiles it: in goja, and by the rules of today's JavaScript."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
import pytest
from scenes_cli import DONE, main
from scenes_farm import NAMES, add_orders, add_two, contents, run

from scenes import bind, save
from supple.deformers import METHODS, SkinningError
from supple.tasks.farm import flamenco
from supple.tasks.farm.commands import FarmJob
from supple.tasks.subject.frames import cut_frames, describe_frames, parse_frames

HERE = Path(__file__).resolve().parent
FARM = HERE.parents[1] / ".venv" / "farm"
GO_PATH = FARM / "debian" / "usr" / "share" / "gocode"

Compiler = Callable[..., dict[str, Any]]


def _goja(folder: Path) -> list[str]:
    go = FARM / "bin" / "go"
    if not (go.is_file() and GO_PATH.is_dir()):
        pytest.skip("no Go with goja: 'python3 tools/environments.py farm' brings them, where there is apt-get")
    settings = {"GOPATH": GO_PATH, "GO111MODULE": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "", "CGO_ENABLED": "0"}
    environment = {**os.environ, **{name: str(value) for name, value in settings.items()}}
    environment["GOCACHE"] = str(FARM / "go-cache")
    program = folder / "flamenco_vm"
    subprocess.run([go, "build", "-o", program, HERE / "flamenco_vm.go"], env=environment, check=True)
    return [str(program)]


def _node(_folder: Path) -> list[str]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on the PATH")
    return [node, str(HERE / "flamenco_vm.js")]


@pytest.fixture(scope="module", params=[_goja, _node], ids=["goja", "node"])
def compile_jobs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """Compiles jobs by their settings, and returns the job type and for each job its tasks or an error."""
    program = request.param(tmp_path_factory.mktemp("flamenco"))

    def compile_all(*settings: dict[str, Any]) -> dict[str, Any]:
        jobs = json.dumps([{"name": "Hero", "type": "supple-bake", "settings": each} for each in settings])
        command = [*program, str(flamenco.JOB_TYPE)]
        return json.loads(subprocess.run(command, input=jobs, capture_output=True, text=True, check=True).stdout)

    return compile_all


def words_of(task: dict[str, Any]) -> list[str]:
    """What Flamenco's worker starts for a task, by the order that its 'blender-render' has."""
    command, *others = task["commands"]
    assert [other["name"] for other in others] == ["make-directory"] * (task["name"] == "check")
    assert (task["type"], command["name"]) == ("blender", "blender-render")
    given = command["parameters"]
    assert set(given) == {"exe", "exeArgs", "argsBefore", "blendfile", "args"}
    assert all(isinstance(word, str) and word for word in [*given["argsBefore"], given["blendfile"], *given["args"]])
    return [given["exe"], given["exeArgs"], *given["argsBefore"], given["blendfile"], *given["args"]]


GRAPHS = json.loads((HERE / "flamenco_tasks.json").read_text(encoding="utf-8"))
"""Settings of jobs, and by hand what they are to become: of each task its name, what it waits for, its command, and the
folder that it makes."""


def test_tasks(compile_jobs: Compiler, subtests: pytest.Subtests) -> None:
    for name, graph in GRAPHS.items():
        with subtests.test(name):
            (job,) = compile_jobs(graph["settings"])["jobs"]
            tasks = [
                (
                    task["name"],
                    task["dependencies"],
                    words_of(task),
                    *(made["parameters"]["path"] for made in task["commands"][1:]),
                )
                for task in job["tasks"]
            ]
            assert tasks == [
                (name, before.split(), shlex.split(words), *made) for name, before, words, *made in graph["tasks"]
            ]


def test_progress_of_renders_counts_their_frames(compile_jobs: Compiler) -> None:
    (job,) = compile_jobs({**GRAPHS["rendered"]["settings"], "frames": "-9-9:3", "chunk_size": 4})["jobs"]
    steps = {task["name"]: task["commands"][0]["steps"] for task in job["tasks"]}
    assert (steps["render--9-0:3"], steps["render-3-9:3"], steps["bake-3-9:3"]) == (4, 3, 0)


GOOD: dict[str, Any] = {"blendfile": "/hero.blend", "output": "/farm", "frames": "1-5", "chunk_size": 2}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"frames": ""}, "No frames are given: write 1-250"),
    ({"frames": None}, "No frames are given: write 1-250"),
    ({"frames": "1..5"}, "'1..5' is not a frame range: write 1-250"),
    ({"frames": "1 5"}, "'1 5' is not a frame range: write 1-250"),
    ({"frames": "1-5,"}, "'' is not a frame range: write 1-250"),
    ({"frames": "1-5,9,4-8"}, "Frame 4 is listed twice: list it once"),
    ({"frames": "1-9:2,2,7"}, "Frame 7 is listed twice: list it once"),
    ({"frames": "5-1"}, "Frame range 5 to 1 runs backwards: choose an end that is not before the start"),
    ({"frames": "-1048575-1"}, "Frames -1048575 to 1 are outside Blender's range: choose from -1,048,574 to 1,048,574"),
    ({"frames": "1-1048575"}, "Frames 1 to 1048575 are outside Blender's range: choose from -1,048,574"),
    ({"frames": "1-2:1048575"}, "Frame step is 1048575: choose 1,048,574 or less"),
    ({"chunk_size": 0}, "Chunks of 0 frames: choose 1 or more"),
    ({"chunk_size": -3}, "Chunks of -3 frames: choose 1 or more"),
    ({"chunk_size": 2.5}, "Chunks of 2.5 frames: choose 1 or more"),
    ({"blendfile": ""}, "No .blend file is given: save the file and submit it again"),
    ({"output": ""}, "No folder is given for the job: choose one that all workers can write to"),
    ({"output": "farm"}, "'farm' is not a full path: use one that begins with a drive, a share or a variable"),
    ({"render": True, "render_output": "frames"}, "'frames' is not a full path: use one"),
    ({"render": True, "frames": "1-9:2,4-8:2"}, "Frames 1-9:2 and 4-8:2 overlap, which a file that is rendered can"),
    ({"render": True, "format": "FFMPEG"}, "The render output is a movie (FFMPEG)"),
    ({"method": "dlbnt"}, "There is no method 'dlbnt': choose one of As Bound in the File, SSD"),
    ({"objects": '["Body"'}, """Objects are '["Body"': write several as ["Body", "Coat"]"""),
    ({"objects": "[1]"}, "Objects are '[1]': write each name in quotes"),
    ({"objects": '["Body", "Body"]'}, "Object 'Body' is listed twice"),
    ({"options": "--frames 1-9"}, "Options are '--frames 1-9': choose among --order, --sharpness"),
    ({"options": "--order --bulge-limit"}, "Options are '--order --bulge-limit': choose among --order"),
    ({"options": "--order GH --bulge-limit"}, "Option --bulge-limit has no value: add one, or leave it out"),
]


def test_wrong_settings_are_refused_before_there_is_a_task(compile_jobs: Compiler, subtests: pytest.Subtests) -> None:
    jobs = compile_jobs(*({**GOOD, **settings} for settings, _ in WRONG))["jobs"]
    for (settings, message), job in zip(WRONG, jobs, strict=True):
        with subtests.test(str(settings)):
            assert job["error"].startswith(message)
            assert "tasks" not in job


def test_chunks_are_those_of_supple(compile_jobs: Compiler) -> None:
    draw = random.Random(5)
    drawn = [{**GOOD, "frames": _draw_frames(draw), "chunk_size": draw.randint(1, 9)} for _ in range(400)]
    refused = 0
    for settings, job in zip(drawn, compile_jobs(*drawn)["jobs"], strict=True):
        try:
            ranges = parse_frames(settings["frames"])
        except SkinningError as error:
            message, refused = str(error), refused + 1
            assert job.get("error", "")[: len(message)] == message, settings
            continue
        *bakes, join = job["tasks"][1:]
        chunks = cut_frames(ranges, settings["chunk_size"])
        assert [_frames_of(task) for task in bakes] == [describe_frames([chunk]) for chunk in chunks]
        assert _frames_of(join) == describe_frames(ranges)
    assert 50 < refused < 350, "both kinds of lists were to be drawn"


def _draw_frames(draw: random.Random) -> str:
    def draw_range() -> str:
        start, length = draw.randint(-40, 60), draw.choice([0, 1, 2, 5, 12])
        end = f"-{start + length}" if draw.random() < 0.8 else ""
        return f"{start}{end}" + draw.choice(["", "", ":1", ":2", ":3", ":7"])

    text = ",".join(draw_range() for _ in range(draw.randint(1, 4)))
    if draw.random() < 0.15:
        at = draw.randrange(len(text))
        text = text[:at] + draw.choice(["-", ":", ",", "0", "x", "99999999", ":0", "."]) + text[at:]
    return text


def _frames_of(task: dict[str, Any]) -> str:
    (word,) = (word for word in words_of(task) if word.startswith("--frames="))
    return word.removeprefix("--frames=")


ALLOWED = {
    *("key", "type", "subtype", "choices", "propargs", "description", "label", "default", "eval", "evalInfo"),
    *("visible", "required", "editable"),
}
"""What a setting can have by Flamenco's API, as of version 3.8."""


def test_settings_are_what_the_panel_of_flamenco_can_show(compile_jobs: Compiler) -> None:
    job_type = compile_jobs()["jobType"]
    assert set(job_type) == {"label", "description", "settings"}
    kinds = {"string": str, "int32": int, "float": float, "bool": bool}
    for setting in job_type["settings"]:
        assert set(setting) <= ALLOWED
        assert setting.get("visible", "visible") in {"visible", "hidden", "submission", "web"}
        assert setting.get("subtype", "file_path") in {"file_path", "dir_path", "file_name", "hashed_file_path"}
        assert isinstance(setting.get("default", kinds[setting["type"]]()), kinds[setting["type"]])
        assert not setting["description"].endswith(".")
        if "evalInfo" in setting:
            assert set(setting["evalInfo"]) == {"showLinkButton", "description"}
    by_key = {setting["key"]: setting for setting in job_type["settings"]}
    assert len(by_key) == len(job_type["settings"])
    assert by_key["method"]["choices"] == ["As Bound in the File", *METHODS]
    assert by_key["method"]["default"] in by_key["method"]["choices"]
    assert by_key["blendfile"]["type"] == "string", "the add-on sets it to the packed file by this name"


def test_values_that_the_add_on_fills_in(compile_jobs: Compiler, subtests: pytest.Subtests) -> None:
    evaluated = {setting["key"]: setting.get("eval") for setting in compile_jobs()["jobType"]["settings"]}
    for key, step, folder, value in (
        ("frames", 1, "", "3-90"),
        ("frames", 4, "", "3-90:4"),
        ("output", 1, "", "/shot/hero_farm"),
        ("output", 1, "/farm", "/farm"),
        ("render_output", 1, "", ""),
        ("render_output", 1, "/farm", "/farm"),
        ("format", 1, "", "PNG"),
    ):
        render = SimpleNamespace(image_settings=SimpleNamespace(file_format="PNG"))
        scene = SimpleNamespace(frame_start=3, frame_end=90, frame_step=step, render=render)
        names = {
            "bpy": SimpleNamespace(data=SimpleNamespace(filepath="/shot/hero.blend")),
            "C": SimpleNamespace(scene=scene),
            "Path": Path,
            "abspath": lambda path: Path(str(path).replace("//", "/shot/")),
            "settings": SimpleNamespace(folder=folder, render_folder=folder),
        }
        with subtests.test(f"{key} {step} {folder}"):
            assert eval(evaluated[key], {}, names) == value


def test_the_add_on_asks_for_a_check_before_it_has_packed_the_file(compile_jobs: Compiler) -> None:
    (job,) = compile_jobs({**GOOD, "blendfile": "dummy-for-job-check.blend"})["jobs"]
    assert "error" not in job


def test_submitted_job_compiles_to_what_was_asked(compile_jobs: Compiler) -> None:
    given = FarmJob(
        file=Path("/shot/hero.blend"),
        objects=("Body", "Coat"),
        frames=(range(-4, 0), range(20, 27, 2)),
        chunk=3,
        choices=("--sharpness", "0.3", "--method", "CENTERS"),
        output=Path("/shot/farm"),
        expect="supple=0.1.0,blender=5.2,file=3fa9",
        render=True,
    )
    files = flamenco.describe(given)
    assert set(files) == {"supple-bake.js", "job.json"}
    assert files["supple-bake.js"] == flamenco.JOB_TYPE.read_text(encoding="utf-8")
    submitted = json.loads(files["job.json"])
    assert set(submitted) == {"name", "type", "priority", "submitter_platform", "settings", "metadata"}
    assert (submitted["type"], submitted["priority"]) == ("supple-bake", 50)
    answer = compile_jobs(submitted["settings"])
    assert set(submitted["settings"]) <= {setting["key"] for setting in answer["jobType"]["settings"]}
    tasks = {task["name"]: " ".join(words_of(task)) for task in answer["jobs"][0]["tasks"]}
    assert tasks["bake-20-24:2"] == (
        "{blender} {blenderArgs} --disable-autoexec --command supple bake /shot/hero.blend --object=Body --object=Coat "
        "--method CENTERS --sharpness 0.3 --part --frames=20-24:2 --output /shot/farm/chunks "
        "--expect supple=0.1.0,blender=5.2,file=3fa9"
    )
    assert list(tasks)[-4:] == ["render--4--2", "render--1", "render-20-24:2", "render-26-26:2"]


class Workers:
    """Two workers of Flamenco, which have the shared folder under another path than the one who has sent the job."""

    def __init__(self, blender: Path, sent: Path, seen: Path) -> None:
        self.variables = {"blender": str(blender), "blenderArgs": "-b -y"}
        self.sent, self.seen = str(sent), str(seen)
        self.shown: list[str] = []

    def replace(self, settings: dict[str, Any]) -> dict[str, Any]:
        """What the Manager makes of settings: a path that begins with a variable's value has the variable's name."""
        return {
            key: value.replace(self.sent, "{share}", 1) if str(value).startswith(self.sent) else value
            for key, value in settings.items()
        }

    def expand(self, text: str) -> str:
        for name, value in {**self.variables, "share": self.seen}.items():
            text = text.replace("{" + name + "}", value)
        return text

    def run_task(self, task: dict[str, Any]) -> str:
        exe, arguments, *words = map(self.expand, words_of(task))
        done = run(exe, *shlex.split(arguments), *words)
        self.shown += re.findall("Saved: '(.*)'", done.stdout + done.stderr)  # as Flamenco's worker looks for images
        assert done.returncode == 0, f"{task['name']}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        for command in task["commands"][1:]:
            Path(self.expand(command["parameters"]["path"])).mkdir(parents=True, exist_ok=True)
        return task["name"]

    def run_all(self, tasks: list[dict[str, Any]]) -> int:
        """Run tasks in an order that their dependencies allow, and return how many ran at a time, at most."""
        waiting, running, finished, most = list(tasks), set(), set(), 0
        with ThreadPoolExecutor(max_workers=2) as pool:
            while waiting or running:
                ready = [task for task in waiting if finished.issuperset(task["dependencies"])][: 2 - len(running)]
                waiting = [task for task in waiting if task not in ready]
                running |= {pool.submit(self.run_task, task) for task in ready}
                assert running, "the tasks wait for one another"
                most = max(most, len(running))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                finished |= {future.result() for future in done}
        return most


@pytest.mark.parametrize("compile_jobs", [_goja], indirect=True, ids=["goja"])
def test_a_job_bakes_joins_and_renders_on_two_workers(compile_jobs: Compiler, tmp_path: Path, blender: Path) -> None:
    sent, seen = tmp_path / "artist's {disk}", tmp_path / "worker's disk"
    sent.mkdir()
    add_two()
    file, frames = save(sent / "Hauptfigur 'é'.blend"), "-3-5:2,7,8"
    words = (*(f"--object={name}" for name in NAMES), "--method", "DLBNT", "--order", "HG", f"--frames={frames}")
    assert (
        main("farm", file, *words, "--chunk", "2", "--render", "--engine", "flamenco", "--output", sent / "job") == DONE
    )
    sent.rename(seen)

    workers = Workers(blender, sent, seen)
    settings = json.loads((seen / "job" / "job.json").read_text(encoding="utf-8"))["settings"]
    (job,) = compile_jobs(workers.replace(settings))["jobs"]
    assert workers.run_all(job["tasks"]) == 2

    joined = contents(seen / "job" / "caches", "*.pc2")
    done = run(blender, "--command", "supple", "bake", seen / file.name, *words, "--output", tmp_path / "at once")
    assert done.returncode == 0, done.stderr
    assert len(joined) == 4
    assert joined == contents(tmp_path / "at once", "*.pc2")
    images = contents(seen / "job" / "frames", "*")
    assert list(images) == sorted(f"shot_{frame}.png" for frame in ("-003", "-001", "001", "003", "005", "007", "008"))
    assert len(set(images.values())) == len(images)


@pytest.mark.parametrize("compile_jobs", [_goja], indirect=True, ids=["goja"])
def test_a_file_gives_no_orders_to_workers(compile_jobs: Compiler, tmp_path: Path, blender: Path) -> None:
    bind(*add_two())
    add_orders(bpy.context.scene)
    file, output = save(tmp_path / "hero.blend"), tmp_path / "job"
    settings = {"blendfile": str(file), "output": str(output), "frames": "1-2", "render": True, "expect": ""}
    (job,) = compile_jobs(settings)["jobs"]
    workers = Workers(blender, tmp_path, tmp_path)
    workers.run_all(job["tasks"])
    assert workers.shown == [str(output / "frames" / f"shot_{frame:03d}.png") for frame in (1, 2)]


@pytest.mark.parametrize("compile_jobs", [_goja], indirect=True, ids=["goja"])
def test_a_job_of_the_add_on_needs_nothing_but_the_file(compile_jobs: Compiler, tmp_path: Path, blender: Path) -> None:
    bind(*add_two(("Body", "Coat")))
    file, output = save(tmp_path / "hero.flamenco.blend"), tmp_path / "jobs" / "hero_farm"
    settings = {"blendfile": str(file), "output": str(output), "frames": "1-3", "chunk_size": 2, "render": False}
    (job,) = compile_jobs(settings | {"folder": "", "objects": "", "method": "As Bound in the File"})["jobs"]
    Workers(blender, tmp_path, tmp_path).run_all(job["tasks"])

    assert main("bake", file, "--all", "--frames", "1-3", "--output", tmp_path / "at once") == DONE
    joined = contents(output / "caches", "*.pc2")
    assert set(joined) == {"Body.pc2", "Coat.pc2"}
    assert joined == contents(tmp_path / "at once", "*.pc2")


def test_syntax_is_that_of_the_oldest_managers() -> None:
    """ECMAScript 5.1: what is newer, goja of 2017 does not compile; node at least finds what is wrong for today's."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on the PATH")
    assert subprocess.run([node, "--check", flamenco.JOB_TYPE], check=False).returncode == 0
