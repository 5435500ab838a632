"""Skins to measure: a body bound by one of the deformers, and its times."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

import harness
from benchmarks.shapes import Shape
from deformers import DEFORMERS, METHODS, Joints, Pose, Rest, Weights

print_table = partial(harness.print_table, digits=4)

LABELS = {"SSD": "LBS", "DLB": "DQS"}
chosen: list[str] = list(METHODS)  # The methods that the command line asks for

settings: dict[str, dict[str, Any]] = {}  # Parameters that the command line sets, by method


def methods(slow: bool = False) -> list[str]:
    """Keys of the methods to measure; slow methods if `slow`."""
    return [method.key for method in METHODS.values() if method.key in chosen and (slow or not method.is_slow)]


def label(method: str) -> str:
    return LABELS.get(method, method)


@dataclass(frozen=True)
class Skin:
    """A bound body."""

    module: ModuleType
    binding: Any
    seconds: float  # time of `bind`

    def deform(self, matrices: np.ndarray) -> np.ndarray:
        """Posed points, float64, shape (V, 3)."""
        return self.module.deform(self.binding, Pose(matrices)).astype(np.float64)

    def time(self, poses: list[np.ndarray], rounds: int = 3) -> float:
        """Median milliseconds for one of `poses`."""
        steps = [partial(self.module.deform, self.binding, Pose(pose)) for pose in poses]
        return 1e3 * statistics.median(median_time(step, rounds) for step in steps)

    def find_particles(self) -> np.ndarray | None:
        """Centers of the particles at rest, shape (P, 3); None if the method does not tell where they go."""
        if not hasattr(self.module, "pose_particles"):
            return None
        return self.module.particles(self.binding).points

    def pose_particles(self, matrices: np.ndarray) -> np.ndarray:
        """Posed centers of the particles, shape (P, 3)."""
        return self.module.pose_particles(self.binding, Pose(matrices))


def median_time(call: Callable[[], object], rounds: int = 7) -> float:
    """Median seconds of a call, after one that is not counted."""
    return statistics.median(harness.time_calls(call, rounds, warm=1))


def make_rest(shape: Shape) -> Rest:
    return Rest(
        shape.points,
        Weights.from_dense(shape.weights),
        Joints(shape.heads, shape.parents, shape.tails),
        triangles=shape.triangles,
    )


def make_params(method: str, **chosen: Any) -> Any:
    """The method's parameters: those that it has of `chosen`, else of the command line, else its own."""
    wanted = {**settings.get(method, {}), **chosen}
    return DEFORMERS[method].Params(**{name: value for name, value in wanted.items() if has(method, name)})


def bind_skin(method: str, shape: Shape, **chosen: Any) -> Skin:
    """Bind a body; `chosen` are parameters, left out if the method has none of that name."""
    rest, params = make_rest(shape), make_params(method, **chosen)
    seconds, binding = harness.time_call(lambda: DEFORMERS[method].bind(rest, params))
    return Skin(DEFORMERS[method], binding, seconds)


def bind_variants(shape: Shape, slow: bool = False) -> dict[str, Skin]:
    """Skins by label: each method, and as "raw" without the correction of the volume that it has."""
    skins = {}
    for method in methods(slow):
        skins[label(method)] = bind_skin(method, shape)
        if has(method, "volume"):
            skins[f"{label(method)}, raw"] = bind_skin(method, shape, volume=0.0)
    return skins


def has(method: str, *names: str) -> bool:
    """Whether a method has all these parameters."""
    return set(names) <= {field.name for field in fields(DEFORMERS[method].Params)}


def count_particles(skin: Skin) -> int | str:
    """Particles of a binding, "-" if it has none."""
    return getattr(skin.binding, "count", "-")
