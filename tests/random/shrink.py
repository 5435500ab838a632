"""Finds few actions of a sequence that fail in the same way, each time in new Blenders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from blenders import Run, run_jobs
from compare import Failure, find_failure

MOST_ROUNDS = 25


def shrink(job: dict[str, Any], failure: Failure, folder: Path) -> tuple[list[Any], Failure, list[str]]:
    """Leave out actions as long as the rest fails in the same way (delta debugging).

    Returns
    -------
    list of (str, int)
        The actions that are left; all of them where the sequence does not fail by itself.
    Failure
    list of str
        What these actions chose, in words.
    """
    actions = job["actions"]
    best = _find_failing(job, [actions[: max(1, failure.step)], actions], failure, folder)
    if best is None:
        return actions, replace(failure, text=f"not by itself: {failure.text}"), []
    parts = 2
    for _ in range(MOST_ROUNDS):
        actions = best[0]
        size = -(-len(actions) // parts)
        rests = [actions[:start] + actions[start + size :] for start in range(0, len(actions), size)]
        found = _find_failing(job, [rest for rest in rests if rest], failure, folder)
        if found is not None:
            best, parts = found, max(2, parts - 1)
        elif size == 1:
            break
        else:
            parts = min(len(actions), 2 * parts)
    return best


def _find_failing(
    job: dict[str, Any], candidates: list[list[Any]], failure: Failure, folder: Path
) -> tuple[list[Any], Failure, list[str]] | None:
    """The first of some lists of actions that fails in the same way, all tried in one pair of Blenders."""
    jobs = [dict(job, actions=actions, name=f"shrunk{number}") for number, actions in enumerate(candidates)]
    results = run_jobs(jobs, folder / "shrink") if jobs else {}
    for candidate in jobs:
        with_supple, without = results[candidate["name"]]
        found = find_failure(with_supple, without)
        if found is not None and (found.kind, found.label) == (failure.kind, failure.label):
            return candidate["actions"], found, _describe(with_supple)
    return None


def _describe(run: Run) -> list[str]:
    said = [f"{step['action'][0]} {step['text']}" for step in run.steps]
    return said if run.ended == "done" else [*said, f"{run.last_action} ({run.ended})"]
