"""The kinds of faults of a character: their limits and their words. `mends` mends them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...deformers import METHODS
from ...deformers.measures.joint_faults import BULGE, COLLAPSE, OVERLAP, TEAR
from ..weights.reports import count
from .poses import CheckedPose

UNWEIGHTED, STRAY, FAR, SEAM = "UNWEIGHTED", "STRAY", "FAR", "SEAM"
MISPLACED, UNBLENDED = "MISPLACED", "UNBLENDED"
STIFF = "STIFF"
PIERCED_AT_REST, PIERCED, CROSSED = "PIERCED_AT_REST", "PIERCED", "CROSSED"


@dataclass(frozen=True)
class Finding:
    """A fault of a mesh, at a bone or by another mesh.

    Attributes
    ----------
    kind : str
        Key of `FAULTS`.
    mesh, bone : str
        Names; bone "" for a fault without a bone.
    method : str
        Key of the method in use; "" for a mistake in weights.
    severity : float
        1 at the limit, larger for worse faults.
    value : float
        The measure; for weights the number of vertices.
    others : dict from a method to a float
        The same measure by the other methods.
    vertices : tuple of int
        Those with a mistake in weights, or that are torn.
    pose : CheckedPose or None
        The pose with the worst value.
    other : str
        Name of the mesh that pierces a layer, or of the other limb's bone; "" for other faults.
    depth : float
        Depth of the intersection, in millimeters.
    seen : float
        Share of the rendered figure that shows covered skin, in that pose.
    """

    kind: str
    mesh: str
    bone: str
    method: str
    severity: float
    value: float
    others: dict[str, float] = field(default_factory=dict)
    vertices: tuple[int, ...] = ()
    pose: CheckedPose | None = None
    other: str = ""
    depth: float = 0.0
    seen: float = 0.0

    @property
    def short(self) -> str:
        """The fault in a few words, for a list."""
        return FAULTS[self.kind].short.format(percent(self.value) if self.method else _count(self.value))

    @property
    def key(self) -> str:
        """Identifies the fault, so that it stays dismissed."""
        return "\t".join((self.mesh, self.kind, self.bone, self.method, *([self.other] if self.other else [])))

    def describe(self) -> str:
        """The fault in a sentence without a subject."""
        text = FAULTS[self.kind].words(self.value)
        return f"{text} by '{self.other}', up to {self.depth:.0f} mm deep" if self.other else text


@dataclass(frozen=True)
class Fault:
    """A kind of fault: skin that a pose spoils at a joint, or a mistake in weights.

    Attributes
    ----------
    short : str
        A few words, for a list; `{}` stands for the measure.
    words : function from a float to a str
        A sentence from the measure; for weights from the number of vertices.
    limit : float
        Limit of a measure of `joint_faults`; 0 for weights.
    is_low : bool
        Whether small values are worse.
    over_linear : float
        A method is at fault only if its measure is this many times linear blending's; 0 for no such condition.
    is_by_vertex : bool
        Whether vertices are measured; vertices with mistaken weights do not count.
    """

    short: str
    words: Callable[[float], str]
    limit: float = 0.0
    is_low: bool = False
    over_linear: float = 0.0
    is_by_vertex: bool = False

    def rate(self, values: np.ndarray, linear: np.ndarray | None) -> np.ndarray:
        """Severity of values of the measure, 1 at the limit; compared with linear blending's if they are given."""
        if self.is_low:
            return self.limit / np.maximum(values, 1e-3)
        severities = values / self.limit
        if self.over_linear and linear is not None:
            severities = np.minimum(severities, values / linear / self.over_linear)
        return severities


def percent(value: float) -> str:
    return f"{100.0 * value:.0f} %"


def label_method(key: str) -> str:
    """A method's label, in menus and reports."""
    return METHODS[key].label


def _count(value: float) -> str:
    return count(int(value), "vertex")


# All kinds of faults; `findings` finds them.
FAULTS = {
    COLLAPSE: Fault(
        "collapses to {}",
        lambda value: f"collapses to {percent(value)} of its cross-section",
        limit=0.25,
        is_low=True,
    ),
    BULGE: Fault(
        "swells to {}",
        lambda value: f"swells to {percent(value)} of its thickness",
        limit=1.5,
        over_linear=1.25,
    ),
    TEAR: Fault(
        "tears open",
        lambda value: f"tears open, by {value:.1f} times its thickness",
        limit=2.0,
        is_by_vertex=True,
    ),
    OVERLAP: Fault(
        "overlaps by {}",
        lambda value: f"intersects itself in {percent(value)} of its volume",
        limit=0.12,
    ),
    UNWEIGHTED: Fault("{} without weights", lambda value: f"{_count(value)} without weights"),
    STRAY: Fault("{} astray", lambda value: f"{_count(value)} in a stray patch"),
    FAR: Fault("{} far away", lambda value: f"{_count(value)} far from the bone"),
    SEAM: Fault("seam of {} opens", lambda value: f"a seam of {_count(value)} opens"),
    MISPLACED: Fault("misplaced", lambda _value: "influences skin away from its parent and children"),
    UNBLENDED: Fault("not blended", lambda _value: "does not blend with its parent"),
    PIERCED_AT_REST: Fault(
        "pierced at rest in {}", lambda value: f"is pierced at rest in {percent(value)} of its area", limit=0.015
    ),
    PIERCED: Fault("pierced in {}", lambda value: f"is pierced in {percent(value)} of its area", limit=0.015),
    CROSSED: Fault("another limb in {}", lambda value: f"is pierced in {percent(value)} of its skin", limit=0.02),
    STIFF: Fault("stiff part bends at {}", lambda value: f"{_count(value)} of stiff parts bend"),
}
