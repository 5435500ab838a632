"""Starts Blenders that run sequences, and notices when one crashes or hangs."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WORKER = Path(__file__).resolve().parent / "worker.py"
LONGEST_STEP = 120
"""Seconds without a step after which a Blender is taken to hang."""


@dataclass
class Run:
    """What a sequence gave in one Blender.

    Attributes
    ----------
    ended : str
        "done", "hang", or how the process ended.
    actions : list
        Pairs of a name and a seed.
    steps : list of dict
        What the worker has observed: at the start, after each action, and at the end.
    log : str
        The last that was printed.
    used : Counter
        How often operators and settings were used, by name and whether that was done.
    """

    ended: str
    actions: list[Any] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    log: str = ""
    used: Counter = field(default_factory=Counter)

    @property
    def last_action(self) -> str:
        """The action during which the process ended."""
        return next((line for line in reversed(self.log.splitlines()) if line.startswith("## ")), "## start")[3:]


def run_jobs(jobs: list[dict[str, Any]], folder: Path) -> dict[str, tuple[Run, Run]]:
    """Run sequences with and without Supple, at the same time: the two runs of each, by name."""
    sides = [_Side(jobs, folder / "with", False), _Side(jobs, folder / "without", True)]
    while [side for side in sides if side.is_running()]:
        time.sleep(0.02)
    return {job["name"]: tuple(side.runs[job["name"]] for side in sides) for job in jobs}


class _Side:
    """One of the two Blenders; started again for the sequences that are left when it has crashed."""

    def __init__(self, jobs: list[dict[str, Any]], folder: Path, without_supple: bool) -> None:
        self.jobs, self.folder, self.without_supple = list(jobs), folder, without_supple
        self.runs: dict[str, Run] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._start()

    def _start(self) -> None:
        jobs = self.folder / "jobs.json"
        jobs.write_text(json.dumps(self.jobs))
        for job in self.jobs:
            self._steps(job).unlink(missing_ok=True)
        command = [sys.executable, str(WORKER), str(jobs), str(self.folder)]
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        command += ["--without-supple"] * self.without_supple
        with open(self.folder / "started.log", "wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        self.size, self.since = -1, time.monotonic()

    def _steps(self, job: dict[str, Any]) -> Path:
        return self.folder / f"{job['name']}.steps"

    def is_running(self) -> bool:
        code = self.process.poll()
        if code is None:
            size = sum(path.stat().st_size for path in self.folder.glob("*.steps"))
            if size != self.size:
                self.size, self.since = size, time.monotonic()
            if time.monotonic() - self.since < LONGEST_STEP:
                return True
            self.process.kill()
            self.process.wait()
        self._take("hang" if code is None else _describe(code))
        if self.jobs:
            self._start()
        return bool(self.jobs)

    def _take(self, ended: str) -> None:
        """Take the results; the first sequence that has not ended is the one that ended the process."""
        while self.jobs:
            job = self.jobs[0]
            run = _read(self._steps(job))
            if run.ended != "done":
                run.ended = ended
                log = self.folder / f"{job['name']}.log"
                log = log if log.exists() else self.folder / "started.log"
                run.log = log.read_text(errors="replace")[-6000:]
            self.runs[job["name"]] = run
            self._steps(job).unlink(missing_ok=True)
            del self.jobs[0]
            if run.ended != "done":
                break


def _describe(code: int) -> str:
    return f"crash by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _read(path: Path) -> Run:
    run = Run("")
    if not path.exists():
        return run
    with open(path, "rb") as file:
        while True:
            try:
                found = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return run
            if "done" in found:
                run.ended, run.used = "done", found["used"]
            elif "actions" in found:
                run.actions = found["actions"]
            else:
                run.steps.append(found)
