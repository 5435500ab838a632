"""Job bundles, run by the engine of Open Job Description itself.

`make test-farm` installs it. Each task starts a Blender, so these tests are few, and each looks at a lot.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import bpy
import pytest
from scenes_cli import DONE, main
from scenes_farm import NAMES, add_orders, add_two, contents, read_images, run, write_recorder

from checkout import ROOT
from scenes import save

FARM = ROOT / ".venv" / "farm" / "bin"
FRAMES = "-2-1,7"
CHUNKS = ["-2--1", "0-1", "7-7"]

pytestmark = pytest.mark.skipif(not (FARM / "openjd").is_file(), reason="make test-farm installs openjd-cli")


def make_job(folder: Path, *words: str, frames: str = FRAMES) -> Path:
    """Write a job of two characters into a folder, all with names that are hard to pass on, and return its folder."""
    folder.mkdir(exist_ok=True)
    add_two()
    file = save(folder / "Hauptfigur {{x}} 'é'.blend")
    job = folder / 'Auftrag {{1}} "漢"'
    words = (*(f"--object={name}" for name in NAMES), "--method", "DLBNT", f"--frames={frames}", "--chunk", "3", *words)
    assert main("farm", file, *words, "--engine", "openjd", "--output", job) == DONE
    return job


def values_of(job: Path, blender: Path, **given: str) -> dict[str, str]:
    """The parameters of a job as it was written, but for those that are given."""
    values = json.loads((job / "parameter_values.json").read_text(encoding="utf-8"))["parameterValues"]
    return {one["name"]: one["value"] for one in values} | {"Blender": str(blender)} | given


def openjd(job: Path, blender: Path, *words: str | Path) -> list[str | Path]:
    """The words that run a step of a job."""
    return [FARM / "openjd", "run", job / "template.json", "-p", json.dumps(values_of(job, blender)), *words]


def run_step(job: Path, blender: Path, step: str, *words: str | Path) -> str:
    """Run a step to its end, and return what the engine says."""
    done = run(*openjd(job, blender, "--step", step, *words))
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return done.stdout


def bake_at_once(job: Path, blender: Path, frames: str, folder: Path) -> dict[str, bytes]:
    """The PC2 files of one bake in one process."""
    file = values_of(job, blender)["SceneFile"]
    words = ("--all", "--method", "DLBNT", f"--frames={frames}", "--output", folder)
    done = run(blender, "--command", "supple", "bake", file, *words)
    assert done.returncode == 0, done.stderr
    return contents(folder, "*.pc2")


def check(job: Path, extensions: str) -> None:
    checked = run(FARM / "openjd", "check", job / "template.json", "--extensions", extensions)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("words", "frames", "rendered"),
    [((), FRAMES, range(-2, 2)), (("--no-task-chunking",), "-3-1:2,7", range(-3, 2, 2))],
)
def test_a_job_bakes_joins_and_renders(tmp_path, blender, words, frames, rendered):
    job = make_job(tmp_path / "share", "--render", *words, frames=frames)
    check(job, "" if words else "TASK_CHUNKING")
    run_step(job, blender, "Render", "--run-dependencies")
    joined = contents(job / "caches", "*.pc2")
    assert len(joined) == 4
    assert joined == bake_at_once(job, blender, frames, tmp_path / "at once")
    images = read_images(job / "frames")
    assert set(images) == {f"shot_{frame:0{4 if frame < 0 else 3}d}.png" for frame in (*rendered, 7)}
    assert len(set(images.values())) == len(images)

    shutil.copy(job / "frames" / f"shot_{rendered[-1]:03d}.png", job / "frames" / "shot_007.png")
    run_step(job, blender, "Render", "--tasks", json.dumps([{"Chunk": "7" if words else "7-7"}]))
    assert read_images(job / "frames") == images


def test_two_workers_at_once(tmp_path, blender):
    job = make_job(tmp_path)
    running = [
        subprocess.Popen(
            openjd(job, blender, "--step", "Bake", "--tasks", json.dumps([{"Chunk": chunk} for chunk in chunks])),
            stdout=subprocess.PIPE,
            text=True,
        )
        for chunks in (CHUNKS[::2], CHUNKS[1::2])
    ]
    for process in running:
        out, _ = process.communicate(timeout=300)
        assert process.returncode == 0, out
    run_step(job, blender, "Join")
    assert contents(job / "caches", "*.pc2") == bake_at_once(job, blender, FRAMES, tmp_path / "at once")


def test_a_real_character_of_three_meshes_by_two_workers_at_once():
    done = run(sys.executable, ROOT / "benchmarks" / "farm.py", "--character", "human", "--frames", "1-86")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "3 caches of" in done.stdout


def test_frames_are_changed_when_the_job_is_submitted(tmp_path, blender):
    job = make_job(tmp_path, "--render")
    words = ("-p", "Frames=2, 4-5", "-p", "FramesPerChunk=2")
    run_step(job, blender, "Render", "--run-dependencies", *words)
    assert contents(job / "caches", "*.pc2") == bake_at_once(job, blender, "2,4-5", tmp_path / "at once")
    assert set(contents(job / "frames", "*")) == {f"shot_{frame:03d}.png" for frame in (2, 4, 5)}


def test_paths_are_mapped(tmp_path, blender):
    job = make_job(tmp_path / "artist", frames="1-3")
    (tmp_path / "artist").rename(tmp_path / "worker's disk")
    mapped = tmp_path / "worker's disk" / job.name
    rule = {"source_path_format": "POSIX", "source_path": str(tmp_path / "artist")}
    rule["destination_path"] = str(mapped.parent)
    rules = json.dumps({"version": "pathmapping-1.0", "path_mapping_rules": [rule]})
    given = openjd(mapped, blender, "--step", "Join", "--run-dependencies", "--path-mapping-rules", rules)
    done = run(*given)
    assert done.returncode == 0, done.stdout
    assert len(contents(mapped / "caches", "*.pc2")) == 2
    assert not job.exists()


def test_a_worker_with_another_state_of_the_file_bakes_nothing(tmp_path, blender):
    job = make_job(tmp_path)
    save(next(tmp_path.glob("*.blend")))
    failed = run(*openjd(job, blender, "--step", "Bake"))
    assert failed.returncode == 1
    assert "another state of the file" in failed.stdout
    assert not (job / "chunks").exists()


def test_a_file_gives_no_orders_to_the_engine(tmp_path, blender):
    add_two()
    add_orders(bpy.context.scene)
    job = tmp_path / "job"
    words = ("--all", "--method", "DLBNT", "--frames=1-2", "--render")
    assert main("farm", save(tmp_path / "file.blend"), *words, "--engine", "openjd", "--output", job) == DONE
    recorder = write_recorder(tmp_path / "recorder", blender, tmp_path / "environments")
    said = run_step(job, recorder, "Render", "--run-dependencies")
    assert said.count("openjd_env") >= 5, "Blender has printed no name of the file"
    assert not re.search(r"^(\S+ ?\S*\t)?openjd_(env|fail)", said, re.MULTILINE), said
    images = re.findall("Saved: '(.*)'", said)
    assert [Path(image).name for image in images] == ["shot_001.png", "shot_002.png"]
    assert "SUPPLE_ORDERED" not in (tmp_path / "environments").read_text()


def run_as_worker(job: Path, blender: Path, step: str, *chunk: str, **given: str) -> dict:
    """What a worker understands of the lines of a step, or of a chunk of it."""
    values = json.dumps(values_of(job, blender, **given))
    session = Path(__file__).with_name("engine_session.py")
    done = run(FARM / "python", session, job / "template.json", values, step, *chunk)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_engine_reads_progress_and_what_is_wrong(tmp_path, blender):
    job = make_job(tmp_path, "--render")
    baked = run_as_worker(job, blender, "Bake", "1-3")
    assert baked["state"] == "success"
    assert baked["progress"][-1] == 100.0
    failed = run_as_worker(job, blender, "Bake", "1-3", SceneFile=str(tmp_path / "none.blend"))
    assert failed["state"] == "failed"
    assert "none.blend" in failed["reason"]
    failed = run_as_worker(job, blender, "Join")
    assert failed["state"] == "failed"
    assert "-2-0" in failed["reason"]
    failed = run_as_worker(job, blender, "Apply")
    assert failed["state"] == "failed"
    assert "caches" in failed["reason"]
    failed = run_as_worker(job, blender, "Render", "1-3")  # there is no file to render
    assert failed["state"] == "failed"
