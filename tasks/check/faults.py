"""What can be wrong with a character: the limit of each kind of fault, its words, and what mends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import bpy
import numpy as np

from ...deformers import METHODS, SkinningError
from ...deformers.measures.joint_faults import BULGE, COLLAPSE, OVERLAP, TEAR
from ...deformers.skinning import centers
from ...options import WeightOptions
from ...settings.objects import settings_of
from ..layers.add import add_layers
from ..skin.bind import bind
from ..steps import take_all
from ..subject.character import find_skinned, list_deformed
from ..subject.layered import find_notice, list_layered
from ..weights.automatic import assign_weights
from ..weights.edits import normalize_weights, smooth_weights, stiffen_weights
from ..weights.reports import count
from ..weights.targets import Scope
from .poses import CheckedPose

UNWEIGHTED, STRAY, FAR, SEAM = "UNWEIGHTED", "STRAY", "FAR", "SEAM"
MISPLACED, UNBLENDED = "MISPLACED", "UNBLENDED"
STIFF = "STIFF"
PIERCED, CROSSED = "PIERCED", "CROSSED"

REPEATS = 12
"""How far weights are smoothed through the body where they are torn or not blended."""


@dataclass(frozen=True)
class Finding:
    """A fault of a mesh, at a bone or by another mesh.

    Attributes
    ----------
    kind : str
        Key of `FAULTS`.
    mesh, bone : str
        Names; bone "" where none has to do with it.
    method : str
        Key of the method in use; "" for a mistake in weights.
    severity : float
        1 at the limit, more where it is worse.
    value : float
        What was measured; for weights the number of vertices.
    others : dict from a method to a float
        The same measure by the other methods.
    vertices : tuple of int
        Those with a mistake in weights, or that are torn.
    pose : CheckedPose or None
        In which it is worst.
    other : str
        Name of the mesh that pierces a layer, or of the other limb's bone; "" for other faults.
    depth : float
        Of that, in millimeters.
    seen : float
        Share of the figure that is skin which layers cover at rest, in that pose.
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
        """The same in a few words, for a list."""
        return FAULTS[self.kind].short.format(percent(self.value) if self.method else _count(self.value))

    @property
    def key(self) -> str:
        """What it is remembered by when it is dismissed."""
        return "\t".join((self.mesh, self.kind, self.bone, self.method, *([self.other] if self.other else [])))

    def describe(self) -> str:
        """What is wrong, in a few words."""
        text = FAULTS[self.kind].words(self.value)
        return f"{text} by '{self.other}', up to {self.depth:.0f} mm deep" if self.other else text


@dataclass(frozen=True)
class Fault:
    """A kind of fault: of what poses do to the skin at a joint, or a mistake in weights.

    Attributes
    ----------
    short : str
        A few words, for a list; `{}` stands for what was measured.
    words : function from a float to a str
        What is wrong, from what was measured; of weights the number of vertices.
    mend : function or None
        What is done to a mesh with a finding; it returns messages.
    limit : float
        Where a measure of `joint_faults` becomes a fault; 0 for weights.
    is_low : bool
        Whether a measure is worse the smaller it is.
    over_linear : float
        A method is at fault only where its measure is larger than linear blending's by this factor; 0 wherever.
    is_by_vertex : bool
        Whether vertices are measured: those whose weights are to be mended first do not count.
    setting : str
        Choice of the default method that helps.
    """

    short: str
    words: Callable[[float], str]
    mend: Callable[[bpy.types.Object, Finding], list[str]] | None = None
    limit: float = 0.0
    is_low: bool = False
    over_linear: float = 0.0
    is_by_vertex: bool = False
    setting: str = ""

    def rate(self, values: np.ndarray, linear: np.ndarray | None) -> np.ndarray:
        """How bad values of its measure are, 1 at the limit; beside those of linear blending, where they are known."""
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


def _mask(obj: bpy.types.Object, finding: Finding) -> np.ndarray:
    mask = np.zeros(len(obj.data.vertices), bool)
    if finding.vertices and max(finding.vertices) >= len(mask):
        raise SkinningError(f"The vertices of '{obj.name}' have changed since the check: check the character again")
    mask[list(finding.vertices)] = True
    return mask


def _give_weights(obj: bpy.types.Object, _finding: Finding) -> list[str]:
    reports = assign_weights([obj], WeightOptions(mode="UNWEIGHTED"))
    return [sentence for report in reports for sentence in report.summarize()]


def _take_away(obj: bpy.types.Object, finding: Finding) -> list[str]:
    """Remove a bone from vertices that it has no business with; those that are left bare get new weights."""
    scope = Scope(vertices={obj.name: _mask(obj, finding)})
    obj.vertex_groups[finding.bone].remove(list(finding.vertices))
    bare = [
        index for index in finding.vertices if not any(entry.weight > 0.0 for entry in obj.data.vertices[index].groups)
    ]
    messages = [f"Removed '{finding.bone}' from {count(len(finding.vertices), 'vertex')}."]
    return messages + (_give_weights(obj, finding) if bare else take_all(normalize_weights([obj], scope)))


def _smooth(obj: bpy.types.Object, finding: Finding) -> list[str]:
    return take_all(smooth_weights([obj], Scope(vertices={obj.name: _mask(obj, finding)}), "SOLID", 1.0, REPEATS))


def _close_seam(obj: bpy.types.Object, finding: Finding) -> list[str]:
    """Smoothing gives all vertices at one position the same weights."""
    return take_all(smooth_weights([obj], Scope(vertices={obj.name: _mask(obj, finding)}), "SURFACE", 1.0, 1))


def _stiffen(obj: bpy.types.Object, finding: Finding) -> list[str]:
    return take_all(stiffen_weights([obj], Scope(vertices={obj.name: _mask(obj, finding)})))


def _change_method(obj: bpy.types.Object, finding: Finding) -> list[str]:
    """Bind by Centers where another method is in use; its limit and contact take the rest."""
    settings = settings_of(obj)
    if finding.method != centers.INFO.key:
        bind([obj], centers.INFO.key)
        return [f"Bound '{obj.name}' by {label_method(centers.INFO.key)}."]
    name = FAULTS[finding.kind].setting
    if not name or getattr(settings, name) >= 1.0:
        raise SkinningError(
            f"'{finding.bone}' {finding.describe()} by {label_method(finding.method)}: smooth the weights around it, "
            "or choose Particles"
        )
    setattr(settings, name, 1.0)
    return [f"{settings.bl_rna.properties[name].name} of '{obj.name}' is now 1."]


def _stay_outside(obj: bpy.types.Object, _finding: Finding) -> list[str]:
    armature = find_skinned(obj).armature
    if list_layered([obj]) and not find_notice([obj]):
        raise SkinningError(f"'{obj.name}' stays outside already: use Mend at Rest, or raise its gap")
    meshes = [each for each in list_deformed(bpy.context.view_layer, armature) if settings_of(each).is_ticked]
    return [f"{line}." for line in add_layers(armature, meshes).describe()]


def _count(value: float) -> str:
    return count(int(value), "vertex")


FAULTS = {
    COLLAPSE: Fault(
        "collapses to {}",
        lambda value: f"collapses to {percent(value)} of its cross-section",
        _change_method,
        limit=0.25,
        is_low=True,
    ),
    BULGE: Fault(
        "swells to {}",
        lambda value: f"swells to {percent(value)} of its thickness",
        _change_method,
        limit=1.5,
        over_linear=1.25,
        setting="bulge_limit",
    ),
    TEAR: Fault(
        "tears open",
        lambda value: f"tears open, by {value:.1f} times its thickness",
        _smooth,
        limit=2.0,
        is_by_vertex=True,
    ),
    OVERLAP: Fault(
        "overlaps by {}",
        lambda value: f"intersects itself in {percent(value)} of its volume",
        _change_method,
        limit=0.12,
        setting="contact",
    ),
    UNWEIGHTED: Fault("{} without weights", lambda value: f"{_count(value)} without weights", _give_weights),
    STRAY: Fault("{} astray", lambda value: f"{_count(value)} in a stray patch", _take_away),
    FAR: Fault("{} far away", lambda value: f"{_count(value)} far from the bone", _take_away),
    SEAM: Fault("seam of {} opens", lambda value: f"a seam of {_count(value)} opens", _close_seam),
    MISPLACED: Fault("misplaced", lambda _value: "influences skin away from its parent and children"),
    UNBLENDED: Fault("not blended", lambda _value: "does not blend with its parent", _smooth),
    PIERCED: Fault(
        "pierced in {}", lambda value: f"is pierced in {percent(value)} of its area", _stay_outside, limit=0.015
    ),
    CROSSED: Fault("another limb in {}", lambda value: f"is pierced in {percent(value)} of its skin", limit=0.02),
    STIFF: Fault("stiff part bends at {}", lambda value: f"{_count(value)} of stiff parts bend", _stiffen),
}
"""By the kind of fault, what there is to know of it. What finds them is in `findings`."""
