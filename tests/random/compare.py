"""What is wrong with a sequence: its run with Supple, step by step beside the run without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from blenders import Run
from state import differences

CLOSE = 1e-4
"""Distance at which points are the same, in the size that they were computed with."""
LARGEST = 1e6
"""Size from which on float32 says nothing any more."""


@dataclass(frozen=True)
class Failure:
    """What is wrong: `kind` and `label` stay the same while a sequence is shrunk."""

    kind: str
    label: str
    step: int
    text: str

    @property
    def is_grave(self) -> bool:
        """Whether it is wrong by itself, and not only other than in the Blender that never binds."""
        return self.kind.startswith(("traceback", "not finite", "crash"))


def find_failure(with_supple: Run, without: Run) -> Failure | None:
    """The first that is wrong with a sequence, and not in Blender itself."""
    for step, (found, expected) in enumerate(zip(with_supple.steps, without.steps, strict=False)):
        failure = _compare(found, expected, step)
        if failure is not None:
            return failure
    if with_supple.ended == "done" or without.ended != "done":
        return None  # what the run without Supple does, too, is Blender's own
    label = with_supple.last_action.split()[0]
    return Failure(
        with_supple.ended, label, len(with_supple.steps), f"{with_supple.last_action}: {with_supple.log[-1500:]}"
    )


def _compare(found: dict[str, Any], expected: dict[str, Any], step: int) -> Failure | None:
    name = found["action"][0]
    own = {problem.partition(":")[0] for problem in expected["problems"]}
    for problem in found["problems"]:
        if "Traceback" in problem or problem.partition(":")[0] not in own:
            if "Traceback" in problem and any("Traceback" in other for other in expected["problems"]):
                continue
            lines = [line for line in problem.strip().splitlines() if line and not line.startswith((" ", "#"))]
            label = _last_of_traceback(problem) if "Traceback" in problem else problem.partition(":")[0]
            return Failure("traceback" if "Traceback" in problem else "problem", label, step, problem if lines else "")
    if found["text"] != expected["text"]:
        return Failure("other result", name, step, f"{name}: {found['text']} instead of {expected['text']}")
    if found["states"].keys() != expected["states"].keys():
        others = sorted(found["states"].keys() ^ expected["states"].keys())
        return Failure("other objects", name, step, f"{others}")
    failure = _compare_points(found, expected, step)
    if failure is None and "dump" in found and (changes := differences(expected["dump"], found["dump"])):
        kinds = changes[0].split(":")[0]
        failure = Failure("leftover", _without_names(kinds), step, "; ".join(changes[:12]))
    return failure


def _last_of_traceback(text: str) -> str:
    """The exception and where it was raised."""
    lines = [line for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if line and line[0].isalpha() and "Error" in line.split(":")[0]]
    places = [line for line in lines if line.strip().startswith("File ")]
    return f"{raised[-1].split(':')[0] if raised else ''} {places[-1].split(',')[-1] if places else ''}"


def _without_names(path: str) -> str:
    return "".join(part.partition("[")[0] if "[" in part else part for part in path.split("]"))


def _compare_points(found: dict[str, Any], expected: dict[str, Any], step: int) -> Failure | None:
    states = found["states"]
    for name in sorted(found["points"].keys() & expected["points"].keys()):
        points, own, state = found["points"][name], expected["points"][name], states[name]
        what = f"{name} after {found['action'][0]} {found['text']}: {_describe(state)}"
        size = max(state["size"], expected["states"][name]["size"], float(np.abs(own).max(initial=0.0)))
        if not size < LARGEST:
            continue
        if np.isfinite(own).all() and not np.isfinite(points).all() and not state["message"]:
            return Failure("not finite", "points", step, what)
        if not state["same"] or any(not states[other]["same"] for other in state["others"] if other in states):
            continue
        if points.shape != own.shape:
            return Failure("wrong mesh", "count", step, f"{len(points)} points instead of {len(own)}: {what}")
        if len(own) and np.isfinite(own).all():
            distance = float(np.abs(points - own).max())
            if not distance <= CLOSE * size:
                return Failure("wrong mesh", "points", step, f"by {distance:.3g} at size {size:.3g}: {what}")
    return None


def _describe(state: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {value}" for key, value in state.items() if key in ("bound", "method", "evaluate", "message")
    )
