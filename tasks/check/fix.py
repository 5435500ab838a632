"""Faults that a tool can mend: tried, checked as a whole, and then written.

A fault is fixed when a fresh check does not find it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np

from ...deformers import SkinningError
from ...options import CheckOptions
from ..steps import Steps, within
from ..weights.reports import end_sentence
from .faults import CROSSED, Finding
from .findings import find_faults
from .mends import FLESH, MENDS
from .run import Checked, check_character
from .trial import Trial

# Weights, faults that they had hidden, flesh, and layers: each round is checked
MOST_ROUNDS = 6

# A fault counts as reduced below this share of its severity
BETTER = 0.99


@dataclass
class Fixed:
    """The result of a fix.

    Attributes
    ----------
    faults : list of Finding, or None
        Faults of a fresh check, the worst first; None if nothing was changed.
    unchecked : set of str
        Meshes that it could not check: their faults are not known to be gone.
    messages : list of str
        Messages about what was done.
    reasons : dict from a key of a fault to str
        Reasons for faults that are left.
    """

    faults: list[Finding] | None = None
    unchecked: set[str] = field(default_factory=set)
    messages: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)


def can_fix(finding: Finding) -> bool:
    """Whether there is a tool for a fault."""
    return finding.kind in MENDS


def explain(finding: Finding) -> str:
    """Advice on a fault that no tool mends."""
    subject = f"'{finding.bone or finding.mesh}' {finding.describe()}"
    if finding.kind == CROSSED:
        return f"{subject}: change the pose, or use Keep Limbs Apart"
    if finding.other:
        return f"{subject}: raise the gap of Stay Outside, or transfer the weights of '{finding.other}'"
    if finding.pose is not None:
        return f"{subject}: smooth the weights around it, use Correct This Pose, or choose another method"
    return f"{subject}: rename its vertex group, or paint its weights"


def fix_faults(
    faults: Sequence[Finding],
    objects: Sequence[bpy.types.Object],
    options: CheckOptions,
    is_chosen: Callable[[Finding], bool],
) -> Steps[Fixed]:
    """Mend faults of a character; the last step alone changes the file.

    Mistakes in weights go first, because they may cause the other faults. Raises SkinningError if the character cannot
    be checked any more.

    Parameters
    ----------
    faults : sequence of Finding
        Of the character as it is.
    objects : sequence of Object
        Its meshes, and `options`: as they were checked.
    is_chosen : function
        Whether to mend a fault.
    """
    trial, fixed, left = Trial(objects), Fixed(), list(faults)
    stuck: set[str] = set()
    try:
        for number in range(MOST_ROUNDS):
            chosen = [fault for fault in left if can_fix(fault) and is_chosen(fault) and fault.key not in stuck]
            stage = min((MENDS[fault.kind][0] for fault in chosen), default=None)
            chosen = [fault for fault in chosen if MENDS[fault.kind][0] == stage]
            if not chosen:
                break
            start, share = number / MOST_ROUNDS, 1.0 / MOST_ROUNDS
            messages, is_done = yield from within(_mend_all(trial, chosen, fixed.reasons), start, 0.4 * share)
            if not is_done:
                stuck |= {fault.key for fault in chosen}
                continue
            checked = yield from within(check_trial(trial, options), start + 0.4 * share, 0.6 * share)
            with trial.shown():
                found = find_faults(checked, trial.objects)
            unchecked = {fault.mesh for fault in faults} - {mesh.name for mesh in checked.meshes}
            after = found + [fault for fault in left if fault.mesh in unchecked]
            if stage == FLESH and len(after) >= len(left):  # as where it is twist that makes a joint collapse
                trial.flesh = None
                stuck |= {fault.key for fault in chosen}
                continue
            before, left = {fault.key: fault.severity for fault in left}, after
            stuck |= {fault.key for fault in left if fault.severity > BETTER * before.get(fault.key, np.inf)}
            fixed.faults, fixed.unchecked = found, unchecked
            fixed.messages += messages
        fixed.reasons = {
            fault.key: fixed.reasons.get(fault.key) or explain(fault) for fault in left if is_chosen(fault)
        }
        if not _has_become_better(faults, left, is_chosen):
            return Fixed(reasons=fixed.reasons)
        yield 1.0
        trial.write()
        fixed.messages = list(dict.fromkeys(fixed.messages))
        return fixed
    finally:
        trial.close()


def _mend_all(trial: Trial, faults: Sequence[Finding], reasons: dict[str, str]) -> Steps[tuple[list[str], bool]]:
    """Mend faults on a trial: messages, and whether anything was done."""
    messages, is_done = [], False
    for number, fault in enumerate(faults):
        yield number / len(faults)
        try:
            mend = MENDS[fault.kind][1](trial, fault)
            messages += yield from within(mend, number / len(faults), 1.0 / len(faults))
            is_done = True
        except SkinningError as error:  # others go on without it
            reasons[fault.key] = end_sentence(str(error))
    return messages, is_done


def check_trial(trial: Trial, options: CheckOptions) -> Steps[Checked]:
    """Check the meshes of a trial as they would be."""
    return (yield from trial.take(check_character(trial.objects, options, trial=trial)))


def _has_become_better(
    faults: Sequence[Finding], left: Sequence[Finding], is_chosen: Callable[[Finding], bool]
) -> bool:
    """Whether any chosen fault has become less, or is gone."""
    severities = {fault.key: fault.severity for fault in left}
    return any(severities.get(one.key, 0.0) < BETTER * one.severity for one in faults if is_chosen(one))
